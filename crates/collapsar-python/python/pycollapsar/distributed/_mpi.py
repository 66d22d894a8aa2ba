"""Workers as ranks of MPI: rank 0 climbs and holds rows too, the others wait for tasks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .._collapsar import merge_answers
from ._engine import Cuts, Engine, Holder, Share

_END, _SHAPES, _LOAD, _ASK, _ROOM, _ANSWER = range(6)

#: Bytes, or an array of them, which may be in memory that ranks share.
Bytes = bytes | np.ndarray

#: Tags of what is said and how many bytes of it there are, and of the bytes.
_HEAD, _BYTES = 1, 2

#: Looks for a message before it is slept between them, and the longest sleep: ranks may be more than processors.
_EAGER, _LONGEST = 20, 2e-3

#: Ranks of a machine that report to one of them. Wide, since what costs there is to be waited for by the next.
_FAN = 8

#: What is shorter goes as a message, though memory is shared.
_SHORT = 4096


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
        self._machine = self._comm.Split_type(mpi.COMM_TYPE_SHARED, self.rank)
        self._here = self._machine.allgather(self.rank)
        firsts = sorted(set(self._comm.allgather(self._here[0])))
        self._above, self._below = _place(self.rank, self._here, firsts)
        #: Memory that ranks of this machine share: a part for what each has to say.
        self._window: Any = None
        self._parts: list[np.ndarray] = []
        self._room = 0

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
        self._release()
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
            elif command == _ROOM:
                self._share(int.from_bytes(data.tobytes(), "little"))
            else:
                self._do(command)

    def shapes(self, sources: list[Any]) -> list[Any]:
        self._command(_SHAPES)
        own = [list(enumerate(sources))[rank :: self.workers] for rank in range(self.workers)]
        found = self._do(_SHAPES, own)
        pairs = sorted((pair for part in found for pair in part), key=lambda pair: pair[0])
        return [shape for _, shape in pairs]

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
        if len(task) > self._room:
            # Answers are about as long as tasks, or go as messages.
            room = 2 * len(task) + _SHORT
            self._command(_ROOM, room.to_bytes(8, "little"))
            self._share(room)
        self._command(_ASK, task)
        return self._reply(self._holder.answer(task))

    def _share(self, room: int) -> None:
        """Makes so much room for each rank in memory that the ranks of a machine share."""
        self._release()
        mpi, machine = self._mpi, self._machine
        self._window = mpi.Win.Allocate_shared(room, 1, comm=machine)
        self._window.Lock_all(mpi.MODE_NOCHECK)
        parts = [self._window.Shared_query(rank)[0] for rank in range(machine.Get_size())]
        self._parts = [np.frombuffer(part, dtype=np.uint8) for part in parts]
        self._room = room

    def _release(self) -> None:
        self._parts, self._room = [], 0
        if self._window is not None:
            self._window.Unlock_all()
            self._window.Free()
            self._window = None

    def _command(self, command: int, data: Bytes = b"") -> None:
        """Sends a command on to the ranks that report to this one."""
        self._say(self._below, command, data)

    def _heard(self) -> tuple[int, np.ndarray]:
        command, data = self._received(self._above)
        self._command(command, data)
        return command, data

    def _reply(self, answer: bytes) -> list[bytes]:
        """All answers as one at rank 0, nothing at the others: each rank merges those of the ranks that report to it."""
        answers: list[Bytes] = [answer]
        answers += [self._received(rank)[1] for rank in reversed(self._below)]
        own = answer if len(answers) == 1 else merge_answers(answers)
        if self.rank == 0:
            return [own]
        self._say([self._above], _ANSWER, own)
        return []

    def _say(self, ranks: list[int], what: int, data: Bytes) -> None:
        """Sends bytes to ranks: to those of this machine, where they are many, only how many there are to be read in memory
        that is shared. Nobody says more before all have read it: answers come after tasks, and the next task after all answers."""
        message = np.frombuffer(data, dtype=np.uint8) if isinstance(data, bytes) else data
        shares = [_SHORT < len(message) <= self._room and rank in self._here for rank in ranks]
        if any(shares):
            self._parts[self._here.index(self.rank)][: len(message)] = message
            self._window.Sync()
        sent: list[tuple[np.ndarray, Any]] = []
        for rank, shared in zip(ranks, shares):
            head = np.array([what, len(message), shared], dtype=np.int64)
            sent.append((head, self._comm.Isend(head, rank, _HEAD)))
            if not shared and len(message):
                sent.append((message, self._comm.Isend(message, rank, _BYTES)))
        for _, request in sent:
            _wait(request.Test)

    def _received(self, rank: int) -> tuple[int, np.ndarray]:
        """What a rank says; where memory is shared it is to be read before anything is answered."""
        what, length, shared = self._got(np.empty(3, dtype=np.int64), rank, _HEAD)
        if shared:
            self._window.Sync()
            return int(what), self._parts[self._here.index(rank)][:length]
        data = np.empty(length, dtype=np.uint8)
        return int(what), self._got(data, rank, _BYTES) if length else data

    def _got(self, data: np.ndarray, rank: int, tag: int) -> np.ndarray:
        _wait(self._comm.Irecv(data, rank, tag).Test)
        return data


def _place(rank: int, here: list[int], firsts: list[int]) -> tuple[int, list[int]]:
    """The rank that a rank reports to, and those that report to it: of each machine the first to that of another, half as many
    machines at each step; the others to one of their machine."""
    above, below = rank, []
    at = here.index(rank)
    if at == 0:
        machine = firsts.index(rank)
        above = firsts[machine & (machine - 1)]
        step = machine & -machine or 1 << len(firsts).bit_length()
        steps = [1 << power for power in reversed(range(step.bit_length() - 1))]
        below = [firsts[machine + step] for step in steps if machine + step < len(firsts)]
    else:
        above = here[(at - 1) // _FAN]
    below += here[at * _FAN + 1 : (at + 1) * _FAN + 1]
    return above, below


def _wait(done: Callable[[], bool]) -> None:
    """Waits without taking a processor from whoever computes: by sleeps that grow with what was waited."""
    for _ in range(_EAGER):
        if done():
            return
    began = time.perf_counter()
    while not done():
        waited = time.perf_counter() - began
        time.sleep(min(max(waited / 16.0, 1e-5), _LONGEST))
