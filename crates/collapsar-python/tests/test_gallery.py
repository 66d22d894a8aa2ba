"""scikit-learn's gallery with the import changed: the same pictures."""

import importlib
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture as Theirs
from threadpoolctl import threadpool_limits

from pycollapsar import BayesianGaussianMixture

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))


def panels():
    for page in ("plot_gmm", "plot_gmm_sin", "plot_concentration_prior"):
        module = importlib.import_module(page)
        for title, settings in module.rows():
            yield pytest.param(module.data(), settings, id=f"{page}, {title}")


def fitted(kind, X, settings):
    # BLAS's threads wait for each other longer than they work.
    with threadpool_limits(1), warnings.catch_warnings():
        # plot_gmm's 100 iterations are not enough for either.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return kind(**settings).fit(X)


@pytest.mark.parametrize("X, settings", list(panels()))
def test_the_picture_is_that_of_scikit_learn(X, settings):
    theirs = fitted(Theirs, X, settings)
    ours = fitted(BayesianGaussianMixture, X, settings)
    assert (ours.n_iter_, ours.converged_) == (theirs.n_iter_, theirs.converged_)
    # Labels follow from predictive densities here, from expected logarithms there: they may differ
    # for a row halfway between components.
    assert adjusted_rand_score(theirs.predict(X), ours.predict(X)) > 0.99
    assert np.sum(ours.weights_ > 0.01) == np.sum(theirs.weights_ > 0.01)
    # What is drawn: the components that rows belong to.
    drawn = np.unique(theirs.predict(X))
    np.testing.assert_array_equal(drawn, np.unique(ours.predict(X)))
    np.testing.assert_allclose(ours.means_[drawn], theirs.means_[drawn], atol=1e-3)
    np.testing.assert_allclose(ours.covariances_[drawn], theirs.covariances_[drawn], atol=1e-3)
