#!/usr/bin/env python3
"""Says of every block of code on a page what runs it, runs those that nobody else does, and names those that nothing runs.

A block is run, or says in a comment on the line before it that it is not:

    rust                            by the documentation tests of the page, which docs/pages.rs lists
    python with >>>                 by doctest, for the pages that ./test-python takes
    $ collapsar on an example       by examples/show
    $ on a story                    by docs/stories/make, where COLLAPSAR_DATA is set
    $ elsewhere                     here, in a scratch folder (commands.py has what a page may ask to lie there)
    <!-- file: PATH -->             is the text of a file, or a part of it, which is compared here
    <!-- not run: REASON -->        is not run

The program is what the variable COLLAPSAR says, or target/release/collapsar; without either no command is run, and that is said.
"""

import os
import re
import sys
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
import commands

ROOT = commands.ROOT
PAGES = ("README.md", "COMPARE.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md", "docs", "examples")
FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n]*)\n(?P<text>.*?)^(?P=indent)```[ ]*$", re.M | re.S)
COMMENT = re.compile(r"<!-- (file|not run): (.+?) -->\s*\Z")


def pages():
    for name in PAGES:
        path = ROOT / name
        yield from [path] if path.is_file() else sorted(path.rglob("*.md"))


def doctested():
    """The pages whose Python ./test-python runs."""
    script = (ROOT / "test-python").read_text(encoding="utf-8")
    found = {ROOT / name for name in re.findall(r"cp \.\./\.\./(\S+\.md) ", script)}
    return found | (set((ROOT / "docs/python").glob("*.md")) if "../../docs/python" in script else set())


def compiled():
    """The pages whose Rust docs/pages.rs makes tests of."""
    names = re.findall(r'= "([^"]+\.md)"', (ROOT / "docs/pages.rs").read_text(encoding="utf-8"))
    return {(ROOT / "docs" / name).resolve() for name in names}


def quotes(path, name, text):
    """Whether a block is the text of a file, or a part of it, whatever its indentation."""
    file = path.parent / name
    flat = lambda words: "\n".join(line.strip() for line in words.strip().splitlines())
    return file.is_file() and flat(text) in flat(file.read_text(encoding="utf-8"))


def indented(text):
    """Lines that begin blocks by indentation alone, which no comment can mark."""
    fenced, listed, last = False, False, ""
    for number, line in enumerate(text.splitlines(), 1):
        fenced ^= line.lstrip().startswith("```")
        if re.match(r"\s*([-*]|\d+\.) ", line):
            listed = True
        elif line[:1].strip():
            listed = False
        if not fenced and not listed and not last.strip() and re.match(r" {4}\S", line):
            yield number
        last = line


def runs(path, match, before, by):
    """What runs a block; None where nothing does."""
    info, text = match["info"].split(" ")[0].split(",")[0], match["text"]
    comment = COMMENT.search(before)
    if comment and comment[1] == "not run":
        return "not run, and says so"
    if comment:
        return "text of a file" if quotes(path, comment[2], text) else None
    if info == "rust":
        return "cargo test" if path in by["rust"] else None
    if info == "python":
        return "doctest" if path in by["python"] and ">>>" in text else None
    if info == "arrows":
        return "the test of the architecture"
    if not re.search(r"^\s*\$ ", text, re.M):
        return None
    if path.parent.parent == ROOT / "examples":
        return "examples/show" if text.startswith("$ collapsar ") else None
    return "docs/stories/make" if path.parent == ROOT / "docs/stories" else "this check"


def main():
    by = {"rust": compiled(), "python": doctested()}
    count, wrong, ours = Counter(), [], []
    for path in pages():
        text = path.read_text(encoding="utf-8")
        wrong += [f"{path.relative_to(ROOT)}:{line}: a block by indentation; try a fence" for line in indented(text)]
        for match in FENCE.finditer(text):
            how = runs(path, match, text[: match.start()], by)
            place = f"{path.relative_to(ROOT)}:{text[: match.start()].count(chr(10)) + 1}"
            if how is None:
                wrong.append(f"{place}: nothing runs this block; try <!-- not run: reason --> on the line before")
            else:
                count[how] += 1
            if how == "this check" and path not in ours:
                ours.append(path)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    if sum(count.values()) < 100:
        wrong.append("too few blocks were found")
    program = Path(os.environ.get("COLLAPSAR", ROOT / "target/release/collapsar"))
    if program.is_file():
        for path in ours:
            if not commands.check(path, program, "--renew" in sys.argv):
                wrong.append(f"{path.relative_to(ROOT)}: prints something else")
                print(wrong[-1])
    elif "COLLAPSAR" in os.environ:
        sys.exit(f"site: {program} was not found, expected the program; try: cargo build --release")
    else:
        print(f"commands of {len(ours)} pages were not run: {program} was not found")
    if wrong:
        sys.exit(f"site: {len(wrong)} blocks are wrong")
    print("blocks of code: " + ", ".join(f"{n} {how}" for how, n in count.most_common()))


if __name__ == "__main__":
    main()
