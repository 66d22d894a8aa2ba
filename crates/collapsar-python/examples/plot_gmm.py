"""Two blobs and five components, as scikit-learn's plot_gmm shows them.

python plot_gmm.py OUT.png
"""

import sys

import numpy as np
from shared import panels


def data():
    rng = np.random.RandomState(0)
    long = rng.randn(500, 2) @ [[0.0, -0.1], [1.7, 0.4]]
    return np.vstack([long, 0.7 * rng.randn(500, 2) + [-6, 3]])


def rows():
    settings = dict(n_components=5, covariance_type="full")
    return [(f"random_state={seed}", dict(settings, random_state=seed)) for seed in (0, 1)]


if __name__ == "__main__":
    panels(data(), rows(), sys.argv[1])
