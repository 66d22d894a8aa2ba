"""The estimator's fit where workers hold the documents."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._plan import plan, watcher
from ._corpus import Corpus
from ._engine import Engine, engine_of
from ._estimator import workers_of
from ._fit_topics import climb_topics


def fit(estimator: Any, data: Any, engine: str | Engine) -> Any:
    """Fits a `LatentDirichletAllocation` to documents that workers hold."""
    estimator._validate_params()
    _refuse(estimator)
    made = engine_of(engine, workers_of(estimator, engine))
    estimator.random_state_ = check_random_state(estimator.random_state)
    how = plan(
        estimator.method,
        estimator.random_state_.randint(np.iinfo(np.int32).max),
        tolerance=estimator.tol,
        max_iter=estimator.max_iter,
        max_passes=estimator.max_passes,
        max_seconds=estimator.max_seconds,
        restarts=estimator.n_init,
        n_jobs=estimator.n_jobs,
        checkpoint=estimator.checkpoint,
        resume=estimator.resume,
    )
    alpha = estimator._alpha()
    options = {
        "topics": [int(estimator.n_components)],
        "alpha": None if alpha is None else list(alpha),
        "beta": estimator._beta(),
        "sweeps": estimator.sweeps,
        "start": estimator.init,
    }
    corpus = Corpus.of(data)
    # How many tokens there will be is not known yet: the printer tells of steps.
    watch, close = watcher(estimator.callback, estimator.progress, estimator._printer(1.0))
    try:
        result = climb_topics(corpus, made, options, how, watch)
    finally:
        close()
        if made is not engine:
            made.close()
    words = result["vocabulary"]
    estimator.n_features_in_ = len(words)
    if words != [str(number + 1) for number in range(len(words))]:
        estimator.feature_names_in_ = np.array(words, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    topics = len(result["alpha"])
    totals = result["word_counts"].sum(axis=0)
    shares = np.column_stack([totals / totals.sum(), np.full(topics, np.nan)])
    # Of documents nothing has come here.
    nothing = np.zeros((0, topics))
    known = {"document_counts": nothing, "proportion_sds": nothing, "shares": shares, "draws": None}
    estimator._keep({**result, **known}, np.float64)
    estimator.bound_ = float(np.exp(-result["bound"] / result["tokens"]))
    if result["raised"] is not None:
        raise result["raised"]
    return estimator


def _refuse(estimator: Any) -> None:
    """What needs the documents in one place."""
    needs = {
        f"posterior={estimator.posterior!r}": estimator.posterior not in (None, "mean-field"),
        "learning_method='online'": estimator.learning_method == "online",
    }
    for what, given in needs.items():
        if given:
            raise ValueError(f"{what} needs the documents in one process, expected a fit without engine=")
