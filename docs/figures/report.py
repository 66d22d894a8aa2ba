#!/usr/bin/env python3
"""Screenshots of pages of the stories' runs, in figures/report; made by hand when pages change.

    target/browser/venv/bin/python docs/figures/report.py [NAME...]     all, or those whose names hold NAME

after ./test-browser, which installs the browser's driver; it also needs Pillow. COLLAPSAR_DATA says where the data are.
"""

import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "site")]
sys.dont_write_bytecode = True

import commands

#: The story, the folder of its run, and how much of its page is shown.
RUNS = {
    "topics": ("news", "news", 1150),
    "mixture": ("oils", "oils", 1250),
    "quant": ("airway", "SRR1039508", 1300),
    "changes": ("airway", "known", 1150),
    "fit": ("rats", "exact", 1500),
}
WIDTHS = {360: 1500, 1280: None, 1920: None}
SHOWN = 1280


def small(png):
    """As few bytes as a page of a book should have: no wider than shown, with 256 colours."""
    image = Image.open(io.BytesIO(png)).convert("RGB")
    if image.width > SHOWN:
        image = image.resize((SHOWN, image.height * SHOWN // image.width), Image.Resampling.LANCZOS)
    common = sorted(image.getcolors(image.width * image.height), reverse=True)[:128]
    # Half for surfaces, to the last bit, and half for colours of few pixels, such as those of points.
    rare = image.quantize(128, method=Image.Quantize.MAXCOVERAGE).getpalette()[: 3 * 128]
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for _, colour in common for part in colour] + rare)
    return image.quantize(palette=palette, dither=Image.Dither.NONE)


def main():
    program = Path(os.environ.get("COLLAPSAR", HERE.parents[1] / "target/release/collapsar"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"])
        for story in dict.fromkeys(story for story, _, _ in RUNS.values()):
            shots = [
                (name, width, scheme)
                for name in RUNS
                for width in WIDTHS
                for scheme in ("light", "dark")
                if RUNS[name][0] == story and any(word in f"{name}-{width}-{scheme}" for word in sys.argv[1:] or [""])
            ]
            if not shots:
                continue
            with tempfile.TemporaryDirectory() as scratch:
                commands.lay_out(HERE.parent / f"stories/{story}.md", Path(scratch), os.environ["COLLAPSAR_DATA"])
                commands.page(HERE.parent / f"stories/{story}.md", Path(scratch), program)
                for name, width, scheme in shots:
                    run, height = Path(scratch, RUNS[name][1]), WIDTHS[width] or RUNS[name][2]
                    if not (run / "report.html").exists():
                        subprocess.run([program, "--quiet", "report", RUNS[name][1]], cwd=scratch, check=True)
                    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
                    page.goto((run / "report.html").as_uri())
                    page.wait_for_selector("html[data-ready]", state="attached")
                    small(page.screenshot()).save(HERE / "report" / f"{name}-{width}-{scheme}.png", optimize=True)
                    page.close()
        browser.close()


main()
