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

from shared import WORDS, documents, parts, rows

MPIRUN = shutil.which("mpirun") or "mpirun"


def mpirun(ranks, arguments):
    return [MPIRUN, "-n", str(ranks), sys.executable, *map(str, arguments)]


def ran(command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=400, **options)


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


def test_ranks_of_several_machines_give_the_same_bits(data, expected, tmp_path):
    # MPICH then takes ranks for those of three machines, which share no memory.
    apart = {**os.environ, "MPIR_CVAR_NUM_CLIQUES": "3"}
    out = tmp_path / "fit"
    done = ran(mpirun(5, ["-m", "pycollapsar.mpi", *arguments(data, out)]), env=apart)
    assert done.returncode == 0, done.stderr
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
    mixture.fit([np.array([[1.0, np.nan]] * 9)], engine="mpi")
except ValueError as error:
    assert "array 1, row 1, column 2: a missing value" in str(error), error
else:
    raise AssertionError("a missing value was taken")
# In one piece: what others write comes between pieces.
sys.stdout.write(f"rank {MPI.COMM_WORLD.Get_rank()} has {mixture.log_evidence_.hex()}\\n")
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
    parents, computing = {}, []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            stat = (process / "stat").read_text().rsplit(")", 1)[1].split()
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        parents[int(process.name)] = int(stat[1])
        # mpirun and what it starts them by have other first words.
        if words[0].decode() == sys.executable and words[1:3] == [b"-m", b"pycollapsar.mpi"]:
            computing.append(int(process.name))
    ranks = []
    for number in computing:
        at = number
        while at in parents and at != program.pid:
            at = parents[at]
        if at == program.pid:
            ranks.append(number)
    return sorted(ranks)


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """Flags of a climb of so many steps that it is not over before somebody is killed, and what comes of it."""
    folder = tmp_path_factory.mktemp("long")
    np.save(folder / "rows.npy", rows(60_000, 4, 12))
    flags = ["mixture", folder / "rows.npy", "--seed", "2", "--components", "12"]
    flags += ["--chunk-rows", "512", "--method", "vbem", "--jumps", "off"]
    flags += ["--tolerance", "0", "--max-iterations", "300"]
    done = ran(mpirun(2, ["-m", "pycollapsar.mpi", *flags, "--out", folder / "fit"]))
    assert done.returncode == 0, done.stderr
    return flags, kept(folder / "fit")


@pytest.mark.parametrize("victim", [0, 1, 2])
def test_a_rank_that_is_killed_ends_the_run_and_the_next_goes_on(long, tmp_path, victim):
    rng = random.Random(victim)
    flags, expected = long
    checkpoints, out = tmp_path / "checkpoints", tmp_path / "fit"
    more = [*flags, "--out", out, "--checkpoint", checkpoints, "--checkpoint-every", "1"]
    program = subprocess.Popen(
        mpirun(3, ["-m", "pycollapsar.mpi", *more]),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    limit = time.monotonic() + 300
    while not (checkpoints / "manifest.json").exists() and time.monotonic() < limit:
        assert program.poll() is None, program.communicate()
        time.sleep(0.005)
    time.sleep(rng.random() * 0.1)
    ranks = ranks_of(program)
    assert len(ranks) == 3
    os.kill(ranks[victim], signal.SIGKILL)
    program.communicate(timeout=300)
    assert program.returncode != 0
    assert not (out / "run.json").exists()
    manifest = json.loads((checkpoints / "manifest.json").read_text())
    assert 0 < manifest["checkpoints"][-1]["iteration"] < 300
    done = ran(mpirun(4, ["-m", "pycollapsar.mpi", *more, "--resume", checkpoints]))
    assert done.returncode == 0, done.stderr
    assert kept(out) == expected


def test_refusals_are_one_sentence_of_one_rank(tmp_path):
    out = tmp_path / "fit"
    done = ran(mpirun(3, ["-m", "pycollapsar.mpi", *arguments(tmp_path / "nowhere", out)]))
    assert done.returncode != 0
    assert done.stderr.count("error: ") == 1 and "nowhere" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Documents in three files of counts, with a file of words beside them."""
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "vocab.txt").write_text("".join(f"word{n}\n" for n in range(WORDS)))
    all_documents = documents()
    for name, part in zip("abc", (all_documents[:150], all_documents[150:155], all_documents[155:])):
        lines = []
        for words in part:
            counts = np.bincount(words, minlength=WORDS)
            pairs = [f"{word}:{count}" for word, count in enumerate(counts) if count]
            lines.append(" ".join([str(len(pairs)), *pairs]) + "\n")
        (folder / f"{name}.ldac").write_text("".join(lines))
    return folder


def of_topics(corpus, out, *more):
    fit = ["topics", corpus, "--vocabulary", corpus / "vocab.txt", "--topics", "4", "--seed", "5"]
    limits = ["--chunk-rows", "16", "--tolerance", "1e-4", "--max-passes", "60"]
    return [*fit, *limits, "--out", out, *more]


def kept_topics(folder):
    run = json.loads((folder / "run.json").read_text())
    fit = (folder / "topics.json").read_bytes(), (folder / "topics.csv").read_bytes()
    return fit, run["bound"], run["passes"], run["iterations"], run["fingerprint"]


@pytest.fixture(scope="module")
def expected_topics(corpus, tmp_path_factory):
    out = tmp_path_factory.mktemp("local_topics") / "fit"
    command = [sys.executable, "-m", "pycollapsar.distributed", *of_topics(corpus, out)]
    done = ran([*map(str, command), "--engine", "local"])
    assert done.returncode == 0, done.stderr
    return kept_topics(out)


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_topics_have_the_same_bits_with_any_number_of_ranks(corpus, expected_topics, tmp_path, ranks):
    out = tmp_path / "fit"
    done = ran(mpirun(ranks, ["-m", "pycollapsar.mpi", *of_topics(corpus, out)]))
    assert done.returncode == 0, done.stderr
    assert f"4 topics of 400 documents and 40 words; {ranks} workers" in done.stdout
    assert kept_topics(out) == expected_topics


def test_topics_go_on_after_a_rank_was_killed(corpus, expected_topics, tmp_path):
    checkpoints, out = tmp_path / "checkpoints", tmp_path / "fit"
    more = ["--checkpoint", checkpoints, "--checkpoint-every", "1"]
    long = ["--tolerance", "0", "--max-passes", "100000", "--max-iterations", "100000"]
    arguments = [*of_topics(corpus, out), *more, *long]
    program = subprocess.Popen(
        mpirun(3, ["-m", "pycollapsar.mpi", *arguments]),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    limit = time.monotonic() + 300
    while not (checkpoints / "manifest.json").exists() and time.monotonic() < limit:
        assert program.poll() is None, program.communicate()
        time.sleep(0.005)
    ranks = ranks_of(program)
    assert len(ranks) == 3
    os.kill(ranks[2], signal.SIGKILL)
    program.communicate(timeout=300)
    assert program.returncode != 0
    assert not (out / "run.json").exists()
    # Documents settle again: the bits of whoever goes on from here, and about the bound of a run that never ended.
    found = []
    for ranks in (1, 4):
        out = tmp_path / f"fit{ranks}"
        arguments = [*of_topics(corpus, out), "--resume", checkpoints]
        done = ran(mpirun(ranks, ["-m", "pycollapsar.mpi", *arguments]))
        assert done.returncode == 0, done.stderr
        found.append(kept_topics(out))
    assert found[0] == found[1]
    assert found[0][1] == pytest.approx(expected_topics[1], rel=1e-3)
