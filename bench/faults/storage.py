"""Disks that are full, files that may not grow, folders that are read-only or vanish."""
import contextlib
import os
import random
import resource
import shutil
import signal
import subprocess
import time

import inputs
import kills
import place as places


@contextlib.contextmanager
def disk(folder):
    """A file system of its own in memory; only for root. Gives a way to change its size and flags."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256m", "faults", folder], capture_output=True, text=True)
    if mount.returncode:
        raise SystemExit(f"faults: no file system could be mounted ({mount.stderr.strip()}); run as root, or leave out storage")

    def again(flags):
        subprocess.run(["mount", "-o", "remount," + flags, folder], check=True, capture_output=True)

    try:
        yield again
    finally:
        subprocess.run(["umount", folder], check=True)


def used(folder):
    stat = os.statvfs(folder)
    return (stat.f_blocks - stat.f_bfree) * stat.f_frsize


def check(place, reference, tally, how, code, talk, program):
    """A run that is over: documented, told of, and nothing left; then the next one."""
    tally.kills += 1
    if code not in (0, 1) or (code == 1 and b"collapsar: error: " not in talk):
        tally.note(f"{how}: ended with {code}: {talk[-200:].decode(errors='replace')}")
    if code is not None and code >= 0 and place.strangers():
        tally.note(f"{how}: left {place.strangers()}")
    if code == 0 and places.differences(place.results(), reference.results):
        tally.note(f"{how}: ended with 0 and other {places.differences(place.results(), reference.results)}")
    kills.after(program, place, reference, tally, how, code, talk)
    return code


def full(program, folder, reference, draw, tally):
    """So many bytes free as draw says; then room for all."""
    sizes = [0, 4096, *(4096 * draw.randint(2, 60) for _ in range(3))]
    for size in sizes:
        with disk(folder / "disk") as again:
            place = places.Place(folder / "disk" / "place", reference.inputs, reference.job, reference.earlier)
            again(f"size={(used(place.folder) + size) // 1024}k")
            code, _, talk = places.run(program, reference.job.command(), place.folder, stdout=subprocess.DEVNULL)
            again("size=256m")
            check(place, reference, tally, f"{size} bytes free", code, talk, program)


def limited(program, folder, reference, draw, tally):
    """Files of so many bytes at most. The signal ends the program unless whoever starts it ignores it."""
    for size in (0, 1000, draw.randint(1000, 100_000)):
        for ignored in (True, False):
            def prepare():
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
                if ignored:
                    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

            place = places.Place(folder / "limited", reference.inputs, reference.job, reference.earlier)
            code, _, talk = places.run(program, reference.job.command(), place.folder, stdout=subprocess.DEVNULL, prepare=prepare)
            how = f"files of {size} bytes at most, signal {'ignored' if ignored else 'as it is'}"
            if code == -signal.SIGXFSZ:
                tally.kills += 1
                kills.after(program, place, reference, tally, how, code, talk)
            else:
                check(place, reference, tally, how, code, talk, program)


def read_only(program, folder, reference, tally):
    with disk(folder / "disk") as again:
        place = places.Place(folder / "disk" / "place", reference.inputs, reference.job, reference.earlier)
        again("ro")
        code, _, talk = places.run(program, reference.job.command(), place.folder, stdout=subprocess.DEVNULL)
        again("rw")
        if check(place, reference, tally, "read-only", code, talk, program) == 0 and reference.job.outputs:
            tally.note("read-only: ended with 0")


def vanishing(program, folder, reference, draw, tally):
    """The output folder is moved away, or removed, while the run is under way; the run may make it again."""
    for way in ("moved", "removed"):
        place = places.Place(folder / "vanish", reference.inputs, reference.job)
        out = place.folder / reference.job.outputs[0]
        process = places.start(program, reference.job.command(), place.folder, stdout=subprocess.DEVNULL)
        time.sleep(draw.random() * reference.typical())
        aside = folder / "aside"
        shutil.rmtree(aside, ignore_errors=True)
        with contextlib.suppress(OSError):
            out.rename(aside)
        if way == "removed":
            shutil.rmtree(aside, ignore_errors=True)
        code, _, talk = places.finish(process)
        tally.kills += 1
        if code not in (0, 1) or (code == 1 and b"collapsar: error: " not in talk) or places.panicked(code, talk):
            tally.note(f"folder {way}: ended with {code}: {talk[-200:].decode(errors='replace')}")
        # The user's files went with the folder, by the user's own hand.
        place.user = {name: what for name, what in place.user.items() if not name.startswith(reference.job.outputs[0].rstrip("/"))}
        again, _, talk = places.run(program, reference.job.command(), place.folder, stdout=subprocess.DEVNULL)
        different = places.differences(place.results(), reference.results)
        if again not in reference.job.codes or different or place.harmed():
            tally.note(f"folder {way}: the next run ended with {again}, other {different}, harmed {place.harmed()}")
    shutil.rmtree(folder / "aside", ignore_errors=True)


def study(options, program, folder, chosen):
    source = folder / "small"
    inputs.make(source, program)
    rows, wrong = [], []
    for job in chosen:
        draw = random.Random(f"{options.seed} storage {job.name}")
        reference = places.Reference(program, folder, source, job, timed=1)
        counts, found = [], []
        for part in (full, limited, read_only, vanishing):
            tally = kills.Tally()
            if part is read_only:
                part(program, folder, reference, tally)
            elif part is not vanishing or any(out.endswith("/") for out in job.outputs):
                part(program, folder, reference, draw, tally)
            counts.append(tally.kills)
            found += tally.wrong
        rows.append([job.name, *counts, len(found)])
        print(*rows[-1], *found[:3], sep="\t", flush=True)
        wrong += [f"{job.name}: {what}" for what in found]
    rows.append(["all", *(sum(row[column] for row in rows) for column in range(1, 6))])
    head = ["command", "disk full", "files limited", "read-only", "folder vanished", "wrong"]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n", wrong
