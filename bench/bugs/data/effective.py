#!/usr/bin/env python3
"""Writes the data of the models of ../effective.toml: simulated, but for rasch, whose counts of LSAT are those of Bock and Lieberman (1970)."""

import pathlib
import random
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.append(str(HERE.parent))
import jags

# People with each pattern of right answers, 00000 to 11111.
LSAT = [3, 6, 2, 11, 1, 1, 3, 4, 1, 8, 0, 16, 0, 3, 2, 15, 10, 29, 14, 81, 3, 28, 15, 80, 16, 56, 21, 173, 11, 61, 28, 298]


def write(name, **data):
    rounded = {key: value for key, value in data.items()}
    (HERE / f"{name}-data.R").write_text("# Written by effective.py.\n" + jags.dump(rounded))


def normals(draw, *shape):
    if not shape:
        return round(draw.gauss(0, 1), 4)
    return [normals(draw, *shape[1:]) for _ in range(shape[0])]


def main():
    draw = random.Random(14)
    N, D = 200, 3
    X, b = normals(draw, N, D), [0.8, -0.5, 0.0]
    above = [int(0.3 + sum(x * w for x, w in zip(row, b)) + draw.gauss(0, 1) > 0) for row in X]
    write("probit", above=above, X=X, N=N, D=D)

    N, J = 150, 8
    a, b = [0.6 + 0.2 * j for j in range(J)], [-1 + 0.3 * j for j in range(J)]
    theta = normals(draw, N)
    right = [[int(a[j] * t + b[j] + draw.gauss(0, 1) > 0) for j in range(J)] for t in theta]
    write("items", right=right, N=N, J=J)

    right = [[pattern >> (4 - j) & 1 for j in range(5)] for pattern, count in enumerate(LSAT) for _ in range(count)]
    write("rasch", right=right, N=len(right), J=5)

    N, D, K = 100, 6, 2
    W = [[1.2, 0], [1, 0.2], [0.8, -0.3], [0.1, 1], [-0.2, 0.9], [0.4, 0.7]]
    x = normals(draw, N, K)
    y = [[round(0.5 * d + sum(w * f for w, f in zip(W[d], row)) + draw.gauss(0, 0.6), 4) for d in range(D)] for row in x]
    write("factors", y=y, N=N, D=D, K=K)

    T, state, y = 200, 0, []
    for _ in range(T):
        state = state if draw.random() < (0.9, 0.8)[state] else 1 - state
        y.append(round(draw.gauss((-1, 1.5)[state], 1), 4))
    write("states", y=y, T=T, a=[[2, 1], [1, 2]])

    N, J = 150, 6
    p = [[0.9, 0.8, 0.85, 0.2, 0.3, 0.25], [0.2, 0.3, 0.1, 0.7, 0.8, 0.9]]
    x = [[int(draw.random() < prob) for prob in p[draw.random() < 0.4]] for _ in range(N)]
    write("classes", x=x, N=N, J=J, K=2, alpha=[1, 1])

    N = 300
    y = [round(draw.gauss(*((-1, 0.8) if draw.random() < 0.6 else (1.2, 1))), 4) for _ in range(N)]
    write("overlap", y=y, N=N, alpha=[1, 1])

    T, level, y = 100, 0, []
    for _ in range(T):
        level += draw.gauss(0, 0.3)
        y.append(round(level + draw.gauss(0, 1), 4))
    write("walk", y=y, T=T)


if __name__ == "__main__":
    main()
