"""The estimator's fit where workers hold the rows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .._plan import plan, watcher
from ._dataset import Dataset
from ._engine import Engine, engine_of
from ._fit import climb


def fit(estimator: Any, data: Any, sample_weight: Any, engine: str | Engine) -> Any:
    """Fits a `BayesianGaussianMixture` to a data set whose rows workers hold."""
    from .._mixture import _NOT_CONVERGED

    estimator._validate_params()
    _refuse(estimator, sample_weight)
    made = engine_of(engine, workers_of(estimator, engine))
    rng = check_random_state(estimator.random_state)
    first = int(estimator.max_iter > 0)
    how = plan(
        estimator.method or ("auto" if estimator.jumps else "vbem"),
        rng.randint(np.iinfo(np.int32).max),
        tolerance=estimator.tol,
        max_iter=int(estimator.max_iter) - first,
        max_passes=estimator.max_passes,
        max_seconds=estimator.max_seconds,
        restarts=estimator.n_init,
        n_jobs=estimator.n_jobs,
        checkpoint=estimator.checkpoint,
        resume=estimator.resume,
    )
    dataset = Dataset.of(data)
    options = {
        "components": [int(estimator.n_components)],
        "covariance": estimator.covariance_type,
        "process": estimator._process(),
        "concentration": estimator.weight_concentration_prior,
        "location": _numbers(estimator.mean_prior),
        "mean_precision": estimator.mean_precision_prior,
        "degrees_of_freedom": estimator.degrees_of_freedom_prior,
        "scale": _scale(estimator),
        "start": estimator.init_params,
        "jumps": bool(estimator.jumps),
    }
    watch, close = watcher(estimator.callback, estimator.progress, estimator._printer())
    try:
        result = climb(dataset, made, options, how, watch)
    finally:
        close()
        if made is not engine:
            made.close()
    names = result["columns"]
    estimator.n_features_in_ = len(names)
    if names != [str(number + 1) for number in range(len(names))]:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    estimator._keep(result, len(names), first)
    estimator._asked = None
    if result["raised"] is not None:
        raise result["raised"]
    if not estimator.converged_ and estimator.max_iter > 0:
        warnings.warn(_NOT_CONVERGED, ConvergenceWarning, stacklevel=3)
    return estimator


def workers_of(estimator: Any, engine: str | Engine) -> int | None:
    """As many as `n_jobs` says, where that is a number of workers."""
    jobs = estimator.n_jobs
    if engine == "ray" and jobs is not None and jobs > 0:
        return int(jobs)
    return None


def _refuse(estimator: Any, sample_weight: Any) -> None:
    """What needs the rows in one place."""
    needs = {
        "sample_weight": sample_weight is not None,
        "warm_start=True": bool(estimator.warm_start),
        f"posterior={estimator.posterior!r}": estimator.posterior not in (None, "mean-field"),
    }
    for what, given in needs.items():
        if given:
            raise ValueError(f"{what} needs the rows in one process, expected a fit without engine=")


def _numbers(given: Any) -> list[float] | None:
    return None if given is None else np.asarray(given, dtype=np.float64).ravel().tolist()


def _scale(estimator: Any) -> list[float] | None:
    """The prior covariance, which is checked as for rows in one process."""
    if estimator.covariance_prior is None:
        return None
    given = np.asarray(estimator.covariance_prior, dtype=np.float64)
    if given.ndim == 0:
        raise ValueError("covariance_prior is one number, expected one for each column with engine=")
    return np.asarray(estimator._scale(len(given))).tolist()



