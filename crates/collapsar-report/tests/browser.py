"""Opens pages of every kind in headless Chromium; run by ./test-browser.

browser.py PROGRAM AXE [SHOTS]: with a folder SHOTS, also takes screenshots at three widths, light and dark.
"""

import json
import pathlib
import sys
import tempfile
from xml.etree import ElementTree

from playwright.sync_api import sync_playwright
from runs import make, run

# What Chromium would do on its own where there is no network.
QUIET = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync"
# What counts as drawn.
MARKS = [".mark-symbol path", ".mark-rect path", ".mark-rule line", ".mark-line path", ".mark-area path"]
passed, failures = 0, []


def check(holds, what):
    global passed
    if holds:
        passed += 1
    else:
        failures.append(what)
        print("failed:", what)


def words_of_bars(page):
    """From the top: the drawing keeps its elements and moves them."""
    return page.eval_on_selector_all(
        "#terms g.role-axis text",
        "all => all.map(t => [t.getBoundingClientRect(), t.textContent]).sort((a, b) => a[0].top - b[0].top || a[0].left - b[0].left).map(t => t[1])",
    )


def changed(page, before):
    """The words of bars once they are others, or after five seconds."""
    for _ in range(50):
        if words_of_bars(page) != before:
            break
        page.wait_for_timeout(100)
    return words_of_bars(page)


def visit(browser, name, path, axe):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    talk, left = [], []
    page.on("console", lambda message: message.type in ("error", "warning") and talk.append(message.text))
    page.on("pageerror", lambda error: talk.append(str(error)))
    page.on("request", lambda request: left.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached", timeout=60_000)
    check(page.evaluate("document.documentElement.dataset.ready") == "yes", f"{name}: all pictures are drawn")
    check(page.evaluate("window.ran") is None, f"{name}: nothing foreign has run")
    marks = page.eval_on_selector_all(
        "[data-chart]",
        "(all, marks) => all.map(c => [c.dataset.chart, c.querySelectorAll(marks).length])",
        ", ".join(MARKS),
    )
    for chart, count in marks:
        check(count > 0, f"{name}: marks in {chart}")
    print(f"{name}: {path.stat().st_size / 1e6:.2f} MB, marks {dict(marks)}")
    if name == "topics":
        before = words_of_bars(page)
        check(len(before) > 5, f"{name}: terms have names")
        page.focus("#lambda")
        page.keyboard.press("Home")
        after = changed(page, before)
        check(before != after, f"{name}: the slider reorders terms, by keyboard")
        page.select_option("#topic", "1")
        check(changed(page, after) != after, f"{name}: the list changes the topic")
    if name == "quant":
        count = page.text_content("#transcripts-count")
        page.fill("#transcripts-search", "T7")
        check(count == "86 of 86" and page.text_content("#transcripts-count") == "11 of 86", f"{name}: the table filters")
        page.fill("#transcripts-search", "<i>")
        check(page.text_content("#transcripts-section tbody td") == "<i>T</i>", f"{name}: names are text")
        check(page.locator(".finder tbody i").count() == 0, f"{name}: no element of a name")
    if name == "changes":
        count = int(page.text_content("#transcripts-count").split()[0])
        page.fill("#transcripts-limit", "0.05")
        fewer = int(page.text_content("#transcripts-count").split()[0])
        check(0 < fewer < count, f"{name}: q limits the table, {fewer} of {count}")
    keyboard(page, name)
    if name == "exact":
        inside = "document.querySelector('#trace .chart').innerHTML"
        before = page.evaluate(inside)
        page.select_option("[data-choice]", "3")
        page.wait_for_timeout(300)
        check(page.evaluate(inside) != before, f"{name}: the list changes the trace")
    page.evaluate(axe)
    found = page.evaluate("axe.run().then(r => r.violations.filter(v => ['serious', 'critical'].includes(v.impact)).map(v => v.id + ' ' + v.nodes.slice(0, 3).map(n => n.html).join(' | ').slice(0, 400)))")
    check(not found, f"{name}: axe-core finds {found}")
    check(not talk, f"{name}: nothing is said on the console, found {talk[:3]}")
    outside = [url for url in left if not url.startswith(("data:", path.as_uri()))]
    check(not outside, f"{name}: no request leaves the page, found {outside[:3]}")
    page.close()


def keyboard(page, name):
    """Tab alone comes to everything that can be used."""
    controls = "a[href], button:not([disabled]), input, select, summary, [tabindex='0']"
    page.evaluate("document.activeElement.blur()")
    wanted = page.evaluate(
        "all => [...document.querySelectorAll(all)].filter(e => (e.offsetParent !== null || e.matches('.skip')) && (e.matches('summary') || !e.closest('details:not([open])'))).map((e, i) => { e.dataset.stop = i; return i; })",
        controls,
    )
    reached = set()
    for _ in range(len(wanted) + 5):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement && document.activeElement.dataset.stop"))
    missed = [stop for stop in wanted if str(stop) not in reached]
    told = page.evaluate("all => all.map(i => document.querySelector(`[data-stop='${i}']`).outerHTML.slice(0, 80))", missed[:3])
    check(not missed, f"{name}: the keyboard comes to all of {len(wanted)} controls, not to {told}")


def figures(program, folder, pages):
    """Pictures as files: drawings that are well formed, have marks and run nothing, and specifications with data."""
    count = 0
    for name, path in pages.items():
        if name == "compare":
            continue
        run(program, "report", name, "--figures", "svg,json", cwd=folder)
        drawn = sorted((path.parent / "figures").glob("*.svg"))
        check(drawn, f"{name}: pictures are files")
        for file in drawn:
            root = ElementTree.parse(file).getroot()
            tags = [element.tag.split("}")[-1] for element in root.iter()]
            check("script" not in tags and "image" not in tags, f"{name}: {file.name} runs nothing")
            check(tags.count("path") + tags.count("line") > 5, f"{name}: marks in {file.name}")
            check("var(--" not in file.read_text(), f"{name}: {file.name} has colours")
            spec = json.loads(file.with_suffix("").with_suffix(".vl.json").read_text())
            check("$schema" in spec and "var(--" not in json.dumps(spec), f"{name}: the specification of {file.name}")
        count += len(drawn)
    run(program, "mixture", "one.csv", "--out", "one", cwd=folder)
    check(not (folder / "one" / "figures").exists(), "pictures of an earlier run go with it")
    print(f"{count} pictures as SVG")


def shoot(browser, pages, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in pages.items():
        for width in (360, 1280, 1920):
            for scheme in ("light", "dark"):
                page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
                page.goto(path.as_uri())
                page.wait_for_selector("html[data-ready]", state="attached")
                wide = page.evaluate("document.documentElement.scrollWidth")
                check(wide <= width, f"{name}: fits {width} pixels, is {wide}")
                page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=True)
                page.close()


def main():
    program, axe = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).read_text()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        pages = make(program, pathlib.Path(folder))
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=QUIET.split())
        for name, path in pages.items():
            visit(browser, name, path, axe)
        # Before runs are made again, which takes their pages with it.
        if len(sys.argv) > 3:
            shoot(browser, pages, pathlib.Path(sys.argv[3]))
        figures(program, pathlib.Path(folder), pages)
        browser.close()
    print(f"{passed} passed, {len(failures)} failed")
    sys.exit(bool(failures))


main()
