"""Passes of topic models over documents that do not fit in memory: peak memory, seconds to read them, and seconds a pass.

A corpus of D documents is written as LDA-C: a block of documents drawn from topics is repeated, so that passes read and compute as though
each document were another. Fits climb a few passes by vbem from random topics, from the file and, where the machine has room, in memory; where
both are done, bounds and the files of results are compared byte by byte. Nothing is kept but the results.
"""

import argparse
import csv
import filecmp
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from itertools import accumulate
from pathlib import Path

BLOCK = 20_000
SAME = ["documents.csv", "documents_sd.csv", "topics.csv", "topics.json", "topics_quality.csv", "correlations.csv", "posterior.csv"]


def block(documents, options, seed=1):
    """Documents as lines, each of a few of the topics, whose words fall off as those of languages do."""
    draw = random.Random(seed)
    words = list(range(options.vocabulary))
    topics = []
    for _ in range(options.topics):
        draw.shuffle(words)
        topics.append((words[:], list(accumulate(1 / (rank + 10) for rank in range(options.vocabulary)))))
    lines, entries = [], 0
    for _ in range(documents):
        counts = {}
        shares = [draw.gammavariate(0.2, 1) + 1e-9 for _ in topics]
        for topic in draw.choices(range(options.topics), shares, k=max(1, options.tokens // 10)):
            order, weights = topics[topic]
            for word in draw.choices(order, cum_weights=weights, k=10):
                counts[word] = counts.get(word, 0) + 1
        entries += len(counts)
        lines.append(f"{len(counts)} " + " ".join(f"{word}:{count}" for word, count in sorted(counts.items())))
    return ("\n".join(lines) + "\n").encode(), entries


def write_corpus(path, documents, options):
    """Entries of all documents, which are one block again and again."""
    text, entries = block(min(documents, BLOCK), options)
    whole, rest = divmod(documents, BLOCK)
    with open(path, "wb", buffering=0) as out:
        if documents <= BLOCK:
            out.write(text)
            return entries
        for _ in range(whole):
            out.write(memoryview(text))
        part = text.split(b"\n")[:rest]
        out.write(b"".join(line + b"\n" for line in part))
    return entries * whole + sum(int(line.split(b" ", 1)[0]) for line in part)


def watch(process, most):
    """The most that was ever resident: the system's own mark."""
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            return
        if found := re.search(r"VmHWM:\s+(\d+) kB", status):
            most.append(int(found[1]) * 1024 / 1e6)
        time.sleep(0.02)


def fit(path, out, memory, options):
    """Seconds of reading and of each pass, the most that was resident, and what `run.json` says of reading."""
    arguments = [options.program, "topics", path, "-k", options.topics, "--memory", memory, "--method", "vbem", "--out", out]
    arguments += ["--start", "random", "--max-passes", options.passes, "--tolerance", 0, "-v", "--posterior", "mean-field"]
    arguments += ["--threads", options.threads]
    began = time.monotonic()
    process = subprocess.Popen([str(word) for word in arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    most, steps = [], []
    watcher = threading.Thread(target=watch, args=(process, most))
    watcher.start()
    for line in process.stderr:
        if found := re.search(r"iteration \d+, (\d+) passes", line):
            steps.append((time.monotonic(), int(found[1])))
    watcher.join()
    if status := process.wait():
        sys.exit(f"a fit ended with {status}")
    ended = time.monotonic()
    passes = [(b[0] - a[0]) / (b[1] - a[1]) for a, b in zip(steps, steps[1:])]
    run = json.loads((out / "run.json").read_text())
    place = run["documents"]
    return {
        "read_seconds": steps[0][0] - began - steps[0][1] * statistics.median(passes),
        "pass_seconds": statistics.median(passes),
        "results_seconds": ended - steps[-1][0],
        "seconds": ended - began,
        "peak_mb": max(most),
        "in": place["in"],
        "pass_bytes": place.get("bytes_per_pass", ""),
        "bound_by": place.get("bound_by", ""),
        "bound": repr(run["bound"]),
        "load": os.getloadavg()[0],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", default="100000,2500000")
    parser.add_argument("--tokens", type=int, default=200, help="of a document")
    parser.add_argument("--vocabulary", type=int, default=20_000)
    parser.add_argument("--topics", type=int, default=20)
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--memory-of-small", default="100MB", help="where the corpus is fitted in memory too")
    parser.add_argument("--in-memory-to", type=int, default=100_000, help="documents that are fitted in memory too")
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--program", default="target/release/collapsar")
    parser.add_argument("--scratch", type=Path, default=None, help="a folder on the disk that is measured")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    lines = []
    options.out.mkdir(parents=True, exist_ok=True)
    for documents in map(int, options.documents.split(",")):
        with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
            folder = Path(folder)
            path = folder / "corpus.ldac"
            began = time.monotonic()
            entries = write_corpus(path, documents, options)
            about = {"documents": documents, "tokens": documents * max(1, options.tokens // 10) * 10, "entries": entries}
            about |= {"text_bytes": path.stat().st_size, "write_seconds": time.monotonic() - began}
            small = documents <= options.in_memory_to
            where = {"file": options.memory_of_small if small else options.memory}
            if small:
                where["memory"] = "1TB"
            for place, memory in where.items():
                line = about | {"memory": memory} | fit(path, folder / place, memory, options)
                if line["in"] != place:
                    sys.exit(f"documents were in {line['in']}, expected {place}")
                line["same"] = ""
                if place == "memory":
                    differ = [name for name in SAME if not filecmp.cmp(folder / "file" / name, folder / place / name, shallow=False)]
                    if differ or line["bound"] != lines[-1]["bound"]:
                        sys.exit(f"bounds {line['bound']} and {lines[-1]['bound']}; files that differ: {differ}")
                    line["same"] = "bit for bit"
                print(json.dumps(line), flush=True)
                lines.append(line)
                with open(options.out / "raw.csv", "w", newline="") as out:
                    writer = csv.DictWriter(out, lines[0].keys())
                    writer.writeheader()
                    writer.writerows(lines)
    with open(options.out / "table.md", "w") as out:
        out.write("| documents | tokens | --memory | documents in | read | a pass | bytes a pass | peak | results |\n")
        out.write("|---|---|---|---|---|---|---|---|---|\n")
        for line in lines:
            size = f"{line['pass_bytes'] / 1e6:.0f} MB" if line["pass_bytes"] else ""
            cells = [f"{line['documents']:,}", f"{line['tokens']:,}", line["memory"], line["in"], f"{line['read_seconds']:.3g} s"]
            cells += [f"{line['pass_seconds']:.3g} s", size, f"{line['peak_mb']:.0f} MB", line["same"]]
            out.write("| " + " | ".join(cells) + " |\n")


if __name__ == "__main__":
    main()
