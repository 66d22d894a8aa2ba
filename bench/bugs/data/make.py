#!/usr/bin/env python3
"""Writes the data of biops, which are simulated. See ../README.md."""

import pathlib
import random

HERE = pathlib.Path(__file__).resolve().parent

# About what the analysis of the real biopsies gives, rounded.
STATES = [0.15, 0.31, 0.39, 0.15]
ERROR = [[1, 0, 0, 0], [0.59, 0.41, 0, 0], [0.34, 0.04, 0.62, 0], [0.10, 0.04, 0.21, 0.65]]
SESSIONS = 157


def main():
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


if __name__ == "__main__":
    main()
