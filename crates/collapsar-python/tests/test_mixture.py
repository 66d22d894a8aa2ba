"""BayesianGaussianMixture beyond scikit-learn's own tests."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import multigammaln
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture as Theirs
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from pycollapsar import BayesianGaussianMixture

KINDS = ["full", "tied", "diag", "spherical"]
PRIORS = ["dirichlet_process", "dirichlet_distribution"]


@parametrize_with_checks([BayesianGaussianMixture()])
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


@pytest.fixture
def blobs():
    rng = np.random.default_rng(0)
    return np.vstack([rng.normal(0, 1, (200, 2)), rng.normal(6, [1, 2], (100, 2))])


def test_one_component_gives_the_evidence(blobs):
    # With one component nothing is left to approximate: the marginal likelihood of a
    # normal-Wishart in its textbook form.
    mixture = BayesianGaussianMixture(
        weight_concentration_prior_type="dirichlet_distribution", random_state=0
    ).fit(blobs)
    n, d = blobs.shape
    scale0, freedom0, worth0 = np.cov(blobs.T), d, 1.0
    centred = blobs - blobs.mean(axis=0)
    scale, freedom, worth = scale0 + centred.T @ centred, freedom0 + n, worth0 + n
    evidence = (
        -0.5 * n * d * np.log(np.pi)
        + multigammaln(freedom / 2, d)
        - multigammaln(freedom0 / 2, d)
        + 0.5 * freedom0 * np.linalg.slogdet(scale0)[1]
        - 0.5 * freedom * np.linalg.slogdet(scale)[1]
        + 0.5 * d * np.log(worth0 / worth)
    )
    # Eleven digits: sums over 300 rows in another order.
    assert mixture.log_evidence_ == pytest.approx(evidence, rel=1e-11)
    assert mixture.lower_bound_ == mixture.log_evidence_


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prior", PRIORS)
def test_the_predictive_density_is_one(kind, prior):
    rng = np.random.default_rng(1)
    X = np.r_[rng.normal(0, 1, 40), rng.normal(5, 0.5, 40)][:, None]
    mixture = BayesianGaussianMixture(
        n_components=3, covariance_type=kind, weight_concentration_prior_type=prior, random_state=0
    ).fit(X)
    density = lambda x: np.exp(mixture.score_samples([[x]])[0])  # noqa: E731
    total = quad(density, -300, 300, points=[0, 5], limit=400)[0]
    # The tails beyond 300 are those of Student-t with few degrees of freedom.
    assert total == pytest.approx(1.0, abs=2e-2)
    shares = mixture.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prior", PRIORS)
def test_means_are_scikit_learns_where_components_are_plain(blobs, kind, prior):
    settings = dict(
        n_components=2,
        covariance_type=kind,
        weight_concentration_prior_type=prior,
        random_state=0,
        tol=1e-8,
        max_iter=1000,
    )
    ours, theirs = BayesianGaussianMixture(**settings), Theirs(**settings)
    ours.fit(blobs), theirs.fit(blobs)
    order = [np.argsort(m.means_[:, 0]) for m in (ours, theirs)]
    # The optima of the two bounds differ by the spread of parameters, which is small here.
    np.testing.assert_allclose(ours.means_[order[0]], theirs.means_[order[1]], atol=2e-2)
    np.testing.assert_allclose(ours.weights_[order[0]], theirs.weights_[order[1]], atol=1e-2)
    for name in ("precisions_cholesky_", "covariances_", "mean_precision_"):
        assert np.shape(getattr(ours, name)) == np.shape(getattr(theirs, name)), name
    public = {name for name in vars(theirs) if name.endswith("_")}
    assert public <= set(vars(ours))


@pytest.mark.parametrize("kind", KINDS)
def test_vbem_follows_translations(blobs, kind):
    settings = dict(n_components=4, covariance_type=kind, method="vbem", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        here = BayesianGaussianMixture(**settings).fit(blobs)
        there = BayesianGaussianMixture(**settings).fit(blobs + 100)
    np.testing.assert_allclose(here.means_, there.means_ - 100, atol=1e-7)


def test_every_method_ends_where_the_others_do(blobs):
    bounds = [
        BayesianGaussianMixture(
            n_components=2, method=method, tol=1e-10, max_iter=2000, random_state=0
        )
        .fit(blobs)
        .log_evidence_
        for method in ("vbem", "fr", "pr", "hs", "lbfgs", "newton", "auto")
    ]
    np.testing.assert_allclose(bounds, bounds[0], atol=1e-5)


def test_jumps_do_not_lower_the_bound(blobs):
    plain = BayesianGaussianMixture(
        n_components=5, random_state=3, max_iter=3000, jumps=False
    ).fit(blobs)
    jumped = clone(plain).set_params(jumps=True).fit(blobs)
    assert jumped.log_evidence_ >= plain.log_evidence_ - 1e-3


@pytest.mark.parametrize("init", ["kmeans", "k-means++", "random", "random_from_data"])
def test_every_start_climbs(blobs, init):
    mixture = BayesianGaussianMixture(
        n_components=3, init_params=init, random_state=0, max_iter=2000, n_init=2
    ).fit(blobs)
    assert mixture.converged_
    assert np.all(np.diff(mixture.lower_bounds_) >= 0)
    assert mixture.lower_bounds_[-1] == mixture.lower_bound_


def test_no_steps_and_few(blobs):
    mixture = BayesianGaussianMixture(n_components=3, max_iter=0, random_state=0).fit(blobs)
    assert mixture.n_iter_ == 0 and not mixture.converged_
    with pytest.warns(ConvergenceWarning):
        BayesianGaussianMixture(n_components=3, max_iter=1, tol=0, random_state=0).fit(blobs)


def test_kinds_of_arrays_give_the_same_numbers(blobs):
    pandas = pytest.importorskip("pandas")
    blobs = blobs.astype(np.float32).astype(float)
    fitted = [
        BayesianGaussianMixture(n_components=2, random_state=0).fit(X)
        for X in (
            blobs,
            np.asfortranarray(blobs),
            blobs.astype(np.float32),
            blobs.tolist(),
            pandas.DataFrame(blobs, columns=["a", "b"]),
        )
    ]
    assert len({mixture.log_evidence_ for mixture in fitted}) == 1
    assert fitted[-1].feature_names_in_.tolist() == ["a", "b"]


def test_polars_frames_are_taken(blobs):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": blobs[:, 0], "b": blobs[:, 1]})
    mixture = BayesianGaussianMixture(n_components=2, random_state=0).fit(frame)
    assert mixture.feature_names_in_.tolist() == ["a", "b"]
    assert (mixture.predict(frame) == mixture.predict(polars.DataFrame({"a": blobs[:, 0], "b": blobs[:, 1]}))).all()


def test_progress_is_shown(blobs, capsys):
    pytest.importorskip("tqdm")
    BayesianGaussianMixture(n_components=2, random_state=0, progress=True).fit(blobs)
    assert "iterations" in capsys.readouterr().err


def test_threads_do_not_change_numbers(blobs):
    bounds = {
        BayesianGaussianMixture(n_components=3, random_state=0, n_jobs=jobs).fit(blobs).lower_bound_
        for jobs in (None, 1, 2, -1)
    }
    assert len(bounds) == 1


def test_copies_are_the_same(blobs):
    mixture = BayesianGaussianMixture(n_components=2, random_state=0).fit(blobs)
    copy = pickle.loads(pickle.dumps(mixture))
    np.testing.assert_array_equal(copy.score_samples(blobs), mixture.score_samples(blobs))
    again = clone(mixture).fit(blobs)
    assert again.lower_bound_ == mixture.lower_bound_


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_a_fit_is_not_made_anew_for_each_prediction(blobs, kind):
    mixture = BayesianGaussianMixture(n_components=3, covariance_type=kind, random_state=0)
    fit = mixture.fit(blobs)._fit_
    scores, (drawn, _) = mixture.score_samples(blobs), mixture.sample(9)
    assert mixture._fit_ is fit
    copy = pickle.loads(pickle.dumps(mixture))
    np.testing.assert_array_equal(copy.score_samples(blobs), scores)
    np.testing.assert_array_equal(copy.predict_proba(blobs), mixture.predict_proba(blobs))
    np.testing.assert_array_equal(copy.sample(9)[0], drawn)


def test_limits_hold_and_checkpoints_go_on(blobs, tmp_path):
    file = tmp_path / "run.ckpt"

    def fit(**more):
        settings = {"n_components": 4, "tol": 1e-6, "max_iter": 500, "method": "auto", **more}
        return BayesianGaussianMixture(random_state=0, **settings).fit(blobs)

    whole = fit()
    with pytest.warns(ConvergenceWarning):
        assert fit(max_seconds=0).n_iter_ == 2
    with pytest.warns(ConvergenceWarning):
        assert fit(max_passes=3).n_passes_ <= 5
    with pytest.warns(ConvergenceWarning):
        fit(max_iter=4, checkpoint=file)
    resumed = fit(resume=file)
    assert (resumed.lower_bound_, resumed.n_iter_) == (whole.lower_bound_, whole.n_iter_)
    np.testing.assert_array_equal(resumed.means_, whole.means_)
    with pytest.raises(ValueError, match="follow one climb"):
        fit(n_init=2, checkpoint=file)


def test_tools_of_scikit_learn_work(blobs):
    pipeline = make_pipeline(StandardScaler(), BayesianGaussianMixture(n_components=2))
    assert len(pipeline.fit(blobs).predict(blobs)) == len(blobs)
    assert np.all(np.isfinite(cross_val_score(BayesianGaussianMixture(), blobs, cv=3)))
    search = GridSearchCV(
        BayesianGaussianMixture(random_state=0, max_iter=1000), {"n_components": [1, 2]}, cv=3
    )
    assert search.fit(blobs).best_params_ == {"n_components": 2}
    parallel = GridSearchCV(
        BayesianGaussianMixture(random_state=0), {"n_components": [1, 2]}, n_jobs=2, cv=2
    )
    assert parallel.fit(blobs).best_params_ == {"n_components": 2}


def test_warm_starts_go_on(blobs):
    mixture = BayesianGaussianMixture(
        n_components=4, warm_start=True, max_iter=2, tol=1e-6, random_state=0
    )
    bounds = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for _ in range(5):
            bounds.append(mixture.fit(blobs).lower_bound_)
        assert np.all(np.diff(bounds) > 0)
        # Other data: from the labels that the fit gives them, so that components keep their places.
        before = mixture.set_params(max_iter=500).fit(blobs).means_[mixture.weights_.argmax()]
        other = mixture.fit(blobs[::2] + 0.01)
        after = other.means_[other.weights_.argmax()]
    np.testing.assert_allclose(after, before, atol=0.5)


def test_draws_have_the_mixtures_moments(blobs):
    mixture = BayesianGaussianMixture(n_components=2, random_state=0).fit(blobs)
    X, y = mixture.sample(20_000)
    assert X.shape == (20_000, 2) and np.all(np.diff(y) >= 0)
    expected = mixture.weights_ @ mixture.means_
    # Five standard errors of a mean of 20,000.
    np.testing.assert_allclose(X.mean(axis=0), expected, atol=5 * X.std(axis=0).max() / 141)
    with pytest.raises(ValueError, match="at least one"):
        mixture.sample(0)


def test_steps_are_shown_and_can_stop(blobs, capsys):
    seen = []
    mixture = BayesianGaussianMixture(
        n_components=4,
        random_state=0,
        tol=0,
        max_iter=500,
        verbose=1,
        verbose_interval=1,
        callback=lambda step: seen.append(step) or len(seen) == 3,
    )
    with pytest.warns(ConvergenceWarning):
        mixture.fit(blobs)
    assert [step["iteration"] for step in seen] == [1, 2, 3]
    # The first iteration is that of the start, and no step.
    assert mixture.n_iter_ == len(mixture.lower_bounds_) == 4
    assert "Initialization 0\n  Iteration 1\n" in capsys.readouterr().out


def test_a_callback_that_raises_leaves_a_usable_estimator(blobs):
    def callback(step):
        raise RuntimeError("enough")

    mixture = BayesianGaussianMixture(n_components=2, random_state=0, callback=callback)
    with pytest.raises(RuntimeError, match="enough"):
        mixture.fit(blobs)
    assert mixture.predict(blobs).shape == (300,)


def test_constant_and_collinear_columns_are_fitted(blobs):
    X = np.c_[blobs, np.ones(300), blobs[:, 0]]
    for kind in KINDS:
        mixture = BayesianGaussianMixture(n_components=2, covariance_type=kind, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            assert np.all(np.isfinite(mixture.fit(X).score_samples(X)))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_components": 0}, "n_components"),
        ({"method": "steepest"}, "method"),
        ({"covariance_prior": -np.eye(2)}, "positive-definite"),
        ({"mean_prior": [1.0]}, "means"),
        ({"degrees_of_freedom_prior": 0.5}, "degrees_of_freedom_prior"),
        ({"n_components": 301}, "n_samples"),
    ],
)
def test_bad_settings_are_refused(blobs, settings, words):
    with pytest.raises(ValueError, match=words):
        BayesianGaussianMixture(**settings).fit(blobs)


def test_weights_have_their_posterior(blobs):
    # The weights' posterior is what the counts say: prior plus expected rows.
    mixture = BayesianGaussianMixture(
        n_components=3, weight_concentration_prior_type="dirichlet_distribution", random_state=0, posterior="mean-field"
    ).fit(blobs)
    assert mixture.weight_concentration_.sum() == pytest.approx(300 + 1.0)
    a = mixture.weight_concentration_
    sd = np.sqrt(a * (a.sum() - a) / (a.sum() ** 2 * (a.sum() + 1)))
    np.testing.assert_allclose(mixture.weights_sd_, sd, rtol=1e-9)


@pytest.mark.parametrize("init_params", ["kmeans", "random"])
def test_climbs_begin_where_scikit_learn_s_do(init_params):
    X = np.random.default_rng(0).normal(size=(200, 3))
    seen = []

    class Watched(Theirs):
        def _initialize(self, X, resp):
            seen.append(resp)
            super()._initialize(X, resp)

    settings = dict(n_components=4, init_params=init_params, n_init=3, random_state=7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Watched(**settings, max_iter=1).fit(X)
    first = BayesianGaussianMixture(**settings)._first(X, np.random.RandomState(7))
    ((name, ours),) = first.items()
    assert len(ours) == 3
    for one, resp in zip(ours, seen):
        one = one / one.sum(axis=1, keepdims=True) if name == "responsibilities" else np.eye(4)[one]
        np.testing.assert_allclose(one, resp)
    # Each climb begins at its own.
    mixture = BayesianGaussianMixture(**settings, method="vbem", max_iter=2, tol=0)
    best = []
    for some in ([ours[0]], [ours[1]], [ours[2]], ours):
        mixture.set_params(n_init=len(some))
        mixture._first = lambda X, rng, weights, some=some: {name: some}
        with pytest.warns(UserWarning):
            best.append(mixture.fit(X).lower_bound_)
    assert best[3] == max(best[:3]) and len(set(best[:3])) == 3


def test_much_data_begin_with_a_sample_of_the_rows():
    rng = np.random.default_rng(0)
    centres = 20.0 * np.eye(4)
    truth = rng.integers(4, size=150_000)
    X = centres[truth] + rng.normal(size=(150_000, 4))
    mixture = BayesianGaussianMixture(n_components=4)
    (labels,) = mixture._first(X, np.random.RandomState(0))["labels"]
    distances = ((X[:, None] - np.array([X[labels == k].mean(axis=0) for k in range(4)])) ** 2).sum(-1)
    assert (distances.argmin(axis=1) == labels).mean() > 0.999


@pytest.mark.parametrize("kind", PRIORS)
@pytest.mark.parametrize("init", ["kmeans", "random"])
def test_iterations_are_those_of_scikit_learn(blobs, kind, init):
    for max_iter in (1, 2, 9):
        settings = dict(
            n_components=4,
            weight_concentration_prior_type=kind,
            init_params=init,
            reg_covar=0.0,
            random_state=3,
            tol=0.0,
            max_iter=max_iter,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            theirs = Theirs(**settings).fit(blobs)
            ours = BayesianGaussianMixture(**settings).fit(blobs)
        assert ours.n_iter_ == theirs.n_iter_ == max_iter
        np.testing.assert_allclose(ours.means_, theirs.means_, atol=1e-8)
        np.testing.assert_allclose(ours.covariances_, theirs.covariances_, atol=1e-8)
        np.testing.assert_allclose(ours.weights_, theirs.weights_, atol=1e-3)
        # The bounds differ by constants.
        gains = np.diff(ours.lower_bounds_)
        np.testing.assert_allclose(gains, np.diff(theirs.lower_bounds_), atol=1e-6)


@pytest.fixture
def overlapping():
    rng = np.random.default_rng(1)
    return np.vstack([rng.normal(0, 1, (120, 1)), rng.normal(2.2, 1, (80, 1))])


def fitted(X, posterior=None, **more):
    return BayesianGaussianMixture(
        n_components=2,
        weight_concentration_prior_type="dirichlet_distribution",
        weight_concentration_prior=2.0,
        tol=1e-8,
        max_iter=5000,
        random_state=0,
        posterior=posterior,
        **more,
    ).fit(X)


def test_deviations_know_of_rows_between_components(overlapping):
    plain, wide = fitted(overlapping, "mean-field"), fitted(overlapping)
    assert (plain.posterior_, wide.posterior_) == ("mean-field", "linear-response")
    # The same means, and labels that are not known make weights and means far less certain.
    assert np.array_equal(plain.means_, wide.means_)
    assert np.all(wide.weights_sd_ > 1.5 * plain.weights_sd_)
    assert np.all(wide.means_sd_ > 1.2 * plain.means_sd_)
    assert np.all(wide.covariances_sd_ > plain.covariances_sd_)
    assert 0.3 < wide.signs_["missing_information"] < 1.0
    assert plain.verdict_ != "trust"


def test_exact_draws_have_the_shapes_of_attributes(overlapping):
    mixture = fitted(overlapping, "exact", n_chains=2, n_draws=400)
    assert mixture.posterior_ == "exact"
    draws = mixture.draws_
    assert draws["weights"].shape == (2, 400, 2)
    assert draws["means"].shape == (2, 400, 2, 1)
    assert draws["covariances"].shape == (2, 400, 2, 1, 1)
    assert np.allclose(draws["weights"].sum(axis=-1), 1.0)
    assert np.allclose(draws["means"].mean(axis=(0, 1)), mixture.means_)
    assert np.allclose(draws["weights"].std(axis=(0, 1), ddof=1), mixture.weights_sd_)
    assert mixture.signs_["r_hat"] > 0.99
    # The density is the mean of the draws' own, of which every so many are taken.
    from scipy.stats import norm

    x = np.array([[0.3], [2.0]])
    weights, means = draws["weights"].reshape(-1, 2), draws["means"].reshape(-1, 2)
    sds = np.sqrt(draws["covariances"].reshape(-1, 2))
    each = [(weights * norm.pdf(at, means, sds)).sum(axis=1).mean() for at in x[:, 0]]
    assert np.allclose(np.exp(mixture.score_samples(x)), each, rtol=1e-10)
    again = pickle.loads(pickle.dumps(mixture))
    assert np.array_equal(again.score_samples(x), mixture.score_samples(x))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prior", PRIORS)
def test_every_kind_has_draws(blobs, kind, prior):
    mixture = BayesianGaussianMixture(
        n_components=3,
        covariance_type=kind,
        weight_concentration_prior_type=prior,
        random_state=0,
        posterior="exact",
        n_chains=2,
        n_draws=50,
    ).fit(blobs)
    shape = (3, *mixture.covariances_.shape) if kind == "tied" else mixture.covariances_.shape
    assert mixture.draws_["covariances"].shape == (2, 50, *shape)
    assert np.all(np.isfinite(mixture.score_samples(blobs)))
    assert mixture.predict_proba(blobs).shape == (300, 3)


def test_draws_do_not_depend_on_threads(overlapping):
    one, many = (fitted(overlapping, "exact", n_draws=20, n_jobs=jobs) for jobs in (1, 4))
    for name in ("weights", "means", "covariances"):
        assert np.array_equal(one.draws_[name], many.draws_[name])


def test_an_unknown_posterior_is_refused(overlapping):
    with pytest.raises(ValueError, match="posterior"):
        fitted(overlapping, "exactly")


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_weights_are_repeated_rows(kind):
    rng = np.random.default_rng(3)
    X = np.vstack([rng.normal(0, 1, (40, 2)), rng.normal(7, 1, (40, 2))])
    weights = rng.integers(0, 4, len(X))
    how = dict(n_components=2, covariance_type=kind, tol=1e-12, max_iter=2000, random_state=0)
    weighted = BayesianGaussianMixture(**how).fit(X, sample_weight=weights)
    repeated = BayesianGaussianMixture(**how).fit(np.repeat(X, weights, axis=0))
    order = [np.argsort(fit.means_[:, 0]) for fit in (weighted, repeated)]
    # A Dirichlet process prefers an order, which k-means does not.
    if (order[0] == order[1]).all():
        assert weighted.lower_bound_ == pytest.approx(repeated.lower_bound_, rel=1e-10)
    assert weighted.means_[order[0]] == pytest.approx(repeated.means_[order[1]], rel=1e-3)
    assert weighted.score(X, sample_weight=weights) == pytest.approx(
        weighted.score(np.repeat(X, weights, axis=0))
    )


def test_weights_that_are_none_are_refused():
    X = np.arange(6.0).reshape(3, 2) ** 2
    for bad in ([1, -1, 1], [1, np.nan, 1], [0, 0, 0]):
        with pytest.raises(ValueError, match="weight"):
            BayesianGaussianMixture().fit(X, sample_weight=bad)
    with pytest.raises(ValueError, match="sample_weight.shape"):
        BayesianGaussianMixture().fit(X, sample_weight=[1, 1])


@pytest.fixture
def tied_columns():
    """Two groups in which the second column follows the first, with gaps."""
    rng = np.random.default_rng(5)
    first = rng.normal(0, 1, 300)
    group = np.arange(300) % 2
    slope = np.where(group == 0, 2.0, -2.0)
    X = np.column_stack([first + 8 * group, slope * first + rng.normal(0, 0.3, 300)])
    gappy = X.copy()
    missing = rng.random(X.shape) < 0.2
    gappy[missing] = np.nan
    return X, gappy


@pytest.mark.parametrize("kind", KINDS)
def test_missing_values_are_integrated_out(kind, tied_columns):
    X, gappy = tied_columns
    mixture = BayesianGaussianMixture(n_components=2, covariance_type=kind, random_state=0)
    mixture.fit(gappy)
    whole = clone(mixture).fit(X)
    order = [np.argsort(fit.means_[:, 0]) for fit in (mixture, whole)]
    assert mixture.means_[order[0]] == pytest.approx(whole.means_[order[1]], abs=0.3)
    assert mixture.predict_proba(gappy).sum(axis=1) == pytest.approx(1.0)
    assert np.isfinite(mixture.score_samples(gappy)).all()
    # A row that says nothing has density one, and the weights for its probabilities.
    nothing = [[np.nan, np.nan]]
    assert mixture.score_samples(nothing) == pytest.approx(0.0, abs=1e-12)
    assert mixture.predict_proba(nothing)[0] == pytest.approx(mixture.weights_, abs=1e-12)


def test_missing_values_are_filled_in(tied_columns):
    X, gappy = tied_columns
    mixture = BayesianGaussianMixture(n_components=2, random_state=0).fit(gappy)
    filled, sd = mixture.impute(gappy, return_sd=True)
    given = ~np.isnan(gappy)
    assert (filled[given] == gappy[given]).all() and (sd[given] == 0.0).all()
    missing = np.isnan(gappy)
    partly = missing & ~missing.all(axis=1, keepdims=True)
    # The first column tells the group and, but for what the prior adds to covariances, the second column; the second tells no group.
    told = partly & [False, True]
    error = np.sqrt(np.mean((filled - X)[told] ** 2))
    assert error < 0.4 * X[:, 1].std()
    assert sd[told].max() < 1.5 < sd[partly & [True, False]].min()
    assert np.mean(np.abs((filled - X)[partly] / sd[partly]) < 1.96) > 0.85
    draws = mixture.impute(gappy, n_draws=400, random_state=1)
    assert draws.shape == (400, *X.shape)
    # Twenty times the error of a mean of so many draws at the most.
    assert draws.mean(axis=0)[told] == pytest.approx(filled[told], abs=0.5)
    # Both groups are drawn where nothing tells them apart.
    assert draws.std(axis=0)[partly] == pytest.approx(sd[partly], rel=0.3)
    assert (draws == mixture.impute(gappy, n_draws=400, random_state=1)).all()
    with pytest.raises(ValueError, match="n_draws"):
        mixture.impute(gappy, n_draws=0)


def test_columns_without_a_value_are_refused():
    X = np.array([[0.0, np.nan], [1.0, np.nan], [3.0, np.nan]])
    with pytest.raises(ValueError, match="no value"):
        BayesianGaussianMixture().fit(X)
