"""What all fits share: how a climb is asked for, watched and reported."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

Callback = Callable[[dict[str, Any]], Any]

METHODS = ("auto", "vbem", "fr", "pr", "hs", "lbfgs", "newton")


#: Fewer numbers than this are done before a second thread has begun.
_FEW = 50_000


def threads(n_jobs: int | None, numbers: int | None = None) -> int:
    """How many threads `n_jobs` asks for: None and -1 mean as many as there are processors.

    With None it may be one where there are few `numbers` to go through.
    """
    if n_jobs is None and numbers is not None and numbers < _FEW:
        return 1
    if n_jobs is None or n_jobs == -1:
        return 0
    if n_jobs < 0:
        return max(1, (os.cpu_count() or 1) + 1 + n_jobs)
    return max(1, n_jobs)


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
