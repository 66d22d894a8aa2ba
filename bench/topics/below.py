#!/usr/bin/env python3
"""Whether one tool's curve is below another's at every moment of a run.

    below.py FOLDER [--ours TOOL --theirs TOOL] [--csv FILE]

Ours at a moment is its last look so far, with the processor seconds of reading counted; theirs lies between two looks,
straight in the logarithm of time, with those of fitting alone. Both are the worse for us. Moments are all looks of both
from our first one on; a run that has ended stays where it ended.
"""

import argparse
import csv
import itertools
import json
import pathlib
import sys

import numpy

COLUMNS = ["corpus", "seed", "tool", "peer", "seconds", "perplexity", "peer_perplexity"]


def curves(folder):
    """(corpus, tool, seed) -> seconds and perplexities."""
    found = {}
    for path in sorted(folder.glob("*.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        if lines:
            seconds = [line.get("process_seconds", line["cpu_seconds"]) for line in lines]
            key = lines[0]["corpus"], lines[0]["tool"], lines[0]["seed"]
            found[key] = numpy.array(seconds), numpy.array([line["perplexity"] for line in lines])
    return found


def compared(ours, theirs):
    """Rows of seconds and both perplexities."""
    moments = numpy.unique(numpy.concatenate([ours[0], theirs[0]]))
    moments = moments[moments >= ours[0][0]]
    last = numpy.searchsorted(ours[0], moments, side="right") - 1
    peer = numpy.interp(numpy.log(moments), numpy.log(theirs[0]), theirs[1])
    return zip(moments, ours[1][last], peer)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--ours", action="append", default=[])
    parser.add_argument("--theirs", action="append", default=[])
    parser.add_argument("--csv", type=pathlib.Path, help="every moment")
    args = parser.parse_args()
    found = curves(args.folder)
    pairs = list(itertools.product(args.ours or ["collapsar exact"], args.theirs or ["tomotopy"]))
    every = []
    print("| corpus | seed | tool | peer | first look, s | moments below | nearest | at, s | last | peer's last |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for (corpus, tool, seed), curve in found.items():
        for ours, theirs in pairs:
            peer = found.get((corpus, theirs, seed))
            if tool != ours or peer is None:
                continue
            rows = list(compared(curve, peer))
            every += [[corpus, seed, tool, theirs, *map(float, row)] for row in rows]
            below = sum(row[1] < row[2] for row in rows)
            nearest = min(rows, key=lambda row: row[2] - row[1])
            print(
                f"| {corpus} | {seed} | {tool} | {theirs} | {rows[0][0]:.2f} | {below} of {len(rows)} "
                f"| {nearest[2] - nearest[1]:.1f} | {nearest[0]:.2f} | {curve[1][-1]:.1f} | {peer[1][-1]:.1f} |"
            )
    if not every:
        sys.exit(f"{args.folder}: no curves of {pairs}")
    if args.csv:
        with open(args.csv, "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *every])


if __name__ == "__main__":
    main()
