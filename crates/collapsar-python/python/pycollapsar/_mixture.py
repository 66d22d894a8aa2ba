"""Mixtures of Gaussians with scikit-learn's interface."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from os import PathLike
from time import monotonic
from typing import Any
from zlib import adler32

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from . import _collapsar
from ._errors import DataError, SettingError
from ._levels import Mixed, columns_of, refuse
from ._plan import METHODS, column, plan, trace, watcher
from ._plot import bundle_of, plot_of

_NOT_CONVERGED = (
    "Best performing initialization did not converge. Try different init parameters, or"
    " increase max_iter, tol, or check for degenerate data."
)

#: With more numbers times components than this, a start is made from some of the rows.
_MANY = 2_000_000

#: Rows that are looked at together.
_CHUNK = 16_384


class BayesianGaussianMixture(DensityMixin, BaseEstimator):
    """A Bayesian mixture of Gaussians, its weights and component parameters integrated out.

    Parameters, methods and fitted attributes are those of scikit-learn's class of the same name.
    By default it ends where scikit-learn's ends, and sooner. The bound that is climbed is the
    collapsed one, which is never below scikit-learn's at the same responsibilities; ``jumps=True``
    looks for the higher optima that there are.

    Parameters
    ----------
    n_components : int, default=1
        The number of components, or the truncation of the Dirichlet process.
    covariance_type : {'full', 'tied', 'diag', 'spherical'}, default='full'
        How the covariances are shaped.
    tol : float, default=1e-3
        The climb has converged when a step raises the bound by less than this many nats.
    reg_covar : float, default=1e-6
        Added to the diagonal of the prior covariance where it comes from the data and is singular
        (and a ten-thousandth of the mean variance, if that is more). Elsewhere it is not needed:
        the prior keeps covariances positive definite.
    max_iter : int, default=100
        Most iterations of a climb, counted as scikit-learn counts them.
    n_init : int, default=1
        Climbs, of which the best is kept.
    init_params : {'kmeans', 'k-means++', 'random', 'random_from_data'}, default='kmeans'
        Where climbs begin: where scikit-learn's class does, by the same random numbers. With much
        data, k-means sees a sample of the rows.
    weight_concentration_prior_type : {'dirichlet_process', 'dirichlet_distribution'}
        The prior of the weights.
    weight_concentration_prior : float, default=None
        Its concentration; 1 / n_components where it is None.
    mean_precision_prior : float, default=None
        How many data the prior mean is worth; 1 where it is None.
    mean_prior : array-like of shape (n_features,), default=None
        The prior mean; that of the data where it is None.
    degrees_of_freedom_prior : float, default=None
        How many data the prior covariance is worth; n_features where it is None.
    covariance_prior : float or array-like, default=None
        The prior covariance; that of the data where it is None.
    random_state : int, RandomState instance or None, default=None
        Where climbs begin, and what `sample` draws.
    warm_start : bool, default=False
        Whether `fit` goes on from where the last one ended.
    verbose : int, default=0
        Whether steps are printed.
    verbose_interval : int, default=10
        How many steps there are between two that are printed.
    method : {'auto', 'vbem', 'fr', 'pr', 'hs', 'lbfgs', 'newton'}, default=None
        How to climb. None takes scikit-learn's own steps, 'vbem', and ends where its class ends;
        with `jumps` it is 'auto', which takes far fewer steps to an optimum, most often the same.
    jumps : bool, default=False
        Whether climbs try to split and merge components once they slow down. They end at higher
        bounds then, with other components than scikit-learn's class finds.
    posterior : {'mean-field', 'linear-response', 'exact'}, default=None
        Which posterior standard deviations are of: the fit's own, fast and too sure of itself; the same
        means with deviations that know of rows whose component is uncertain; or Markov chains that begin
        at the fit. None takes linear response, or mean field where that would cost more than the fit did.
    n_chains, n_draws : int, default=4 and 1000
        Markov chains, and draws of each, where the posterior is exact.
    n_warmup : int, default=None
        Draws of each chain before the first that is kept; a quarter of `n_draws` where it is None.
    learning_method : {'batch', 'online'}, default='batch'
        'batch' climbs with all rows; 'online' takes stochastic steps, a batch of rows each, in an order
        that is drawn anew for each pass, which is for more rows than are climbed with in good time.
        `partial_fit` is always online.
    learning_decay, learning_offset : float, default=0.7 and 10.0
        Batch t counts (learning_offset + t) ** -learning_decay, and what came before it the rest.
    batch_size : int, default=128
        Rows of a batch in `fit`; `partial_fit` takes what it is given in such batches too.
    total_samples : float, default=1e6
        How many rows there will be, in `partial_fit`.
    semi_supervised : bool, default=None
        Whether the labels `y` of `fit` are components that rows are known to be of. None takes them for
        that where one of them is -1, scikit-learn's word for a label that is not known, and leaves them
        aside elsewhere, as scikit-learn's class does.
    categorical : list of str or int, default=None
        Columns of X that are categorical, by name or by place from 0, beside those that a frame says are: of categories,
        booleans or text. Given the component, each is multinomial and independent of the others; a cell that is None or NaN is
        missing at random.
    level_concentration_prior : float, default=None
        How many rows each level of a categorical column is worth beforehand; 0.5 where it is None.
    n_jobs : int, default=None
        Threads; None and -1 mean all processors. Results are the same for any number.
    callback : callable, default=None
        Is called with a dictionary after each step; the climb stops where it returns True.
    progress : bool, default=False
        Whether to show a progress bar (needs tqdm).
    max_passes : int, default=None
        Most passes over the data of a climb.
    max_seconds : float, default=None
        Seconds after which everything stops, and the best so far is kept.
    checkpoint, resume : str or path, default=None
        Where to write what is needed to go on, now and then and at the end; and what to go on from,
        with the same data and parameters, to the same numbers. They follow one climb.

    Attributes
    ----------
    weights_, means_, covariances_, precisions_, precisions_cholesky_ : ndarray
        As scikit-learn's: expected weights and means, inverses of the expected precisions.
    weight_concentration_ : tuple of arrays or ndarray
        The posterior of the weights.
    mean_precision_, degrees_of_freedom_ : ndarray
        How many data each component's posterior mean and covariance are worth.
    weights_sd_, means_sd_, covariances_sd_ : ndarray
        Posterior standard deviations; NaN where they are infinite.
    posterior_ : str
        Which posterior they are of.
    verdict_ : str
        How far to trust them: 'trust', 'trust-means' (but not deviations) or 'doubt'.
    signs_ : dict
        What that is from: how much information is missing, k-hat of the weights of draws of the
        fit, R-hat and the smallest effective sample size of chains, and why it is mean field's
        where another was to be (``refused``).
    draws_ : dict of ndarray or None
        Exact draws: ``weights`` of shape (n_chains, n_draws, n_components), ``means`` with the features
        as a last axis, ``covariances`` in the shape of `covariances_` after the first two axes (with one
        for each component where they are tied). Components are matched to those of the fit.
    unused_weight_ : float
        Under a Dirichlet process, the expected weight of components that no datum has used.
    log_evidence_ : float
        The bound in nats with all its constants: it can be compared between models.
    lower_bound_ : float
        The same.
    lower_bounds_ : list of float
        The highest bound so far, after each iteration of the best climb.
    trace_ : dict of ndarray
        All that is known of each step.
    converged_ : bool
    n_iter_, n_passes_ : int
        Iterations, of which the first finds the bound of the start, and passes over the data. Online, passes
        over the rows, or calls of `partial_fit`.
    n_batch_iter_ : int
        Where learning is online, batches learned from, and one more, as scikit-learn counts. `log_evidence_` is
        NaN then, `verdict_` None, and `lower_bounds_` has a score of each pass of `fit`: what was said of rows
        before they were learned from, in nats a row.
    level_probabilities_, level_probabilities_sd_ : dict of ndarray
        For each categorical column, by its name (or ``'column 3'`` in an array), the expected probability of each level in each component,
        of shape (n_components, n_levels), and its standard deviation. Empty where no column is categorical. Means and
        covariances are those of the other columns, in their order.
    levels_ : dict of ndarray
        What the levels are.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    `score_samples` is the log of the posterior predictive density, a mixture of Student-t, which
    integrates to one. scikit-learn's is not a density: it averages logarithms.

    Examples
    --------
    >>> import numpy as np
    >>> from pycollapsar import BayesianGaussianMixture
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(0, 1, (50, 2)), rng.normal(9, 1, (50, 2))])
    >>> mixture = BayesianGaussianMixture(n_components=5, random_state=0).fit(X)
    >>> sorted(mixture.weights_.round(1).tolist())
    [0.0, 0.0, 0.0, 0.5, 0.5]
    >>> a, b = mixture.predict([[0, 0], [9, 9]])
    >>> bool(a != b)
    True
    """

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "covariance_type": [StrOptions({"spherical", "tied", "diag", "full"})],
        "tol": [Interval(Real, 0.0, None, closed="left")],
        "reg_covar": [Interval(Real, 0.0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "init_params": [StrOptions({"kmeans", "random", "random_from_data", "k-means++"})],
        "weight_concentration_prior_type": [
            StrOptions({"dirichlet_process", "dirichlet_distribution"})
        ],
        "weight_concentration_prior": [None, Interval(Real, 0.0, None, closed="neither")],
        "mean_precision_prior": [None, Interval(Real, 0.0, None, closed="neither")],
        "mean_prior": [None, "array-like"],
        "degrees_of_freedom_prior": [None, Interval(Real, 0.0, None, closed="neither")],
        "covariance_prior": [None, "array-like", Interval(Real, 0.0, None, closed="neither")],
        "random_state": ["random_state"],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
        "verbose_interval": [Interval(Integral, 1, None, closed="left")],
        "method": [None, StrOptions(set(METHODS))],
        "jumps": ["boolean"],
        "posterior": [None, StrOptions({"mean-field", "linear-response", "exact"})],
        "n_chains": [Interval(Integral, 1, None, closed="left")],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "n_warmup": [None, Interval(Integral, 0, None, closed="left")],
        "learning_method": [StrOptions({"batch", "online"})],
        "learning_decay": [Interval(Real, 0, 1, closed="both")],
        "learning_offset": [Interval(Real, 1.0, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "total_samples": [Interval(Real, 0, None, closed="neither")],
        "semi_supervised": [None, "boolean"],
        "categorical": [None, "array-like"],
        "level_concentration_prior": [None, Interval(Real, 0.0, None, closed="neither")],
        "n_jobs": [None, Integral],
        "callback": [None, callable],
        "progress": ["boolean"],
        "max_passes": [None, Interval(Integral, 1, None, closed="left")],
        "max_seconds": [None, Interval(Real, 0.0, None, closed="left")],
        "checkpoint": [None, str, PathLike],
        "resume": [None, str, PathLike],
    }

    def __init__(
        self,
        *,
        n_components=1,
        covariance_type="full",
        tol=1e-3,
        reg_covar=1e-6,
        max_iter=100,
        n_init=1,
        init_params="kmeans",
        weight_concentration_prior_type="dirichlet_process",
        weight_concentration_prior=None,
        mean_precision_prior=None,
        mean_prior=None,
        degrees_of_freedom_prior=None,
        covariance_prior=None,
        random_state=None,
        warm_start=False,
        verbose=0,
        verbose_interval=10,
        method=None,
        jumps=False,
        posterior=None,
        n_chains=4,
        n_draws=1000,
        n_warmup=None,
        learning_method="batch",
        learning_decay=0.7,
        learning_offset=10.0,
        batch_size=128,
        total_samples=1e6,
        semi_supervised=None,
        categorical=None,
        level_concentration_prior=None,
        n_jobs=None,
        callback=None,
        progress=False,
        max_passes=None,
        max_seconds=None,
        checkpoint=None,
        resume=None,
    ):
        self.n_components = n_components
        self.covariance_type = covariance_type
        self.tol = tol
        self.reg_covar = reg_covar
        self.max_iter = max_iter
        self.n_init = n_init
        self.init_params = init_params
        self.weight_concentration_prior_type = weight_concentration_prior_type
        self.weight_concentration_prior = weight_concentration_prior
        self.mean_precision_prior = mean_precision_prior
        self.mean_prior = mean_prior
        self.degrees_of_freedom_prior = degrees_of_freedom_prior
        self.covariance_prior = covariance_prior
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose
        self.verbose_interval = verbose_interval
        self.method = method
        self.jumps = jumps
        self.posterior = posterior
        self.n_chains = n_chains
        self.n_draws = n_draws
        self.n_warmup = n_warmup
        self.learning_method = learning_method
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.batch_size = batch_size
        self.total_samples = total_samples
        self.semi_supervised = semi_supervised
        self.categorical = categorical
        self.level_concentration_prior = level_concentration_prior
        self.n_jobs = n_jobs
        self.callback = callback
        self.progress = progress
        self.max_passes = max_passes
        self.max_seconds = max_seconds
        self.checkpoint = checkpoint
        self.resume = resume

    def fit(self, X, y=None, sample_weight=None, *, engine=None):
        """Fit the mixture to the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data. A C-contiguous array of float64 is not copied. NaN is a value that is missing at
            random, and integrated out. With an engine: a list of files or arrays, a Ray Dataset, or a
            `pycollapsar.distributed.Dataset`.
        y : array-like of shape (n_samples,), default=None
            Integers: the component that a row is known to be of, from 0, or -1 where it is not known. Such
            a row is of its component with probability one. See `semi_supervised` for when it is ignored.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row is there: 2 is as two rows, 0 as none. Weights need not be whole
            numbers, unless the posterior is exact.
        engine : {'local', 'ray', 'mpi'} or pycollapsar.distributed.Engine, default=None
            Who holds the rows: workers in threads, actors of Ray, ranks of MPI. The fit is the same to the
            bit with any of them and any number of workers. Rows have no weights and no missing values then,
            climbs begin at k-means of the library's own, and deviations are mean field's.

        Returns
        -------
        self
        """
        if engine is not None:
            from .distributed._estimator import fit

            refuse(X, self.categorical, "an engine")
            self._columns = None
            return fit(self, X, sample_weight, engine)
        self._fit(X, sample_weight, y)
        return self

    def fit_predict(self, X, y=None, sample_weight=None):
        """Fit the mixture to the rows of X and label them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), default=None
            The components that rows are known to be of, as in `fit`: they keep these labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row is there; once where it is None.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        X = self._fit(X, sample_weight, y)
        labels = self._labels(X)
        known = self._known(X, y)
        return labels if known is None else np.where(known < 0, labels, known)

    @_fit_context(prefer_skip_nested_validation=True)
    def _fit(self, X, sample_weight, y=None):
        levels = None
        columns = columns_of(X, self.categorical)
        if columns is not None:
            self._check_levels()
            mixed = columns.of(X, self, reset=True)
            X, levels = mixed.values, mixed.codes
        else:
            X = validate_data(
                self,
                X,
                dtype=np.float64,
                order="C",
                ensure_min_samples=2,
                ensure_all_finite="allow-nan",
            )
        n_features = X.shape[1]
        self._check_rows(X)
        options = self._options(n_features)
        if columns is not None:
            options["categories"] = [
                (len(known), codes) for known, codes in zip(columns.levels, levels)
            ]
        weights = options["row_weights"] = self._weights(X, sample_weight)
        options["known"] = self._known(X, y)
        if self.learning_method == "online":
            return self._fit_online(X, options)
        about = self._about(X, options) if self.warm_start else None
        again = self.warm_start and hasattr(self, "converged_")
        rng = check_random_state(self.random_state)
        stopped, most = None, int(self.max_iter)
        if again:
            self._go_on(X, options)
        elif self.resume is None:
            try:
                options.update(self._starts(X, rng, options))
            except KeyboardInterrupt as error:
                # What is left behind can be used: the quickest start, and no step.
                stopped, options["start"], most = error, "random", 0
        # The first of scikit-learn's iterations finds the bound of its start, and ours has it.
        first = int(most > 0 and not again)
        how = plan(
            self.method or ("auto" if self.jumps else "vbem"),
            rng.randint(np.iinfo(np.int32).max),
            tolerance=self.tol,
            max_iter=most - first,
            max_passes=self.max_passes,
            max_seconds=self.max_seconds,
            restarts=1 if again or stopped is not None else self.n_init,
            n_jobs=self.n_jobs,
            checkpoint=self.checkpoint,
            resume=self.resume,
        )
        watch, close = watcher(self.callback, self.progress, self._printer())
        try:
            result = self._climb(X, options, how, watch)
        finally:
            close()
        self._columns = columns
        self._keep(result, n_features, first)
        self._asked, self._online = about, None
        raised = stopped or result["raised"]
        if raised is not None:
            raise raised
        if self.verbose:
            print(f"Initialization {'converged' if self.converged_ else 'did not converge'}.")
        if not self.converged_ and self.max_iter > 0:
            warnings.warn(_NOT_CONVERGED, ConvergenceWarning, stacklevel=3)
        return X if columns is None else Mixed(X, levels)

    def _check_levels(self) -> None:
        """Refuses what knows no categorical columns."""
        taken = {
            "posterior": self.posterior != "exact",
            "learning_method": self.learning_method == "batch",
            "warm_start": not self.warm_start,
        }
        for name, left in taken.items():
            if not left:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} knows no categorical columns, expected its default with them"
                )

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):
        """Learn from more rows, in batches: a stochastic step each.

        The first rows say what `fit` asks all rows: units, the prior where it comes from data, and where
        components begin. After a `fit` of all rows, components begin where that puts the first of these.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows; NaN is a value that is missing at random. At the first call there are at least as many
            as components.
        y : array-like of shape (n_samples,), default=None
            The components that rows are known to be of, as in `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row is there; once where it is None.

        Returns
        -------
        self
        """
        self._check_online()
        refuse(X, self.categorical, "partial_fit")
        self._columns = None
        fitted = hasattr(self, "means_")
        X = validate_data(
            self,
            X,
            dtype=np.float64,
            order="C",
            reset=not fitted,
            ensure_all_finite="allow-nan",
        )
        options = self._options(X.shape[1])
        options["row_weights"] = self._weights(X, sample_weight)
        options["known"] = self._known(X, y)
        total = float(self.total_samples)
        first = getattr(self, "_online", None) is None
        if first:
            if fitted and self.means_.shape == (self.n_components, X.shape[1]):
                options["labels"] = [self._labels(X)]
            online = self._begin(X, options, total, check_random_state(self.random_state))
        else:
            online = self._online
        self._learn(online, X, options, total)
        self._keep_online(online, X.shape[1], 1 if first else self.n_iter_ + 1)
        return self

    def _check_online(self) -> None:
        """Refuses what is for climbs with all rows."""
        taken = {
            "method": self.method is None,
            "jumps": not self.jumps,
            "posterior": self.posterior in (None, "mean-field"),
            "n_init": self.n_init == 1,
            "checkpoint": self.checkpoint is None,
            "resume": self.resume is None,
        }
        for name, left in taken.items():
            if not left:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} is for learning_method='batch', expected its"
                    " default in online learning"
                )

    def _check_rows(self, X) -> None:
        if len(X) < self.n_components:
            raise ValueError(
                f"Expected n_samples >= n_components but got n_components = {self.n_components},"
                f" n_samples = {len(X)}"
            )

    def _schedule(self, total: float) -> tuple[float, float, float]:
        return total, float(self.learning_decay), float(self.learning_offset)

    def _begin(self, X, options: dict[str, Any], total: float, rng):
        self._check_rows(X)
        if options["labels"] is None:
            options = {**options, **self._starts(X, rng, options)}
        seed = int(rng.randint(np.iinfo(np.int32).max))
        schedule = self._schedule(total)
        return self._with_prior(
            X,
            options,
            lambda given: _collapsar.OnlineMixture.begin(X, given, schedule, seed, self.n_jobs),
        )

    def _learn(self, online, X, options: dict[str, Any], total: float):
        """Learns from rows; how many there are, and what was said of them before."""
        weights, known = options["row_weights"], options["known"]
        size, schedule = int(self.batch_size), self._schedule(total)
        return online.learn(X, weights, known, size, schedule, self.n_jobs)

    def _fit_online(self, X, options: dict[str, Any]):
        self._check_online()
        rng = check_random_state(self.random_state)
        weights, known = options["row_weights"], options["known"]
        total = float(len(X) if weights is None else weights.sum())
        online = getattr(self, "_online", None) if self.warm_start else None

        def rows(chosen):
            there = {"row_weights": weights, "known": known}
            taken = {name: None if of is None else of[chosen] for name, of in there.items()}
            return X[chosen], {**options, **taken}

        if online is None or self.means_.shape != (self.n_components, X.shape[1]):
            # Units and first components need no more, and labels that are known are few.
            some = max(2000, 200 * self.n_components, int(self.batch_size))
            chosen = rng.permutation(len(X))[:some]
            if known is not None:
                chosen = np.union1d(chosen, np.flatnonzero(known >= 0))
            some_rows, given = rows(chosen)
            online = self._begin(some_rows, given, total, rng)
        watch, close = watcher(self.callback, False, self._printer())
        scores: list[float] = []
        start, converged, epochs = monotonic(), False, int(self.max_iter)
        if self.max_passes is not None:
            epochs = min(epochs, int(self.max_passes))
        try:
            while len(scores) < epochs:
                all_rows, given = rows(rng.permutation(len(X)))
                count, bound = self._learn(online, all_rows, given, total)
                scores.append(bound / count)
                gain = np.nan if len(scores) == 1 else scores[-1] - scores[-2]
                step = {"iteration": len(scores), "bound": scores[-1], "gain": gain}
                step["seconds"] = monotonic() - start
                if watch is not None and watch(0, step):
                    break
                converged = bool(abs(gain) < self.tol)
                if converged or (self.max_seconds is not None and step["seconds"] > self.max_seconds):
                    break
        finally:
            close()
        self._keep_online(online, X.shape[1], len(scores))
        self.converged_, self.lower_bounds_ = converged, scores
        if not converged and self.max_iter > 0:
            warnings.warn(_NOT_CONVERGED, ConvergenceWarning, stacklevel=4)
        return X

    def _keep_online(self, online, n_features: int, iterations: int) -> None:
        mixture, fit, batches = online.fitted()
        result = {
            "mixture": mixture,
            "fit": fit,
            "bound": np.nan,
            "steps": [],
            "converged": False,
            "outcome": "online",
            "iterations": iterations,
            "passes": iterations,
            "messages": None,
            "fingerprint": None,
            "posterior": ("mean-field", "doubt", {}, None),
        }
        self._keep(result, n_features, 0)
        self.verdict_ = None
        self.n_batch_iter_ = batches + 1
        self._online, self._asked = online, None

    def _options(self, n_features: int) -> dict[str, Any]:
        """The model, checked as scikit-learn checks it."""
        location = scale = None
        if self.mean_prior is not None:
            location = check_array(self.mean_prior, dtype=np.float64, ensure_2d=False)
            _check_shape(location, (n_features,), "means")
        freedom = self.degrees_of_freedom_prior
        if freedom is not None and n_features > 0 and freedom <= n_features - 1.0:
            raise ValueError(
                "The parameter 'degrees_of_freedom_prior' should be greater than"
                f" {n_features - 1}, but got {freedom:.3f}."
            )
        if self.covariance_prior is not None:
            scale = self._scale(n_features)
        return {
            "components": int(self.n_components),
            "row_weights": None,
            "covariance": self.covariance_type,
            "process": self._process(),
            "concentration": self.weight_concentration_prior,
            "location": location,
            "mean_precision": self.mean_precision_prior,
            "degrees_of_freedom": freedom,
            "scale": scale,
            "categories": None,
            "level_concentration": self.level_concentration_prior,
            "start": "random" if self.init_params == "random" else "kmeans",
            "labels": None,
            "responsibilities": None,
            "earlier": None,
            "jumps": bool(self.jumps),
            "posterior": self.posterior,
            "chains": int(self.n_chains),
            "draws": int(self.n_draws),
            "warmup": self.n_warmup,
        }

    def _process(self) -> bool:
        return self.weight_concentration_prior_type == "dirichlet_process"

    def _scale(self, n_features: int):
        """The prior covariance as a matrix, row by row."""
        kind = self.covariance_type
        if kind == "spherical":
            return np.diag(np.full(n_features, float(self.covariance_prior))).ravel()
        given = check_array(self.covariance_prior, dtype=np.float64, ensure_2d=False)
        if kind == "diag":
            _check_shape(given, (n_features,), "diag covariance_prior")
            if np.any(given <= 0.0):
                raise ValueError("'diag precision' should be positive")
            return np.diag(given).ravel()
        _check_shape(given, (n_features, n_features), f"{kind} covariance_prior")
        if not (np.allclose(given, given.T) and np.all(np.linalg.eigvalsh(given) > 0.0)):
            raise ValueError(f"'{kind} precision' should be symmetric, positive-definite")
        return given.ravel()

    def _climb(self, X, options, how, watch):
        return self._with_prior(
            X, options, lambda given: _collapsar.fit_mixture(X, given, how, watch)
        )

    def _with_prior(self, X, options, attempt):
        """What an attempt gives, with a ridge added where the covariance of the data is no prior."""
        try:
            return attempt(options)
        except (DataError, SettingError) as refused:
            # The covariance of these data is no prior: singular, or nearly.
            unusable = options["scale"] is None and X.shape[1] > 0 and (
                refused.name == "covariance_prior"
                if isinstance(refused, SettingError)
                else refused.column is not None and refused.column < X.shape[1]
            )
            if not unusable or self.reg_covar == 0.0:
                raise
        covariance = _covariance(X, options["row_weights"])
        if self.covariance_type in ("diag", "spherical"):
            covariance = np.diag(np.diag(covariance))
        # Less than this fraction of the variance, and the bound would not be known to ten digits.
        ridge = max(self.reg_covar, 1e-4 * float(np.trace(covariance)) / len(covariance))
        covariance.flat[:: len(covariance) + 1] += ridge
        return attempt({**options, "scale": covariance.ravel()})

    def _go_on(self, X, options: dict[str, Any]) -> None:
        """Begins where the last fit ended: exactly on the same data, by labels on others."""
        if self.means_.shape != (self.n_components, X.shape[1]):
            return
        if self._asked == self._about(X, options):
            options["earlier"] = (self._messages, self._fingerprint)
        else:
            options["labels"] = [self._labels(X)]

    def _about(self, X, options: dict[str, Any]) -> tuple[Any, ...]:
        """Tells fits of other data or with another prior apart."""
        names = ("covariance", "process", "concentration", "mean_precision", "degrees_of_freedom")
        arrays = (options["location"], options["scale"], options["row_weights"], options["known"])
        return (
            X.shape,
            adler32(X),
            *(options[name] for name in names),
            *(None if array is None else tuple(array) for array in arrays),
        )

    @staticmethod
    def _weights(X, sample_weight):
        """How often each row is there, as an array; the library says what is wrong with its numbers."""
        if sample_weight is None:
            return None
        weights = np.ascontiguousarray(sample_weight, dtype=np.float64)
        if weights.shape != (len(X),):
            raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(len(X),)}!")
        return weights

    def _known(self, X, y):
        """The components that rows are known to be of, -1 where not; None where there are no such."""
        if y is None or self.semi_supervised is False:
            if self.semi_supervised:
                raise ValueError("semi_supervised=True needs y: a component from 0 for each row, or -1")
            return None
        given = np.asarray(y)
        whole = given.dtype.kind in "iu"
        if not self.semi_supervised and not (whole and given.shape == (len(X),) and (given == -1).any()):
            return None
        if not whole or given.shape != (len(X),):
            raise ValueError(
                f"y has shape {given.shape} and type {given.dtype}, expected {len(X)} integers: a"
                " component from 0 for each row, or -1 where it is not known"
            )
        if given.min() < -1 or given.max() >= self.n_components:
            raise ValueError(
                f"y has labels from {given.min()} to {given.max()}, expected -1 (not known) to"
                f" {self.n_components - 1} for n_components={self.n_components}"
            )
        return np.ascontiguousarray(given, dtype=np.int64)

    def _starts(self, X, rng, options: dict[str, Any]) -> dict[str, Any]:
        """What climbs begin with; nothing where that is for the library to find."""
        if options["categories"] is not None:
            return {}  # scikit-learn's know no levels
        if options["known"] is not None and self.init_params != "random":
            return {}  # scikit-learn's k-means does not know that some centres have names
        return self._first(X, rng, options["row_weights"])

    def _first(self, X, rng, weights=None) -> dict[str, Any]:
        """What each climb begins with: where scikit-learn's begin, of the same numbers.

        Nothing for many random ones, which the library draws without keeping them.
        """
        starts = range(self.n_init)
        if weights is not None and not (np.all(weights >= 0.0) and 0.0 < weights.sum() < np.inf):
            return {}  # and the library says why
        if np.isnan(X.min()):
            return {}  # scikit-learn's k-means wants whole rows; the library's does not
        if self.init_params != "random":
            return {"labels": [self._labels_of_a_start(X, weights, rng) for _ in starts]}
        if X.size * self.n_components * self.n_init > _MANY:
            return {}
        shape = (len(X), self.n_components)
        # Once a row adds up to one, scikit-learn takes it for responsibilities, and so do we.
        return {"responsibilities": [rng.uniform(size=shape) for _ in starts]}

    def _labels_of_a_start(self, X, weights, rng):
        from sklearn.cluster import KMeans, kmeans_plusplus

        if self.init_params == "kmeans":
            some, share = X, weights
            if X.size * self.n_components > _MANY:
                # On all rows it would take as long as the fit.
                size = max(2000, 200 * self.n_components)
                some, share = X[self._rows(weights, len(X), size, rng)], None
            # OpenMP's threads do not survive a fork of the process.
            with threadpool_limits(limits=1, user_api="openmp"):
                means = KMeans(self.n_components, n_init=1, random_state=rng)
                means.fit(some, sample_weight=share)
            if some is X:
                return means.labels_
            centres = means.cluster_centers_
        elif self.init_params == "k-means++":
            centres, _ = kmeans_plusplus(
                X, self.n_components, sample_weight=weights, random_state=rng
            )
        else:
            # Rows that are not there are no centres.
            there = np.arange(len(X)) if weights is None else np.flatnonzero(weights)
            few = len(there) < self.n_components
            centres = X[there[rng.choice(len(there), self.n_components, replace=few)]]
        return _nearest(X, centres)

    @staticmethod
    def _rows(weights, count: int, size: int, rng):
        """Some rows, each as likely as it is often there."""
        if weights is None:
            return rng.randint(count, size=size)
        return rng.choice(count, size=size, p=weights / weights.sum())

    def _printer(self):
        if not self.verbose:
            return None
        seen = -1

        def show(run: int, step: dict[str, Any]) -> None:
            nonlocal seen
            if run != seen:
                print(f"Initialization {run}")
                seen = run
            if step["iteration"] % self.verbose_interval == 0:
                line = f"  Iteration {step['iteration']}"
                if self.verbose >= 2:
                    line += f"\t time lapse {step['seconds']:.5f}s\t ll change {step['gain']:.5f}"
                print(line)

        return show

    def _keep(self, result: dict[str, Any], n_features: int, first: int) -> None:
        """Fitted attributes, in scikit-learn's shapes."""
        kind, mixture = self.covariance_type, result["mixture"]
        parts, prior = mixture["components"], mixture["prior"]
        # Tied components all carry the one matrix that there is.
        matrices = parts[:1] if kind == "tied" else parts
        counts, weights = column(parts, "count"), column(parts, "weight")
        self.weight_concentration_prior_ = prior["concentration"]
        self.mean_prior_ = np.array(prior["location"])
        self.mean_precision_prior_ = prior["mean_precision"]
        self.degrees_of_freedom_prior_ = prior["degrees_of_freedom"]
        scale = np.array(prior["scale"]).reshape(n_features, n_features)
        diagonal = np.diag(scale)
        self.covariance_prior_ = {"diag": diagonal, "spherical": diagonal.mean()}.get(kind, scale)
        if self._process():
            later = np.hstack((np.cumsum(counts[::-1])[-2::-1], 0.0))
            self.weight_concentration_ = (1.0 + counts, prior["concentration"] + later)
        else:
            self.weight_concentration_ = prior["concentration"] + counts
        self.unused_weight_ = mixture["unused_weight"]
        self.weights_ = weights / weights.sum()
        self.weights_sd_ = column(parts, "weight_sd")
        self.means_, self.means_sd_ = column(parts, "mean"), _known(parts, "mean_sd", "mean")
        self.covariances_ = column(matrices, "covariance")
        self.covariances_sd_ = _known(matrices, "covariance_sd", "covariance")
        if kind == "tied":
            self.covariances_, self.covariances_sd_ = self.covariances_[0], self.covariances_sd_[0]
        self.mean_precision_ = column(parts, "mean_precision")
        freedom = column(parts, "degrees_of_freedom")
        self.degrees_of_freedom_ = {
            "tied": freedom[0],
            "spherical": freedom / n_features,
        }.get(kind, freedom)
        self.precisions_cholesky_, self.precisions_ = _precisions(self.covariances_, kind)
        self.converged_, self.n_iter_ = result["converged"], result["iterations"] + first
        self.n_passes_, self.outcome_ = result["passes"], result["outcome"]
        self.lower_bound_ = self.log_evidence_ = result["bound"]
        self.trace_ = trace(result["steps"])
        bounds = self.trace_["bound"]
        if first:
            start = bounds[0] - self.trace_["gain"][0] if len(bounds) else self.lower_bound_
            bounds = np.hstack((start, bounds))
        # Trials of jumps begin below; what they are tried from is kept until they have risen above.
        self.lower_bounds_ = np.maximum.accumulate(bounds).tolist()
        self._keep_levels(parts)
        self._messages, self._fingerprint = result["messages"], result["fingerprint"]
        self._fit_ = result["fit"]
        self.posterior_, self.verdict_, signs, refused = result["posterior"]
        self.signs_ = {**signs, "refused": refused}
        self.draws_ = None
        if "draws" in result:
            draws, relabelled = result["draws"]
            self.draws_ = _named(draws, relabelled, len(parts), n_features, kind)

    def _keep_levels(self, parts) -> None:
        columns: Any = getattr(self, "_columns", None)
        of = [] if columns is None else list(enumerate(columns.names))
        self.levels_ = {name: columns.levels[c] for c, name in of}
        self.level_probabilities_, self.level_probabilities_sd_ = (
            {name: np.array([part["levels"][c][field] for part in parts]) for c, name in of}
            for field in ("probabilities", "sds")
        )

    def _score(self, X):
        if isinstance(X, Mixed):
            sizes = [len(levels) for levels in self.levels_.values()]
            categories = list(zip(sizes, X.codes))
            return self._fit_.score_mixed(X.values, categories, self.n_jobs)
        return self._fit_.score(X, self.n_jobs)

    def _labels(self, X):
        return self._score(X)[1][:, : len(self.means_)].argmax(axis=1)

    def _checked(self, X):
        check_is_fitted(self)
        if getattr(self, "_columns", None) is not None:
            return self._columns.of(X, self, reset=False)
        return validate_data(
            self, X, dtype=np.float64, order="C", reset=False, ensure_all_finite="allow-nan"
        )

    def predict(self, X):
        """The most probable component of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return self._labels(self._checked(X))

    def predict_proba(self, X):
        """The probability of each component, given each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_components)
        """
        X = self._checked(X)
        found = self._score(X)[1][:, : len(self.means_)]
        total = found.sum(axis=1, keepdims=True)
        # Far from all data only a component that none has used explains a row: no label is better.
        return np.where(total > 0.0, found / np.where(total > 0.0, total, 1.0), self.weights_)

    def score_samples(self, X):
        """The log of the posterior predictive density at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
        """
        return self._score(self._checked(X))[0]

    def score(self, X, y=None, sample_weight=None):
        """The mean of `score_samples`, by weights where they are given.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : Ignored
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row is there; once where it is None.

        Returns
        -------
        log_density : float
        """
        scores = self.score_samples(X)
        if sample_weight is None:
            return float(np.mean(scores))
        weights = self._weights(scores, sample_weight)
        if not (np.all(weights >= 0.0) and 0.0 < weights.sum() < np.inf):
            raise ValueError(
                "sample_weight has negative, missing or only zero weights, expected finite weights"
                " that are not negative, one of them above zero"
            )
        there = weights > 0.0
        return float(np.average(scores[there], weights=weights[there]))

    def plot(self, X=None):
        """A picture of rows and components, which notebooks show.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Rows, those of the fit or others; of many a sample is drawn. Two columns are the axes themselves, more are
            shown on the plane of their largest variance. Missing values are where they are expected. Where it is None
            the components are drawn alone: a fit keeps no rows.

        Returns
        -------
        plot : Plot
            A Vega-Lite specification, with `to_altair` and `save`.
        """
        check_is_fitted(self)
        self._without_levels("plot")
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"column {d}" for d in range(self.n_features_in_)]
        columns = [str(name) for name in names]
        if X is None:
            return plot_of(self._fit_.picture_of_components(columns))
        X = self._checked(X)
        labels = self._labels(X).tolist()
        whole = self._fit_.impute(X, self.n_jobs)[0] if np.isnan(X).any() else X
        return plot_of(self._fit_.picture(whole, labels, columns))

    def _without_levels(self, what: str) -> None:
        if getattr(self, "_columns", None) is not None:
            raise ValueError(f"{what} knows no categorical columns, expected a fit of numbers alone")

    def _repr_mimebundle_(self, **kwargs):
        if getattr(self, "_columns", None) is not None:
            return super()._repr_mimebundle_(**kwargs)
        return bundle_of(self, super()._repr_mimebundle_(**kwargs))

    def impute(self, X, *, return_sd=False, n_draws=None, random_state=None):
        """Fills in missing values, given the others of their row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with NaN where a value is missing.
        return_sd : bool, default=False
            Whether standard deviations are returned too: zero where a value was given.
        n_draws : int, default=None
            Draws from the distribution of what is missing, in the place of its mean.
        random_state : int, RandomState instance or None, default=None
            What draws come from.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features), or (n_draws, n_samples, n_features)
        sd : ndarray of shape (n_samples, n_features)
            Only if `return_sd`.
        """
        check_is_fitted(self)
        self._without_levels("impute")
        X = self._checked(X)
        if n_draws is not None:
            if return_sd:
                raise ValueError("return_sd needs n_draws=None: draws have no standard deviation")
            if n_draws < 1:
                raise ValueError(f"n_draws == {n_draws}, expected at least 1")
            seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
            return self._fit_.impute_draws(X, int(n_draws), seed, self.n_jobs)
        mean, sd = self._fit_.impute(X, self.n_jobs)
        return (mean, sd) if return_sd else mean

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def sample(self, n_samples=1):
        """Draws from the posterior predictive density, ordered by component.

        Parameters
        ----------
        n_samples : int, default=1

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        y : ndarray of shape (n_samples,)
            The components that they were drawn from.
        """
        check_is_fitted(self)
        self._without_levels("sample")
        if n_samples < 1:
            raise ValueError(
                f"Invalid value for 'n_samples': {n_samples} . The sampling requires at least one"
                " sample."
            )
        rng = check_random_state(self.random_state)
        counts = rng.multinomial(n_samples, self.weights_)
        drawn = [
            self._fit_.sample(k, int(count), int(rng.randint(np.iinfo(np.int32).max)))
            for k, count in enumerate(counts)
        ]
        return np.vstack(drawn), np.repeat(np.arange(len(counts)), counts)


def _named(draws, relabelled: int, n_components: int, n_features: int, kind: str) -> dict[str, Any]:
    """Numbers of draws by their names, in the shapes of fitted attributes."""
    shape = (*draws.shape[:2], n_components)
    ends = np.cumsum([n_components, n_components * n_features])
    weights, means, covariances = np.split(draws, ends, axis=-1)
    if kind == "spherical":
        covariances = covariances.reshape(shape)
    elif kind == "diag":
        covariances = covariances.reshape(*shape, n_features)
    else:
        rows, columns = np.triu_indices(n_features)
        packed = covariances.reshape(*shape, len(rows))
        covariances = np.empty((*shape, n_features, n_features))
        covariances[..., rows, columns] = covariances[..., columns, rows] = packed
    return {
        "weights": weights,
        "means": means.reshape(*shape, n_features),
        "covariances": covariances,
        "relabelled": relabelled,
    }


def _covariance(X, weights):
    """The covariance of rows that are there as often as their weights say."""
    if np.isnan(X.min()):
        variance = np.nanvar(X, axis=0)
        return np.diag(variance)
    if weights is None:
        return np.atleast_2d(np.cov(X.T))
    centred = X - np.average(X, axis=0, weights=weights)
    return (centred * weights[:, None]).T @ centred / (weights.sum() - 1.0)


def _nearest(X, centres):
    """Each row's nearest centre, some rows at a time: Ctrl-C is heard, and memory stays small."""
    from sklearn.metrics import pairwise_distances_argmin

    labels = np.empty(len(X), dtype=np.int32)
    with threadpool_limits(limits=1, user_api="openmp"):
        for first in range(0, len(X), _CHUNK):
            rows = slice(first, first + _CHUNK)
            labels[rows] = pairwise_distances_argmin(X[rows], centres)
    return labels


def _known(parts, name: str, like: str):
    """One field of all components; NaN in the shape of another where it is infinite."""
    absent = [np.full_like(part[like], np.nan, dtype=float) for part in parts]
    known = [part[name] for part in parts]
    return np.array([a if k is None else k for a, k in zip(absent, known)], dtype=float)


def _check_shape(given, shape, name: str) -> None:
    if given.shape != shape:
        raise ValueError(
            f"The parameter '{name}' should have the shape of {shape}, but got {given.shape}"
        )


def _precisions(covariances, kind: str):
    """Cholesky factors of the precisions, upper ones as scikit-learn has them, and the precisions."""
    if covariances.size == 0:
        return covariances, covariances
    if kind in ("diag", "spherical"):
        return 1.0 / np.sqrt(covariances), 1.0 / covariances
    factors = np.swapaxes(np.linalg.inv(np.linalg.cholesky(covariances)), -1, -2)
    return factors, factors @ np.swapaxes(factors, -1, -2)
