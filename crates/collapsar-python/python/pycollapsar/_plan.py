"""What all fits have in common: how a climb is asked for, watched and reported."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ._collapsar import MAX_ITERATIONS

Callback = Callable[[dict[str, Any]], Any]
Path = str | os.PathLike[str]

METHODS = ("auto", "vbem", "fr", "pr", "hs", "lbfgs", "newton")


def plan(
    method: str,
    seed: int,
    *,
    tolerance: float | None = None,
    max_iter: int = MAX_ITERATIONS,
    max_passes: int | None = None,
    max_seconds: float | None = None,
    restarts: int | None = 1,
    n_jobs: int | None = None,
    checkpoint: Path | None = None,
    resume: Path | None = None,
) -> dict[str, Any]:
    """How to climb, as the extension takes it; what is None is decided there."""
    return {
        "method": method,
        "seed": int(seed),
        "tolerance": None if tolerance is None else float(tolerance),
        "max_iter": int(max_iter),
        "max_passes": None if max_passes is None else int(max_passes),
        "max_seconds": None if max_seconds is None else float(max_seconds),
        "restarts": None if restarts is None else int(restarts),
        "n_jobs": None if n_jobs is None else int(n_jobs),
        "checkpoint": checkpoint,
        "resume": resume,
    }


#: What is known of each step.
_STEP = {
    "iteration": np.uint64,
    "passes": np.uint64,
    "bound": float,
    "gain": float,
    "squared_norm": float,
    "beta": float,
    "fell_back": bool,
    "trial": bool,
    "seconds": float,
}


def trace(steps: list[dict[str, Any]]) -> dict[str, Any]:
    """Steps as columns; what is not known of one is NaN."""
    return {name: column(steps, name, kind) for name, kind in _STEP.items()}


def column(rows: list[dict[str, Any]], name: str, kind: Any = float) -> Any:
    """One field of all rows; None becomes NaN."""
    return np.array([row[name] for row in rows], dtype=kind)


def watcher(
    callback: Callback | None, progress: bool, verbose: Callable[[int, dict[str, Any]], None] | None
) -> tuple[Callable[[int, dict[str, Any]], bool] | None, Callable[[], None]]:
    """What sees every step, and what is to be called at the end."""
    bar: Any = None
    if progress:
        try:
            from tqdm.auto import tqdm
        except ImportError as error:
            raise ImportError("progress=True needs tqdm; try pip install tqdm") from error
        bar = tqdm(unit=" iterations")
    if callback is None and bar is None and verbose is None:
        return None, lambda: None

    def watch(run: int, step: dict[str, Any]) -> bool:
        step["run"] = run
        if verbose is not None:
            verbose(run, step)
        if bar is not None:
            bar.update()
            bar.set_postfix(bound=f"{step['bound']:.3f}", gain=f"{step['gain']:.1e}")
        return bool(callback(step)) if callback is not None else False

    return watch, (bar.close if bar is not None else lambda: None)
