"""Topics of documents that actors of a real cluster hold: identical bits, whoever is killed."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
import ray

from pycollapsar import LatentDirichletAllocation
from pycollapsar.distributed import Corpus, Ray, fit_topics
from shared import NODE, documents, killer, matrices, topics_alone, topics_bits, topics_fitted


@pytest.fixture(scope="module")
def expected():
    return topics_bits(topics_alone())


@pytest.mark.parametrize("workers", [1, 2, 4, 8])
def test_any_number_of_actors_gives_the_same_bits(cluster, expected, workers):
    with Ray(workers) as engine:
        assert topics_bits(topics_fitted(engine)) == expected
        assert engine.lost == 0


def test_workers_killed_at_random_moments_change_no_bit(cluster, expected):
    with Ray(3) as engine:
        at_step, killed = killer(engine, {2, 9, 15}, random.Random(1))
        assert topics_bits(topics_fitted(engine, callback=at_step)) == expected
        assert len(killed) == 3
        # The last may have been killed at the end of it all.
        assert 2 <= engine.lost <= 3


def test_a_node_that_is_lost_changes_no_bit(cluster, expected):
    node = cluster.add_node(**NODE)
    cluster.wait_for_nodes()
    with Ray(5) as engine:

        def at_step(step):
            if step["iteration"] == 5:
                cluster.remove_node(node, allow_graceful=False)

        assert topics_bits(topics_fitted(engine, callback=at_step)) == expected
        assert engine.lost >= 1


DRIVER = """
import sys, time, ray
sys.path.insert(0, {folder!r})
from shared import topics_fitted
from pycollapsar.distributed import Ray
ray.init(address={address!r}, log_to_driver=False)
slowly = lambda step: time.sleep(0.2)
topics_fitted(Ray(2), checkpoint={checkpoints!r}, checkpoint_every=1, callback=slowly)
print("ended", flush=True)
"""


def test_a_driver_that_is_killed_goes_on(cluster, expected, tmp_path):
    checkpoints, here = tmp_path / "checkpoints", Path(__file__).parent
    text = DRIVER.format(folder=str(here), address=cluster.address, checkpoints=str(checkpoints))
    driver = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
    manifest = checkpoints / "manifest.json"
    limit = time.monotonic() + 300
    while not manifest.exists() and driver.poll() is None and time.monotonic() < limit:
        time.sleep(0.01)
    time.sleep(random.Random(3).random() * 0.3)
    driver.kill()
    assert "ended" not in driver.communicate()[0]
    # Documents settle again: not the bits of a run that never ended, but the same ones whoever holds them.
    found = []
    for workers in (1, 4):
        with Ray(workers) as engine:
            result = topics_fitted(engine, resume=checkpoints)
            assert 0 < len(result["steps"]) < len(expected[3])
            assert result["bound"] == pytest.approx(expected[1], rel=1e-3)
            found.append(topics_bits(result))
    assert found[0] == found[1]


def test_matrices_in_the_object_store_and_texts_of_ray_datasets(cluster, expected, tmp_path):
    references = [ray.put(part) for part in matrices()]
    texts = [" ".join(f"w{word}" for word in document) for document in documents()]
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(texts))
    with Ray(2) as engine:
        assert topics_bits(topics_fitted(engine, references)) == expected
        how = {"engine": engine, "start": "random", "alpha": 0.1, "max_passes": 5}
        blocks = ray.data.from_items([{"text": text} for text in texts], override_num_blocks=1)
        from_blocks = fit_topics(Corpus(blocks, chunk_rows=64), 3, **how)
        from_file = fit_topics(Corpus([path], chunk_rows=64), 3, **how)
        assert from_blocks["vocabulary"] == from_file["vocabulary"]
        assert from_blocks["bound"] == from_file["bound"]


def test_the_estimator_takes_ray(cluster):
    fits = [
        LatentDirichletAllocation(n_components=3, init="random", max_iter=8, random_state=1).fit(
            Corpus(matrices(), chunk_rows=32), engine=engine
        )
        for engine in ("local", Ray(3))
    ]
    assert (fits[0].components_ == fits[1].components_).all()
    assert fits[0].log_evidence_ == fits[1].log_evidence_
    assert fits[0].transform(matrices()[0]).shape == (matrices()[0].shape[0], 3)
