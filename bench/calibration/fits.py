"""One fit of a case by the program: draws of the nodes, intervals of the table, and what the program says of itself."""

import csv
import dataclasses
import gzip
import json
import math
import os
import random
import struct
import subprocess

import cases

POSTERIORS = ["mean-field", "linear-response", "exact"]
# Draws of the two approximations, and of each of the four chains.
INDEPENDENT = 1000


class Failed(Exception):
    """The program refused, or stopped with an error."""


class NotOffered(Exception):
    """A command that does not have this posterior."""


@dataclasses.dataclass
class Fit:
    draws: list  # of values of nodes
    table: dict  # node to its 95% interval and mean, where the program printed one
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
        return {row["name"].replace(" ", ""): (float(row["q2.5"]), float(row["q97.5"]), float(row["mean"])) for row in csv.DictReader(file)}


def graph(program, case, posterior, data, folder, seed, chain_draws):
    (folder / "data.json").write_text(json.dumps(data))
    out = folder / f"fit{chain_draws}"
    text = cases.HERE / "models" / f"{case.text or case.name}.bug"
    words = [program, "fit", text, "--data", folder / "data.json", "--out", out, "--posterior", posterior, "--threads", 1]
    words += ["--monitor", ",".join(case.monitor), "--draws", chain_draws if posterior == "exact" else INDEPENDENT]
    seconds = ran([*words, "--seed", seed, *case.options], folder)
    run = json.loads((out / "run.json").read_text())
    return Fit(columns(out / "draws.csv"), intervals(out / "posterior.csv"), run["signs"]["k_hat"], run["verdict"], seconds)


def quant(program, case, posterior, data, folder, seed, chain_draws):
    if posterior == "linear-response":
        raise NotOffered
    number = len(data["chances"])
    (folder / "lengths.tr").write_text(f"# M {number}\n" + "".join(f"g t{t} 1000 1000\n" for t in range(1, number + 1)))
    lines = [f"# Ntotal {len(data['shown'])}", f"# Nmap {len(data['shown'])}", f"# M {number}", "# LOGFORMAT (probabilities saved on log scale.)"]
    for read, feature in enumerate(data["shown"], 1):
        places = " ".join(f"{t} {math.log(row[feature]):.17g}" for t, row in enumerate(data["chances"], 1) if row[feature] > 0)
        # The last place is noise, which is left out without --noise.
        lines.append(f"r{read} {places.count(' ') // 2 + 2} {places} 0 -700")
    (folder / "reads.prob").write_text("\n".join(lines) + "\n")
    out = folder / "fit"
    words = [program, "quant", "--prob", folder / "reads.prob", "--lengths", folder / "lengths.tr", "--prior", cases.QUANT_PRIOR]
    words += ["--posterior", "exact" if posterior == "exact" else "collapsed", "--draws", INDEPENDENT, "--seed", seed]
    seconds = ran([*words, "--threads", 1, "--out", out], folder)
    with gzip.open(out / "aux_info" / "bootstrap" / "bootstraps.gz") as file:
        numbers = [value for (value,) in struct.iter_unpack("<d", file.read())]
    counts = [numbers[start:start + number] for start in range(0, len(numbers), number)]
    rng = random.Random(seed)
    draws = []
    for row in counts:
        # Exact draws are of numbers of reads, given which the fractions are Dirichlet; the fit's own are of fractions.
        parts = cases.dirichlet(rng, [cases.QUANT_PRIOR + count for count in row]) if posterior == "exact" else [count / sum(row) for count in row]
        draws.append(cases.named("theta", parts))
    with open(out / "posterior.tsv", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        # All lengths are alike, so that a million TPM is a fraction of one.
        table = {f"theta[{row['Name'][1:]}]": tuple(float(row[f"TPM.{what}"]) / 1e6 for what in ("lower", "upper", "mean")) for row in rows}
    return Fit(draws, table, None, "none", seconds)


def written(out, name, seconds):
    """The results of `mixture` and `topics`: draws where chains made them, and the table."""
    run = json.loads((out / "run.json").read_text())
    draws = [{name(node): value for node, value in row.items()} for row in columns(out / "draws.csv")] if (out / "draws.csv").exists() else []
    table = {name(node): told for node, told in intervals(out / "posterior.csv").items()}
    return Fit(draws, table, (run.get("signs") or {}).get("k_hat"), run.get("verdict") or "none", seconds)


def chosen(posterior, chain_draws):
    return ["--posterior", posterior, "--threads", 1] + (["--draws", chain_draws] if posterior == "exact" else [])


def mixture(program, case, posterior, data, folder, seed, chain_draws):
    size = len(data["rows"][0])
    lines = [",".join(f"x{d}" for d in range(1, size + 1))] + [",".join(f"{value:.17g}" for value in row) for row in data["rows"]]
    (folder / "data.csv").write_text("\n".join(lines) + "\n")
    out = folder / f"fit{chain_draws}"
    prior = cases.MIXTURE_PRIOR
    words = [program, "mixture", folder / "data.csv", "--components", data["components"], "--out", out, "--seed", seed]
    words += ["--concentration", prior["concentration"], "--location", prior["location"], "--mean-precision", prior["mean_precision"]]
    words += ["--degrees-of-freedom", data["freedom"], "--scale", prior["scale"], *chosen(posterior, chain_draws)]
    seconds = ran(words, folder)

    def name(node):
        """weight[0] as weight[1], mean[0,x1] as mean[1,1]."""
        array, _, rest = node.partition("[")
        if not rest:
            return node
        first, *others = rest.rstrip("]").split(",")
        return f"{array}[{','.join([str(int(first) + 1), *(other.removeprefix('x') for other in others)])}]"

    return written(out, name, seconds)


def topics(program, case, posterior, data, folder, seed, chain_draws):
    lines = []
    for row in data["counts"]:
        seen = [f"{word}:{count}" for word, count in enumerate(row) if count]
        lines.append(" ".join([str(len(seen)), *seen]))
    (folder / "data.ldac").write_text("\n".join(lines) + "\n")
    (folder / "data.vocab").write_text("".join(f"word{word}\n" for word in range(cases.WORDS)))
    out = folder / f"fit{chain_draws}"
    words = [program, "topics", folder / "data.ldac", "--format", "ldac", "--vocabulary", folder / "data.vocab", "--topics", cases.TOPICS]
    words += ["--alpha", cases.TOPICS_PRIOR["alpha"], "--beta", cases.TOPICS_PRIOR["beta"], "--seed", seed, "--out", out, "--documents"]
    seconds = ran([*words, *chosen(posterior, chain_draws)], folder)

    def name(node):
        """proportions[0,0] as theta[1,1], share[0] as share[1]."""
        array, _, rest = node.partition("[")
        if not rest:
            return node
        array = {"proportions": "theta"}.get(array, array)
        return f"{array}[{','.join(str(int(place) + 1) for place in rest.rstrip(']').split(','))}]"

    return written(out, name, seconds)


COMMANDS = {"fit": graph, "quant": quant, "mixture": mixture, "topics": topics}


def fitted(program, case, posterior, data, folder, seed, chain_draws=1000, longer=2):
    """A fit; where chains have not mixed, with four times as many draws, as the verdict asks, `longer` times at most."""
    fit = COMMANDS[case.command](program, case, posterior, data, folder, seed, chain_draws)
    if posterior == "exact" and fit.verdict == "doubt" and longer:
        again = fitted(program, case, posterior, data, folder, seed, 4 * chain_draws, longer - 1)
        again.seconds += fit.seconds
        return again
    return fit
