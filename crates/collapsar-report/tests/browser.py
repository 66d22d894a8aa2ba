"""Opens pages of every kind in headless Chromium; run by ./test-browser.

browser.py PROGRAM AXE [SHOTS]: with a folder SHOTS, also takes screenshots at three widths, light and dark.
"""

import pathlib
import random
import subprocess
import sys
import tempfile

from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[3]
HOSTILE = ["<script>window.ran=1</script>", "</script><img src=x onerror=window.ran=1>", "\"'`", "שלום", "n" * 10_000]
passed, failures = 0, []


def check(holds, what):
    global passed
    if holds:
        passed += 1
    else:
        failures.append(what)
        print("failed:", what)


def run(program, *words, cwd=None):
    subprocess.run([program, "--quiet", *map(str, words)], check=True, stdout=subprocess.DEVNULL, cwd=cwd)


def make(program, folder):
    """Runs of every kind, by name, of data that are made here or in examples/."""
    random.seed(1)
    schools = ROOT / "examples" / "eight-schools"
    for name, words in {"fit": [], "exact": ["--posterior", "exact"]}.items():
        run(program, "fit", "model.bug", "--data", "data.json", "--out", folder / name, "--report", *words, cwd=schools)
    rows = [[random.gauss(4 * (i % 3), 1), random.gauss(3 * (i % 2), 1), random.gauss(0, 1)] for i in range(600)]
    head = ",".join('"' + name.replace('"', '""') + '"' for name in HOSTILE[:3])
    (folder / "rows.csv").write_text(head + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    run(program, "mixture", folder / "rows.csv", "--out", folder / "mixture", "--report")
    words = ["<b>bold</b>", "&amp;", "alpha", "beta", "gamma", "delta", "epsilon", "zeta", *HOSTILE[:2], *(f"w{i}" for i in range(60))]
    texts = []
    for document in range(60):
        topic = document % 3
        texts.append([words[(topic * 20 + int(random.expovariate(0.15))) % len(words)] for _ in range(80)])
    counts = [(d + 1, words.index(w) + 1, text.count(w)) for d, text in enumerate(texts) for w in sorted(set(text))]
    (folder / "docword.x.txt").write_text(f"60\n{len(words)}\n{len(counts)}\n" + "".join("%d %d %d\n" % line for line in counts))
    (folder / "vocab.x.txt").write_text("\n".join(words) + "\n")
    run(program, "topics", folder / "docword.x.txt", "--topics", "5", "--out", folder / "topics", "--report")
    names = [f"T{i}" for i in range(80)] + ["<i>T</i>"]
    classes = [f"1\t{i}\t{random.randint(1, 300)}" for i in range(81)] + [f"2\t{i}\t{i + 1}\t{random.randint(1, 90)}" for i in range(80)]
    text = f"{len(names)}\n{len(classes)}\n" + "\n".join(names) + "\n" + "\n".join(classes) + "\n"
    (folder / "eq_classes.txt").write_text(text)
    (folder / "lengths.tr").write_text("".join(f"gene {name} {random.randint(500, 3000)}\n" for name in names))
    run(program, "quant", "--classes", folder / "eq_classes.txt", "--lengths", folder / "lengths.tr", "--out", folder / "quant", "--report")
    run(program, "report", folder / "fit", folder / "exact", "--out", folder / "compare.html")
    pages = {name: folder / name / "report.html" for name in ["fit", "exact", "mixture", "topics", "quant"]}
    return pages | {"compare": folder / "compare.html"}


def words_of_bars(page):
    return page.eval_on_selector_all("#terms .role-axis-label text, #terms g.role-axis text", "all => all.map(t => t.textContent)")


def visit(browser, name, path, axe):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    talk, left = [], []
    page.on("console", lambda message: message.type in ("error", "warning") and talk.append(message.text))
    page.on("pageerror", lambda error: talk.append(str(error)))
    page.on("request", lambda request: left.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_function("document.documentElement.dataset.ready", timeout=30_000)
    check(page.evaluate("document.documentElement.dataset.ready") == "yes", f"{name}: all pictures are drawn")
    check(page.evaluate("window.ran") is None, f"{name}: nothing foreign has run")
    marks = page.eval_on_selector_all(
        "[data-chart]",
        "all => all.map(c => [c.dataset.chart, c.querySelectorAll('.mark-symbol path, .mark-rect path, .mark-rule line, .mark-line path').length])",
    )
    for chart, count in marks:
        check(count > 0, f"{name}: marks in {chart}")
    print(f"{name}: {path.stat().st_size / 1e6:.2f} MB, marks {dict(marks)}")
    if name == "topics":
        before = words_of_bars(page)
        page.focus("#lambda")
        page.keyboard.press("Home")
        page.wait_for_timeout(300)
        after = words_of_bars(page)
        check(len(before) > 5 and before != after, f"{name}: the slider reorders terms, by keyboard")
        page.select_option("#topic", "1")
        page.wait_for_timeout(300)
        check(words_of_bars(page) != after, f"{name}: the list changes the topic")
    if name == "quant":
        count = page.text_content("#transcripts-count")
        page.fill("#transcripts-search", "T7")
        check(count == "81 of 81" and page.text_content("#transcripts-count") == "11 of 81", f"{name}: the table filters")
        page.fill("#transcripts-search", "<i>")
        check(page.text_content(".finder tbody td") == "<i>T</i>", f"{name}: names are text")
        check(page.locator(".finder tbody i").count() == 0, f"{name}: no element of a name")
    if name == "exact":
        inside = "document.querySelector('#trace .chart').innerHTML"
        before = page.evaluate(inside)
        page.select_option("[data-choice]", "9")
        page.wait_for_timeout(300)
        check(page.evaluate(inside) != before, f"{name}: the list changes the trace")
    page.evaluate(axe)
    found = page.evaluate("axe.run().then(r => r.violations.filter(v => ['serious', 'critical'].includes(v.impact)).map(v => v.id + ' ' + v.nodes.slice(0, 3).map(n => n.html).join(' | ').slice(0, 400)))")
    check(not found, f"{name}: axe-core finds {found}")
    check(not talk, f"{name}: nothing is said on the console, found {talk[:3]}")
    outside = [url for url in left if not url.startswith(("data:", path.as_uri()))]
    check(not outside, f"{name}: no request leaves the page, found {outside[:3]}")
    page.close()


def shoot(browser, pages, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in pages.items():
        for width in (360, 1280, 1920):
            for scheme in ("light", "dark"):
                page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
                page.goto(path.as_uri())
                page.wait_for_function("document.documentElement.dataset.ready")
                wide = page.evaluate("document.documentElement.scrollWidth")
                check(wide <= width, f"{name}: fits {width} pixels, is {wide}")
                page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=True)
                page.close()


def main():
    program, axe = sys.argv[1], pathlib.Path(sys.argv[2]).read_text()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        pages = make(program, pathlib.Path(folder))
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for name, path in pages.items():
            visit(browser, name, path, axe)
        if len(sys.argv) > 3:
            shoot(browser, pages, pathlib.Path(sys.argv[3]))
        browser.close()
    print(f"{passed} passed, {len(failures)} failed")
    sys.exit(bool(failures))


main()
