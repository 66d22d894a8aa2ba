"""What the bindings cost: one fit by the program and by the package, in turn, on the same numbers.

Both begin at the same labels and take the same steps of VBEM on one thread; the bounds must agree in
every bit. The package's time is that of the whole call of fit, from a C-contiguous array of float64
to the fitted attributes; the program's is that of the process, which reads and writes files too.
Times are of the processor, so that other work on the machine does not count; those of the climbs
alone, which both report, are of the clock.

    python overhead.py --collapsar PROGRAM --out FOLDER [--repeats N]
"""

import argparse
import json
import platform
import resource
import statistics
import subprocess
import tempfile
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np

import pycollapsar
from pycollapsar import _collapsar

ROWS, COLUMNS, COMPONENTS, STEPS = 100_000, 8, 12, 115


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--collapsar", required=True)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--repeats", type=int, default=7)
    args = parser.parse_args()
    args.collapsar = Path(args.collapsar).resolve()
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=3.0, size=(COMPONENTS, COLUMNS))
    X = centres[rng.integers(COMPONENTS, size=ROWS)] + rng.normal(size=(ROWS, COLUMNS))
    labels = rng.integers(COMPONENTS, size=ROWS)

    class FromLabels(pycollapsar.BayesianGaussianMixture):
        def _first(self, X, rng):
            return {"labels": [labels]}

    inside, real = 0.0, _collapsar.fit_mixture

    def timed(*asked):
        nonlocal inside
        began = time.process_time()
        answer = real(*asked)
        inside = time.process_time() - began
        return answer

    _collapsar.fit_mixture = timed
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        np.save(folder / "x.npy", X)
        np.savetxt(folder / "labels.txt", labels, fmt="%d")
        command = [args.collapsar, "mixture", "x.npy", "--components", str(COMPONENTS)]
        command += ["--start", "labels.txt", "--method", "vbem", "--tolerance", "0"]
        command += ["--max-iterations", str(STEPS), "--weights", "dp", "--threads", "1"]
        command += ["--out", "fit", "--quiet"]
        rows = []
        for _ in range(args.repeats):
            began = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
            ended = resource.getrusage(resource.RUSAGE_CHILDREN)
            program = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
            run = json.loads((folder / "fit" / "run.json").read_text())
            mixture = FromLabels(
                n_components=COMPONENTS, method="vbem", tol=0, max_iter=STEPS + 1, n_jobs=1
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                began = time.process_time()
                mixture.fit(X)
                package = time.process_time() - began
            climb = float(mixture.trace_["seconds"][-1])
            assert mixture.lower_bound_ == run["bound"], (mixture.lower_bound_, run["bound"])
            rows.append((run["seconds"], climb, program, package, package - inside))
            print(*(f"{value:.4f}" for value in rows[-1]), flush=True)
    # NumPy's memory is traced, the library's is not: a copy in Python would show here, and one in
    # the extension in what the process needs at most.
    tracemalloc.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixture.fit(X)
    traced = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    names = (
        "program, climb (clock)",
        "package, climb (clock)",
        "program, whole process",
        "package, whole call",
        "package, in Python",
    )
    medians = dict(zip(names, map(statistics.median, zip(*rows))))
    whole = medians["package, whole call"]
    python = medians["package, in Python"] / whole
    against = statistics.median(row[3] / row[2] - 1 for row in rows)
    climbs = statistics.median(row[1] / row[0] - 1 for row in rows)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    args.out.mkdir(parents=True, exist_ok=True)
    with open(args.out / "runs.csv", "w") as out:
        print("program_climb,package_climb,program,package,package_python", file=out)
        for row in rows:
            print(",".join(f"{value:.4f}" for value in row), file=out)
    lines = [
        "# What the bindings cost",
        "",
        f"{ROWS} rows, {COLUMNS} columns, {COMPONENTS} components, {STEPS} steps of VBEM, one"
        f" thread; medians of {len(rows)} runs in turn; bounds equal in every bit.",
        "",
        "| | seconds |",
        "|---|---|",
        *(f"| {name} | {value:.3f} |" for name, value in medians.items()),
        "",
        f"- Of the package's call, in Python and not in the extension: {python:.2%}.",
        f"- The package's call against the program's process: {against:+.1%} (median of pairs).",
        f"- The package's climb against the program's: {climbs:+.1%} (median of pairs).",
        f"- Memory that NumPy took during a fit: {traced / 2**20:.2f} MB for an array of"
        f" {X.nbytes / 2**20:.1f} MB: no copy. The process needed {peak:.0f} MB at most.",
        "",
    ]
    (args.out / "summary.md").write_text("\n".join(lines))
    machine = f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}\n"
    (args.out / "machine.txt").write_text(machine)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
