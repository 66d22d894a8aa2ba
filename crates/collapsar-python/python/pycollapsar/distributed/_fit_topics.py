"""Topics of documents that workers hold."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from .._collapsar import MAX_ITERATIONS, cut_rows, fit_far_topics
from .._plan import Callback, Path, plan
from ._corpus import Corpus
from ._engine import Engine, engine_of


def climb_topics(
    corpus: Any,
    engine: Engine,
    options: dict[str, Any],
    how: dict[str, Any],
    watch: Any = None,
) -> dict[str, Any]:
    """Has an engine's workers load a corpus, and climbs; all that the options leave out has its default."""

    def work() -> dict[str, Any]:
        data = Corpus.of(corpus)
        shapes = engine.shapes(data.sources)
        vocabulary = data.words(shapes)
        sources = [(source.name, shape[0]) for source, shape in zip(data.sources, shapes)]
        count, places = cut_rows(sources, data.chunk_rows, engine.workers)
        shares = [[(data.sources[place[0]], place) for place in own] for own in places]
        engine.load(("topics", count, data.chunk_rows, vocabulary), shares)
        found = {
            "alpha": None,
            "beta": None,
            "sweeps": None,
            "start": "annealed",
            "checkpoint_every": 10,
            "out": None,
            "command": [],
            **options,
            "sources": sources,
            "chunk_rows": data.chunk_rows,
            "vocabulary": vocabulary,
            "engine": engine.name,
        }
        result = fit_far_topics(found, how, engine.ask, watch)
        result["vocabulary"] = vocabulary[0]
        result["documents"] = sum(documents for _, documents in sources)
        return result

    return engine.run(work)


def fit_topics(
    dataset: Any,
    n_topics: int | Sequence[int] = 10,
    *,
    engine: str | Engine = "local",
    n_workers: int | None = None,
    alpha: float | Sequence[float] | None = None,
    beta: float | None = None,
    sweeps: int | None = None,
    start: str = "annealed",
    method: str = "auto",
    seed: int = 0,
    tolerance: float | None = None,
    restarts: int = 1,
    max_iter: int = MAX_ITERATIONS,
    max_passes: int | None = None,
    max_seconds: float | None = None,
    callback: Callback | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int = 10,
    resume: Path | None = None,
    out: Path | None = None,
    command: Sequence[str] = (),
) -> dict[str, Any]:
    """Fits topics (latent Dirichlet allocation) to documents that workers hold.

    Parameters
    ----------
    dataset : Corpus, or what one is made of
        Files of counts or texts, sparse matrices or a Ray Dataset of texts.
    n_topics : int or list of int
        How many topics; of several numbers the one with the highest bound is kept.
    engine : {'local', 'ray', 'mpi'} or Engine
        Who holds the documents. An engine that is made here is closed at the end.
    n_workers : int, default=None
        How many workers, of an engine by its name.
    alpha : float or list of float, default=None
        The prior of documents' proportions, one number or one for each topic; learned where it is None.
    beta : float, default=None
        The prior of topics; learned where it is None.
    sweeps : int, default=None
        Sweeps over a document's words in each pass, 3 where it is None.
    start : {'annealed', 'documents', 'random'}
    method, seed, tolerance, restarts, max_iter, max_passes, max_seconds, callback
        As the program has them.
    checkpoint : path, default=None
        A folder of checkpoints, one after every so many steps (`checkpoint_every`) and one at the end. They hold messages and
        priors, and not what is known of documents.
    resume : path, default=None
        A folder of checkpoints to go on from: documents begin where every word is in all topics alike, as at a start. The run
        that goes on has the same bits whoever holds the documents, but not those of one that never ended.
    out : path, default=None
        A folder for ``topics.json``, ``topics.csv``, ``trace.jsonl`` and ``run.json``.

    Returns
    -------
    result : dict
        ``bound``, ``converged``, ``steps``, ``passes``, ``alpha``, ``beta``, ``word_counts`` (expected tokens, a row a word, a
        column a topic), ``vocabulary``, ``messages`` and more.
    """
    made = engine_of(engine, n_workers)
    numbers = [n_topics] if isinstance(n_topics, int) else list(n_topics)
    priors = None
    if alpha is not None:
        priors = [float(alpha)] if isinstance(alpha, (int, float)) else [float(one) for one in alpha]
    options = {
        "topics": [int(number) for number in numbers],
        "alpha": priors,
        "beta": None if beta is None else float(beta),
        "sweeps": sweeps,
        "start": start,
        "checkpoint_every": int(checkpoint_every),
        "out": None if out is None else os.fspath(out),
        "command": [str(word) for word in command],
    }
    how = plan(
        method,
        seed,
        tolerance=tolerance,
        max_iter=max_iter,
        max_passes=max_passes,
        max_seconds=max_seconds,
        restarts=restarts,
        checkpoint=checkpoint,
        resume=resume,
    )
    watch = None if callback is None else lambda run, step: callback({**step, "run": run})
    try:
        result = climb_topics(dataset, made, options, how, watch)
    finally:
        if made is not engine:
            made.close()
    if result["raised"] is not None:
        raise result["raised"]
    return result
