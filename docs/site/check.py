"""Checks the built site: links and anchors, what is fetched, search, formulas, and pages without anything to look at.

    docs/site/check.py SITE
"""

import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, unquote, urljoin, urlsplit

ROOT = Path(__file__).resolve().parents[2]
#: What search must find: words, and a page that has them.
SEARCHED = {
    "Pólya": "docs/maths/",
    "linear response": "docs/fit.html",
    "half-Cauchy": "examples/eight-schools/",
    "ERRFI1": "docs/stories/airway.html",
    "n_components": "docs/python/reference.html",
    "dnegbin": "docs/language.html",
}
#: Words of a page that fill a screen of 1280 by 800 pixels in this theme, about.
SCREEN = 350
#: Screens that a reader passes at most without a picture, an example or a table, where a page is no reference.
SCREENS = 1
#: Pages that are looked things up in, not read: their tables and formulas are what there is to see.
REFERENCE = re.compile(r"(CHANGELOG|COMPARE|ARCHITECTURE|CONTRIBUTING|RELEASING)\.html|docs/(language|limits|glossary|python/reference)\.html|docs/maths/|bench/|crates/|rust/|404")
#: Attributes by which a page fetches something, by element.
FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href", "use": "href", "object": "data", "video": "src"}


class Page(HTMLParser):
    """What a page links to, fetches, is linked at, and shows."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.links, self.fetched, self.anchors, self.formulas = [], [], set(), []
        self.stretch, self.longest, self.words, self.sights = 0, 0, 0, 0
        self.inside, self.depth, self.formula, self.skipped = False, 0, None, 0
        self.feed(text)
        self.longest = max(self.longest, self.stretch)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        for key in ("id", "name"):
            if values.get(key):
                self.anchors.add(values[key])
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag in FETCHED and values.get(FETCHED[tag]) and values.get("rel") not in ("canonical", "prev", "next"):
            self.fetched.append(values[FETCHED[tag]])
        if tag == "article":
            self.inside = True
        if self.inside and tag in ("img", "pre", "table"):
            self.stretch, self.longest, self.sights = 0, max(self.longest, self.stretch), self.sights + 1
        if tag in ("pre", "table", "script", "style"):
            self.skipped += 1
        if "arithmatex" in (values.get("class") or "").split():
            self.formula = [tag, tag == "div", ""]

    def handle_endtag(self, tag):
        if tag == "article":
            self.inside = False
        if tag in ("pre", "table", "script", "style"):
            self.skipped -= 1
        if self.formula and tag == self.formula[0]:
            self.formulas.append(self.formula[1:])
            self.formula = None

    def handle_data(self, data):
        if self.formula:
            self.formula[2] += data
        elif self.inside and not self.skipped:
            self.stretch += len(data.split())
            self.words += len(data.split())


def resolve(place, link):
    """The file and the anchor that a link of a page leads to."""
    parts = urlsplit(urljoin(place, link))
    path = unquote(parts.path)
    return (path + "index.html" if path.endswith("/") or not path else path), unquote(parts.fragment)


def formulas(pages):
    """Formulas that KaTeX cannot read."""
    found = [(place, display, text.strip()) for place, page in pages.items() for display, text in page.formulas]
    program = """
const katex = require(process.argv[1]);
const bad = [];
for (const [place, display, text] of JSON.parse(require("fs").readFileSync(0))) {
  const inner = text.replace(/^\\\\[\\[(]|\\\\[\\])]$/g, "");
  try { katex.renderToString(inner, { displayMode: display, strict: "ignore" }); }
  catch (error) { bad.push(`${place}: ${error.message}`); }
}
console.log(JSON.stringify(bad));
"""
    done = subprocess.run(
        ["node", "-e", program, str(ROOT / "target/site-vendor/katex.js")], input=json.dumps(found), capture_output=True, text=True
    )
    if done.returncode:
        return len(found), [f"formulas could not be tried: {done.stderr.strip()}"]
    return len(found), json.loads(done.stdout)


def search_in_browser(site, words):
    """Whether the page's own search finds words, opened from disk in Chromium; None where there is no Chromium."""
    chromium = shutil.which("chromium")
    if not chromium:
        return None
    address = f"{(site / 'index.html').resolve().as_uri()}?q={quote(words)}"
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom", address]
    for _ in range(2):  # a busy machine may take longer than the page's time
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        except subprocess.TimeoutExpired:
            continue
        if re.search(r'search-result__meta">\s*\d+ matching', done.stdout):
            return True
    return False


def main():
    site = Path(sys.argv[1])
    pages = {
        path.relative_to(site).as_posix(): Page(path.read_text(encoding="utf-8"))
        for path in site.rglob("*.html")
        if not path.relative_to(site).as_posix().startswith("rust/")
    }
    wrong, links = [], 0
    for place, page in sorted(pages.items()):
        for link in page.links:
            if re.match(r"(https?|mailto|javascript):", link) or place == "404.html":
                continue
            links += 1
            path, anchor = resolve(place, link)
            if not (site / path).is_file():
                wrong.append(f"{place}: a link leads nowhere: {link}")
            elif anchor and path in pages and anchor not in pages[path].anchors and not anchor.startswith("__"):
                wrong.append(f"{place}: a link to a heading that is not there: {link}")
        for link in page.fetched:
            if re.match(r"(https?:)?//", link):
                wrong.append(f"{place}: fetched from afar: {link}")
            elif not link.startswith("data:") and place != "404.html" and not (site / resolve(place, link)[0]).is_file():
                wrong.append(f"{place}: fetched, and not there: {link}")
        if not REFERENCE.match(place) and page.longest > SCREEN * SCREENS:
            wrong.append(f"{place}: {page.longest} words without a picture, an example or a table, more than a screen ({SCREEN})")
    for path in [*site.rglob("*.css"), *site.rglob("rust/**/*.html")]:
        for match in re.finditer(r"(?:url\(|@import |<script[^>]*src=|<link[^>]*href=)[\"']?(https?:)?//[^\"')]+", path.read_text(encoding="utf-8")):
            wrong.append(f"{path.relative_to(site)}: fetched from afar: {match[0]}")

    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))["docs"]
    for words, place in SEARCHED.items():
        found = [entry["location"] for entry in index if words.lower() in re.sub(r"<[^>]*>", "", entry["title"] + " " + entry["text"]).lower()]
        if not any(location.startswith(place) for location in found):
            wrong.append(f"search: {words!r} was expected in {place}, found in {found[:3] or 'no page'}")
    browser = search_in_browser(site, "Pólya")
    if browser is False:
        wrong.append("search: Chromium found no page with Pólya")
    number, bad = formulas(pages)
    wrong += bad
    # Guards the checks themselves: a change of the theme must not make them pass on nothing.
    if links < 2000 or number < 500 or len(index) < 300 or len(pages) < 80:
        wrong.append(f"only {links} links, {number} formulas, {len(index)} entries of search and {len(pages)} pages were found")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    if wrong:
        sys.exit(f"site: {len(wrong)} things are wrong")
    if browser is None:
        print("search was not tried in a browser: chromium was not found")
    print(f"{len(pages)} pages, {links} links, {number} formulas, {len(index)} entries of search: all as they should be")


if __name__ == "__main__":
    main()
