"""Rows that workers in threads hold: the same bits for any number of them, and the same answers as in one process."""

import json
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import pycollapsar
from pycollapsar import BayesianGaussianMixture, distributed
from pycollapsar.distributed import Dataset, Local


def rows(n=600, d=3, centres=4, seed=0):
    return make_blobs(n, d, centers=centres, cluster_std=1.5, random_state=seed)[0]


def bits(result):
    return result["messages"].tobytes(), result["bound"], result["passes"]


def fitted(data, workers=1, **options):
    return distributed.fit_mixture(data, 5, engine=Local(workers), **options)


def test_any_number_of_workers_gives_the_same_bits():
    X = rows()
    data = Dataset([X[:350], X[350:]], chunk_rows=64)
    for start in ("kmeans", "random", "k-means++", "random_from_data"):
        alone = fitted(data, start=start, seed=3)
        assert alone["converged"]
        for workers in (2, 4, 8, 40):
            assert bits(fitted(data, workers, start=start, seed=3)) == bits(alone)


@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("weights", ["dirichlet", "dp"])
def test_a_fit_is_that_of_one_process(covariance, weights):
    # Apart from one another: every good start ends in the same place.
    X = rows(centres=[[0, 0, 0], [20, 0, 0], [0, 20, 0]])
    far = distributed.fit_mixture(
        X, 3, covariance=covariance, weights=weights, engine="local", method="vbem", tolerance=1e-9
    )
    near = BayesianGaussianMixture(
        n_components=3,
        covariance_type=covariance,
        weight_concentration_prior_type={
            "dirichlet": "dirichlet_distribution",
            "dp": "dirichlet_process",
        }[weights],
        tol=1e-9,
        max_iter=1000,
        random_state=0,
    )
    near.fit(X)
    if weights == "dirichlet":
        assert far["bound"] == pytest.approx(near.log_evidence_, rel=1e-9)
    means = sorted(part["mean"] for part in far["mixture"]["components"])
    assert np.allclose(means, sorted(near.means_.tolist()), atol=1e-4)


def test_files_of_all_kinds_are_as_the_array(tmp_path):
    pandas = pytest.importorskip("pandas")
    X = rows(200)
    np.save(tmp_path / "a.npy", X[:80])
    np.savetxt(tmp_path / "b.csv", X[80:150], delimiter=",")
    parts = [X[:80], X[80:150]]
    names = ["a.npy", "b.csv"]
    try:
        frame = pandas.DataFrame(X[150:], columns=["1", "2", "3"])
        frame.to_parquet(tmp_path / "c.parquet")
        parts, names = [*parts, X[150:]], [*names, "c.parquet"]
    except ImportError:
        pass
    expected = bits(fitted(Dataset(parts, chunk_rows=32)))
    folder = Dataset(tmp_path, chunk_rows=32)
    assert bits(fitted(folder, 3)) == expected
    files = Dataset([tmp_path / name for name in names], chunk_rows=32)
    assert bits(fitted(files, 2)) == expected


def test_columns_are_chosen_by_name(tmp_path):
    X = rows(100)
    np.savetxt(tmp_path / "a.csv", X, delimiter=",", header="x,y,z", comments="")
    file = tmp_path / "a.csv"
    two = fitted(Dataset(file, columns=["z", "x"]), start="random")
    assert bits(two) == bits(fitted(np.ascontiguousarray(X[:, [2, 0]]), start="random"))
    assert two["columns"] == ["z", "x"]


def test_the_estimator_takes_an_engine():
    X = rows()
    mixture = BayesianGaussianMixture(n_components=4, random_state=0, max_iter=500)
    assert mixture.fit([X[:300], X[300:]], engine=Local(3)) is mixture
    assert mixture.converged_ and mixture.posterior_ == "mean-field"
    assert mixture.n_features_in_ == 3
    assert mixture.predict(X).shape == (600,)
    again = BayesianGaussianMixture(n_components=4, random_state=0, max_iter=500)
    again.fit([X[:300], X[300:]], engine="local")
    assert (again.means_ == mixture.means_).all()
    assert again.lower_bound_ == mixture.lower_bound_


@pytest.mark.parametrize(
    "parameters, weight, words",
    [
        ({}, np.ones(600), "sample_weight needs the rows in one process"),
        ({"warm_start": True}, None, "warm_start=True needs the rows in one process"),
        ({"posterior": "exact"}, None, "posterior='exact' needs the rows in one process"),
    ],
)
def test_what_needs_the_rows_is_refused(parameters, weight, words):
    mixture = BayesianGaussianMixture(n_components=2, **parameters)
    with pytest.raises(ValueError, match=words):
        mixture.fit(rows(), sample_weight=weight, engine="local")


def test_refusals_name_file_and_row(tmp_path):
    X = rows(100)
    X[70, 1] = np.nan
    data = Dataset([X[:60], X[60:]], chunk_rows=16)
    with pytest.raises(pycollapsar.DataError, match="array 2, row 11, column 2: a missing value"):
        fitted(data, 2)
    np.savetxt(tmp_path / "a.csv", rows(10), delimiter=",", header="x,y,z", comments="")
    np.savetxt(tmp_path / "b.csv", rows(10), delimiter=",", header="x,y,w", comments="")
    with pytest.raises(ValueError, match=r"b.csv has columns x, y, w, expected x, y, z as .*a.csv"):
        fitted(tmp_path)
    with pytest.raises(ValueError, match="no table in this folder"):
        fitted(_empty(tmp_path))
    with pytest.raises(pycollapsar.CollapsarError, match="nowhere.npy"):
        fitted([tmp_path / "nowhere.npy"])
    with pytest.raises(pycollapsar.DataError, match="column 1: the constant 1"):
        (tmp_path / "c.csv").write_text("x,y\n1,2\n1,3\n1,4\n1,5\n1,7\n")
        fitted(tmp_path / "c.csv")
    with pytest.raises(ValueError, match="engine='spark', expected 'local', 'ray', 'mpi'"):
        distributed.fit_mixture(X, 2, engine="spark")


def _empty(folder):
    (folder / "empty").mkdir()
    return folder / "empty"


def test_what_a_worker_raises_is_raised():
    class Broken(Local):
        def ask(self, task, prepares):
            raise KeyError("cable")

    with pytest.raises(KeyError, match="cable"):
        distributed.fit_mixture(rows(), 2, engine=Broken())


def test_an_interrupted_fit_goes_on_to_the_same_bits(tmp_path):
    data = Dataset(rows(2000, centres=9), chunk_rows=128)
    whole = fitted(data, seed=1, max_passes=60)
    folder = tmp_path / "checkpoints"
    fitted(data, 2, seed=1, max_iter=7, checkpoint=folder, checkpoint_every=3)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert [entry["iteration"] for entry in manifest["checkpoints"]] == [6, 7]
    resumed = fitted(data, 4, seed=1, max_passes=60, resume=folder)
    assert bits(resumed) == bits(whole)
    # Of other data it is refused.
    with pytest.raises(pycollapsar.CollapsarError, match="checkpoint: one of a mixture"):
        fitted(Dataset(rows(2000, centres=8), chunk_rows=128), resume=folder)


def test_the_command_writes_a_folder_that_the_program_reads(tmp_path):
    np.save(tmp_path / "a.npy", rows(300))
    command = [sys.executable, "-m", "pycollapsar.distributed", "mixture", str(tmp_path / "a.npy")]
    command += ["--engine", "local", "--workers", "2", "--components", "4", "--out"]
    done = subprocess.run([*command, str(tmp_path / "fit")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "written to" in done.stdout
    run = json.loads((tmp_path / "fit" / "run.json").read_text())
    assert run["config"]["engine"] == "local"
    assert run["sources"] == [{"name": str(tmp_path / "a.npy"), "rows": 300}]
    fit = json.loads((tmp_path / "fit" / "components.json").read_text())
    assert len(fit["components"]) == 4 and fit["rows"] == 300
    command[4] = str(tmp_path / "nowhere")
    done = subprocess.run([*command, str(tmp_path / "fit")], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ") and "Traceback" not in done.stderr


def test_a_fit_can_be_stopped():
    seen = []

    def three(step):
        seen.append(step["iteration"])
        return len(seen) == 3

    result = fitted(rows(), callback=three, tolerance=0.0)
    assert seen == [1, 2, 3] and not result["converged"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mixture = BayesianGaussianMixture(n_components=2, random_state=0, max_iter=200)
        mixture.fit(rows(centres=2), engine="local")


def test_every_rank_reports_to_one_that_knows_of_it():
    from pycollapsar.distributed._mpi import _place

    odd = [[0, 2, 4], [1, 3], [5], [*range(6, 26)]]
    for machines in ([[*range(30)]], [[0, 1], [2, 3]], odd, [[rank] for rank in range(9)]):
        firsts = sorted(machine[0] for machine in machines)
        places = {rank: _place(rank, machine, firsts) for machine in machines for rank in machine}
        reached, coming = [], [0]
        while coming:
            rank = coming.pop()
            reached.append(rank)
            below = places[rank][1]
            assert all(places[other][0] == rank for other in below)
            coming.extend(below)
        assert sorted(reached) == sorted(places)
