"""Workers as ranks of MPI: rank 0 climbs and holds rows too, the others wait for tasks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .._collapsar import merge_answers
from ._engine import Cuts, Engine, Holder, Share, Source

_END, _SHAPES, _LOAD, _ASK = range(4)

#: Tags of what goes down the tree of ranks, and of what comes up.
_TASK, _ANSWER = 1, 2

#: Looks for a message before it is slept between them, and the longest sleep: ranks may be more than processors.
_EAGER, _LONGEST = 200, 5e-4


class MPI(Engine):
    """Workers as ranks of a communicator: every rank makes the engine and calls fit alike.

    A rank that is lost ends them all, as MPI has it: with ``checkpoint=`` the next run goes on by ``resume=``.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm, default=None
        The ranks; all of them where it is None.
    threads : int, default=1
        Threads of each rank.
    """

    name = "mpi"

    def __init__(self, comm: Any = None, *, threads: int = 1) -> None:
        try:
            from mpi4py import MPI as mpi
        except ImportError as error:
            message = "engine='mpi' needs mpi4py and an MPI; try pip install mpi4py mpich"
            raise ImportError(message) from error
        if mpi.Query_thread() < mpi.THREAD_SERIALIZED:
            raise RuntimeError("an MPI for one thread only, expected one for several")
        self._mpi, self._comm = mpi, mpi.COMM_WORLD if comm is None else comm
        self.rank, self.workers = self._comm.Get_rank(), self._comm.Get_size()
        self._holder = Holder(threads)

    def run(self, work: Callable[[], Any]) -> Any:
        done: Any = None
        if self.rank == 0:
            try:
                done = (work(), None)
            except BaseException as error:
                done = (None, error)
            self._command(_END)
        else:
            self._serve()
        # What was interrupted may not be sent as it is; that it was is known at least.
        try:
            result, raised = self._comm.bcast(done)
        except Exception:
            if self.rank != 0:
                raise
            result, raised = done
        if raised is not None:
            raise raised
        return result

    def _serve(self) -> None:
        while True:
            command, data = self._heard()
            if command == _END:
                return
            if command == _ASK:
                self._reply(self._holder.answer(data))
            else:
                self._do(command)

    def shapes(self, sources: list[Source]) -> list[tuple[int, list[str]]]:
        self._command(_SHAPES)
        own = [list(enumerate(sources))[rank :: self.workers] for rank in range(self.workers)]
        found = self._do(_SHAPES, own)
        return [shape for _, shape in sorted(pair for part in found for pair in part)]

    def load(self, cuts: Cuts, shares: list[Share]) -> None:
        self._command(_LOAD)
        self._do(_LOAD, [(cuts, share) for share in shares])

    def _do(self, command: int, parts: Any = None) -> Any:
        """Each rank's part of what is no pass; what one refuses is refused."""
        part = self._comm.scatter(parts)
        found: Any = None
        raised: Exception | None = None
        try:
            if command == _SHAPES:
                found = [(number, source.shape()) for number, source in part]
            else:
                found = self._holder.load(*part)
        except Exception as refused:
            raised = refused
        all_found = self._comm.gather((found, raised))
        if all_found is None:
            return None
        for _, raised in all_found:
            if raised is not None:
                raise raised
        return [found for found, _ in all_found]

    def ask(self, task: bytes, prepares: bool) -> list[bytes]:
        self._command(_ASK, task)
        return self._reply(self._holder.answer(task))

    def _command(self, command: int, data: bytes = b"") -> None:
        """Sends a command on to the ranks that report to this one, the one with most ranks behind it first."""
        message = np.frombuffer(bytes([command]) + data, dtype=np.uint8)
        least = self.rank & -self.rank or 1 << self.workers.bit_length()
        steps = [1 << power for power in reversed(range(least.bit_length() - 1))]
        ranks = [self.rank + step for step in steps if self.rank + step < self.workers]
        sent = [self._comm.Isend([message, self._mpi.BYTE], rank, _TASK) for rank in ranks]
        for request in sent:
            _wait(request.Test)

    def _heard(self) -> tuple[int, bytes]:
        message = self._received(self.rank & (self.rank - 1), _TASK)
        command, data = message[0], message[1:]
        self._command(command, data)
        return command, data

    def _reply(self, answer: bytes) -> list[bytes]:
        """All answers as one at rank 0, nothing at the others: each rank merges those of the ranks that report to it, half as
        many at each step, so that no rank receives more than a few vectors."""
        answers, step = [answer], 1
        while step < self.workers:
            if self.rank & step:
                own = answers[0] if len(answers) == 1 else merge_answers(answers)
                data = [np.frombuffer(own, dtype=np.uint8), self._mpi.BYTE]
                _wait(self._comm.Isend(data, self.rank - step, _ANSWER).Test)
                return []
            if self.rank + step < self.workers:
                answers.append(self._received(self.rank + step, _ANSWER))
            step *= 2
        return answers if len(answers) == 1 else [merge_answers(answers)]

    def _received(self, rank: int, tag: int) -> bytes:
        status = self._mpi.Status()
        _wait(lambda: self._comm.Iprobe(rank, tag, status))
        data = np.empty(status.Get_count(self._mpi.BYTE), dtype=np.uint8)
        _wait(self._comm.Irecv([data, self._mpi.BYTE], rank, tag).Test)
        return data.tobytes()


def _wait(done: Callable[[], bool]) -> None:
    """Waits without taking a processor from whoever computes: by sleeps that grow with what was waited."""
    for _ in range(_EAGER):
        if done():
            return
    began = time.perf_counter()
    while not done():
        waited = time.perf_counter() - began
        time.sleep(min(max(waited / 16.0, 1e-5), _LONGEST))
