"""The command line of fits whose rows workers hold, with the flags of the program."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from .._collapsar import MAX_ITERATIONS, __version__
from .._errors import CollapsarError
from ._corpus import CHUNK_DOCUMENTS, Corpus
from ._dataset import CHUNK_ROWS, Dataset
from ._engine import Engine
from ._fit import fit_mixture
from ._fit_topics import fit_topics


def parser(program: str, engines: bool) -> argparse.ArgumentParser:
    """Flags; with `engines` also which engine, and how many workers."""
    top = argparse.ArgumentParser(prog=program, description=__doc__)
    top.add_argument("--version", action="version", version=f"pycollapsar {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _mixture(commands.add_parser("mixture", help="fit a mixture of Gaussians"))
    _topics(commands.add_parser("topics", help="fit topics to documents"))
    for command in commands.choices.values():
        _climb(command)
        if engines:
            add = command.add_argument
            add("--engine", default="ray", choices=("ray", "local"))
            add("--workers", type=int, metavar="N", help="how many workers")
            add("--address", metavar="HOST:PORT", help="the Ray cluster to go to")
    return top


def _mixture(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("data", nargs="+", metavar="DATA", help="tables (NPY, Parquet, CSV, TSV) or folders of them")
    add("--columns", metavar="A,B", help="use these columns, by name or by index from 1")
    add("-k", "--components", default="10", metavar="K", help="a number, or several as 2,4,8")
    add("--covariance", default="full", choices=("full", "tied", "diag", "spherical"))
    add("--weights", default="dirichlet", choices=("dirichlet", "dp"))
    add("--concentration", type=float, metavar="A")
    add("--start", default="kmeans", choices=("kmeans", "k-means++", "random", "random_from_data"))
    add("--jumps", default="auto", choices=("auto", "on", "off"))
    add("--chunk-rows", type=int, default=CHUNK_ROWS, help="rows of a chunk of the data")


def _topics(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("data", nargs="+", metavar="CORPUS", help="files of counts or of texts, or folders of them")
    add("-k", "--topics", default="10", metavar="K", help="a number, or several as 10,20,50")
    add("--alpha", default="auto", metavar="A", help="the prior of proportions; learned by default")
    add("--beta", default="auto", metavar="B", help="the prior of words; learned by default")
    add("--sweeps", type=int, help="over a document's words in each pass")
    add("--start", default="annealed", choices=("annealed", "documents", "random"))
    add("--format", help="of the files; by their contents where it is not given")
    add("--vocabulary", metavar="FILE", help="the words of files of counts, one a line")
    add("--text-column", metavar="NAME", help="the column or field that holds the text")
    add("--stop-words", metavar="LIST", help="english, none or a file of words to drop")
    add("--min-length", type=int, default=2, metavar="N", help="letters of a word at least")
    add("--keep-numbers", action="store_true", help="keep words without a letter")
    add("--min-docs", type=int, default=1, metavar="N", help="drop words in fewer documents")
    add("--max-docs-share", type=float, default=1.0, metavar="X", help="drop words in more of them")
    add("--max-vocabulary", type=int, metavar="N", help="keep the most frequent words alone")
    add("--chunk-rows", type=int, default=CHUNK_DOCUMENTS, help="documents of a chunk of the data")


def _climb(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--out", required=True, metavar="DIR", help="write results into DIR")
    add("--method", default="auto")
    add("--seed", type=int, default=0)
    add("--restarts", type=int, default=1, metavar="R")
    add("--tolerance", type=float, metavar="T")
    add("--max-iterations", type=int, default=MAX_ITERATIONS, metavar="I")
    add("--max-passes", type=int, metavar="N")
    add("--time", type=float, metavar="SECONDS")
    add("--checkpoint", metavar="DIR", help="write checkpoints into DIR, none over another")
    add("--checkpoint-every", type=int, default=10, metavar="STEPS")
    add("--resume", metavar="DIR", help="go on from the newest checkpoint of DIR")
    add("--require-convergence", action="store_true", help="exit with 3 where it has not converged")
    add("--threads", type=int, default=1, help="threads of each worker")


def run(arguments: argparse.Namespace, engine: Engine, command: list[str], talks: bool) -> int:
    """Fits, and tells how it ended; the exit code."""
    how = {
        "engine": engine,
        "start": arguments.start,
        "method": arguments.method,
        "seed": arguments.seed,
        "tolerance": arguments.tolerance,
        "restarts": arguments.restarts,
        "max_iter": arguments.max_iterations,
        "max_passes": arguments.max_passes,
        "max_seconds": arguments.time,
        "checkpoint": arguments.checkpoint,
        "checkpoint_every": arguments.checkpoint_every,
        "resume": arguments.resume,
        "out": arguments.out,
        "command": command,
    }
    fit = {"mixture": _fit_mixture, "topics": _fit_topics}[arguments.command]
    try:
        result = fit(arguments, how)
    except (CollapsarError, ValueError, RuntimeError, OSError) as error:
        if talks:
            print(f"error: {error}", file=sys.stderr)
        return 1
    if talks:
        _tell(arguments, result, engine)
    return 3 if arguments.require_convergence and not result["converged"] else 0


def _numbers(given: str) -> list[int]:
    return [int(number) for number in given.split(",")]


def _fit_mixture(arguments: argparse.Namespace, how: dict[str, Any]) -> dict[str, Any]:
    columns = None if arguments.columns is None else arguments.columns.split(",")
    return fit_mixture(
        Dataset(arguments.data, columns=columns, chunk_rows=arguments.chunk_rows),
        _numbers(arguments.components),
        covariance=arguments.covariance,
        weights=arguments.weights,
        concentration=arguments.concentration,
        jumps={"auto": None, "on": True, "off": False}[arguments.jumps],
        **how,
    )


def _fit_topics(arguments: argparse.Namespace, how: dict[str, Any]) -> dict[str, Any]:
    corpus = Corpus(
        arguments.data,
        format=arguments.format,
        vocabulary=arguments.vocabulary,
        text_column=arguments.text_column,
        stop_words=arguments.stop_words,
        min_length=arguments.min_length,
        keep_numbers=arguments.keep_numbers,
        min_docs=arguments.min_docs,
        max_docs_share=arguments.max_docs_share,
        max_vocabulary=arguments.max_vocabulary,
        chunk_rows=arguments.chunk_rows,
    )
    alpha, beta = (
        None if given == "auto" else float(given) for given in (arguments.alpha, arguments.beta)
    )
    topics = _numbers(arguments.topics)
    return fit_topics(corpus, topics, alpha=alpha, beta=beta, sweeps=arguments.sweeps, **how)


def _tell(arguments: argparse.Namespace, result: dict[str, Any], engine: Engine) -> None:
    if arguments.command == "mixture":
        parts = result["mixture"]["components"]
        used = sum(part["count"] >= 1.0 for part in parts)
        found = f"{used} of {len(parts)} components in use"
    else:
        topics, words = len(result["alpha"]), len(result["vocabulary"])
        found = f"{topics} topics of {result['documents']} documents and {words} words"
    print(
        f"bound {result['bound']:.3f} after {result['iterations']} steps and {result['passes']} passes"
        f" ({result['outcome']}); {found}; {engine.workers} workers; written to {arguments.out}"
    )
