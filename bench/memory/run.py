"""Passes of mixtures over files that do not fit in memory: peak memory, and seconds a pass beside reading and computing.

A table of R rows by D columns is written as float64, in blocks of a hundred thousand rows that are repeated: passes read and compute as though
each row were another. Fits climb a few passes by vbem from random responsibilities, from the file and, where the machine has room, in
memory, in turn; what is told is the median. Nothing is kept but the results.
"""

import argparse
import array
import csv
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
from pathlib import Path

BLOCK = 100_000


def write_table(path, rows, columns, seed=1):
    """K groups in a block of rows, again and again."""
    draw = random.Random(seed)
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    numbers = array.array("d")
    for row in range(min(rows, BLOCK)):
        group = row % 8
        numbers.extend(draw.gauss(3 * ((group >> (d % 3)) & 1), 1) for d in range(columns))
    block = numbers.tobytes()
    with open(path, "wb", buffering=0) as out:
        out.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
        left = rows
        while left > 0:
            part = min(left, BLOCK)
            out.write(memoryview(block)[: part * columns * 8])
            left -= part


def read_once(path, direct):
    """Seconds to read a file from its beginning to its end: from the disk, or from wherever the system has it."""
    flags = ["iflag=direct"] if direct else []
    began = time.monotonic()
    done = subprocess.run(["dd", f"if={path}", "of=/dev/null", "bs=4M", *flags], stderr=subprocess.DEVNULL)
    return time.monotonic() - began if done.returncode == 0 else float("nan")


def watch(process, most):
    """The most that was ever resident: the system's own mark, as that of a child's usage knows the parent's memory too."""
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            return
        if found := re.search(r"VmHWM:\s+(\d+) kB", status):
            most.append(int(found[1]) * 1024 / 1e6)
        time.sleep(0.02)


def fit(program, path, options, memory):
    """Seconds of each step that is one pass, the most that was resident, and what the program says of reading."""
    arguments = [program, "mixture", path, "-k", options.components, "--memory", memory, "--method", "vbem"]
    arguments += ["--start", "random", "--max-passes", options.passes, "--tolerance", 0, "-v"]
    arguments += ["--posterior", "mean-field", "--threads", options.threads]
    began = time.monotonic()
    process = subprocess.Popen([str(word) for word in arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    most, steps = [], []
    watcher = threading.Thread(target=watch, args=(process, most))
    watcher.start()
    for line in process.stderr:
        if found := re.search(r"iteration \d+, (\d+) passes", line):
            steps.append((time.monotonic(), int(found[1])))
    summary = process.stdout.read()
    watcher.join()
    if status := process.wait():
        sys.exit(f"a fit ended with {status}")
    passes = [(b[0] - a[0]) / (b[1] - a[1]) for a, b in zip(steps, steps[1:])]
    bound = re.search(r"bound by ([a-z ]*), as threads waited for the file in (\d+)%", summary)
    reached = re.search(r"bound (-?[\d.]+) nats", summary)
    return {
        "pass_seconds": statistics.median(passes),
        "seconds": time.monotonic() - began,
        "peak_mb": max(most),
        "bound_by": bound[1] if bound else "",
        "waited_percent": int(bound[2]) if bound else "",
        "bound": reached[1],
        "load": os.getloadavg()[0],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="1000000,10000000,50000000")
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--components", type=int, default=20)
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--in-memory-to", type=int, default=10_000_000, help="rows that are fitted in memory too")
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--program", default="target/release/collapsar")
    parser.add_argument("--scratch", type=Path, default=None, help="a folder on the disk that is measured")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    lines = []
    options.out.mkdir(parents=True, exist_ok=True)
    for rows in map(int, options.rows.split(",")):
        with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
            path = Path(folder) / "table.npy"
            began = time.monotonic()
            write_table(path, rows, options.columns)
            written = time.monotonic() - began
            for turn in range(options.rounds):
                where = {"file": options.memory}
                if rows <= options.in_memory_to:
                    where["memory"] = "1TB"
                for place, memory in where.items():
                    line = {"rows": rows, "place": place, "turn": turn, "write_seconds": written}
                    line["disk_seconds"] = read_once(path, direct=True)
                    line["read_seconds"] = read_once(path, direct=False)
                    line |= fit(options.program, path, options, memory)
                    print(json.dumps(line), flush=True)
                    lines.append(line)
                    with open(options.out / "raw.csv", "w", newline="") as out:
                        writer = csv.DictWriter(out, lines[0].keys())
                        writer.writeheader()
                        writer.writerows(lines)
    with open(options.out / "summary.md", "w") as out:
        out.write(f"{options.columns} columns, {options.components} components, --memory {options.memory}, ")
        out.write(f"{options.threads} threads; medians of {options.rounds} rounds, seconds a pass\n\n")
        out.write("| rows | file | pass from the file | pass in memory | reading from the disk | reading again | peak |\n")
        out.write("|---|---|---|---|---|---|---|\n")
        for rows in dict.fromkeys(line["rows"] for line in lines):
            def median(place, what):
                found = [line[what] for line in lines if line["rows"] == rows and line["place"] == place]
                return statistics.median(found) if found else None
            gigabytes = rows * options.columns * 8 / 1e9
            cells = [median("file", "pass_seconds"), median("memory", "pass_seconds")]
            cells += [median("file", "disk_seconds"), median("file", "read_seconds")]
            cells = ["" if cell is None else f"{cell:.3g} s" for cell in cells]
            peak = f"{median('file', 'peak_mb'):.0f} MB"
            out.write(f"| {rows:,} | {gigabytes:.3g} GB | {' | '.join(cells)} | {peak} |\n")


if __name__ == "__main__":
    main()
