"""Workers as ranks of a real mpirun: identical bits for any number of them, and after a rank was killed."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from shared import parts, rows

MPIRUN = shutil.which("mpirun") or "mpirun"


def mpirun(ranks, arguments):
    return [MPIRUN, "-n", str(ranks), sys.executable, *map(str, arguments)]


def ran(command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=100, **options)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for number, part in enumerate(parts()):
        np.save(folder / f"{number}.npy", part)
    return folder


def arguments(data, out, *more):
    fit = ["mixture", data, "--components", "6", "--chunk-rows", "64", "--seed", "5"]
    return [*fit, "--tolerance", "1e-7", "--max-passes", "120", "--out", out, *more]


def kept(folder):
    """What must be the same: all numbers of the fit, and what finding it took."""
    run = json.loads((folder / "run.json").read_text())
    fit = (folder / "components.json").read_bytes()
    return fit, run["bound"], run["passes"], run["iterations"], run["fingerprint"]


@pytest.fixture(scope="module")
def expected(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("local") / "fit"
    command = [sys.executable, "-m", "pycollapsar.distributed", *arguments(data, out)]
    done = ran([*map(str, command), "--engine", "local"])
    assert done.returncode == 0, done.stderr
    return kept(out)


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_any_number_of_ranks_gives_the_same_bits(data, expected, tmp_path, ranks):
    out = tmp_path / "fit"
    done = ran(mpirun(ranks, ["-m", "pycollapsar.mpi", *arguments(data, out)]))
    assert done.returncode == 0, done.stderr
    assert f"{ranks} workers" in done.stdout
    assert kept(out) == expected


SPMD = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from mpi4py import MPI
from pycollapsar import BayesianGaussianMixture
from pycollapsar.distributed import Dataset
from shared import parts
mixture = BayesianGaussianMixture(n_components=5, random_state=1, max_iter=300)
mixture.fit(Dataset(parts(), chunk_rows=64), engine="mpi")
all_means = MPI.COMM_WORLD.allgather(mixture.means_)
assert all((means == mixture.means_).all() for means in all_means)
try:
    mixture.fit([np.array([[1.0, np.nan], [2.0, 3.0]])], engine="mpi")
except ValueError as error:
    assert "array 1, row 1, column 2: a missing value" in str(error), error
else:
    raise AssertionError("a missing value was taken")
print("rank", MPI.COMM_WORLD.Get_rank(), "has", mixture.log_evidence_.hex(), flush=True)
"""


def test_every_rank_has_the_fit(tmp_path):
    bounds = set()
    for ranks in (1, 3):
        done = ran(mpirun(ranks, ["-c", SPMD, Path(__file__).parent]))
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert len(lines) == ranks
        bounds.update(line.split()[-1] for line in lines)
    assert len(bounds) == 1


def ranks_of(program):
    """Processes that mpirun has started to compute."""
    found = ran(["ps", "-eo", "pid,ppid,args"]).stdout.splitlines()[1:]
    parents = {}
    for line in found:
        pid, parent, words = line.split(None, 2)
        parents[int(pid)] = (int(parent), words)
    ranks = []
    for pid, (_, words) in parents.items():
        at = pid
        while at in parents and at != program.pid:
            at = parents[at][0]
        if at == program.pid and "pycollapsar.mpi" in words and "mpirun" not in words:
            if "hydra" not in words:
                ranks.append(pid)
    return ranks


@pytest.mark.parametrize("victim", [0, 1, 2])
def test_a_rank_that_is_killed_ends_the_run_and_the_next_goes_on(tmp_path, victim):
    rng = random.Random(victim)
    # Enough rows that the fit takes a second or two.
    data = tmp_path / "rows.npy"
    np.save(data, rows(40_000, 4, 12))
    flags = ["--chunk-rows", "512", "--components", "8", "--max-passes", "80"]
    flags = ["mixture", data, "--seed", "2", "--tolerance", "1e-9", *flags]
    whole = tmp_path / "whole"
    done = ran(mpirun(2, ["-m", "pycollapsar.mpi", *flags, "--out", whole]))
    assert done.returncode == 0, done.stderr
    checkpoints, out = tmp_path / "checkpoints", tmp_path / "fit"
    more = [*flags, "--out", out, "--checkpoint", checkpoints, "--checkpoint-every", "1"]
    program = subprocess.Popen(
        mpirun(3, ["-m", "pycollapsar.mpi", *more]),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    manifest = checkpoints / "manifest.json"
    limit = time.monotonic() + 60
    while not manifest.exists() and program.poll() is None and time.monotonic() < limit:
        time.sleep(0.005)
    time.sleep(rng.random() * 0.2)
    os.kill(sorted(ranks_of(program))[victim], signal.SIGKILL)
    program.communicate(timeout=60)
    assert program.returncode != 0
    assert not (out / "run.json").exists()
    done = ran(mpirun(4, ["-m", "pycollapsar.mpi", *more, "--resume", checkpoints]))
    assert done.returncode == 0, done.stderr
    assert kept(out) == kept(whole)


def test_refusals_are_one_sentence_of_one_rank(tmp_path):
    out = tmp_path / "fit"
    done = ran(mpirun(3, ["-m", "pycollapsar.mpi", *arguments(tmp_path / "nowhere", out)]))
    assert done.returncode != 0
    assert done.stderr.count("error: ") == 1 and "nowhere" in done.stderr
    assert "Traceback" not in done.stderr
