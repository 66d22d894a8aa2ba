"""JAGS as a program: its script, its data, its draws and what they cost."""

import array
import dataclasses
import math
import os
import shutil
import subprocess
import threading


@dataclasses.dataclass
class Estimate:
    """What the draws of one node tell. `error` and `sd_error` are Monte Carlo errors of mean and sd, by batch means."""

    mean: float
    sd: float
    error: float
    rhat: float
    sd_error: float


@dataclasses.dataclass
class Cost:
    user: float
    system: float
    wall: float
    peak_mb: float
    exit: int

    @property
    def processor(self):
        return self.user + self.system


def measured(command, log, folder=None, environment=None, limit=None):
    """Runs a command and tells what it and its children cost, from the start of the process to its end, or to `limit` seconds."""
    with open(log, "w") as file:
        words = [str(word) for word in command]
        started = os.times().elapsed
        process = subprocess.Popen(words, stdout=file, stderr=subprocess.STDOUT, cwd=folder, env=environment)
        # Not by `timeout`, whose own start would be counted.
        end = threading.Timer(limit, process.kill) if limit else None
        if end:
            end.start()
        # wait4 tells the cost of this child alone, and finely; RUSAGE_CHILDREN would add those before it.
        _, status, used = os.wait4(process.pid, 0)
        if end:
            end.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = os.times().elapsed - started
    return Cost(used.ru_utime, used.ru_stime, wall, used.ru_maxrss * 1024 / 1e6, process.returncode)


# --- Data ------------------------------------------------------------------------------------------


def shape(value):
    return [len(value), *shape(value[0])] if isinstance(value, list) else []


def by_column(value, dims):
    """The numbers of nested lists, the first index running fastest."""
    cells = math.prod(dims)
    for cell in range(cells):
        entry = value
        for length in dims:
            cell, place = divmod(cell, length)
            entry = entry[place]
        yield "NA" if entry is None else repr(entry)


def dump(data):
    """Named numbers and nested lists as the text that JAGS reads."""
    lines = []
    for name, value in data.items():
        dims = shape(value)
        numbers = ", ".join(by_column(value, dims))
        if len(dims) > 1:
            numbers = f"structure(c({numbers}), .Dim = c({', '.join(map(str, dims))}))"
        elif dims:
            numbers = f"c({numbers})"
        lines.append(f'"{name}" <- {numbers}\n')
    return "".join(lines)


# --- Runs ------------------------------------------------------------------------------------------


def script(model, data, monitors, chains, burn, iterations, thin, seed, folder):
    """Writes the script of a run into a folder, which is where JAGS then runs."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f'model in "{model}"', f'data in "{data}"', f"compile, nchains({chains})"]
    for chain in range(1, chains + 1):
        (folder / f"start{chain}.R").write_text(
            f'".RNG.name" <- "base::Mersenne-Twister"\n".RNG.seed" <- {1000 * seed + chain}\n'
        )
        lines.append(f'parameters in "start{chain}.R", chain({chain})')
    lines += ["initialize", f"update {burn}"]
    lines += [f"monitor {name}, thin({thin})" for name in monitors]
    lines += [f"update {iterations}", 'coda *, stem("draws-")', "exit"]
    (folder / "script.txt").write_text("\n".join(lines) + "\n")


def run(model, data, monitors, folder, chains=2, burn=1000, iterations=10000, thin=1, seed=1):
    """One run of JAGS: its cost. The draws are left in the folder."""
    shutil.rmtree(folder, ignore_errors=True)
    script(model.resolve(), data.resolve(), monitors, chains, burn, iterations, thin, seed, folder)
    cost = measured(["jags", "script.txt"], folder / "log.txt", folder)
    # JAGS ends with 0 after most complaints, but then it has written no draws.
    if not (folder / "draws-index.txt").exists():
        cost.exit = cost.exit or 1
    return cost


def chains(folder):
    """The draws of every node, one array a chain."""
    draws = {}
    for path in sorted(folder.glob("draws-chain*.txt")):
        with open(path) as file:
            values = array.array("d", (float(line.split()[1]) for line in file))
        for line in (folder / "draws-index.txt").read_text().splitlines():
            name, first, last = line.split()
            draws.setdefault(name, []).append(values[int(first) - 1:int(last)])
    return draws


def estimates(folder):
    return {name: estimate(each) for name, each in chains(folder).items()}


def mean(values):
    return math.fsum(values) / len(values)


def variance(values):
    centre = mean(values)
    return math.fsum((value - centre) ** 2 for value in values) / max(len(values) - 1, 1)


def estimate(each):
    everything = array.array("d")
    for draws in each:
        everything.extend(draws)
    length = min(map(len, each))
    # Batches of about the root of the length are long beside the correlation of these chains.
    size = max(int(math.sqrt(length)), 1)
    centre = mean(everything)
    batches, spreads = [], []
    for draws in each:
        for start in range(0, length - size + 1, size):
            part = draws[start:start + size]
            batches.append(mean(part))
            spreads.append(mean([(value - centre) ** 2 for value in part]))
    within = mean([variance(draws) for draws in each])
    between = variance([mean(draws) for draws in each]) if len(each) > 1 else 0.0
    rhat = math.sqrt((within * (length - 1) / length + between) / within) if within > 0 else 1.0
    error = math.sqrt(variance(batches) / len(batches))
    sd = math.sqrt(variance(everything))
    # That of the variance, by the slope of the root.
    sd_error = math.sqrt(variance(spreads) / len(spreads)) / (2 * sd) if sd > 0 else 0.0
    return Estimate(centre, sd, error, rhat, sd_error)


def version():
    done = subprocess.run(["jags", "/dev/stdin"], input="exit\n", capture_output=True, text=True)
    return next((line for line in done.stdout.splitlines() if "JAGS" in line), "JAGS: silent").split(" on ")[0]
