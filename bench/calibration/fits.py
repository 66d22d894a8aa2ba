"""One fit of a case by the program: draws of the nodes, intervals of the table, and what the program says of itself."""

import csv
import dataclasses
import json
import os
import subprocess

import cases

POSTERIORS = ["mean-field", "linear-response", "exact"]
# Draws of the two approximations, and of each of the four chains.
INDEPENDENT = 1000


class Failed(Exception):
    """The program refused, or stopped with an error."""


@dataclasses.dataclass
class Fit:
    draws: list  # of values of nodes
    table: dict  # node to its 95% interval, where the program printed one
    k_hat: float | None
    verdict: str
    seconds: float  # CPU, of the process


def ran(words, folder):
    """Runs a command: its CPU seconds and what it printed."""
    with open(folder / "out.txt", "w") as out, open(folder / "err.txt", "w") as err:
        process = subprocess.Popen([str(word) for word in words], stdout=out, stderr=err)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    # 3 is a run that did not converge, which has its results all the same.
    if process.returncode not in (0, 3):
        lines = (folder / "err.txt").read_text().strip().splitlines()
        raise Failed(lines[0] if lines else f"exit {process.returncode}")
    return used.ru_utime + used.ru_stime


def columns(path):
    with open(path, newline="") as file:
        rows = csv.reader(file)
        names = [name.replace(" ", "") for name in next(rows)]
        return [dict(zip(names, map(float, row))) for row in rows]


def intervals(path):
    with open(path, newline="") as file:
        return {row["name"].replace(" ", ""): (float(row["q2.5"]), float(row["q97.5"])) for row in csv.DictReader(file)}


def graph(program, case, posterior, data, folder, seed, chain_draws):
    (folder / "data.json").write_text(json.dumps(data))
    out = folder / "fit"
    text = cases.HERE / "models" / f"{case.text or case.name}.bug"
    words = [program, "fit", text, "--data", folder / "data.json", "--out", out, "--posterior", posterior, "--threads", 1]
    words += ["--monitor", ",".join(case.monitor), "--draws", chain_draws if posterior == "exact" else INDEPENDENT]
    seconds = ran([*words, "--seed", seed, *case.options], folder)
    run = json.loads((out / "run.json").read_text())
    return Fit(columns(out / "draws.csv"), intervals(out / "posterior.csv"), run["signs"]["k_hat"], run["verdict"], seconds)


COMMANDS = {"fit": graph}


def fitted(program, case, posterior, data, folder, seed, chain_draws=1000):
    return COMMANDS[case.command](program, case, posterior, data, folder, seed, chain_draws)
