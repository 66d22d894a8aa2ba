"""Three flat clouds under priors of growing concentration: a Dirichlet distribution and process.

The data and settings of scikit-learn's plot_concentration_prior.

    python plot_concentration_prior.py OUT.png
"""

import sys

import numpy as np
from shared import panels


def data():
    rng = np.random.RandomState(2)
    clouds = [(200, 0.7, -0.7), (500, 0.5, 0.0), (200, 0.5, 0.7)]
    draws = [
        rng.multivariate_normal([0.0, height], np.diag([width, 0.1]), size)
        for size, width, height in clouds
    ]
    return np.vstack(draws)


def rows():
    settings = dict(
        reg_covar=0.0, init_params="random", max_iter=1500, mean_precision_prior=0.8, random_state=2
    )
    every = []
    for kind, components, priors in (
        ("distribution", 6, (1e-3, 1, 1e3)),
        ("process", 6, (1, 1e3, 1e5)),
    ):
        for prior in priors:
            wanted = dict(
                settings,
                n_components=components,
                weight_concentration_prior_type=f"dirichlet_{kind}",
                weight_concentration_prior=prior,
            )
            every.append((f"{kind}, {prior:g}", wanted))
    return every


if __name__ == "__main__":
    panels(data(), rows(), sys.argv[1])
