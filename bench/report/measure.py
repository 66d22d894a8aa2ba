"""Sizes of pages and times until they are ready; see README.md."""

import argparse
import os
import pathlib
import platform
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUIET = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync"
TIMES = 3


def collapsar(program, folder, *words):
    begin = time.monotonic()
    subprocess.run([program, "--quiet", *map(str, words)], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - begin


def mixture(program, folder, rows):
    with open(folder / "rows.csv", "w") as file:
        file.write("a,b,c,d\n")
        for i in range(rows):
            at = i % 5
            file.write(f"{random.gauss(3 * at, 1):.4f},{random.gauss(at * at, 1):.4f},{random.gauss(0, 1):.4f},{random.gauss(-at, 2):.4f}\n")
    collapsar(program, folder, "mixture", "rows.csv", "--components", 5, "--max-passes", 10, "--jumps", "off", "--posterior", "mean-field", "--out", "run")


def topics(program, folder, topics, documents, words):
    lines = []
    for document in range(documents):
        own = [random.randrange(topics) for _ in range(3)]
        counts = {}
        for _ in range(80):
            word = (random.choice(own) * words // topics + int(random.expovariate(0.03))) % words
            counts[word] = counts.get(word, 0) + 1
        lines += [f"{document + 1} {word + 1} {count}" for word, count in sorted(counts.items())]
    (folder / "docword.x.txt").write_text("\n".join([str(documents), str(words), str(len(lines)), *lines]) + "\n")
    (folder / "vocab.x.txt").write_text("".join(f"word{i}\n" for i in range(words)))
    collapsar(program, folder, "topics", "docword.x.txt", "--topics", topics, "--max-passes", 5, "--posterior", "mean-field", "--out", "run")


def quant(program, folder, transcripts):
    names = [f"ENST{i:011d}.1" for i in range(transcripts)]
    lines = []
    for i in range(transcripts):
        reads = int(random.lognormvariate(3, 2))
        if reads:
            lines.append(f"1\t{i}\t{reads}")
        if i % 3:
            lines.append(f"2\t{i - 1}\t{i}\t{1 + int(random.lognormvariate(2, 1.5))}")
    (folder / "classes.txt").write_text("\n".join([str(transcripts), str(len(lines)), *names, *lines]) + "\n")
    (folder / "lengths.tr").write_text("".join(f"gene {name} {random.randint(300, 6000)}\n" for name in names))
    (folder / "genes.tsv").write_text("".join(f"{name}\tENSG{i // 3:011d}\n" for i, name in enumerate(names)))
    collapsar(program, folder, "quant", "--classes", "classes.txt", "--lengths", "lengths.tr", "-g", "genes.tsv", "--out", "run")


def small(program, folder):
    schools = ROOT / "examples" / "eight-schools"
    collapsar(program, schools, "fit", "model.bug", "--data", "data.json", "--posterior", "exact", "--out", folder / "run")


CASES = {
    "fit, eight schools, exact draws": small,
    "mixture, 600 rows": lambda p, f: mixture(p, f, 600),
    "mixture, 1,000,000 rows": lambda p, f: mixture(p, f, 1_000_000),
    "topics, 5 of 500 words": lambda p, f: topics(p, f, 5, 200, 500),
    "topics, 200 of 8,000 words": lambda p, f: topics(p, f, 200, 4000, 8000),
    "quant, 1,000 transcripts": lambda p, f: quant(p, f, 1000),
    "quant, 200,000 transcripts": lambda p, f: quant(p, f, 200_000),
}


def ready(browser, path):
    """Seconds until everything is drawn: by the clock, and of processor time of the page's thread."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    metrics = page.context.new_cdp_session(page)
    metrics.send("Performance.enable", {"timeDomain": "threadTicks"})
    begin = time.monotonic()
    page.goto(path.as_uri(), wait_until="commit")
    page.wait_for_selector("html[data-ready]", state="attached", timeout=120_000)
    clock = time.monotonic() - begin
    assert page.evaluate("document.documentElement.dataset.ready") == "yes"
    found = {metric["name"]: metric["value"] for metric in metrics.send("Performance.getMetrics")["metrics"]}
    page.close()
    return clock, found["TaskDuration"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--collapsar", default=str(ROOT / "target/release/collapsar"))
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--only", default="", help="cases whose names hold this")
    options = parser.parse_args()
    program = str(pathlib.Path(options.collapsar).resolve())
    random.seed(7)
    rows = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=QUIET.split())
        for name, make in CASES.items():
            if options.only not in name:
                continue
            with tempfile.TemporaryDirectory() as made:
                folder = pathlib.Path(made)
                make(program, folder)
                seconds = collapsar(program, folder, "report", "run")
                page = folder / "run" / "report.html"
                text = page.read_text()
                data = len(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1].encode())
                size = page.stat().st_size
                times = [ready(browser, page) for _ in range(TIMES)]
                clock, busy = (statistics.median(of) for of in zip(*times))
            rows.append((name, seconds, size / 1e6, data / 1e6, (size - data) / 1e6, clock, busy))
            print(rows[-1], file=sys.stderr)
        version = browser.version
        browser.close()
    table = "".join("| {} | {:.1f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} |\n".format(*row) for row in rows)
    load = ", ".join(f"{number:.1f}" for number in os.getloadavg())
    summary = f"""# Pages of small and large runs

    bench/report/run --out {options.out}

Chromium {version}, {platform.machine()}, {os.cpu_count()} cores; load at the end {load}. Medians of {TIMES} openings.
"Busy" is the processor time of the page's own thread, "clock" what passed from opening the file until all pictures were drawn, which
depends on what else the machine does.

| run | report, s | page, MB | data, MB | without data, MB | ready by the clock, s | busy, s |
|---|---|---|---|---|---|---|
{table}"""
    print(summary)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "summary.md").write_text(summary)


main()
