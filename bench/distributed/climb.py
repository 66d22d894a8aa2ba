"""One climb of a study: what each pass took, as JSON. Every rank of MPI runs this; else one process does."""

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
from pycollapsar.distributed import MPI, Dataset, Local, Ray


def data(kind):
    rng = np.random.default_rng(0)
    if kind == "messages":
        # 128 components of 1023 numbers: a megabyte of messages, and next to no rows.
        return Dataset(rng.normal(size=(128, 511)), chunk_rows=16), 128, "diag"
    rows = int(kind)
    places = rng.normal(0.0, 4.0, (20, 10))
    return places[rng.integers(20, size=rows)] + rng.normal(size=(rows, 10)), 20, "full"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("engine", choices=("local", "ray", "mpi"))
    parser.add_argument("workers", type=int)
    parser.add_argument("data")
    parser.add_argument("passes", type=int)
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
    times, lost, rng = [], [], random.Random(given.passes)
    gap = max(1, given.passes // (given.kills + 2))

    def at_step(step):
        times.append(time.perf_counter())
        if given.engine != "ray":
            return
        lost.append(engine.lost)
        due = step["iteration"] % gap == gap - 1 and step["iteration"] // gap < given.kills
        if due:
            pid = rng.choice(engine.pids())
            usual = np.median(np.diff(times)) if len(times) > 2 else 0.05
            wait = rng.random() * 2.0 * usual
            threading.Timer(wait, os.kill, [pid, signal.SIGKILL]).start()

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
        max_iter=given.passes,
        callback=at_step,
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
            "lost": lost,
            "bound": result["bound"].hex(),
            "passes": result["passes"],
            "messages": len(result["messages"]),
            "load": os.getloadavg()[0],
        }
        json.dump(out, sys.stdout)
    engine.close()


if __name__ == "__main__":
    main()
