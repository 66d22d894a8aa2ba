"""Engines: who holds the rows, and how tasks reach them."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .._collapsar import MixtureWorker, TopicsWorker, merge_answers
from ._dataset import Place

#: What one worker is to hold: sources of rows or of documents, and which of them.
Share = list[tuple[Any, Place]]

#: Of which model; chunks in all, rows of a chunk, columns or words.
Cuts = tuple[str, int, int, Any]

_WORKERS: dict[str, Any] = {"mixture": MixtureWorker, "topics": TopicsWorker}


class Holder:
    """A worker, wherever it runs."""

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads
        self.worker: MixtureWorker | TopicsWorker | None = None

    def shape(self, source: Any) -> Any:
        """Rows and columns of a source, or documents and words."""
        return source.shape()

    def load(self, cuts: Cuts, share: Share) -> int:
        """Takes in rows in the place of all earlier ones; returns how many."""
        self.worker = None
        model, *numbers = cuts
        worker = _WORKERS[model](*numbers, self.threads)
        for source, place in share:
            source.fill(worker, place)
        self.worker = worker
        return worker.rows

    def answer(self, task: Any) -> bytes:
        """Does a task."""
        if self.worker is None:
            raise RuntimeError("a worker that holds no rows was asked, expected load before")
        return self.worker.answer(task)

    def merge(self, *answers: bytes) -> bytes:
        """Several workers' answers as one."""
        return merge_answers(list(answers))

    def pid(self) -> int:
        """The process that it runs in."""
        return os.getpid()


class Engine:
    """Carries bytes between whoever climbs and the workers."""

    #: As `engine=` takes it.
    name = ""

    #: How many workers there are.
    workers = 1

    def run(self, work: Callable[[], Any]) -> Any:
        """Does the work of whoever climbs, in the process that is to do it; all processes have what it returns."""
        return work()

    def shapes(self, sources: list[Any]) -> list[Any]:
        """Rows and columns of each source, or documents and words."""
        raise NotImplementedError

    def load(self, cuts: Cuts, shares: list[Share]) -> None:
        """Gives each worker its share to hold."""
        raise NotImplementedError

    def ask(self, task: bytes, prepares: bool) -> list[bytes]:
        """Has every worker do a task; whoever replaces one is first given the last that prepares."""
        raise NotImplementedError

    def close(self) -> None:
        """Lets go of workers and of their rows."""

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Local(Engine):
    """Workers in this process.

    Parameters
    ----------
    n_workers : int, default=1
        How many.
    threads : int, default=None
        Threads of each; as many as there are processors in all where it is None.
    """

    name = "local"

    def __init__(self, n_workers: int = 1, *, threads: int | None = None) -> None:
        self.workers = int(n_workers)
        each = max(1, (os.cpu_count() or 1) // self.workers)
        self._holders = [Holder(threads or each) for _ in range(self.workers)]
        self._pool = ThreadPoolExecutor(self.workers)

    def shapes(self, sources: list[Any]) -> list[Any]:
        return list(self._pool.map(lambda source: source.shape(), sources))

    def load(self, cuts: Cuts, shares: list[Share]) -> None:
        held = zip(self._holders, shares)
        list(self._pool.map(lambda both: both[0].load(cuts, both[1]), held))

    def ask(self, task: bytes, prepares: bool) -> list[bytes]:
        if self.workers == 1:
            return [self._holders[0].answer(task)]
        return list(self._pool.map(lambda holder: holder.answer(task), self._holders))

    def close(self) -> None:
        self._pool.shutdown()
        for holder in self._holders:
            holder.worker = None


def engine_of(engine: str | Engine, n_workers: int | None = None) -> Engine:
    """An engine by its name, or as it is."""
    if isinstance(engine, Engine):
        return engine
    if engine == "local":
        return Local(n_workers or 1)
    if engine == "ray":
        from ._ray import Ray

        return Ray(n_workers)
    if engine == "mpi":
        from ._mpi import MPI

        return MPI()
    raise ValueError(f"engine={engine!r}, expected 'local', 'ray', 'mpi' or an engine")
