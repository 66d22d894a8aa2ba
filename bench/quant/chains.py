"""Where directions end on chains of 500 transcripts, each read fitting one and the next.

    python3 bench/quant/chains.py target/release/collapsar

Prints, for each chain and prior, by how many nats each method's bound differs from the highest of the six that climb all
transcripts at once; all of them say that they converged, or the line says so. `auto` solves by components and searches.
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

TRANSCRIPTS = 500
METHODS = ["vbem", "fr", "pr", "hs", "lbfgs", "newton"]
COUNTS = {
    "1": lambda rng: 1,
    "0 to 4": lambda rng: rng.randint(0, 4),
    "1 to 1000": lambda rng: rng.randint(1, 1000),
    "exponential, mean 20": lambda rng: int(rng.expovariate(1 / 20)),
    "log-uniform to 10^4": lambda rng: int(10 ** rng.uniform(-0.5, 4)),
}


def write(path, count, weighed, seed):
    rng, rows = random.Random(seed), []
    for i in range(TRANSCRIPTS - 1):
        reads = count(rng)
        share = rng.uniform(0.05, 0.95) if weighed else 0.5
        if reads > 0:
            rows.append(f"2 {i} {i + 1} {share:.6f} {1 - share:.6f} {reads}")
    names = [f"t{i}" for i in range(TRANSCRIPTS)]
    path.write_text("\n".join([str(TRANSCRIPTS), str(len(rows)), *names, *rows]) + "\n")


def bound(program, classes, out, prior, method):
    command = [program, "--quiet", "--threads", "1", "quant", "--classes", classes, "--prior", prior, "--method", method,
               "--posterior", "collapsed", "--max-iterations", "200000", "--no-report", "--out", out]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    run = json.loads((out / "run.json").read_text())
    return run["bound"], run["outcome"]["converged"]


def main():
    print(f"| reads | weights | seed | prior | {' | '.join(METHODS)} | auto |")
    print("|---|---|--:|--:|" + "--:|" * (len(METHODS) + 1))
    with tempfile.TemporaryDirectory() as folder:
        classes, out = pathlib.Path(folder, "classes.txt"), pathlib.Path(folder, "out")
        for name, count in COUNTS.items():
            for seed in (1, 2):
                for weighed in (False, True):
                    write(classes, count, weighed, seed)
                    for prior in ("1", "0.5", "0.1", "0.01"):
                        ends = [bound(sys.argv[1], classes, out, prior, method) for method in [*METHODS, "auto"]]
                        best = max(end[0] for end in ends[:-1])
                        cells = [f"{end - best + 0.0:.2f}" + ("" if done else " not converged") for end, done in ends]
                        weights = "drawn" if weighed else "equal"
                        print(f"| {name} | {weights} | {seed} | {prior} | {' | '.join(cells)} |", flush=True)


main()
