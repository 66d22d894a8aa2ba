"""Draws what scikit-learn's gallery shows of its Bayesian mixture, by its class and by ours.

Ours is drawn twice: as it is, and without its jumps out of poor optima.

Three settings of the gallery: two blobs and five components, a noisy sine with few and with many
components, and three flat clouds under priors of growing concentration.

    python gallery.py OUT.png
"""

import sys
import warnings

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import sklearn.mixture
from matplotlib.patches import Ellipse
from sklearn.exceptions import ConvergenceWarning

import collapsar

CLASSES = {
    "scikit-learn": sklearn.mixture.BayesianGaussianMixture,
    "collapsar": collapsar.BayesianGaussianMixture,
    "without jumps": lambda **settings: collapsar.BayesianGaussianMixture(**settings, jumps=False),
}


def blobs():
    rng = np.random.RandomState(0)
    long = rng.randn(500, 2) @ [[0.0, -0.1], [1.7, 0.4]]
    return np.vstack([long, 0.7 * rng.randn(500, 2) + [-6, 3]])


def sine():
    rng = np.random.RandomState(0)
    x = np.linspace(-6, -6 + 4 * np.pi, 100, endpoint=False)
    noise = rng.normal(0, [0.1, 0.6], (100, 2))
    return np.c_[x, 3 * np.sin(x)] + noise


def clouds():
    rng = np.random.RandomState(2)
    sizes, widths, heights = (200, 500, 200), (0.7, 0.5, 0.5), (-0.7, 0.0, 0.7)
    parts = zip(sizes, widths, heights)
    return np.vstack(
        [rng.normal([0, height], np.sqrt([width, 0.1]), (n, 2)) for n, width, height in parts]
    )


SINE = dict(
    n_components=10,
    mean_precision_prior=1e-2,
    covariance_prior=np.eye(2), init_params="random", random_state=2)
CLOUDS = dict(
    n_components=6,
    weight_concentration_prior_type="dirichlet_distribution",
    mean_precision_prior=0.8,
    init_params="random",
    max_iter=1500,
    random_state=2,
)
PANELS = [
    ("two blobs, 5 components", blobs, dict(n_components=5, random_state=0)),
    ("sine, concentration 0.01", sine, dict(SINE, weight_concentration_prior=1e-2)),
    ("sine, concentration 100", sine, dict(SINE, weight_concentration_prior=100)),
    ("clouds, concentration 0.001", clouds, dict(CLOUDS, weight_concentration_prior=1e-3)),
    ("clouds, concentration 1", clouds, dict(CLOUDS, weight_concentration_prior=1)),
    ("clouds, concentration 1000", clouds, dict(CLOUDS, weight_concentration_prior=1000)),
]


def draw(axes, X, mixture):
    labels = mixture.predict(X)
    axes.scatter(*X.T, c=labels, s=2, cmap="tab10", vmin=0, vmax=9)
    for k, (mean, covariance) in enumerate(zip(mixture.means_, mixture.covariances_)):
        if not np.any(labels == k):
            continue
        values, vectors = np.linalg.eigh(covariance)
        angle = np.degrees(np.arctan2(vectors[1, 0], vectors[0, 0]))
        width, height = 2 * np.sqrt(2) * np.sqrt(values)
        colour = plt.cm.tab10(k)
        axes.add_patch(Ellipse(mean, width, height, angle=angle, alpha=0.4, color=colour))
    axes.set(xticks=[], yticks=[])


def main(out):
    figure, rows = plt.subplots(3, len(PANELS), figsize=(3 * len(PANELS), 9))
    for row, (name, kind) in zip(rows, CLASSES.items()):
        for axes, (title, data, settings) in zip(row, PANELS):
            X = data()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                mixture = kind(**settings).fit(X)
            draw(axes, X, mixture)
            said = f"{name}: {mixture.n_iter_} iterations"
            if hasattr(mixture, "log_evidence_"):
                said += f", bound {mixture.log_evidence_:.1f}"
            axes.set_title(f"{title}\n{said}", fontsize=9)
    figure.tight_layout()
    figure.savefig(out, dpi=80)


if __name__ == "__main__":
    main(sys.argv[1])
