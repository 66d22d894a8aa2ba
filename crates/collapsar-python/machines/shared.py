"""What the tests of Ray and of MPI have in common: data, and what tells fits apart."""

import numpy as np

from pycollapsar import distributed
from pycollapsar.distributed import Dataset, Local

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
