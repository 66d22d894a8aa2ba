"""Missing values in mixtures: the cost of a pass, and the error of what is filled in.

    bench/gaps/run                     the full comparison, into bench/runs/2026-11-18-gaps
    bench/gaps/run --rows 5000 --rounds 1 --out target/look

Data are drawn from a mixture of K Gaussians with full covariances in D columns; a fraction of the numbers is then
removed at random. Each pass is one VBEM iteration; complete data and data with gaps take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("COLLAPSAR", ROOT / "target" / "release" / "collapsar"))


def draw(rows: int, columns: int, components: int, seed: int):
    """Rows of a mixture whose components differ in place and shape."""
    rng = np.random.default_rng(seed)
    means = rng.normal(0.0, 3.0, (components, columns))
    shapes = rng.normal(0.0, 1.0, (components, columns, columns)) / np.sqrt(columns)
    labels = rng.integers(components, size=rows)
    noise = rng.normal(size=(rows, columns))
    bent = np.einsum("nij,nj->ni", shapes[labels], noise)
    return means[labels] + bent + 0.3 * rng.normal(size=(rows, columns))


def user_seconds(arguments: list[str]) -> float:
    """The user CPU time of a run of the program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([str(PROGRAM), *arguments], check=True, capture_output=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def of_a_pass(file: Path, options, covariance: str) -> float:
    """User CPU seconds of one pass: of many iterations less few, so that reading and starting drop out."""
    long, short = options.passes + 1, 1

    def run(iterations: int) -> float:
        flags = ["-k", str(options.components), "--covariance", covariance, "--method", "vbem"]
        flags += ["--start", "random", "--max-iterations", str(iterations), "--tolerance", "0"]
        flags += ["--posterior", "mean-field", "--threads", "1", "-q"]
        return user_seconds(["mixture", str(file), *flags])

    return (run(long) - run(short)) / (long - short)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=16)
    parser.add_argument("--components", type=int, default=20)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--impute-rows", type=int, default=5_000)
    parser.add_argument("--covariances", default="full,diag")
    parser.add_argument("--out", type=Path, default=ROOT / "bench/runs/2026-11-18-gaps")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    whole = draw(options.rows, options.columns, options.components, 0)
    rng = np.random.default_rng(1)
    fractions = [0.0, 0.1, 0.5]
    result: dict = {"settings": {k: str(v) for k, v in vars(options).items() if k != "out"}}
    result["load"] = os.getloadavg()
    with tempfile.TemporaryDirectory() as folder:
        files, patterns = {}, {}
        few = rng.random((5, options.columns)) < 0.3
        for name in [*fractions, "5 patterns"]:
            missing = (
                few[rng.integers(5, size=len(whole))]
                if isinstance(name, str)
                else rng.random(whole.shape) < name
            )
            files[name] = Path(folder) / f"{len(files)}.npy"
            np.save(files[name], np.where(missing, np.nan, whole))
            patterns[name] = len(np.unique(np.packbits(missing, axis=1), axis=0))
        passes: dict = {}
        for covariance in options.covariances.split(","):
            seconds: dict = {name: [] for name in files}
            for _ in range(options.rounds):
                for name, file in files.items():
                    seconds[name].append(of_a_pass(file, options, covariance))
            medians = {name: statistics.median(each) for name, each in seconds.items()}
            passes[covariance] = {
                str(name): {
                    "patterns": patterns[name],
                    "user_seconds": seconds[name],
                    "median": medians[name],
                    "to_complete": medians[name] / medians[0.0],
                }
                for name in files
            }
            print(json.dumps(passes[covariance], indent=1), flush=True)
    result["passes"] = passes
    result["impute"] = impute(options)
    (options.out / "result.json").write_text(json.dumps(result, indent=1) + "\n")


def impute(options) -> dict:
    """Root mean square errors of what is filled in, in standard deviations of the columns, and user CPU time."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer, SimpleImputer

    whole = draw(options.impute_rows, options.columns, options.components, 2)
    spread = whole.std(axis=0)
    found: dict = {}
    for fraction in (0.1, 0.5):
        missing = np.random.default_rng(3).random(whole.shape) < fraction
        gappy = np.where(missing, np.nan, whole)

        def error(filled) -> float:
            return float(np.sqrt(np.mean((((filled - whole) / spread)[missing]) ** 2)))

        def timed(work):
            before, wall = time.process_time(), time.perf_counter()
            filled = work()
            return error(filled), time.process_time() - before, time.perf_counter() - wall

        def ours():
            with tempfile.TemporaryDirectory() as folder:
                data, fit, out = (Path(folder) / name for name in ("x.npy", "fit", "out.csv"))
                np.save(data, gappy)
                flags = ["-k", str(options.components), "--posterior", "mean-field", "-q"]
                seconds = user_seconds(["mixture", str(data), *flags, "--out", str(fit)])
                seconds += user_seconds(
                    ["mixture", "predict", str(fit), str(data), "--impute", "--out", str(out), "-q"]
                )
                table = np.genfromtxt(out, delimiter=",", names=True, deletechars="")
                kept = [name for name in table.dtype.names if not name.endswith("_sd")]
                sds = [f"{name}_sd" for name in kept]
                filled = np.column_stack([table[name] for name in kept])
                sd = np.column_stack([table[name] for name in sds])
                z = ((filled - whole) / np.where(missing, sd, 1.0))[missing]
                return filled, seconds, float(np.mean(np.abs(z) < 1.96))

        filled, seconds, covered = ours()
        found[str(fraction)] = {
            "collapsar": {"error": error(filled), "user_seconds": seconds, "within_1.96_sd": covered},
            "mean": timed(lambda: SimpleImputer().fit_transform(gappy))[:2],
            "IterativeImputer": timed(
                lambda: IterativeImputer(random_state=0, max_iter=10).fit_transform(gappy)
            )[:2],
        }
        print(json.dumps(found[str(fraction)], indent=1), flush=True)
    return found


if __name__ == "__main__":
    main()
