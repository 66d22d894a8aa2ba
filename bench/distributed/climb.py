"""One climb of a study, or one pass of it again and again: what each took, as JSON. Every rank of MPI runs this; else one process."""

import argparse
import hashlib
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
from pycollapsar.distributed import MPI, Corpus, Dataset, Local, Ray

#: Words of the documents, and topics: together 100,000 messages.
WORDS, TOPICS = 2000, 50


def corpus(documents):
    """Documents of a hundred words that a topic model has drawn, in four matrices."""
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    of_topics = np.cumsum(rng.dirichlet(np.full(WORDS, 0.05), TOPICS), axis=1)
    topics = (rng.random((documents, 100, 1)) > np.cumsum(rng.dirichlet(np.full(TOPICS, 0.1), documents), axis=1)[:, None]).sum(2)
    words = np.empty_like(topics)
    for topic in range(TOPICS):
        own = topics == topic
        words[own] = np.searchsorted(of_topics[topic], rng.random(own.sum()))
    words = np.minimum(words, WORDS - 1)
    rows = np.repeat(np.arange(documents), 100)
    X = sp.csr_matrix((np.ones(rows.size), (rows, words.ravel())), shape=(documents, WORDS))
    return Corpus([X[part : part + -(-documents // 4)] for part in range(0, documents, -(-documents // 4))], chunk_rows=512)


def data(kind):
    rng = np.random.default_rng(0)
    if kind == "messages":
        # Eight rows, so that next to nothing is computed.
        return Dataset(rng.normal(size=(8, 511)), chunk_rows=1), 2, "diag"
    rows = int(kind)
    places = rng.normal(0.0, 4.0, (20, 10))
    return places[rng.integers(20, size=rows)] + rng.normal(size=(rows, 10)), 20, "full"


#: Where a task says what it is; what a pass with a gradient is, one over documents, and one that asks for means of rows near
#: centres.
KIND, GRADIENT, DOCUMENTS, CENTRES = 21, 1, 18, 21


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
        if task[KIND] not in (GRADIENT, DOCUMENTS) or found["seconds"]:
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


def at_steps(engine, steps, kills):
    """A callback that kills a worker at so many random ones of these steps, and what it has seen: when each step ended and how
    many workers had been lost."""
    rng = random.Random(steps)
    moments = set(rng.sample(range(1, steps), kills))
    found = {"times": [time.perf_counter()], "lost": [0]}

    def at_step(step):
        found["times"].append(time.perf_counter())
        found["lost"].append(getattr(engine, "lost", 0))
        if step["iteration"] in moments:
            pid, usual = rng.choice(engine.pids()), np.median(np.diff(found["times"]))
            threading.Timer(rng.random() * usual, os.kill, [pid, signal.SIGKILL]).start()

    return at_step, found


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
    kind, _, documents = given.data.partition(":")
    is_topics = kind == "topics"
    kills = given.kills if given.again else 0
    found = again(engine, given.passes, kills, given.data == "messages") if given.again else {}
    steps = 2 if given.again else given.passes
    at_step, seen = at_steps(engine, steps, given.kills - kills)
    how = {
        "engine": engine,
        "start": "random",
        "method": "vbem",
        "tolerance": 0.0,
        "seed": 1,
        "max_iter": steps,
        "callback": at_step,
        "checkpoint": given.checkpoint,
        "checkpoint_every": 1,
        "resume": given.resume,
    }
    if is_topics:
        dataset = corpus(int(documents))
    else:
        dataset, components, covariance = data(given.data)
    began = time.perf_counter()
    if is_topics:
        result = distributed.fit_topics(dataset, TOPICS, alpha=0.1, beta=0.05, **how)
    else:
        result = distributed.fit_mixture(dataset, components, covariance=covariance, jumps=False, **how)
    if not given.again:
        found = {"lost": seen["lost"][1:], "before": seen["times"][0]}
    times = seen["times"][1:]
    if getattr(engine, "rank", 0) == 0:
        out = {
            "engine": given.engine,
            "workers": given.workers,
            "data": given.data,
            "began": began,
            "times": times,
            **found,
            "bound": result["bound"].hex(),
            "digest": hashlib.sha256(result["messages"].tobytes()).hexdigest(),
            "passes": result["passes"],
            "messages": len(result["messages"]),
            "load": os.getloadavg()[0],
        }
        json.dump(out, sys.stdout)
    engine.close()


if __name__ == "__main__":
    main()
