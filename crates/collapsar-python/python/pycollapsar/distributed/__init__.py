"""Fits whose rows or documents are held by many workers: threads, actors of Ray, ranks of MPI.

- `fit_mixture`: a mixture of Gaussians; `pycollapsar.BayesianGaussianMixture` has the same as ``fit(dataset, engine=...)``
- `fit_topics`: topics of documents; `pycollapsar.LatentDirichletAllocation` has the same as ``fit(corpus, engine=...)``
- `Dataset`: files, arrays or a Ray Dataset, and how they are cut into chunks
- `Corpus`: the same of documents
- `Local`, `Ray`, `MPI`: engines, which carry tasks to workers

Rows stay with the workers; messages and sums travel. Chunks are cut by the data and added in one fixed tree, so a fit is the
same to the bit with any engine and any number of workers, also after a worker was lost and replaced.

Examples
--------
>>> import numpy as np
>>> from pycollapsar import distributed
>>> rng = np.random.default_rng(0)
>>> parts = [rng.normal(centre, 1.0, (200, 2)) for centre in (0.0, 9.0)]
>>> one = distributed.fit_mixture(parts, 2, engine=distributed.Local(1), seed=1)
>>> four = distributed.fit_mixture(parts, 2, engine=distributed.Local(4), seed=1)
>>> one["bound"] == four["bound"]
True
"""

from __future__ import annotations

from ._corpus import CHUNK_DOCUMENTS, Corpus
from ._dataset import CHUNK_ROWS, Dataset
from ._engine import Engine, Local, engine_of
from ._fit import climb, fit_mixture
from ._fit_topics import climb_topics, fit_topics
from ._mpi import MPI
from ._ray import Ray

__all__ = [
    "CHUNK_DOCUMENTS",
    "CHUNK_ROWS",
    "MPI",
    "Corpus",
    "Dataset",
    "Engine",
    "Local",
    "Ray",
    "climb",
    "climb_topics",
    "engine_of",
    "fit_mixture",
    "fit_topics",
]
