"""Known labels of some rows: semi-supervised mixtures."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score

from pycollapsar import BayesianGaussianMixture


@pytest.fixture
def flowers():
    """Iris, with labels of five flowers of each species under numbers that are not those of their places."""
    found = load_iris()
    species = np.array([2, 0, 1])[found.target]
    y = np.full(150, -1)
    some = np.concatenate([np.arange(5) + 50 * k for k in range(3)])
    y[some] = species[some]
    return found.data, y, species


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("init_params", ["kmeans", "random"])
def test_components_keep_the_numbers_of_known_labels(flowers, covariance_type, init_params):
    X, y, species = flowers
    mixture = BayesianGaussianMixture(
        n_components=3,
        covariance_type=covariance_type,
        init_params=init_params,
        jumps=True,
        max_iter=1000,
        random_state=0,
    )
    labels = mixture.fit_predict(X, y)
    assert (labels[y >= 0] == y[y >= 0]).all()
    # From random responsibilities climbs end at lower optima: the bound tells, but five labels do not decide.
    assert (labels == species).mean() > (0.85 if init_params == "kmeans" else 0.75)
    assert mixture.predict(X).shape == (150,)


def test_y_is_ignored_unless_it_has_a_label_that_is_not_known(flowers):
    X, y, species = flowers
    plain = BayesianGaussianMixture(n_components=3, random_state=0)
    bound = clone(plain).fit(X).lower_bound_
    assert clone(plain).fit(X, species).lower_bound_ == bound
    assert clone(plain).fit(X, species.astype(float)).lower_bound_ == bound
    assert clone(plain).fit(X, ["a", "b", "c"] * 50).lower_bound_ == bound
    assert clone(plain).set_params(semi_supervised=False).fit(X, y).lower_bound_ == bound
    known = clone(plain).fit(X, y)
    assert known.lower_bound_ != bound
    every = clone(plain).set_params(semi_supervised=True).fit(X, species)
    # With all labels known there is nothing to climb: this is the evidence.
    assert every.n_iter_ <= 3
    again = clone(plain).set_params(semi_supervised=True, init_params="random").fit(X, species)
    assert again.lower_bound_ == pytest.approx(every.lower_bound_, abs=1e-8)
    assert len(cross_val_score(plain, X, species, cv=3)) == 3


def test_known_labels_with_weights_and_gaps(flowers):
    X, y, species = flowers
    X = X.copy()
    X[::7, 1] = np.nan
    weights = np.tile([1.0, 2.0, 0.0], 50)
    options = dict(n_components=3, random_state=0, init_params="random", max_iter=2000, tol=1e-7)
    weighted = BayesianGaussianMixture(**options).fit(X, y, sample_weight=weights)
    assert weighted.converged_
    labels = weighted.fit_predict(X, y, sample_weight=weights)
    assert (labels[y >= 0] == y[y >= 0]).all()


def test_fits_with_known_labels_are_pickled_and_go_on(flowers):
    X, y, _ = flowers
    mixture = BayesianGaussianMixture(n_components=3, random_state=0, warm_start=True, tol=1e-6, max_iter=2000)
    mixture.fit(X, y)
    bound = mixture.lower_bound_
    assert mixture.fit(X, y).lower_bound_ >= bound
    again = pickle.loads(pickle.dumps(mixture))
    assert (again.predict(X) == mixture.predict(X)).all()


def test_exact_draws_keep_known_labels(flowers):
    X, y, _ = flowers
    mixture = BayesianGaussianMixture(
        n_components=3, random_state=0, posterior="exact", n_draws=100, max_iter=1000
    ).fit(X, y)
    assert mixture.draws_["relabelled"] == 0


def test_refusals(flowers):
    X, y, species = flowers
    mixture = BayesianGaussianMixture(n_components=2, random_state=0)
    with pytest.raises(ValueError, match=r"labels from -1 to 2, expected -1 \(not known\) to 1"):
        mixture.fit(X, y)
    mixture = BayesianGaussianMixture(n_components=3, semi_supervised=True)
    with pytest.raises(ValueError, match="needs y"):
        mixture.fit(X)
    with pytest.raises(ValueError, match="expected 150 integers"):
        mixture.fit(X, species.astype(float))
    with pytest.raises(ValueError, match="expected 150 integers"):
        mixture.fit(X, species[:10])
