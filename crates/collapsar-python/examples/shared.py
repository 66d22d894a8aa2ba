"""What the gallery's examples share: both classes side by side, and ellipses of components."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits


def fitted(kind, X, **settings):
    """A fit of either class; 100 iterations may not be enough for scikit-learn's."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return kind(**settings).fit(X)


def collapsed_bound(ours, X, mixture):
    """The collapsed bound at the labels of a fit: what makes two fits comparable.

    The climb begins at the labels and goes to the nearest optimum, without jumps.
    """

    class FromLabels(ours):
        def _first(self, X, rng):
            return {"labels": [mixture.predict(X)]}

    settings = mixture.get_params()
    known = set(ours().get_params())
    settings = {name: value for name, value in settings.items() if name in known}
    settings.update(jumps=False, max_iter=5000, tol=1e-6)
    return fitted(FromLabels, X, **settings).lower_bound_


def draw(axes, X, mixture, title):
    """Points by component, and an ellipse of two deviations' square root for each that has some."""
    import matplotlib.pyplot as plt
    from matplotlib.patches import Ellipse

    labels = mixture.predict(X)
    used = sorted(set(labels), key=lambda k: tuple(mixture.means_[k]))
    colours = {k: plt.cm.tab10(place % 10) for place, k in enumerate(used)}
    axes.scatter(*X.T, c=[colours[k] for k in labels], s=2)
    for k in used:
        values, vectors = np.linalg.eigh(mixture.covariances_[k])
        angle = np.degrees(np.arctan2(vectors[1, 0], vectors[0, 0]))
        width, height = 2 * np.sqrt(2) * np.sqrt(values)
        ellipse = Ellipse(
            mixture.means_[k], width, height, angle=angle, alpha=0.4, color=colours[k]
        )
        axes.add_patch(ellipse)
    axes.set(xticks=[], yticks=[])
    axes.set_title(title, fontsize=8)


def panels(X, rows, out):
    """Draws scikit-learn's fit above ours for each of the settings, and prints what they come to.

    `rows` are pairs of a title and settings.
    """
    import pycollapsar
    import matplotlib.pyplot as plt
    from sklearn import mixture as theirs
    from sklearn.metrics import adjusted_rand_score

    plt.switch_backend("Agg")
    kinds = {
        "scikit-learn": theirs.BayesianGaussianMixture,
        "collapsar": pycollapsar.BayesianGaussianMixture,
    }
    figure, axes = plt.subplots(2, len(rows), figsize=(2.6 * len(rows), 5), squeeze=False)
    for column, (title, settings) in enumerate(rows):
        labels = []
        for row, (name, kind) in enumerate(kinds.items()):
            mixture = fitted(kind, X, **settings)
            labels.append(mixture.predict(X))
            bound = collapsed_bound(kinds["collapsar"], X, mixture)
            said = f"{name}, {mixture.n_iter_} iterations, bound {bound:.1f}"
            alike = adjusted_rand_score(labels[0], labels[-1])
            heavy = np.sum(mixture.weights_ > 0.01)
            print(f"{title}: {said}, {heavy} weights over 1%, adjusted Rand index {alike:.3f}")
            draw(axes[row, column], X, mixture, f"{title}\n{said}")
    save(figure, out)


def save(figure, out):
    """Writes a small picture: 64 colours are enough for these."""
    from PIL import Image

    figure.tight_layout()
    figure.savefig(out, dpi=72)
    Image.open(out).convert("RGB").quantize(64).save(out, optimize=True)
