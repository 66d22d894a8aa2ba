#!/usr/bin/env python3
"""Draws perplexity over processor time from a folder of jsonl files.

    plot.py FOLDER [--out FILE.svg]

One panel a corpus, one line a tool: the median over seeds, with a band from the lowest to the highest.
"""

import argparse
import collections
import json
import pathlib

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as pyplot
import numpy

# Text stays text, and equal data give equal files.
STYLE = {
    "svg.fonttype": "none", "svg.hashsalt": "topics", "font.family": "sans-serif", "font.size": 9,
    "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.6,
}
# Colour-blind safe (Okabe and Ito).
# Ours have one colour, and tell each other apart by their dashes.
DASHES = {"learned": ":", "average": "--", "exact": "-.", "exact learned": (0, (1, 3)), "exact average": (0, (5, 1))}
COLOURS = ["#0072B2", "#56B4E9", "#009E73", "#E69F00", "#CC79A7", "#F0E442", "#000000"]
OURS = "#D55E00"


def curves(folder):
    """corpus -> tool -> runs, each a list of (seconds, perplexity)."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for path in sorted(pathlib.Path(folder).glob("*.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        if lines:
            run = [(line["cpu_seconds"], line["perplexity"]) for line in lines]
            found[lines[0]["corpus"]][lines[0]["tool"]].append(run)
    return found


def band(runs, points=60):
    """Times, and the lowest, median and highest perplexity of the runs at each."""
    first = max(run[0][0] for run in runs)
    last = max(run[-1][0] for run in runs)
    times = numpy.geomspace(first, last, points)
    # A run that has ended stays where it ended: numpy.interp holds the last value.
    values = [numpy.interp(numpy.log(times), *numpy.transpose([(numpy.log(t), p) for t, p in run])) for run in runs]
    return times, numpy.min(values, axis=0), numpy.median(values, axis=0), numpy.max(values, axis=0)


def panel(axes, corpus, tools, colours):
    for tool, runs in tools.items():
        times, low, middle, high = band(runs)
        axes.fill_between(times, low, high, color=colours[tool], alpha=0.2, linewidth=0)
        dashes = DASHES.get(tool.removeprefix("collapsar").strip(), "-") if tool.startswith("collapsar") else "-"
        axes.plot(times, middle, color=colours[tool], linewidth=1.4, linestyle=dashes, label=tool)
    # The first looks are far up; what matters is where the curves settle.
    ends = [run[-1][1] for runs in tools.values() for run in runs]
    axes.set_ylim(0.98 * min(ends), 1.25 * max(ends))
    axes.set_xscale("log")
    axes.set_xlabel("processor seconds")
    axes.set_title(corpus, loc="left", fontsize=9)
    axes.grid(True, linewidth=0.3, alpha=0.5)


def draw(found, path):
    tools = sorted({tool for by_tool in found.values() for tool in by_tool})
    peers = [tool for tool in tools if not tool.startswith("collapsar")]
    colours = {tool: COLOURS[i % len(COLOURS)] for i, tool in enumerate(peers)}
    colours |= {tool: OURS for tool in tools if tool not in peers}
    with pyplot.rc_context(STYLE):
        figure, row = pyplot.subplots(1, len(found), figsize=(3.6 * len(found), 3.0), squeeze=False)
        for axes, (corpus, by_tool) in zip(row[0], sorted(found.items(), reverse=True)):
            panel(axes, corpus, by_tool, colours)
        row[0][0].set_ylabel("held-out perplexity")
        handles = {label: handle for axes in row[0] for handle, label in zip(*axes.get_legend_handles_labels())}
        figure.legend(
            [handles[tool] for tool in tools], tools, loc="lower center",
            ncols=min(4, len(tools)), frameon=False, fontsize=8,
        )
        figure.tight_layout(rect=(0, 0.06 * -(-len(tools) // 4), 1, 1))
        figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, help="FOLDER/curves.svg if not given")
    args = parser.parse_args()
    found = curves(args.folder)
    if not found:
        parser.error(f"{args.folder}: no curves")
    draw(found, args.out or args.folder / "curves.svg")


if __name__ == "__main__":
    main()
