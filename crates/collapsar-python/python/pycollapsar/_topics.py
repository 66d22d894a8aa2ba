"""Latent Dirichlet allocation with scikit-learn's interface."""

from __future__ import annotations

from functools import cached_property
from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln, logsumexp, psi
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from . import _collapsar
from ._plan import METHODS, column, plan, trace, watcher
from ._plot import bundle_of, plot_of


class LatentDirichletAllocation(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Latent Dirichlet allocation, its topics integrated out.

    Parameters, methods and fitted attributes are those of scikit-learn's class of the same name.

    Parameters
    ----------
    n_components : int, default=10
        The number of topics.
    doc_topic_prior : float, array-like of shape (n_components,) or 'learn', default=None
        The prior of the documents' proportions; 1 / n_components where it is None. 'learn' learns
        a number for each topic by raising the bound.
    topic_word_prior : float or 'learn', default=None
        The prior of the topics; 1 / n_components where it is None.
    learning_method : {'batch', 'online'}, default='batch'
        'batch' climbs with all documents; 'online' takes stochastic steps, a batch of documents
        each, which is for more documents than are climbed with in good time. `partial_fit` is
        always online.
    learning_decay, learning_offset : float, default=0.7, 10.0
        Batch t counts (learning_offset + t) ** -learning_decay, what came before the rest.
    batch_size : int, default=128
        Documents of a batch in `fit`; `partial_fit` takes what it is given in such batches too.
    total_samples : float, default=1e6
        How many documents there will be, in `partial_fit`.
    max_iter : int, default=100
        Most steps of a climb, or passes over the documents where learning is online.
        scikit-learn's default is 10, without regard to convergence.
    evaluate_every : int, default=-1
        With `verbose`, prints the perplexity by the bound every so many steps.
    perp_tol : float, default=0.1
        Online passes end when the perplexity of batches before they are learned from changes by
        less than this from pass to pass.
    mean_change_tol : float, default=1e-3
        Where learning is online, a document is settled when none of its counts changes by more
        than this fraction of its length.
    max_doc_update_iter
        Taken for compatibility, not used.
    n_jobs : int, default=None
        Threads; None and -1 mean all processors. Results are the same for any number.
    verbose : int, default=0
        Whether steps are printed.
    random_state : int, RandomState instance or None, default=None
        Where climbs begin.
    tol : float, default=None
        The climb has converged when a step raises the bound by less than this many nats; 1e-7 for
        each token where it is None.
    n_init : int, default=1
        Climbs, of which the best is kept.
    init : {'annealed', 'documents', 'random'}, default='annealed'
        Where climbs begin; 'random' is as scikit-learn's.
    method : {'auto', 'vbem', 'fr', 'pr', 'hs', 'lbfgs', 'newton'}, default='auto'
        How to climb.
    callback : callable, default=None
        Is called with a dictionary after each step; the climb stops where it returns True.
    progress : bool, default=False
        Whether to show a progress bar (needs tqdm).
    sweeps : int, default=None
        Sweeps over a document's words in each pass; 3 where it is None.
    max_passes : int, default=None
        Most passes over the documents of a climb.
    max_seconds : float, default=None
        Seconds after which everything stops, and the best so far is kept.
    posterior : {'mean-field', 'linear-response', 'exact'}, default=None
        Which posterior standard deviations are of. 'exact' runs collapsed Gibbs sweeps from the
        fit, and topics are the mean over them, which foresees better. None is linear response of
        the documents, or mean field where that would cost more than the fit and than a second.
    n_chains, n_draws : int, default=4, 1000
        Markov chains where the posterior is exact, and draws of each, one a sweep.
    n_warmup : int, default=None
        Sweeps of each chain before its first draw; a quarter of the draws where it is None.
    keep_documents : bool, default=False
        Whether every draw of every document's proportions is kept in `draws_`.
    checkpoint, resume : str or path, default=None
        Where to write what is needed to go on, now and then and at the end; and what to go on from,
        with the same documents and parameters, to the same numbers. They follow one climb.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The posterior of the topics: prior plus expected tokens.
    exp_dirichlet_component_ : ndarray of shape (n_components, n_features)
        Exponentials of expected log probabilities.
    doc_topic_prior_, topic_word_prior_ : float or ndarray
        The priors in use, learned or given.
    log_evidence_ : float
        The bound in nats: it can be compared between models. NaN where learning is online.
    bound_ : float
        Perplexity of the documents, as scikit-learn has it.
    converged_ : bool
    n_iter_, n_batch_iter_, n_passes_ : int
    trace_ : dict of ndarray
        All that is known of each step; of passes online, the 'perplexity' of batches before they
        are learned from.
    posterior_ : str
        Which posterior the following are of.
    share_, share_sd_ : ndarray of shape (n_components,)
        The fraction of all tokens that each topic has, and its standard deviation.
    proportions_, proportions_sd_ : ndarray of shape (n_samples, n_components)
        Proportions of the documents fitted, and their standard deviations.
    draws_ : dict of ndarray or None
        Exact draws: 'share' of shape (n_chains, n_draws, n_components), and, where they are kept,
        'proportions' of shape (n_chains, n_draws, n_samples, n_components).
    signs_ : dict
        'verdict', one of 'trust', 'trust-means' and 'doubt', and the signs that it is from;
        None where learning is online.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
    random_state_ : RandomState

    Notes
    -----
    `score` is a lower bound on ln p(documents | topics), and `perplexity` follows from it.
    scikit-learn adds the divergence of the topics from their prior, which belongs to the fit and
    not to the documents.

    Examples
    --------
    >>> import numpy as np
    >>> from pycollapsar import LatentDirichletAllocation
    >>> X = np.kron(np.eye(2, dtype=int), np.full((3, 3), 4))
    >>> lda = LatentDirichletAllocation(n_components=2, random_state=0).fit(X)
    >>> lda.transform(X).round(1).max(axis=1).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """

    n_batch_iter_: int

    _parameter_constraints: dict = {
        "n_components": [Interval(Integral, 0, None, closed="neither")],
        "doc_topic_prior": [
            None,
            Interval(Real, 0, None, closed="left"),
            "array-like",
            StrOptions({"learn"}),
        ],
        "topic_word_prior": [None, Interval(Real, 0, None, closed="left"), StrOptions({"learn"})],
        "learning_method": [StrOptions({"batch", "online"})],
        "learning_decay": [Interval(Real, 0, 1, closed="both")],
        "learning_offset": [Interval(Real, 1.0, None, closed="left")],
        "max_iter": [Interval(Integral, 0, None, closed="left")],
        "batch_size": [Interval(Integral, 0, None, closed="neither")],
        "evaluate_every": [Interval(Integral, None, None, closed="neither")],
        "total_samples": [Interval(Real, 0, None, closed="neither")],
        "perp_tol": [Interval(Real, 0, None, closed="left")],
        "mean_change_tol": [Interval(Real, 0, None, closed="left")],
        "max_doc_update_iter": [Interval(Integral, 0, None, closed="left")],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "tol": [None, Interval(Real, 0, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"annealed", "documents", "random"})],
        "method": [StrOptions(set(METHODS))],
        "callback": [None, callable],
        "progress": ["boolean"],
        "sweeps": [None, Interval(Integral, 1, None, closed="left")],
        "max_passes": [None, Interval(Integral, 1, None, closed="left")],
        "max_seconds": [None, Interval(Real, 0.0, None, closed="left")],
        "posterior": [None, StrOptions({"mean-field", "linear-response", "exact"})],
        "n_chains": [Interval(Integral, 1, None, closed="left")],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "n_warmup": [None, Interval(Integral, 0, None, closed="left")],
        "keep_documents": ["boolean"],
        "checkpoint": [None, str, PathLike],
        "resume": [None, str, PathLike],
    }

    def __init__(
        self,
        n_components=10,
        *,
        doc_topic_prior=None,
        topic_word_prior=None,
        learning_method="batch",
        learning_decay=0.7,
        learning_offset=10.0,
        max_iter=100,
        batch_size=128,
        evaluate_every=-1,
        total_samples=1e6,
        perp_tol=1e-1,
        mean_change_tol=1e-3,
        max_doc_update_iter=100,
        n_jobs=None,
        verbose=0,
        random_state=None,
        tol=None,
        n_init=1,
        init="annealed",
        method="auto",
        callback=None,
        progress=False,
        sweeps=None,
        max_passes=None,
        max_seconds=None,
        posterior=None,
        n_chains=4,
        n_draws=1000,
        n_warmup=None,
        keep_documents=False,
        checkpoint=None,
        resume=None,
    ):
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.learning_method = learning_method
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.evaluate_every = evaluate_every
        self.total_samples = total_samples
        self.perp_tol = perp_tol
        self.mean_change_tol = mean_change_tol
        self.max_doc_update_iter = max_doc_update_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state
        self.tol = tol
        self.n_init = n_init
        self.init = init
        self.method = method
        self.callback = callback
        self.progress = progress
        self.sweeps = sweeps
        self.max_passes = max_passes
        self.max_seconds = max_seconds
        self.posterior = posterior
        self.n_chains = n_chains
        self.n_draws = n_draws
        self.n_warmup = n_warmup
        self.keep_documents = keep_documents
        self.checkpoint = checkpoint
        self.resume = resume

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float32", "float64"]
        return tags

    @property
    def _n_features_out(self):
        return self.components_.shape[0]

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, engine=None):
        """Fit topics to documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            How often each document holds each word. A sparse matrix stays sparse. With `engine`, a
            `distributed.Corpus` or what one is made of: files, matrices, a Ray Dataset.
        y : Ignored
        engine : {'local', 'ray', 'mpi'} or distributed.Engine, default=None
            Workers that hold the documents. `proportions_` are then empty: `transform` has those of any documents;
            `bound_` is the perplexity by the bound of the climb.

        Returns
        -------
        self
        """
        if engine is not None:
            from .distributed._estimator_topics import fit

            return fit(self, X, engine)
        X = self._checked(X, "LatentDirichletAllocation.fit", reset=True)
        self.random_state_ = check_random_state(self.random_state)
        documents = _documents(X)
        tokens = float(documents[2].sum(dtype=np.float64))
        if self.learning_method == "online":
            return self._fit_online(documents, X.shape, X.dtype)
        options = {
            "topics": int(self.n_components),
            "alpha": self._alpha(),
            "beta": self._beta(),
            "sweeps": self.sweeps,
            "start": self.init,
            "posterior": self.posterior,
            "chains": int(self.n_chains),
            "draws": int(self.n_draws),
            "warmup": self.n_warmup,
            "keep_documents": bool(self.keep_documents),
        }
        how = plan(
            self.method,
            self.random_state_.randint(np.iinfo(np.int32).max),
            tolerance=self.tol,
            max_iter=self.max_iter,
            max_passes=self.max_passes,
            max_seconds=self.max_seconds,
            restarts=self.n_init,
            n_jobs=self.n_jobs,
            checkpoint=self.checkpoint,
            resume=self.resume,
        )
        if tokens == 0.0:
            result = self._of_nothing(options, X.shape)
        else:
            watch, close = watcher(self.callback, self.progress, self._printer(tokens))
            try:
                result = _collapsar.fit_topics(documents, options, how, watch)
            finally:
                close()
        self._keep(result, X.dtype)
        if result["raised"] is not None:
            raise result["raised"]
        self.bound_ = self._perplexity(documents)
        self.exp_dirichlet_component_  # noqa: B018, an attribute from here on, as scikit-learn's
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None):
        """Learn from more documents, in batches: a stochastic step each.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            How often each document holds each word.
        y : Ignored

        Returns
        -------
        self
        """
        first = not hasattr(self, "components_")
        X = self._checked(X, "LatentDirichletAllocation.partial_fit", reset=first)
        if first:
            self.random_state_ = check_random_state(self.random_state)
            self._begin_online(X.shape[1], X.dtype)
        self._learn(_documents(X), self.total_samples, X.dtype)
        self.n_iter_ += 1
        return self

    def _begin_online(self, words: int, dtype) -> None:
        alpha, beta = self._alpha(), self._beta()
        if alpha is None or beta is None:
            name = "doc_topic_prior" if alpha is None else "topic_word_prior"
            raise ValueError(
                f"{name} is 'learn', which takes all documents at once; "
                "give a number, or learning_method='batch'"
            )
        self._seed = int(self.random_state_.randint(np.iinfo(np.int32).max))
        counts = _collapsar.first_topics((list(alpha), beta), words, self._seed)
        result = self._of_nothing({"topics": self.n_components, "alpha": alpha, "beta": beta}, (0, words))
        result.update(word_counts=counts, bound=np.nan, converged=False)
        result["judged"]["verdict"] = None
        self._keep(result, dtype)

    def _learn(self, documents, total: float, dtype) -> float:
        """Learns from documents in batches; returns their perplexity before they were learned from."""
        online = {
            "documents": float(total),
            "batch_size": int(self.batch_size),
            "batches": self.n_batch_iter_ - 1,
            "decay": float(self.learning_decay),
            "offset": float(self.learning_offset),
            "settled": float(self.mean_change_tol),
            "seed": getattr(self, "_seed", 0),
        }
        learned = _collapsar.learn_topics(self._topics(), documents, online, self.n_jobs)
        counts, batches, tokens, bound = learned
        self.n_batch_iter_ = batches + 1
        self._keep_topics(counts, dtype)
        totals = counts.sum(axis=0)
        self.share_ = totals / totals.sum()
        return _perplexity_of(bound, tokens)

    def _fit_online(self, documents, shape, dtype):
        self._begin_online(shape[1], dtype)
        watch, close = watcher(self.callback, False, self._printer(1.0))
        perplexities: list[float] = []
        try:
            for epoch in range(1, self.max_iter + 1):
                perplexities.append(self._learn(documents, shape[0], dtype))
                found = perplexities[-1]
                step = {"iteration": epoch, "bound": -np.log(found), "perplexity": found}
                if watch is not None and watch(0, step):
                    break
                if epoch > 1 and abs(found - perplexities[-2]) < self.perp_tol:
                    self.converged_ = True
                    break
        finally:
            close()
        self.n_iter_ = self.n_passes_ = len(perplexities)
        self.trace_ = {"perplexity": np.array(perplexities)}
        _, self.proportions_, bound = self._infer(documents)
        self.proportions_sd_ = np.full(shape[:1] + self.share_.shape, np.nan)
        self.bound_ = _perplexity_of(bound, documents[2].sum(dtype=np.float64))
        self.exp_dirichlet_component_  # noqa: B018, as in `fit`
        return self

    def _alpha(self):
        given = self.doc_topic_prior
        if isinstance(given, str):
            return None
        given = 1.0 / self.n_components if given is None else given
        return np.broadcast_to(np.asarray(given, dtype=float), self.n_components)

    def _beta(self):
        given = self.topic_word_prior
        if isinstance(given, str):
            return None
        return 1.0 / self.n_components if given is None else float(given)

    def _of_nothing(self, options: dict[str, Any], shape) -> dict[str, Any]:
        """The prior, which is all that is known after documents without words."""
        topics = options["topics"]
        alpha, beta = options["alpha"], options["beta"]
        return {
            "alpha": np.full(topics, 1.0 / topics) if alpha is None else np.array(alpha),
            "beta": 1.0 / topics if beta is None else beta,
            "word_counts": np.zeros((shape[1], topics)),
            "document_counts": np.zeros((shape[0], topics)),
            "drawn": False,
            "posterior": "mean-field",
            "judged": {"verdict": "trust", "signs": {}},
            "shares": np.full((topics, 2), np.nan),
            "proportion_sds": np.full((shape[0], topics), np.nan),
            "draws": None,
            "bound": 0.0,
            "steps": [],
            "converged": True,
            "iterations": 0,
            "passes": 0,
            "raised": None,
        }

    def _keep(self, result: dict[str, Any], dtype) -> None:
        self._alpha_ = result["alpha"]
        same = np.all(self._alpha_ == self._alpha_[0])
        learned = isinstance(self.doc_topic_prior, str)
        self.doc_topic_prior_ = float(self._alpha_[0]) if same and not learned else self._alpha_
        self.topic_word_prior_ = result["beta"]
        self._keep_topics(result["word_counts"], dtype)
        self._drawn = result["drawn"]
        self.posterior_ = result["posterior"]
        self.share_, self.share_sd_ = result["shares"].T
        counts = result["document_counts"] + self._alpha_
        self.proportions_ = counts / counts.sum(axis=1, keepdims=True)
        self.proportions_sd_ = result["proportion_sds"]
        self.draws_ = _draws(result["draws"], counts.shape)
        self.signs_ = {"verdict": result["judged"]["verdict"], **result["judged"]["signs"]}
        self.log_evidence_, self.trace_ = result["bound"], trace(result["steps"])
        self.converged_, self.n_iter_ = result["converged"], result["iterations"]
        self.n_batch_iter_, self.n_passes_ = self.n_iter_ + 1, result["passes"]

    def _keep_topics(self, counts, dtype) -> None:
        posterior = counts.T + self.topic_word_prior_
        self.components_ = posterior.astype(dtype, copy=False)
        self.__dict__.pop("exp_dirichlet_component_", None)

    @cached_property
    def exp_dirichlet_component_(self):
        # When it is asked for: after every batch it would cost more than to learn from the batch.
        return np.exp(_expected_ln(self.components_)).astype(self.components_.dtype, copy=False)

    def _printer(self, tokens: float):
        if not self.verbose:
            return None

        def show(run: int, step: dict[str, Any]) -> None:
            line = f"iteration: {step['iteration']} of max_iter: {self.max_iter}"
            if self.evaluate_every > 0 and step["iteration"] % self.evaluate_every == 0:
                line += f", perplexity: {np.exp(-step['bound'] / tokens):.4f}"
            print(line)

        return show

    def _checked(self, X, whom: str, reset: bool = False):
        if not reset:
            check_is_fitted(self)
        X = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32]
        )
        check_non_negative(X, whom)
        return X

    def _topics(self):
        """The fitted topics as attributes have them, for the extension."""
        beta = self.topic_word_prior_
        counts = np.maximum(self.components_.T.astype(np.float64) - beta, 0.0)
        flat = np.ascontiguousarray(counts).ravel()
        return list(self._alpha_), float(beta), flat, self._drawn

    def _infer(self, documents):
        """Expected tokens and proportions of documents, and their bound."""
        if len(documents[1]) == 0:
            count = len(documents[0]) - 1
            even = np.tile(self._alpha_ / self._alpha_.sum(), (count, 1))
            return np.zeros_like(even), even, 0.0
        return _collapsar.infer_topics(self._topics(), documents, self.n_jobs)

    def _perplexity(self, documents) -> float:
        return _perplexity_of(self._infer(documents)[2], documents[2].sum(dtype=np.float64))

    def transform(self, X, *, normalize=True):
        """Topics of documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        normalize : bool, default=True
            Whether to give proportions, or else their posterior: prior plus expected tokens.

        Returns
        -------
        topics : ndarray of shape (n_samples, n_components)
        """
        X = self._checked(X, "LatentDirichletAllocation.transform")
        counts, proportions, _ = self._infer(_documents(X))
        found = proportions if normalize else counts + self._alpha_
        return found.astype(X.dtype, copy=False)

    def fit_transform(self, X, y=None, *, normalize=True):
        """Fit topics to documents, and give the documents' topics.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : Ignored
        normalize : bool, default=True

        Returns
        -------
        topics : ndarray of shape (n_samples, n_components)
        """
        return self.fit(X, y).transform(X, normalize=normalize)

    def score(self, X, y=None):
        """A lower bound on ln p(documents | topics).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : Ignored

        Returns
        -------
        bound : float
        """
        X = self._checked(X, "LatentDirichletAllocation.score")
        return float(self._infer(_documents(X))[2])

    def perplexity(self, X, sub_sampling=False):
        """exp(-score / tokens).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        sub_sampling : bool
            Taken for compatibility; the perplexity is one for each token either way.

        Returns
        -------
        perplexity : float
        """
        X = self._checked(X, "LatentDirichletAllocation.perplexity")
        return self._perplexity(_documents(X))

    def _perplexity_precomp_distr(self, X, doc_topic_distr=None, sub_sampling=False):
        """Perplexity at given posteriors of documents, prior plus expected tokens, as scikit-learn has it: with the divergence
        of the topics from their prior, which `perplexity` leaves out."""
        X = self._checked(X, "LatentDirichletAllocation.perplexity")
        if doc_topic_distr is None:
            doc_topic_distr = self.transform(X, normalize=False)
        distr = np.asarray(doc_topic_distr, dtype=np.float64)
        topics = self.components_.shape[0]
        if distr.ndim != 2 or distr.shape[0] != X.shape[0]:
            raise ValueError(
                "Number of samples in X and doc_topic_distr do not match: "
                f"{X.shape[0]} documents, distributions of shape {distr.shape}"
            )
        if distr.shape[1] != topics:
            raise ValueError(
                f"Number of topics does not match: {distr.shape[1]}, expected {topics} as the fit has"
            )
        starts, words, counts, _ = _documents(X)
        of_documents, of_topics = _expected_ln(distr), _expected_ln(self.components_)
        score = 0.0
        # As many entries at a time as keep topics times entries small.
        for first in range(0, len(words), 65536):
            entries = slice(first, first + 65536)
            places = np.arange(first, first + len(words[entries]))
            rows = np.searchsorted(starts, places, side="right") - 1
            logits = of_documents[rows] + of_topics[:, words[entries]].T
            score += float(counts[entries].astype(np.float64) @ logsumexp(logits, axis=1))
        score -= _divergence(self._alpha_, distr, of_documents)
        share = float(self.total_samples) / X.shape[0] if sub_sampling else 1.0
        prior = np.full(self.components_.shape[1], self.topic_word_prior_)
        score = share * score - _divergence(prior, self.components_.astype(np.float64), of_topics)
        return _perplexity_of(score, share * float(counts.sum(dtype=np.float64)))

    def completion_perplexity(self, X, X_later):
        """How well the words of `X_later` are foreseen after reading those of `X`.

        Parameters
        ----------
        X, X_later : {array-like, sparse matrix} of shape (n_samples, n_features)
            Halves of the same documents.

        Returns
        -------
        perplexity : float
            exp(- mean log probability of a token), which is no bound but the thing itself.
        """
        X = self._checked(X, "LatentDirichletAllocation.completion_perplexity")
        later = self._checked(X_later, "LatentDirichletAllocation.completion_perplexity")
        ln_probability, tokens = _collapsar.complete_topics(
            self._topics(), _documents(X), _documents(later), self.n_jobs
        )
        return float(np.exp(-ln_probability / tokens))

    def quality(self, X, n_words=10):
        """How good the topics are by their most probable words.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Documents that coherence is measured on.
        n_words : int, default=10

        Returns
        -------
        dict
            'umass' and 'npmi' coherence, 'exclusivity', 'diversity', and 'topics': the same for
            each topic, with its tokens and 'share', their proportion of all.
        """
        X = self._checked(X, "LatentDirichletAllocation.quality")
        found = _collapsar.quality_of_topics(self._topics(), _documents(X), int(n_words))
        topics = found.pop("topics")
        return {**found, "topics": {name: column(topics, name) for name in topics[0]}}

    def plot(self, topic=None, *, relevance=0.6, feature_names=None):
        """A picture of the topics, which notebooks show.

        Parameters
        ----------
        topic : int, default=None
            One whose most relevant words are drawn as bars; the map of all topics, by how alike their words
            are, if None.
        relevance : float, default=0.6
            As in `top_words`.
        feature_names : array-like of str, optional
            As in `top_words`.

        Returns
        -------
        plot : Plot
            A Vega-Lite specification, with `to_altair` and `save`.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None) if feature_names is None else feature_names
        words = range(self.components_.shape[1]) if names is None else names
        topic = None if topic is None else int(topic)
        given = self._topics(), [str(word) for word in words], topic, float(relevance)
        return plot_of(_collapsar.picture_of_topics(*given))

    def _repr_mimebundle_(self, **kwargs):
        return bundle_of(self, super()._repr_mimebundle_(**kwargs))

    def top_words(self, n_words=10, *, relevance=1.0, feature_names=None):
        """The words that rank highest in each topic.

        Parameters
        ----------
        n_words : int, default=10
        relevance : float, default=1.0
            From 1, by probability, to 0, by lift; readers know topics best by about 0.6.
        feature_names : array-like of str, optional
            The words; `feature_names_in_`, or column numbers where there are none, if None.

        Returns
        -------
        list of list of (word, probability, relevance)
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None) if feature_names is None else feature_names
        tops = _collapsar.words_of_topics(self._topics(), int(n_words), float(relevance))
        return [[(w if names is None else names[w], p, r) for w, p, r in top] for top in tops]


def _expected_ln(posterior):
    """Expected log probabilities, of a Dirichlet a row."""
    posterior = np.asarray(posterior, dtype=np.float64)
    return psi(posterior) - psi(posterior.sum(axis=1, keepdims=True))


def _divergence(prior, posterior, expected) -> float:
    """How far Dirichlets, a row each, are from their common prior, in nats."""
    total = float(((posterior - prior) * expected).sum())
    total += float((gammaln(prior) - gammaln(posterior)).sum())
    return total + float((gammaln(posterior.sum(axis=1)) - gammaln(prior.sum())).sum())


def _perplexity_of(bound: float, tokens: float) -> float:
    return float(np.exp(-bound / tokens)) if tokens > 0.0 else 1.0


def _draws(rows, shape):
    """Draws by what they are of, from chains of rows."""
    if rows is None:
        return None
    documents, topics = shape
    drawn = {"share": rows[:, :topics].transpose(0, 2, 1)}
    if rows.shape[1] > topics:
        proportions = rows[:, topics:].transpose(0, 2, 1)
        drawn["proportions"] = proportions.reshape(*proportions.shape[:2], documents, topics)
    return drawn


def _documents(X):
    """Documents as the extension takes them; entries of zero and repeated ones are put right."""
    X = X if sp.issparse(X) else sp.csr_matrix(X)
    if not X.has_canonical_format or (X.data == 0).any():
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    return (
        np.ascontiguousarray(X.indptr, dtype=np.int64),
        np.ascontiguousarray(X.indices, dtype=np.uint32),
        np.ascontiguousarray(X.data, dtype=np.float32),
        X.shape[1],
    )
