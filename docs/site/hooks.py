"""Decides which files of the repository the site is made of, and what its pages have besides their Markdown.

A page's place in the site is its place in the repository, so that links which hold in one hold in the other: nothing is copied
and nothing rewritten but what a page asks for in a comment (`<!-- site: ... -->`).
"""

import html
import logging
import posixpath
import re
import shutil
from pathlib import Path

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
VENDORED = ROOT / "target/site-vendor"
#: Where pages begin; what they link to comes with them.
PAGES = ("README.md", "CHANGELOG.md", "COMPARE.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "docs", "examples")
LINK = re.compile(r"\]\(([^)\s]+)\)|^\[[^\]]+\]:\s+(\S+)", re.M)
COMMENT = re.compile(r"<!-- site: (\w+)(?: ([^>]*?))? -->")
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
log = logging.getLogger("mkdocs.hooks.site")


def begin():
    """The pages that the site is sure to have, and what lies beside them."""
    for name in PAGES:
        path = ROOT / name
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            place = file.relative_to(ROOT).as_posix()
            skipped = place.startswith(("docs/tests/", "docs/site/")) or file.suffix in (".rs", ".toml", ".html", ".pyc")
            if file.is_file() and not skipped:
                yield place


def linked(place):
    """Files and folders of the repository that a page links to."""
    text = FENCE.sub("", (ROOT / place).read_text(encoding="utf-8"))
    for match in LINK.finditer(text):
        target = (match[1] or match[2]).split("#")[0]
        if target and "://" not in target and not target.startswith(("\\", "mailto:")):
            found = posixpath.normpath(posixpath.join(posixpath.dirname(place), target))
            if not found.startswith("..") and (ROOT / found).exists():
                yield found


def closure():
    """All files of the site, and the folders that pages link to."""
    files, folders = dict.fromkeys(begin()), {}
    rest = [place for place in files if place.endswith(".md")]
    while rest:
        for found in linked(rest.pop()):
            new = []
            if (ROOT / found).is_dir():
                if found not in folders:
                    folders[found] = sorted(p.name for p in (ROOT / found).iterdir() if p.is_file())
                    new = [f"{found}/{name}" for name in folders[found]]
            else:
                new = [found]
            for place in new:
                if place not in files:
                    files[place] = None
                    if place.endswith(".md"):
                        rest.append(place)
    return list(files), folders


def contents(folder, names):
    lines = [f"- [{name}]({name})" for name in names]
    return f"# {folder}\n\nFiles of this folder of the repository.\n\n" + "\n".join(lines) + "\n"


def on_files(files, config):
    kept = Files([file for file in files if not (file.abs_src_path or "").startswith(config.docs_dir)])
    places, folders = closure()
    for place in places:
        kept.append(File.generated(config, place, abs_src_path=str(ROOT / place)))
    for folder, names in folders.items():
        if "README.md" not in names:
            kept.append(File.generated(config, f"{folder}/index.md", content=contents(folder, names)))
    for name in ("style.css", "math.js", "icon.svg"):
        where = "docs/site" if name == "icon.svg" else "site"
        kept.append(File.generated(config, f"{where}/{name}", abs_src_path=str(HERE / name)))
    for path in sorted(VENDORED.glob("*.*s")):
        kept.append(File.generated(config, f"site/{path.name}", abs_src_path=str(path)))
    # The front page is the site's first, the README a page like others.
    for place, to in (("README.md", "readme.html"), ("docs/index.md", "index.html")):
        file = kept.get_file_from_path(place)
        if file:
            file.dest_uri = file.url = to
    return kept


def gallery(markdown):
    """Cards with pictures from the table of examples."""
    rows = re.findall(r"^\| \[([\w-]+)\]\(([^)]+)\) \| ([^|]+) \| ([^|]+) \|$", markdown, re.M)
    cards = []
    for name, target, hidden, shows in rows:
        picture = f"{name}/model.svg"
        if not (ROOT / "examples" / picture).exists():
            log.warning("examples/%s is missing; try: docs/figures/examples", picture)
        cards.append(
            f'<a href="{target.replace("README.md", "index.html")}"><img src="{picture}" alt="" loading="lazy">'
            f"<strong>{name}</strong><span>{html.escape(shows.replace('`', ''))}; hidden: {html.escape(hidden)}</span></a>"
        )
    return '<div class="gallery">\n' + "\n".join(cards) + "\n</div>\n"


def files_of(place):
    """The model of an example, to read and to take."""
    folder = (ROOT / place).parent
    parts = ["\n\n## Its files\n"]
    if "model.svg" not in (ROOT / place).read_text(encoding="utf-8"):
        parts.append("![The model: what is observed, what is collapsed, and what depends on what](model.svg)\n")
    for path in sorted(folder.iterdir()):
        if path.suffix == ".bug":
            parts.append(f"[{path.name}]({path.name}):\n\n```text\n{path.read_text(encoding='utf-8').rstrip()}\n```\n")
    data = [path.name for path in sorted(folder.iterdir()) if path.suffix in (".json", ".csv")]
    parts.append("Data: " + ", ".join(f"[{name}]({name})" for name in data) + "\n")
    return "\n".join(parts)


def rust_api(argument):
    """A link to the crate's pages where `cargo doc` has made them."""
    if (ROOT / "target/doc" / argument / "index.html").exists():
        return f'<a href="../rust/{argument}/index.html">its pages</a>'
    return "its pages: <code>cargo doc --no-deps --open</code>"


def on_page_markdown(markdown, page, config, files):
    place = page.file.src_uri

    def made(match):
        kind, argument = match[1], match[2]
        if kind == "gallery":
            return gallery(markdown)
        if kind == "api":
            return f"::: {argument}"
        if kind == "rust":
            return rust_api(argument)
        log.warning("%s: nothing is known of <!-- site: %s -->", place, kind)
        return ""

    def folder(match):
        target = match[1] or match[2]
        found = posixpath.normpath(posixpath.join(posixpath.dirname(place), target))
        if "://" in target or target.startswith("\\") or not (ROOT / found).is_dir():
            return match[0]
        page = "README.md" if (ROOT / found / "README.md").exists() else "index.md"
        return match[0].replace(target, f"{target.rstrip('/')}/{page}")

    # Cards stand in the place of the table that they are made of.
    cards = "<!-- site: gallery -->" in markdown
    table = re.compile(r"(?:^\|.*\n)+", re.M)
    markdown = LINK.sub(folder, COMMENT.sub(made, markdown))
    if cards:
        markdown = table.sub("", markdown, count=1)
    if re.fullmatch(r"examples/[\w-]+/README\.md", place):
        markdown += files_of(place)
    return markdown


def on_post_build(config):
    """Takes in the pages of `cargo doc`, which read their formulas by the vendored KaTeX instead of one from afar."""
    made, to = ROOT / "target/doc", Path(config.site_dir, "rust")
    if not (made / "collapsar/index.html").exists():
        return
    shutil.copytree(made, to, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".lock"))
    header = re.compile(r"<!-- Typesets .*?</script>\s*(?=<script>)", re.S)
    for path in to.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        up = "../" * (len(path.relative_to(config.site_dir).parts) - 1)
        local = (
            f'<link rel="stylesheet" href="{up}site/katex.css"><script src="{up}site/katex.js"></script>'
            f'<script src="{up}site/auto-render.js"></script>'
        )
        changed = header.sub(local, text)
        if changed != text:
            path.write_text(changed, encoding="utf-8")
