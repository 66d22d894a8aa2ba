"""Standard streams that are closed, full or broken; few descriptors, processes and little memory."""
import os
import resource
import subprocess

import inputs
import kills
import place as places

MEGABYTE = 1 << 20


def closed(*numbers):
    def prepare():
        for number in numbers:
            os.close(number)
    return prepare


def limit(which, value):
    return lambda: resource.setrlimit(which, (value, value))


def cases():
    """Name, what is done before the program begins, and streams of its own."""
    for numbers in ((0,), (1,), (2,), (1, 2), (0, 1, 2)):
        yield f"closed {' '.join(map(str, numbers))}", closed(*numbers), {}
    yield "standard output full", None, {"stdout": "/dev/full"}
    yield "standard error full", None, {"stderr": "/dev/full"}
    yield "both full", None, {"stdout": "/dev/full", "stderr": "/dev/full"}
    yield "standard output a broken pipe", None, {"stdout": "pipe"}
    yield "standard error a broken pipe", None, {"stderr": "pipe"}
    for number in (3, 4, 5, 6, 8, 12):
        yield f"{number} descriptors", limit(resource.RLIMIT_NOFILE, number), {}
    for size in (32, 64, 128, 256, 512):
        yield f"{size} MB of addresses", limit(resource.RLIMIT_AS, size * MEGABYTE), {}


def study(options, program, folder, chosen):
    source = folder / "small"
    inputs.make(source, program)
    rows, wrong = [], []
    for job in chosen:
        reference = places.Reference(program, folder, source, job, timed=1)
        tally, refused, aborted = kills.Tally(), 0, 0
        for name, prepare, streams in cases():
            place = places.Place(folder / "stream", source, job, reference.earlier)
            opened, given = [], {"stdout": subprocess.DEVNULL}
            for stream, what in streams.items():
                if what == "pipe":
                    reader, writer = os.pipe()
                    os.close(reader)
                    given[stream] = writer
                else:
                    given[stream] = os.open(what, os.O_WRONLY)
                opened.append(given[stream])
            args = [arg for arg in job.command() if arg != "--quiet"]
            code, _, talk = places.run(program, args, place.folder, prepare=prepare, **given)
            for number in opened:
                os.close(number)
            # The loader needs some descriptors and addresses before the program has begun.
            unborn = code == 127 and b"error while loading shared libraries" in talk
            # Small pieces of memory that cannot be had end every Rust program by abort.
            starved = "addresses" in name and (code in (-6, -11) or b"memory allocation of" in talk)
            if starved:
                code, talk = 1, b"collapsar: error: "
            aborted += starved
            tally.kills += 1
            refused += code not in (0, None) and not starved
            heard = "stderr" not in streams and "2" not in name.split(" ")[1:]
            if code not in (0, 1) and not unborn or (code == 1 and heard and b"collapsar: error: " not in talk):
                tally.note(f"{name}: ended with {code}: {talk[-250:].decode(errors='replace')}")
            if code == 0 and places.differences(place.results(), reference.results):
                tally.note(f"{name}: ended with 0 and other {places.differences(place.results(), reference.results)}")
            kills.after(program, place, reference, tally, name, code, talk)
        rows.append([job.name, tally.kills, refused, aborted, len(tally.wrong)])
        print(*rows[-1], *tally.wrong[:4], sep="\t", flush=True)
        wrong += [f"{job.name}: {what}" for what in tally.wrong]
    rows.append(["all", *(sum(row[column] for row in rows) for column in range(1, 5))])
    head = ["command", "runs", "ended with a sentence", "aborted for lack of memory", "wrong"]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n", wrong
