"""Runs the commands that a page shows after `$` and compares what they print with the page, as examples/show does for examples.

The commands of a page run one after another in one scratch folder. Comments of the page say what lies there:

    <!-- run in FOLDER -->          a copy of this folder of the repository
    <!-- data: NAME = PATH -->      the file PATH of COLLAPSAR_DATA as NAME, unpacked where only PATH ends in .gz
    <!-- file: NAME -->             before a fence: it shows the file NAME beside the page, which is copied

`$ cd FOLDER` goes on in a copy of a folder of the repository, and a fence after `<!-- not run: REASON -->` is left alone. `…` stands for lines left out; numbers may differ by one part in a thousand.
"""

import gzip
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATA = re.compile(r"^<!-- data: (\S+) = (\S+) -->$", re.M)
FOLDER = re.compile(r"^<!-- run in (\S+) -->$", re.M)
FILE = re.compile(r"^<!-- file: (\S+) -->$", re.M)
NOT_RUN = re.compile(r"^\s*<!-- not run: .+ -->$")


def show():
    """The module examples/show, which knows when two lines are alike."""
    loader = importlib.machinery.SourceFileLoader("show", str(ROOT / "examples/show"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("show", loader))
    loader.exec_module(module)
    return module


def lay_out(path, folder, data):
    """Puts what a page works on into a folder."""
    text = path.read_text(encoding="utf-8")
    for name in FILE.findall(text):
        if Path(name).name == name:
            shutil.copyfile(path.with_name(name), folder / name)
    for match in FOLDER.finditer(text):
        shutil.copytree(ROOT / match[1], folder, dirs_exist_ok=True)
    for name, path in DATA.findall(text):
        if path.endswith(".gz") and not name.endswith(".gz"):
            (folder / name).write_bytes(gzip.decompress(Path(data, path).read_bytes()))
        else:
            shutil.copyfile(Path(data, path), folder / name)


def runner(folder, program):
    """A function that runs a command of a page as a shell would, and gives what it prints, standard error first."""
    path = f"{Path(program).resolve().parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1"}

    def run(command, _renew):
        nonlocal folder
        there = re.fullmatch(r"cd (\S+)", command)
        if there and (ROOT / there[1]).is_dir():
            shutil.copytree(ROOT / there[1], folder / there[1], dirs_exist_ok=True)
            folder = folder / there[1]
            return []
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True)
        return (done.stderr + done.stdout).splitlines()

    return run


def page(path, folder, program, renew=False):
    """Runs a page's commands in a folder; True where each prints what the page shows."""
    shown = show()
    shown.run = runner(folder, program)
    out, command, lines, fenced, skipped, good, last = [], None, [], False, False, True, ""

    def finish():
        nonlocal good, command
        if command:
            joined = re.sub(r"\\\n\s*", "", "\n".join(command))
            kept, same = shown.compare(joined, lines, renew)
            out.extend(kept)
            good &= same
        command = None

    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            finish()
            fenced = not fenced
            skipped = fenced and bool(NOT_RUN.match(last))
            out.append(line)
        elif fenced and not skipped and line.startswith("$ "):
            finish()
            command, lines = [line[2:]], []
            out.append(line)
        elif command and command[-1].endswith("\\"):
            command.append(line)
            out.append(line)
        elif command:
            lines.append(line)
        else:
            out.append(line)
        last = line
    if renew:
        path.write_text("\n".join(out) + "\n", encoding="utf-8")
    return good


def check(path, program, renew=False, data=None, after=None):
    """Runs a page in a scratch folder, then `after` with that folder."""
    with tempfile.TemporaryDirectory() as scratch:
        lay_out(path, Path(scratch), data)
        good = page(path, Path(scratch), program, renew)
        return (after(Path(scratch)) if after else True) and good
