"""A noisy sine, under a Dirichlet process that wants few and one that wants many components.

The data and settings of scikit-learn's plot_gmm_sin.

    python plot_gmm_sin.py OUT.png
"""

import sys

import numpy as np
from shared import panels


def data():
    rng = np.random.RandomState(0)
    x = np.arange(100) * 4 * np.pi / 100 - 6
    noise = rng.normal(0, [0.1, 0.2], (100, 2))
    return np.c_[x + noise[:, 0], 3 * (np.sin(x) + noise[:, 1])]


def rows():
    settings = dict(
        n_components=10,
        weight_concentration_prior_type="dirichlet_process",
        mean_precision_prior=1e-2,
        covariance_prior=np.eye(2),
        random_state=2,
    )
    few = dict(settings, weight_concentration_prior=1e-2, init_params="random")
    many = dict(settings, weight_concentration_prior=1e2, init_params="kmeans")
    return [("concentration 0.01", few), ("concentration 100", many)]


if __name__ == "__main__":
    panels(data(), rows(), sys.argv[1])
