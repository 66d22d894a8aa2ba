"""What the tests of Ray and of MPI have in common: data, and what tells fits apart."""

import os
import signal
import threading

import numpy as np
import scipy.sparse as sp

from pycollapsar import distributed
from pycollapsar.distributed import Corpus, Dataset, Local

#: A node of a cluster that tests have to themselves.
NODE = {
    "num_cpus": 8,
    "object_store_memory": 80_000_000,
    "node_ip_address": "127.0.0.1",
    "include_dashboard": False,
}

#: So short that there are dozens of chunks.
CHUNK_ROWS = 64

#: A climb that goes on for a while.
HOW = {"seed": 5, "tolerance": 1e-7, "max_passes": 120}


def rows(n=3000, d=3, centres=9, seed=0):
    rng = np.random.default_rng(seed)
    places = rng.normal(0.0, 4.0, (centres, d))
    return places[rng.integers(centres, size=n)] + rng.normal(size=(n, d))


def parts():
    X = rows()
    return [X[:1700], X[1700:1707], X[1707:]]


def bits(result):
    steps = [(step["bound"], step["passes"]) for step in result["steps"]]
    return result["messages"].tobytes(), result["bound"], result["passes"], steps


def fitted(engine, data=None, **options):
    data = Dataset(parts() if data is None else data, chunk_rows=CHUNK_ROWS)
    return distributed.fit_mixture(data, 6, engine=engine, **{**HOW, **options})


def alone():
    """The fit of one worker in this process."""
    with Local(1, threads=1) as engine:
        return fitted(engine)


#: Words of the documents below.
WORDS = 40


def documents(n=400, topics=4, length=30, seed=0):
    """Words of documents that a topic model has drawn; some have none."""
    rng = np.random.default_rng(seed)
    words = rng.dirichlet(np.full(WORDS, 0.1), topics)
    drawn = []
    for index in range(n):
        mean = rng.dirichlet(np.full(topics, 0.2)) @ words
        drawn.append(rng.choice(WORDS, 0 if index % 50 == 7 else length, p=mean))
    return drawn


def matrices():
    rows = [np.bincount(document, minlength=WORDS) for document in documents()]
    X = sp.csr_matrix(np.array(rows, dtype=np.float64))
    return [X[:150], X[150:155], X[155:]]


def topics_bits(result):
    steps = [(step["bound"], step["passes"]) for step in result["steps"]]
    found = result["messages"].tobytes() + result["alpha"].tobytes()
    return found, result["bound"], result["passes"], steps


def topics_fitted(engine, data=None, **options):
    data = Corpus(matrices() if data is None else data, chunk_rows=16)
    how = {"seed": 5, "start": "documents", "alpha": 0.1, "tolerance": 1e-4, "max_passes": 40}
    return distributed.fit_topics(data, 4, engine=engine, **{**how, **options})


def topics_alone():
    """The fit of one worker in this process."""
    with Local(1, threads=1) as engine:
        return topics_fitted(engine)


def killer(engine, moments, rng):
    """Kills a worker within a pass or two of each of these steps; a later step waits until it is done, however busy the
    machine is."""
    killed, coming = [], []

    def kill(pid):
        try:
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)
        except ProcessLookupError:
            pass

    def at_step(step):
        for began, timer in coming:
            if began < step["iteration"] - 1:
                timer.join()
        if step["iteration"] in moments:
            pid = rng.choice(engine.pids())
            timer = threading.Timer(rng.random() * 0.02, kill, [pid])
            coming.append((step["iteration"], timer))
            timer.start()

    return at_step, killed
