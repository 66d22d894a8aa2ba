"""One climb of a study, or one pass of it again and again: what each took, as JSON. Every rank of MPI runs this; else one process."""

import argparse
import json
import os
import signal
import random
import sys
import threading
import time

import numpy as np

from pycollapsar import distributed
from pycollapsar._collapsar import merge_answers
from pycollapsar.distributed import MPI, Dataset, Local, Ray


def data(kind):
    rng = np.random.default_rng(0)
    if kind == "messages":
        # Eight rows, so that next to nothing is computed.
        return Dataset(rng.normal(size=(8, 511)), chunk_rows=1), 2, "diag"
    rows = int(kind)
    places = rng.normal(0.0, 4.0, (20, 10))
    return places[rng.integers(20, size=rows)] + rng.normal(size=(rows, 10)), 20, "full"


#: Where a task says what it is; what a pass with a gradient is, and one that asks for means of rows near centres.
KIND, GRADIENT, CENTRES = 21, 1, 21


def megabyte(task):
    """A task of a megabyte with an answer of 131,072 numbers, to the same workers: means of rows that are nearest to 256 centres."""
    centres = np.random.default_rng(1).normal(size=256 * 511)
    length = len(centres).to_bytes(8, "little")
    return task[:KIND] + bytes([CENTRES]) + length + centres.tobytes()


def again(engine, passes, kills, of_a_megabyte):
    """Has the first pass of a climb made so many times, or another task in its place: seconds of each, workers lost before its
    end, and whether all were the same to the bit."""
    ask, found = engine.ask, {"seconds": [], "lost": [], "same": True}
    rng = random.Random(passes)
    gap = max(1, passes // (kills + 1))

    def asked(task, prepares):
        if task[KIND] != GRADIENT or found["seconds"]:
            return ask(task, prepares)
        asked_for, task = ask(task, False), megabyte(task) if of_a_megabyte else task
        first = merge_answers(ask(task, False))
        for number in range(passes):
            if kills and number % gap == gap // 2 and number // gap < kills:
                pid, usual = rng.choice(engine.pids()), np.median(found["seconds"] or [0.05])
                threading.Timer(rng.random() * usual, os.kill, [pid, signal.SIGKILL]).start()
            began = time.perf_counter()
            answer = merge_answers(ask(task, False))
            found["seconds"].append(time.perf_counter() - began)
            found["lost"].append(getattr(engine, "lost", 0))
            found["same"] &= answer == first
        return asked_for

    engine.ask = asked
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("engine", choices=("local", "ray", "mpi"))
    parser.add_argument("workers", type=int)
    parser.add_argument("data")
    parser.add_argument("passes", type=int)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--address")
    parser.add_argument("--checkpoint")
    parser.add_argument("--resume")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    if given.engine == "local":
        engine = Local(given.workers, threads=given.threads)
    elif given.engine == "mpi":
        engine = MPI(threads=given.threads)
    else:
        engine = Ray(given.workers, threads=given.threads, address=given.address)
    dataset, components, covariance = data(given.data)
    times = []
    found = again(engine, given.passes, given.kills, given.data == "messages") if given.again else {}
    began = time.perf_counter()
    result = distributed.fit_mixture(
        dataset,
        components,
        engine=engine,
        covariance=covariance,
        start="random",
        method="vbem",
        jumps=False,
        tolerance=0.0,
        seed=1,
        max_iter=2 if given.again else given.passes,
        callback=lambda step: times.append(time.perf_counter()),
        checkpoint=given.checkpoint,
        checkpoint_every=1,
        resume=given.resume,
    )
    if getattr(engine, "rank", 0) == 0:
        out = {
            "engine": given.engine,
            "workers": given.workers,
            "data": given.data,
            "began": began,
            "times": times,
            **found,
            "bound": result["bound"].hex(),
            "passes": result["passes"],
            "messages": len(result["messages"]),
            "load": os.getloadavg()[0],
        }
        json.dump(out, sys.stdout)
    engine.close()


if __name__ == "__main__":
    main()
