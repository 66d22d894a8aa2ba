"""Workers as actors of Ray: one that is lost is replaced, loads its rows again, and the pass goes on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ._engine import Cuts, Engine, Holder, Share


class Ray(Engine):
    """Workers as actors of a Ray cluster.

    Parameters
    ----------
    n_workers : int, default=None
        How many; as many as the cluster has processors where it is None.
    threads : int, default=1
        Threads of each worker, which are processors to Ray.
    address : str, default=None
        The cluster to go to. Where it is None that is the one that this process is connected to, then the one that the
        variable RAY_ADDRESS names. Where there is none, a cluster of this machine alone is started, which listens on
        loopback only and has no dashboard.
    patience : float, default=300
        Seconds that a worker may take to come and to load its rows.
    replacements : int, default=100
        Workers that may be lost in all.
    fan : int, default=16
        Answers that a worker merges into one on their way here: of many workers few vectors arrive.

    Attributes
    ----------
    lost : int
        Workers that were replaced.
    """

    name = "ray"

    def __init__(
        self,
        n_workers: int | None = None,
        *,
        threads: int = 1,
        address: str | None = None,
        patience: float = 300.0,
        replacements: int = 100,
        fan: int = 16,
    ) -> None:
        try:
            import ray
        except ImportError as error:
            message = "engine='ray' needs Ray; try pip install 'ray[data]'"
            raise ImportError(message) from error
        self._ray: Any = ray
        self._started = False
        self._connect(address, n_workers, threads)
        if n_workers is None:
            n_workers = max(1, int(ray.cluster_resources().get("CPU", 1.0)) // threads)
        self.workers, self.threads = int(n_workers), int(threads)
        self.patience, self.replacements, self.lost = patience, replacements, 0
        self._fan = max(2, int(fan))
        options: dict[str, Any] = {"num_cpus": threads, "max_restarts": 0, "scheduling_strategy": "SPREAD"}
        self._class = ray.remote(**options)(Holder)
        self._actors: list[Any] = []
        self._shares: list[Any] = []
        self._cuts: Cuts | None = None
        self._prepared: Any = None

    def _connect(self, address: str | None, n_workers: int | None, threads: int) -> None:
        ray = self._ray
        if ray.is_initialized():
            return
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        address = address or os.environ.get("RAY_ADDRESS")
        if address:
            ray.init(address=address, log_to_driver=False)
            return
        self._started = True
        with _loopback(ray):
            ray.init(
                address="local",
                num_cpus=(n_workers or os.cpu_count() or 1) * threads,
                _node_ip_address="127.0.0.1",
                include_dashboard=False,
                log_to_driver=False,
            )
        listens = {node["NodeManagerAddress"] for node in ray.nodes()}
        if listens != {"127.0.0.1"}:
            ray.shutdown()
            raise RuntimeError(
                f"Ray listens on {', '.join(sorted(listens))}, expected loopback alone; start a"
                " cluster that is protected, and give address="
            )

    def shapes(self, sources: list[Any]) -> list[Any]:
        count = self._ray.remote(num_cpus=self.threads)(_shape)
        # Those that are here need not travel to be counted.
        here = [source.here for source in sources]
        found: list[Any] = [
            source.shape() if own else count.remote(source) for source, own in zip(sources, here)
        ]
        return [f if own else self._got(f) for f, own in zip(found, here)]

    def load(self, cuts: Cuts, shares: list[Share]) -> None:
        self._dismiss()
        self._cuts, self._prepared = cuts, None
        self._shares = [self._ray.put([self._stored(*part) for part in share]) for share in shares]
        hired = [self._hire(number) for number in range(len(shares))]
        self._actors = [actor for actor, _ in hired]
        for number, (_, loaded) in enumerate(hired):
            self._settle(number, loaded)

    def _stored(self, source: Any, place: Any) -> tuple[Any, Any]:
        """A part of a share with its rows in the object store, from where a replacement has them again."""
        return source.stored(place, self._ray.put), place

    def _hire(self, number: int) -> tuple[Any, Any]:
        actor: Any = self._class.remote(self.threads)
        return actor, actor.load.remote(self._cuts, self._shares[number])

    def _replace(self, number: int, cause: BaseException) -> Any:
        """Another worker in the place of one that was lost."""
        self.lost += 1
        if self.lost > self.replacements:
            raise RuntimeError(
                f"{self.lost} workers were lost, expected no more than {self.replacements}:"
                f" {cause}; see replacements="
            ) from cause
        # Of one that cannot be reached, but lives: its processor is needed.
        try:
            self._ray.kill(self._actors[number])
        except Exception:
            pass
        self._actors[number], loaded = self._hire(number)
        return loaded

    def _settle(self, number: int, loaded: Any) -> None:
        """Waits for a worker to hold its rows and to know the model, however often it is lost meanwhile."""
        while True:
            try:
                self._got(loaded)
                if self._prepared is not None:
                    self._got(self._actors[number].answer.remote(self._prepared))
                return
            except self._losses() as error:
                loaded = self._replace(number, error)

    def _losses(self) -> tuple[type[BaseException], ...]:
        errors = self._ray.exceptions
        return (errors.RayActorError, errors.WorkerCrashedError, errors.NodeDiedError)

    def _got(self, reference: Any) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference, timeout=self.patience)
        except errors.GetTimeoutError as error:
            raise RuntimeError(
                f"no worker held its rows after {self.patience} seconds, expected {self.workers}"
                f" workers of {self.threads} processors; try fewer, or patience="
            ) from error
        except errors.RayTaskError as error:
            if isinstance(error, self._losses()):
                raise
            raise (error.cause if isinstance(error.cause, Exception) else error) from None

    def ask(self, task: bytes, prepares: bool) -> list[bytes]:
        reference = self._ray.put(task)
        pending = [actor.answer.remote(reference) for actor in self._actors]
        try:
            answers = self._ray.get(self._merged(pending))
        except self._losses():
            answers = [self._answer(n, own, reference) for n, own in enumerate(pending)]
        if prepares:
            self._prepared = reference
        return answers

    def _merged(self, pending: list[Any]) -> list[Any]:
        """Answers of neighbours as one, by the first of them, until there are few."""
        width = 1
        while len(pending) > self._fan:
            groups = range(0, len(pending), self._fan)
            pending = [
                self._actors[first * width].merge.remote(*pending[first : first + self._fan])
                for first in groups
            ]
            width *= self._fan
        return pending

    def _answer(self, number: int, pending: Any, task: Any) -> bytes:
        """A worker's answer, or that of whoever replaces it."""
        while True:
            try:
                return self._ray.get(pending)
            except self._losses() as error:
                self._settle(number, self._replace(number, error))
                pending = self._actors[number].answer.remote(task)

    def pids(self) -> list[int]:
        """The processes of workers that live."""
        found = []
        for asked in [actor.pid.remote() for actor in self._actors]:
            try:
                found.append(self._ray.get(asked))
            except self._losses():
                continue
        return found

    def _dismiss(self) -> None:
        for actor in self._actors:
            self._ray.kill(actor)
        self._actors = []

    def close(self) -> None:
        self._dismiss()
        self._shares, self._prepared = [], None
        if self._started:
            self._ray.shutdown()


@contextmanager
def _loopback(ray: Any) -> Iterator[None]:
    """Has Ray start on loopback, since whoever reaches its ports can run anything: without this it takes 127.0.0.1 for a
    mistake, and listens on the machine's own address."""
    name = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
    constants = ray._private.ray_constants
    before, known = os.environ.get(name), getattr(constants, "ENABLE_RAY_CLUSTER", None)
    os.environ[name], constants.ENABLE_RAY_CLUSTER = "0", False
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = known
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _shape(source: Any) -> Any:
    return source.shape()
