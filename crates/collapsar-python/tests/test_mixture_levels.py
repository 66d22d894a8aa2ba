"""Categorical columns: frames by their types, arrays by names, what is said of levels, and what is refused."""

import pickle

import numpy as np
import pytest

from pycollapsar import BayesianGaussianMixture

pandas = pytest.importorskip("pandas")


def table(rows=300, seed=0):
    """Rows of two groups that numbers hardly tell apart."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, rows)
    kept = rng.random((rows, 3)) < 0.85
    frame = pandas.DataFrame(
        {
            "x": group + rng.normal(size=rows),
            "colour": np.where(kept[:, 0] == (group == 0), "red", "blue"),
            "size": pandas.Categorical(np.where(kept[:, 1] == (group == 0), "s", "l"), categories=["s", "m", "l"]),
            "new": kept[:, 2] == (group == 0),
            "code": rng.integers(10, 13, rows),
        }
    )
    return frame, group


def agreement(labels, group):
    return max(np.mean(labels == group), np.mean(labels != group))


def test_frames_by_their_types():
    frame, group = table()
    mixture = BayesianGaussianMixture(
        n_components=2, weight_concentration_prior_type="dirichlet_distribution", random_state=0
    )
    labels = mixture.fit_predict(frame)
    assert agreement(labels, group) > 0.9
    numbers = frame[["x", "code"]].to_numpy(dtype=float)
    alone = BayesianGaussianMixture(n_components=2, random_state=0).fit_predict(numbers)
    assert agreement(alone, group) < agreement(labels, group) - 0.1
    assert list(mixture.levels_) == ["colour", "size", "new"]
    assert mixture.levels_["colour"].tolist() == ["blue", "red"]
    assert mixture.means_.shape == (2, 2) and mixture.n_features_in_ == 5
    for name, levels in mixture.levels_.items():
        probabilities = mixture.level_probabilities_[name]
        assert probabilities.shape == (2, len(levels)) == mixture.level_probabilities_sd_[name].shape
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert np.isfinite(mixture.score(frame))
    np.testing.assert_allclose(mixture.predict_proba(frame).sum(axis=1), 1.0)
    again = pickle.loads(pickle.dumps(mixture))
    np.testing.assert_array_equal(again.predict(frame), labels)


def test_what_is_missing_says_nothing():
    # Truths and whole numbers have no room for what is missing.
    frame = table()[0].astype({"new": object, "code": float})
    frame.loc[:20, "colour"] = None
    frame.loc[10:30, "x"] = np.nan
    frame.loc[5] = [np.nan, None, None, None, np.nan]
    mixture = BayesianGaussianMixture(n_components=2, random_state=0).fit(frame)
    assert mixture.levels_["colour"].tolist() == ["blue", "red"]
    assert np.isfinite(mixture.score_samples(frame)).all()
    assert abs(mixture.score_samples(frame)[5]) < 1e-9


def test_arrays_by_their_places_and_levels_alone():
    frame, group = table()
    array = np.column_stack([frame["x"], (frame["colour"] == "red").astype(float), frame["code"]])
    mixture = BayesianGaussianMixture(n_components=2, categorical=[1, 2], random_state=0).fit(array)
    assert mixture.levels_["column 2"].tolist() == [10, 11, 12]
    named = BayesianGaussianMixture(n_components=2, categorical=["code"], random_state=0)
    named.fit(frame[["x", "colour", "code"]])
    assert mixture.log_evidence_ == pytest.approx(named.log_evidence_, rel=1e-9)
    levels = frame[["colour", "size", "new"]]
    alone = BayesianGaussianMixture(n_components=2, random_state=0).fit(levels)
    assert alone.means_.shape == (2, 0)
    assert agreement(alone.predict(levels), group) > 0.85
    weights = np.full(len(levels), 2.0)
    weighted = BayesianGaussianMixture(n_components=2, random_state=0).fit(levels, sample_weight=weights)
    twice = BayesianGaussianMixture(n_components=2, random_state=0).fit(pandas.concat([levels, levels]))
    assert weighted.log_evidence_ == pytest.approx(twice.log_evidence_, abs=1.0)


def test_numbers_are_as_ever():
    frame, _ = table()
    numbers = frame[["x", "code"]].astype(float)
    one = BayesianGaussianMixture(n_components=2, random_state=0).fit(numbers)
    other = BayesianGaussianMixture(n_components=2, random_state=0).fit(numbers.to_numpy())
    assert one.log_evidence_ == other.log_evidence_ and one.level_probabilities_ == {}


def test_refusals():
    frame, _ = table()
    mixture = BayesianGaussianMixture(n_components=2, random_state=0).fit(frame)
    with pytest.raises(ValueError, match="row 1 has the level 'green' in 'colour'.*None where it is missing"):
        other = frame.copy()
        other.loc[1, "colour"] = "green"
        mixture.predict(other)
    with pytest.raises(ValueError, match="'name' has 300 levels in 300 rows.*drop"):
        BayesianGaussianMixture().fit(frame.assign(name=[f"row {n}" for n in range(300)]))
    with pytest.raises(ValueError, match="categorical has the column 'z'"):
        BayesianGaussianMixture(categorical=["z"]).fit(frame)
    with pytest.raises(ValueError, match="partial_fit knows no categorical columns"):
        BayesianGaussianMixture(n_components=2).partial_fit(frame)
    with pytest.raises(ValueError, match="an engine knows no categorical columns"):
        BayesianGaussianMixture(n_components=2).fit(frame, engine="local")
    for name, value in [("posterior", "exact"), ("learning_method", "online"), ("warm_start", True)]:
        with pytest.raises(ValueError, match=f"{name}=.*knows no categorical columns"):
            BayesianGaussianMixture(n_components=2, **{name: value}).fit(frame)
    for name in ["plot", "sample"]:
        with pytest.raises(ValueError, match=f"{name} knows no categorical columns"):
            getattr(mixture, name)()
    with pytest.raises(ValueError, match="impute knows no categorical columns"):
        mixture.impute(frame)
