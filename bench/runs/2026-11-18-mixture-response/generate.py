"""Rows of an overlapping mixture of full Gaussians: `generate.py SPREAD FILE`, centres normal with that deviation."""

import sys

import numpy as np

ROWS, COLUMNS, COMPONENTS = 100_000, 16, 20
rng = np.random.default_rng(1)
weights = np.exp(0.6 * rng.normal(size=COMPONENTS))
weights /= weights.sum()
centres = float(sys.argv[1]) * rng.normal(size=(COMPONENTS, COLUMNS))
labels = rng.choice(COMPONENTS, size=ROWS, p=weights)
X = np.empty((ROWS, COLUMNS))
for k in range(COMPONENTS):
    axes, _ = np.linalg.qr(rng.normal(size=(COLUMNS, COLUMNS)))
    # Deviations between 0.58 and 1.73 along random axes.
    sds = np.sqrt(np.exp(rng.uniform(-np.log(3), np.log(3), COLUMNS)))
    own = labels == k
    X[own] = centres[k] + (rng.normal(size=(own.sum(), COLUMNS)) * sds) @ axes
np.save(sys.argv[2], X)
