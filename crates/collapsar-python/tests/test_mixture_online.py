"""Mixtures that learn from batches."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from pycollapsar import BayesianGaussianMixture


def rows(count, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.choice(3, count, p=[0.5, 0.3, 0.2])
    return rng.normal(np.array([[0, 0], [5, 1], [1, 6]])[z], 1.0)


@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
def test_batches_come_to_what_all_rows_say(covariance_type):
    X, held_out = rows(6000), rows(3000, 1)
    options = dict(n_components=5, covariance_type=covariance_type, random_state=0)
    batch = BayesianGaussianMixture(**options, max_iter=1000).fit(X)
    stream = BayesianGaussianMixture(**options, total_samples=len(X))
    for chunk in np.array_split(X, 20):
        stream.partial_fit(chunk)
    online = BayesianGaussianMixture(**options, learning_method="online").fit(X)
    assert stream.n_batch_iter_ == 61 and stream.n_iter_ == 20
    assert online.converged_ and len(online.lower_bounds_) == online.n_iter_
    best = batch.score(held_out)
    # Hundredths of a nat for a row of two numbers.
    assert stream.score(held_out) > best - 0.02
    assert online.score(held_out) > best - 0.02
    assert np.isnan(online.log_evidence_) and online.verdict_ is None
    assert online.posterior_ == "mean-field"


def test_results_do_not_depend_on_threads_and_pickling():
    X = rows(3000)
    made = []
    for jobs in (1, 4):
        mixture = BayesianGaussianMixture(n_components=4, random_state=3, n_jobs=jobs, batch_size=500)
        mixture.partial_fit(X)
        mixture = pickle.loads(pickle.dumps(mixture))
        made.append(mixture.partial_fit(rows(1000, 5)))
    a, b = made
    for name in ("weights_", "means_", "covariances_"):
        assert (getattr(a, name) == getattr(b, name)).all()
    a = BayesianGaussianMixture(n_components=4, random_state=3, learning_method="online")
    b = clone(a).set_params(n_jobs=1)
    assert (a.fit(X).means_ == b.fit(X).means_).all()


def test_weights_gaps_and_known_labels_in_batches():
    X = rows(3000)
    gappy = X.copy()
    gappy[::5, 0] = np.nan
    gappy[::50] = np.nan
    y = np.full(3000, -1)
    near = np.linalg.norm(X - [5, 1], axis=1) < 0.5
    y[np.flatnonzero(near)[:20]] = 0
    for covariance_type in ("full", "diag", "spherical", "tied"):
        mixture = BayesianGaussianMixture(
            n_components=4, covariance_type=covariance_type, random_state=0, total_samples=3000
        )
        mixture.partial_fit(X[:1000], y[:1000])
        mixture.partial_fit(gappy[1000:], y[1000:], sample_weight=np.tile([1.0, 0.5], 1000))
        assert np.abs(mixture.means_[0] - [5, 1]).max() < 0.5
        online = clone(mixture).set_params(learning_method="online").fit(gappy, y)
        assert np.abs(online.means_[0] - [5, 1]).max() < 0.5
        labels = online.fit_predict(gappy, y)
        assert (labels[y == 0] == 0).all()


def test_fits_go_on_in_batches_and_begin_anew():
    X = rows(2000)
    mixture = BayesianGaussianMixture(n_components=3, random_state=0, max_iter=500).fit(X)
    means = mixture.means_
    mixture.partial_fit(X)
    # Components are where the fit had them.
    assert np.abs(mixture.means_ - means).max() < 0.5
    again = mixture.fit(X)
    assert (again.means_ == means).all() and again.n_iter_ > 1
    warm = BayesianGaussianMixture(
        n_components=3, random_state=0, learning_method="online", warm_start=True
    )
    warm.fit(X)
    batches = warm.n_batch_iter_
    assert warm.fit(X).n_batch_iter_ > batches


def test_what_is_for_climbs_is_refused():
    X = rows(100)
    for name, value in [("jumps", True), ("method", "auto"), ("posterior", "exact"), ("n_init", 2)]:
        mixture = BayesianGaussianMixture(n_components=2, **{name: value})
        with pytest.raises(ValueError, match=f"{name}=.*learning_method='batch'"):
            mixture.partial_fit(X)
        with pytest.raises(ValueError, match=f"{name}=.*learning_method='batch'"):
            mixture.set_params(learning_method="online").fit(X)
    mixture = BayesianGaussianMixture(n_components=2).partial_fit(X)
    means = mixture.means_
    with pytest.raises(ValueError, match="features"):
        mixture.partial_fit(X[:, :1])
    assert (mixture.means_ == means).all()
    mixture.partial_fit(X[:1])
    with pytest.raises(ValueError):
        BayesianGaussianMixture(n_components=2, learning_decay=1.5).partial_fit(X)
    with pytest.raises(ValueError, match="n_samples >= n_components"):
        BayesianGaussianMixture(n_components=5).partial_fit(X[:3])


def test_passes_are_seen_and_stopped():
    X = rows(1000)
    seen = []
    mixture = BayesianGaussianMixture(
        n_components=3, learning_method="online", random_state=0, callback=lambda step: seen.append(step) or True
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        mixture.fit(X)
    assert len(seen) == 1 and mixture.n_iter_ == 1 and not mixture.converged_
    mixture.set_params(callback=None, max_iter=2, tol=0.0)
    with pytest.warns(ConvergenceWarning):
        mixture.fit(X)
    assert mixture.n_iter_ == 2
