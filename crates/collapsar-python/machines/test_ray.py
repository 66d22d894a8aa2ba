"""Workers as actors of a real cluster of two nodes: identical bits, whoever is killed."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import ray

import pycollapsar
from pycollapsar import BayesianGaussianMixture
from pycollapsar.distributed import Dataset, Ray
from shared import CHUNK_ROWS, NODE, alone, bits, fitted, killer, parts


@pytest.fixture(scope="module")
def expected():
    return bits(alone())


@pytest.mark.parametrize("workers", [1, 2, 4, 8])
def test_any_number_of_actors_gives_the_same_bits(cluster, expected, workers):
    with Ray(workers) as engine:
        assert bits(fitted(engine)) == expected
        assert engine.lost == 0


def test_answers_that_merge_on_their_way_give_the_same_bits(cluster, expected):
    with Ray(7, fan=2) as engine:
        at_step, killed = killer(engine, {4}, random.Random(4))
        assert bits(fitted(engine, callback=at_step)) == expected
        assert engine.lost == len(killed) == 1


def test_workers_killed_at_random_moments_change_no_bit(cluster, expected):
    rng = random.Random(1)
    with Ray(3) as engine:
        at_step, killed = killer(engine, {2, 6, 11, 15}, rng)
        assert bits(fitted(engine, callback=at_step)) == expected
        assert len(killed) == 4
        # The last may have been killed at the end of it all.
        assert 3 <= engine.lost <= 4


def test_a_node_that_is_lost_changes_no_bit(cluster, expected):
    node = cluster.add_node(**NODE)
    cluster.wait_for_nodes()
    with Ray(5) as engine:

        def at_step(step):
            if step["iteration"] == 5:
                cluster.remove_node(node, allow_graceful=False)

        assert bits(fitted(engine, callback=at_step)) == expected
        assert engine.lost >= 1


def test_more_losses_than_allowed_end_the_fit(cluster):
    with Ray(2, replacements=0) as engine:
        at_step, _ = killer(engine, {3}, random.Random(2))
        with pytest.raises(RuntimeError, match="1 workers were lost, expected no more than 0"):
            fitted(engine, callback=at_step)


DRIVER = """
import sys, ray
sys.path.insert(0, {folder!r})
from shared import fitted
from pycollapsar.distributed import Ray
import time
ray.init(address={address!r}, log_to_driver=False)
print("begins", flush=True)
slowly = lambda step: time.sleep(0.2)
fitted(Ray(2), checkpoint={checkpoints!r}, checkpoint_every=1, callback=slowly)
print("ended", flush=True)
"""


def test_a_driver_that_is_killed_goes_on_to_the_same_bits(cluster, expected, tmp_path):
    checkpoints, here = tmp_path / "checkpoints", Path(__file__).parent
    text = DRIVER.format(
        folder=str(here), address=cluster.address, checkpoints=str(checkpoints)
    )
    driver = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
    manifest = checkpoints / "manifest.json"
    limit = time.monotonic() + 300
    while not manifest.exists() and driver.poll() is None and time.monotonic() < limit:
        time.sleep(0.01)
    time.sleep(random.Random(3).random() * 0.3)
    driver.kill()
    assert "ended" not in driver.communicate()[0]
    with Ray(4) as engine:
        result = fitted(engine, resume=checkpoints)
    messages, bound, passes, steps = bits(result)
    assert (messages, bound, passes) == expected[:3]
    # Only the steps after the checkpoint are told again.
    assert 0 < len(steps) < len(expected[3]) and expected[3][-len(steps) :] == steps


def test_rows_in_the_object_store_and_ray_datasets_are_as_arrays(cluster, expected):
    references = [ray.put(part) for part in parts()]
    with Ray(2) as engine:
        assert bits(fitted(engine, references)) == expected
        dataset = ray.data.from_numpy_refs(references)
        assert bits(fitted(engine, dataset)) == expected


def test_the_estimator_takes_ray(cluster):
    X = np.vstack(parts())
    fits = [
        BayesianGaussianMixture(n_components=5, random_state=1, max_iter=300).fit(
            Dataset(X, chunk_rows=CHUNK_ROWS), engine=engine
        )
        for engine in ("local", Ray(3))
    ]
    assert (fits[0].means_ == fits[1].means_).all()
    assert fits[0].log_evidence_ == fits[1].log_evidence_


def test_what_a_worker_refuses_is_told_in_one_sentence(cluster, tmp_path):
    bad = parts()
    bad[2][5, 1] = np.nan
    np.save(tmp_path / "short.npy", bad[0])
    with Ray(2) as engine:
        with pytest.raises(pycollapsar.DataError, match="array 3, row 6, column 2: a missing"):
            fitted(engine, bad)
        with pytest.raises(pycollapsar.CollapsarError, match="nowhere.npy"):
            fitted(engine, [tmp_path / "nowhere.npy"])


LOOPBACK = """
import os, ray
from pycollapsar.distributed import Ray
os.environ.pop("RAY_ADDRESS", None)
with Ray(1) as engine:
    print("up", os.getpid(), flush=True)
    input()
"""


def listening(session):
    """Addresses, as the system's tables have them, that processes of a session listen at."""
    sockets = {}
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A":
                sockets[fields[9]] = fields[1]
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(process.name)) != session and not _descends(process, session):
                continue
            for link in (process / "fd").iterdir():
                name = os.readlink(link)
                if name.startswith("socket:["):
                    found.add(sockets.get(name[8:-1]))
        except OSError:
            continue
    return found - {None}


def _descends(process, ancestor):
    number = int(process.name)
    while number > 1:
        if number == ancestor:
            return True
        number = int(Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return False


def test_a_cluster_that_the_package_starts_listens_on_loopback_only():
    unset = ("RAY_ADDRESS", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER")
    environment = {k: v for k, v in os.environ.items() if k not in unset}
    program = subprocess.Popen(
        [sys.executable, "-c", LOOPBACK],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    try:
        assert program.stdout.readline().startswith("up"), "the cluster did not start"
        found = listening(program.pid)
        assert found, "nothing listens, expected Ray's processes"
        # 127.0.0.1, ::1 and 127.0.0.1 as an address of the newer kind, as the tables have them.
        loopback = ("0100007F", "0" * 24 + "01000000", "0" * 16 + "FFFF0000" + "0100007F")
        assert [at for at in found if at.split(":")[0] not in loopback] == []
    finally:
        program.communicate("\n", timeout=300)
