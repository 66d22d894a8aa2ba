#!/usr/bin/env python3
"""Writes the data that are simulated, and those of lsat from its table of patterns. See ../README.md."""

import math
import pathlib
import random
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent))
import jags

# About what the analysis of the real biopsies gives, rounded.
STATES = [0.15, 0.31, 0.39, 0.15]
ERROR = [[1, 0, 0, 0], [0.59, 0.41, 0, 0], [0.34, 0.04, 0.62, 0], [0.10, 0.04, 0.21, 0.65]]
SESSIONS = 157

# Bock and Lieberman (1970): how many of 1000 students gave each pattern of right answers, from 00000 to 11111.
LSAT = [3, 6, 2, 11, 1, 1, 3, 4, 1, 8, 0, 16, 0, 3, 2, 15, 10, 29, 14, 81, 3, 28, 15, 80, 16, 56, 21, 173, 11, 61, 28, 298]


def biops():
    draw = random.Random(1)
    rows = []
    for _ in range(SESSIONS):
        state = draw.choices(range(4), STATES)[0]
        readings = draw.choices(range(4), ERROR[state], k=draw.choice([2, 3, 3]))
        rows.append([readings.count(reading) for reading in range(4)])
    numbers = ", ".join(str(row[column]) for column in range(4) for row in rows)
    (HERE / "biops-data.R").write_text(
        f"# Simulated by make.py; not the biopsies of the original example.\n"
        f"ns <- {SESSIONS}\nprior <- c(1, 1, 1, 1)\nbiopsies <- structure(c({numbers}), .Dim = c({SESSIONS}, 4))\n"
    )


def lsat(_):
    rows = [[pattern >> (4 - item) & 1 for item in range(5)] for pattern, count in enumerate(LSAT) for _ in range(count)]
    return {"N": len(rows), "T": 5, "r": rows}


def item_response(draw, people=200, items=8):
    discrimination = [0.5, 0.8, 1, 1.2, 1.5, 1.5, 0.7, 1]
    difficulty = [-1.5, -1, -0.5, 0, 0.3, 0.6, 1, 1.4]
    rows = []
    for _ in range(people):
        ability = draw.gauss(0, 1)
        rows.append([int(draw.gauss(a * ability - b, 1) > 0) for a, b in zip(discrimination, difficulty)])
    return {"N": people, "T": items, "r": rows}


def spike_slab(draw, number=60):
    coefficients = [1.0, 0.4, 0, 0, 0.25, 0, -0.6, 0]
    rows, seen = [], []
    for _ in range(number):
        common = draw.gauss(0, 1)
        row = [round(0.5 * common + draw.gauss(0, 0.9), 3) for _ in coefficients]
        rows.append(row)
        seen.append(round(1 + sum(b * x for b, x in zip(coefficients, row)) + draw.gauss(0, 1), 3))
    return {"N": number, "P": len(coefficients), "precision": [400, 1], "X": rows, "y": seen}


def factor(draw, number=100):
    loadings = [[1, 0], [0.8, 0.3], [0.7, -0.3], [0, 1], [0.3, 0.8], [-0.2, 0.6]]
    centre = [1, 0, -1, 2, 0, 0.5]
    rows = []
    for _ in range(number):
        f = [draw.gauss(0, 1), draw.gauss(0, 1)]
        rows.append([round(m + l[0] * f[0] + l[1] * f[1] + draw.gauss(0, 0.6), 3) for m, l in zip(centre, loadings)])
    return {"N": number, "D": 6, "K": 2, "y": rows}


def states(draw, moves, length):
    state = 0
    for _ in range(length):
        yield state
        state = draw.choices(range(len(moves)), moves[state])[0]


def chain(draw, length=300):
    moves = [[0.85, 0.1, 0.05], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    shown = [[0.6, 0.2, 0.1, 0.1], [0.1, 0.6, 0.2, 0.1], [0.1, 0.1, 0.2, 0.6]]
    seen = [draw.choices(range(1, 5), shown[state])[0] for state in states(draw, moves, length)]
    prior = [[1 + 3 * (row == column) for column in range(3)] for row in range(3)]
    favoured = [[4, 1, 1, 1], [1, 4, 1, 1], [1, 1, 1, 4]]
    return {"T": length, "from": prior, "shown": favoured, "y": seen}


def chain_normal(draw, length=200):
    moves = [[0.9, 0.1], [0.2, 0.8]]
    seen = [round(draw.gauss([-0.8, 1][state], [0.8, 1][state]), 3) for state in states(draw, moves, length)]
    return {"T": length, "centre": [-1, 1], "y": seen}


def probit(draw, number=100):
    rows = [[1, round(draw.gauss(0, 1), 3), round(draw.gauss(0, 1), 3)] for _ in range(number)]
    answers = [int(draw.gauss(0.3 * x[0] + 1.2 * x[1] - 0.7 * x[2], 1) > 0) for x in rows]
    return {"N": number, "P": 3, "X": rows, "r": answers}


def poisson(draw, rate):
    """Counts events of a process of rate one."""
    count, time = 0, draw.expovariate(1)
    while time < rate:
        count, time = count + 1, time + draw.expovariate(1)
    return count


def poisson_mixture(draw, number=150):
    return {"N": number, "y": [poisson(draw, 2 if draw.random() < 0.6 else 5) for _ in range(number)]}


def random_effects(draw, groups=8, each=5):
    seen = [round(effect + draw.gauss(0, 1), 3) for effect in (draw.gauss(2, 0.7) for _ in range(groups)) for _ in range(each)]
    return {"N": groups * each, "G": groups, "group": [1 + i // each for i in range(groups * each)], "y": seen}


def crossed(draw, rows=6, columns=10):
    a, b = [draw.gauss(0, 1) for _ in range(rows)], [draw.gauss(0, 0.5) for _ in range(columns)]
    cells = [(r, c) for r in range(rows) for c in range(columns) if draw.random() < 0.8]
    return {
        "N": len(cells), "R": rows, "C": columns, "row": [r + 1 for r, _ in cells], "col": [c + 1 for _, c in cells],
        "y": [round(1 + a[r] + b[c] + draw.gauss(0, 0.8), 3) for r, c in cells],
    }


def correlations(draw, number=40):
    rows = []
    for _ in range(number):
        e = [draw.gauss(0, 1) for _ in range(3)]
        traits = [1 + e[0], 0.8 * e[0] + 0.6 * e[1], -0.3 * e[0] + 0.2 * e[1] + 0.9 * e[2]]
        rows.append([round(t + draw.gauss(0, 0.5), 3) if draw.random() > 0.2 else None for t in traits])
    return {"N": number, "R": [[float(r == c) for c in range(3)] for r in range(3)], "y": rows}


def classes(draw, people=200):
    right = [[0.2, 0.3, 0.15, 0.4, 0.25, 0.3], [0.8, 0.7, 0.65, 0.9, 0.7, 0.5]]
    rows = []
    for _ in range(people):
        kind = int(draw.random() < 0.35)
        rows.append([int(draw.random() < p) for p in right[kind]])
    return {"N": people, "T": 6, "r": rows}


def robust(draw, number=50):
    x = [round(draw.gauss(0, 1), 3) for _ in range(number)]
    return {"N": number, "x": x, "y": [round(1 + 2 * u + draw.gauss(0, 1) / math.sqrt(draw.gammavariate(2, 0.5)), 3) for u in x]}


def level(draw, length=60):
    at, seen = 0.0, []
    for t in range(length):
        at += draw.gauss(0, 0.4)
        seen.append(None if t % 15 == 9 else round(at + draw.gauss(0, 0.8), 3))
    return {"T": length, "y": seen}


def mixture_overlap(draw, number=200):
    return {"N": number, "y": [round(draw.gauss(-0.7, 0.8) if draw.random() < 0.6 else draw.gauss(1.2, 1), 3) for _ in range(number)]}


def ordered(draw, number=120):
    x = [round(draw.gauss(0, 1), 3) for _ in range(number)]
    behind = [0.2 + 0.9 * u + draw.gauss(0, 1) for u in x]
    return {"N": number, "cuts": [-0.5, 1], "x": x, "r": [int(y > -0.5) + int(y > 1) for y in behind]}


MADE = [lsat, item_response, spike_slab, factor, chain, chain_normal, probit, poisson_mixture, random_effects, crossed,
        correlations, classes, robust, level, mixture_overlap, ordered]


def main():
    biops()
    for seed, make in enumerate(MADE, 1):
        name = make.__name__.replace("_", "-")
        told = "From Bock and Lieberman (1970), by make.py." if make is lsat else "Simulated by make.py."
        (HERE / f"{name}-data.R").write_text(f"# {told}\n" + jags.dump(make(random.Random(seed))))


if __name__ == "__main__":
    main()
