"""Kills at random moments, and at each system call that changes files; then what the next run makes of it."""
import json
import random
import re
import shutil
import signal
import subprocess
import time

import place as places

SIGNALS = [signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
# Calls that change what a folder holds, and those that put bytes into files.
CALLS = "rename,renameat,renameat2,mkdir,mkdirat,unlink,unlinkat,rmdir,link,symlink,fsync,fdatasync,write,flock,ftruncate"


class Tally:
    """What was seen of one command."""

    def __init__(self):
        self.kills = self.resumed = self.too_late = 0
        self.wrong = []

    def note(self, what):
        self.wrong.append(what)


def whole(place, reference, code):
    """What is wrong with an output folder after a stop: where run.json stands, all of one run does."""
    found = place.results()
    if place.recorded() is False:
        return []
    if place.recorded() is None:
        # Files: each as before, as after, or not there.
        allowed = [reference.results, reference.earlier_results or {}]
        precious = {"link " + str(place.folder / "precious.txt")}
        return [f"{name} is torn" for name, what in found.items()
                if what not in precious and not any(what == results.get(name) for results in allowed)]
    for expected in (reference.results, reference.earlier_results):
        if expected is None:
            continue
        # The page comes after the results, as by `collapsar report`.
        wrong = places.differences(found, expected, resumed=True)
        if not [name for name in wrong if name in found or not name.endswith("report.html")]:
            return []
    # A signal may have kept what was reached; then the record says so.
    record = (place.folder / place.job.outputs[0] / "run.json").read_text()
    told = json.loads(record)
    # `reproduce` says it in its tables.
    pages = (place.folder / place.job.outputs[0]).glob("*.md")
    if code == 130 and any(b"interrupted" in page.read_bytes() for page in pages):
        return []
    if code == 130 and ("interrupted" in record or told.get("posterior") != told["config"].get("posterior")):
        return []
    listed = re.search(r'"files": \[([^\]]*)\]', record)
    missing = [name for name in re.findall(r'"([^"]+)"', listed[1] if listed else "")
               if not (place.folder / place.job.outputs[0] / name).exists()]
    return [f"results of two runs mixed (code {code}; missing {missing})"]


def after(program, place, reference, tally, how, code, talk):
    """Checks a place after a stop, runs the command again, and compares."""
    if places.panicked(code, talk):
        tally.note(f"{how}: ended with {code}: {talk[-300:].decode(errors='replace')}")
    if place.harmed():
        tally.note(f"{how}: harmed {place.harmed()}")
    for what in whole(place, reference, code):
        tally.note(f"{how}: {what}")
    resume = place.job.checkpoint and (place.folder / "run.ckpt").exists()
    tally.resumed += resume
    again, _, talk = places.run(program, place.job.command(resume), place.folder, stdout=subprocess.DEVNULL)
    if again not in place.job.codes:
        tally.note(f"{how}: the next run ended with {again}: {talk[-300:].decode(errors='replace')}")
        return
    different = places.differences(place.results(), reference.results, resume)
    if different:
        tally.note(f"{how}: then {'resumed' if resume else 'run again'}, other {different}")
    if place.harmed():
        tally.note(f"{how}: the next run harmed {place.harmed()}")
    if place.strangers():
        tally.note(f"{how}: left after the next run {place.strangers()}")


def at_random(program, folder, reference, wanted, seed):
    """`wanted` kills at moments drawn uniformly from a run's length."""
    draw = random.Random(f"{seed} {reference.job.name}")
    tally = Tally()
    length = reference.typical()
    while tally.kills < wanted and tally.too_late < 20 * wanted + 50:
        earlier = reference.earlier if draw.random() < 0.5 else None
        number, moment = draw.choice(SIGNALS), draw.random() * length
        place = places.Place(folder / "kill", reference.inputs, reference.job, earlier)
        process = places.start(program, reference.job.command(), place.folder, stdout=subprocess.DEVNULL)
        time.sleep(moment)
        if process.poll() is not None:
            tally.too_late += 1
            process.communicate()
            continue
        listening = places.listens(process, number)
        process.send_signal(number)
        code, _, talk = places.finish(process)
        tally.kills += 1
        if number != signal.SIGKILL and code not in (0, 130, -number):
            tally.note(f"{number.name} after {moment:.3f} s: ended with {code}")
        if number != signal.SIGKILL and code == -number and listening:
            tally.note(f"{number.name} after {moment:.3f} s: was not handled")
        after(program, place, reference, tally, f"{number.name} after {moment:.3f} s", code, talk)
    shutil.rmtree(folder / "kill", ignore_errors=True)
    return tally


def traced(program, place, args, rule=None):
    """Runs under strace, which may kill or fail the call that `rule` names; the calls in order without a rule."""
    log = place.folder.parent / "calls.txt"
    wrap = ["strace", "-f", "-qq", "-o", str(log), "-e", f"trace={CALLS}"]
    if rule:
        wrap += ["-e", rule]
    code, _, talk = places.run(program, args, place.folder, wrap=wrap, stdout=subprocess.DEVNULL)
    return code, talk, log.read_text(errors="replace").splitlines()


def main_calls(lines):
    """Calls of the first thread, in order."""
    first = lines[0].split()[0] if lines else ""
    calls = [re.match(r"(\d+)\s+(\w+)\(", line) for line in lines]
    return [match[2] for match in calls if match and match[1] == first]


def chosen(calls, wanted, draw):
    """Which calls to meet: every one that is not a write, and some of those, up to `wanted`."""
    rare = [number for number, call in enumerate(calls, 1) if call != "write"]
    common = [number for number, call in enumerate(calls, 1) if call == "write"]
    draw.shuffle(rare)
    draw.shuffle(common)
    few = rare[:max(wanted - min(len(common), wanted // 4), 0)]
    return sorted(few + common[:wanted - len(few)])


def at_calls(program, folder, reference, wanted, seed):
    """Kills as a call begins that changes files."""
    draw = random.Random(f"{seed} calls {reference.job.name}")
    tally = Tally()
    place = places.Place(folder / "call", reference.inputs, reference.job, reference.earlier)
    _, _, lines = traced(program, place, reference.job.command())
    for number in chosen(main_calls(lines), wanted, draw):
        place = places.Place(folder / "call", reference.inputs, reference.job, reference.earlier)
        code, talk, lines = traced(program, place, reference.job.command(), f"inject={CALLS}:signal=SIGKILL:when={number}")
        if code in reference.job.codes:
            tally.too_late += 1
            continue
        tally.kills += 1
        after(program, place, reference, tally, f"SIGKILL at call {number} ({(lines or ['?'])[-2:][0][:120]})", code, talk)
    shutil.rmtree(folder / "call", ignore_errors=True)
    return tally
