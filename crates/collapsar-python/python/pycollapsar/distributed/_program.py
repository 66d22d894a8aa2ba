"""The command line of fits whose rows workers hold, with the flags of the program."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from .._collapsar import MAX_ITERATIONS, __version__
from .._errors import CollapsarError
from ._dataset import CHUNK_ROWS, Dataset
from ._engine import Engine
from ._fit import fit_mixture


def parser(program: str, engines: bool) -> argparse.ArgumentParser:
    """Flags; with `engines` also which engine, and how many workers."""
    top = argparse.ArgumentParser(prog=program, description=__doc__)
    top.add_argument("--version", action="version", version=f"pycollapsar {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    mixture = commands.add_parser("mixture", help="fit a mixture of Gaussians")
    add = mixture.add_argument
    add("data", nargs="+", metavar="DATA", help="tables (NPY, Parquet, CSV, TSV) or folders of them")
    add("--columns", metavar="A,B", help="use these columns, by name or by index from 1")
    add("--out", required=True, metavar="DIR", help="write results into DIR")
    add("-k", "--components", default="10", metavar="K", help="a number, or several as 2,4,8")
    add("--covariance", default="full", choices=("full", "tied", "diag", "spherical"))
    add("--weights", default="dirichlet", choices=("dirichlet", "dp"))
    add("--concentration", type=float, metavar="A")
    add("--start", default="kmeans", choices=("kmeans", "k-means++", "random", "random_from_data"))
    add("--method", default="auto")
    add("--jumps", default="auto", choices=("auto", "on", "off"))
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
    add("--chunk-rows", type=int, default=CHUNK_ROWS, help="rows of a chunk of the data")
    add("--threads", type=int, default=1, help="threads of each worker")
    if engines:
        add("--engine", default="ray", choices=("ray", "local"))
        add("--workers", type=int, metavar="N", help="how many workers")
        add("--address", metavar="HOST:PORT", help="the Ray cluster to go to")
    return top


def run(arguments: argparse.Namespace, engine: Engine, command: list[str], talks: bool) -> int:
    """Fits, and tells how it ended; the exit code."""
    columns = None if arguments.columns is None else arguments.columns.split(",")
    try:
        numbers = [int(number) for number in arguments.components.split(",")]
        result = fit_mixture(
            Dataset(arguments.data, columns=columns, chunk_rows=arguments.chunk_rows),
            numbers,
            engine=engine,
            covariance=arguments.covariance,
            weights=arguments.weights,
            concentration=arguments.concentration,
            start=arguments.start,
            jumps={"auto": None, "on": True, "off": False}[arguments.jumps],
            method=arguments.method,
            seed=arguments.seed,
            tolerance=arguments.tolerance,
            restarts=arguments.restarts,
            max_iter=arguments.max_iterations,
            max_passes=arguments.max_passes,
            max_seconds=arguments.time,
            checkpoint=arguments.checkpoint,
            checkpoint_every=arguments.checkpoint_every,
            resume=arguments.resume,
            out=arguments.out,
            command=command,
        )
    except (CollapsarError, ValueError, RuntimeError, OSError) as error:
        if talks:
            print(f"error: {error}", file=sys.stderr)
        return 1
    if talks:
        _tell(arguments, result, engine)
    return 3 if arguments.require_convergence and not result["converged"] else 0


def _tell(arguments: argparse.Namespace, result: dict[str, Any], engine: Engine) -> None:
    parts = result["mixture"]["components"]
    used = sum(part["count"] >= 1.0 for part in parts)
    print(
        f"bound {result['bound']:.3f} after {result['iterations']} steps and {result['passes']} passes"
        f" ({result['outcome']}); {used} of {len(parts)} components in use; {engine.workers} workers;"
        f" written to {arguments.out}"
    )
