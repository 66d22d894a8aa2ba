"""What the peers' scripts share: options, the clock, when to look, and the lines of FILE.jsonl.

Import this before numpy: a BLAS reads its number of threads when it is loaded.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import json
import sys
import time

import numpy

import completion
import corpus

MANTISSAS = (2, 3, 5, 8, 12)


def grid(limit):
    """1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, ... and the limit itself."""
    points, scale = {1}, 1
    while scale <= limit:
        points |= {scale * mantissa for mantissa in MANTISSAS}
        scale *= 10
    return sorted({point for point in points if point < limit} | {limit})


def options(description):
    """The options that all peers have."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--train", required=True, help="docword file")
    parser.add_argument("--observed", required=True, help="docword file: half of each test document")
    parser.add_argument("--evaluated", required=True, help="docword file: the other half")
    parser.add_argument("--corpus", help="its name in the results, if not that of the training file")
    parser.add_argument("--tool", help="the tool's name in the results, to tell configurations apart")
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--alpha", default="0.02", help="prior of a document's topics, a number each")
    parser.add_argument("--beta", type=float, default=0.1, help="prior of a topic's words, a number each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--iterations", type=int, default=100, help="the most iterations, passes or sweeps")
    parser.add_argument("--budget", type=float, default=float("inf"), help="seconds of processor time")
    parser.add_argument("--out", required=True, help="FILE.jsonl, a line for each look at the model")
    parser.add_argument("--save", help="FILE.npz for the last phi and alpha, as completion.py reads them")
    return parser


class Clock:
    """Processor and wall seconds of fitting alone."""

    def __init__(self):
        self.cpu = self.wall = 0.0

    def start(self):
        self.cpu_began, self.wall_began = time.process_time(), time.perf_counter()

    def stop(self):
        self.cpu += time.process_time() - self.cpu_began
        self.wall += time.perf_counter() - self.wall_began


class Enough(Exception):
    """Ends a fit that runs inside the peer."""


class Curve:
    """Stops the clock at the iterations of the grid, evaluates the model and writes a line."""

    def __init__(self, args, tool, version, settings, tolerance=None):
        self.args, self.tolerance = args, tolerance
        self.grid = grid(args.iterations)
        self.train = corpus.read(args.train)
        self.observed, self.evaluated = corpus.read(args.observed), corpus.read(args.evaluated)
        self.clock = Clock()
        self.last_bound = None
        self.common = {
            "tool": args.tool or tool, "version": version, "corpus": args.corpus or corpus.name_of(args.train),
            "topics": args.topics, "alpha": number_or_word(args.alpha), "beta": args.beta, "seed": args.seed,
        }
        self.settings = settings
        self.file = open(args.out, "w")

    def visit(self, iteration, topics, weights, bound=None):
        """After an iteration; true if it was the last.

        `topics()` gives phi and alpha, `weights()` theta of the observed halves by the peer's own
        inference, `bound()` the peer's bound on the training data.
        """
        if iteration not in self.grid:
            return False
        self.clock.stop()
        phi, alpha = topics()
        value = bound() if bound else None
        last = iteration == self.grid[-1] or not self.affordable(iteration) or self.settled(iteration, value)
        perplexity = completion.perplexity(phi, alpha, self.observed, self.evaluated)
        # The peer's own inference only at the end: it may draw from the random numbers of the fit.
        own = completion.perplexity_of(weights(), numpy.asarray(phi), self.evaluated) if last else None
        self.write(iteration, perplexity, own, value)
        if last and self.args.save:
            numpy.savez(self.args.save, phi=phi, alpha=alpha)
        self.clock.start()
        return last

    def affordable(self, iteration):
        """Whether the next look is within the budget, if iterations go on costing the same."""
        following = self.grid[self.grid.index(iteration) + 1]
        return self.clock.cpu * following / iteration <= self.args.budget

    def settled(self, iteration, bound):
        """Whether an iteration gained less than the tolerance, relative, since the last look."""
        before, self.last_bound = self.last_bound, (iteration, bound)
        if bound is None or before is None or self.tolerance is None:
            return False
        return (bound - before[1]) / abs(bound) / (iteration - before[0]) < self.tolerance

    def write(self, iteration, perplexity, own, bound):
        line = self.common | {
            "iterations": iteration, "cpu_seconds": round(self.clock.cpu, 6), "wall_seconds": round(self.clock.wall, 6),
            "perplexity": perplexity, "perplexity_own": own, "bound": bound, "settings": self.settings,
        }
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()
        own = "" if own is None else f", by its own inference {own:.2f}"
        bound = "" if bound is None else f", bound {bound:.1f}"
        print(
            f"{self.common['tool']} {iteration}: {self.clock.cpu:.2f} s, perplexity {perplexity:.2f}{own}{bound}",
            file=sys.stderr, flush=True,
        )


def number_or_word(text):
    try:
        return float(text)
    except ValueError:
        return text
