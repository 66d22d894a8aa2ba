"""Fits of rows that workers hold."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from .._collapsar import MAX_ITERATIONS, cut_rows, fit_far_mixture
from .._plan import Callback, Path, plan
from ._dataset import Dataset
from ._engine import Engine, engine_of


def climb(
    dataset: Any,
    engine: Engine,
    options: dict[str, Any],
    how: dict[str, Any],
    watch: Any = None,
) -> dict[str, Any]:
    """Has an engine's workers load a data set, and climbs; all that the options leave out has its default."""

    def work() -> dict[str, Any]:
        data = Dataset.of(dataset)
        shapes = engine.shapes(data.sources)
        columns = data.checked(shapes)
        sources = [(source.name, rows) for source, (rows, _) in zip(data.sources, shapes)]
        count, places = cut_rows(sources, data.chunk_rows, engine.workers)
        shares = [[(data.sources[place[0]], place) for place in own] for own in places]
        engine.load(("mixture", count, data.chunk_rows, len(columns)), shares)
        found = {
            "covariance": "full",
            "process": False,
            "concentration": None,
            "location": None,
            "mean_precision": None,
            "degrees_of_freedom": None,
            "scale": None,
            "start": "kmeans",
            "jumps": None,
            "checkpoint_every": 10,
            "out": None,
            "command": [],
            **options,
            "sources": sources,
            "chunk_rows": data.chunk_rows,
            "columns": columns,
            "engine": engine.name,
        }
        result = fit_far_mixture(found, how, engine.ask, watch)
        result["columns"] = columns
        return result

    return engine.run(work)


def fit_mixture(
    dataset: Any,
    n_components: int | Sequence[int] = 10,
    *,
    engine: str | Engine = "local",
    n_workers: int | None = None,
    covariance: str = "full",
    weights: str = "dirichlet",
    concentration: float | None = None,
    start: str = "kmeans",
    jumps: bool | None = None,
    method: str = "auto",
    seed: int = 0,
    tolerance: float | None = None,
    restarts: int = 1,
    max_iter: int = MAX_ITERATIONS,
    max_passes: int | None = None,
    max_seconds: float | None = None,
    callback: Callback | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int = 10,
    resume: Path | None = None,
    out: Path | None = None,
    command: Sequence[str] = (),
) -> dict[str, Any]:
    """Fits a mixture of Gaussians to rows that workers hold.

    Parameters
    ----------
    dataset : Dataset, or what one is made of
        Files, arrays or a Ray Dataset. Values must not be missing.
    n_components : int or list of int
        How many components; of several numbers the one with the highest bound is kept.
    engine : {'local', 'ray', 'mpi'} or Engine
        Who holds the rows. An engine that is made here is closed at the end.
    n_workers : int, default=None
        How many workers, of an engine by its name.
    covariance : {'full', 'tied', 'diag', 'spherical'}
    weights : {'dirichlet', 'dp'}
    concentration : float, default=None
        Of the prior of the weights.
    start : {'kmeans', 'k-means++', 'random', 'random_from_data'}
    jumps : bool, default=None
        Whether splits and merges are tried; with method 'auto' they are where it is None.
    method, seed, tolerance, restarts, max_iter, max_passes, max_seconds, callback
        As the program has them.
    checkpoint : path, default=None
        A folder of checkpoints, one after every so many steps (`checkpoint_every`) and one at the end. None is written
        over: a manifest says which is the newest that is whole.
    resume : path, default=None
        A folder of checkpoints to go on from, to the same bits.
    out : path, default=None
        A folder for ``components.json``, ``trace.jsonl`` and ``run.json``.

    Returns
    -------
    result : dict
        ``bound``, ``converged``, ``steps``, ``passes``, ``mixture`` (its components), ``fit`` (which scores new rows),
        ``messages`` and more.
    """
    made = engine_of(engine, n_workers)
    numbers = [n_components] if isinstance(n_components, int) else list(n_components)
    if weights not in ("dirichlet", "dp"):
        raise ValueError(f"weights={weights!r}, expected 'dirichlet' or 'dp'")
    options = {
        "components": [int(number) for number in numbers],
        "covariance": covariance,
        "process": weights == "dp",
        "concentration": concentration,
        "start": start,
        "jumps": jumps,
        "checkpoint_every": int(checkpoint_every),
        "out": None if out is None else os.fspath(out),
        "command": [str(word) for word in command],
    }
    how = plan(
        method,
        seed,
        tolerance=tolerance,
        max_iter=max_iter,
        max_passes=max_passes,
        max_seconds=max_seconds,
        restarts=restarts,
        checkpoint=checkpoint,
        resume=resume,
    )
    watch = None if callback is None else lambda run, step: callback({**step, "run": run})
    try:
        result = climb(dataset, made, options, how, watch)
    finally:
        if made is not engine:
            made.close()
    if result["raised"] is not None:
        raise result["raised"]
    return result
