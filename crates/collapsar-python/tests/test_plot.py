"""Pictures of fits as Vega-Lite specifications."""

import json
import pickle

import numpy as np
import pytest
import sklearn
import sklearn.base
import sklearn.pipeline

import pycollapsar

MIME = "application/vnd.vegalite.v5+json"
MODEL = "model { for (i in 1:N) { y[i] ~ dnorm(mu, tau) } mu ~ dnorm(0, 0.01) tau ~ dgamma(1, 1) }"


def values(spec, layer=None):
    place = spec if layer is None else spec["layer"][layer]
    return place["data"]["values"]


def check(plot):
    """What every picture keeps to: complete, and without colours that only a page knows."""
    spec = plot.to_dict()
    assert plot._repr_mimebundle_()[MIME] == spec
    assert spec["$schema"].startswith("https://vega.github.io/schema/vega-lite/")
    assert "var(--" not in json.dumps(spec) and spec["description"]
    altair = pytest.importorskip("altair")
    assert isinstance(plot.to_altair(), altair.TopLevelMixin)
    return spec


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(0)
    return pycollapsar.Model(MODEL).fit({"y": rng.normal(2, 1, 50), "N": 50})


def test_a_forest_has_the_numbers_of_the_summary(fit):
    spec = check(fit.plot())
    found = {row["name"]: row["mean"] for row in values(spec)}
    assert found == pytest.approx({"mu": float(fit.mean("mu")), "tau": float(fit.mean("tau"))}, rel=1e-5)
    assert [row["name"] for row in values(fit.plot("tau").to_dict())] == ["tau"]
    bundle = fit._repr_mimebundle_()
    assert bundle[MIME] == spec and bundle["image/svg+xml"].startswith("<svg")


def test_a_density_is_where_the_draws_are(fit, tmp_path):
    spec = check(fit.plot("mu", kind="density", n=2000))
    x, density = np.array([[row["x"], row["density"]] for row in values(spec)]).T
    assert x[density.argmax()] == pytest.approx(float(fit.mean("mu")), abs=0.15)
    fit.plot("mu").save(tmp_path / "mu.json")
    assert json.loads((tmp_path / "mu.json").read_text())["width"] > 0
    with pytest.raises(pycollapsar.SettingError, match="kind is 'pie', expected 'forest' or 'density'"):
        fit.plot(kind="pie")


@pytest.mark.parametrize("columns", [1, 2, 4])
def test_rows_of_a_mixture(columns):
    rng = np.random.default_rng(0)
    rows = np.r_[rng.normal(0, 1, (60, columns)), rng.normal(9, 1, (40, columns))]
    fitted = pycollapsar.BayesianGaussianMixture(n_components=2, random_state=0).fit(rows)
    spec = check(fitted.plot(rows))
    if columns == 1:
        assert sum(bar["rows"] for bar in values(spec)) == 100
        return
    points = values(spec, 0)
    assert len(points) == 100
    assert [int(p["component"]) for p in points] == fitted.predict(rows).tolist()
    if columns == 2:
        assert [[p["x"], p["y"]] for p in points] == pytest.approx(rows, rel=1e-4)


@pytest.mark.parametrize("columns", [1, 2, 4])
def test_components_of_a_mixture_without_rows(columns):
    rng = np.random.default_rng(0)
    rows = np.r_[rng.normal(0, 1, (60, columns)), rng.normal(9, 1, (40, columns))]
    fitted = pycollapsar.BayesianGaussianMixture(n_components=2, random_state=0).fit(rows)
    spec = check(fitted.plot())
    drawn = values(spec) if columns == 1 else values(spec, 0)
    for k in range(2):
        points = [p for p in drawn if p["component"] == str(k) and p.get("of") != "mean"]
        x = np.array([p["x"] for p in points])
        if columns < 3:
            # Curves are even around the mean.
            assert (x.min() + x.max()) / 2 == pytest.approx(fitted.means_[k, 0], abs=0.02)
        if columns == 1:
            density = np.array([p["density"] for p in points])
            area = np.sum(np.diff(x) * (density[1:] + density[:-1]) / 2)
            # Expected weights, of which some is left for components that nothing has used.
            assert area == pytest.approx(fitted.weights_[k], rel=2e-2)


def test_estimators_show_their_pictures_once_they_are_fitted():
    rng = np.random.default_rng(0)
    rows = np.r_[rng.normal(0, 1, (60, 3)), rng.normal(9, 1, (40, 3))]
    counts = rng.poisson(2.0, (20, 8))
    estimators = [
        (pycollapsar.BayesianGaussianMixture(n_components=2, random_state=0), rows),
        (pycollapsar.LatentDirichletAllocation(2, random_state=0), counts),
    ]
    for estimator, X in estimators:
        asked = dict(include=None, exclude=None)
        before = estimator._repr_mimebundle_(**asked)
        assert set(before) == {"text/plain", "text/html"} and "sk-container" in before["text/html"]
        fitted = estimator.fit(X)
        shown = fitted._repr_mimebundle_(**asked)
        assert shown == {MIME: check(fitted.plot()), "text/plain": repr(fitted)}
        # The diagram is there for whoever asks for it, and alone for a copy that is not fitted.
        assert "sk-container" in fitted._repr_html_()
        assert set(sklearn.base.clone(fitted)._repr_mimebundle_(**asked)) == set(before)
        again = pickle.loads(pickle.dumps(fitted))
        assert again._repr_mimebundle_(**asked)[MIME] == shown[MIME]
        with sklearn.config_context(display="text"):
            assert fitted._repr_mimebundle_(**asked) == {"text/plain": repr(fitted)}
        assert "sk-container" in sklearn.pipeline.make_pipeline(fitted)._repr_html_()


def test_topics_of_nothing_have_a_picture():
    fitted = pycollapsar.LatentDirichletAllocation(2, random_state=0).fit(np.zeros((3, 5)))
    assert MIME in fitted._repr_mimebundle_()


def test_a_map_of_topics_and_the_terms_of_one():
    rng = np.random.default_rng(0)
    counts = np.zeros((60, 30))
    for document in range(60):
        counts[document, (document % 3) * 10 + rng.integers(0, 10, 40)] += 1
    fitted = pycollapsar.LatentDirichletAllocation(3, random_state=0).fit(counts)
    names = [f"<w{i}>" for i in range(30)]
    spec = check(fitted.plot(feature_names=names))
    shares = np.array([topic["share"] for topic in values(spec)])
    assert shares.sum() == pytest.approx(1.0, abs=1e-4)
    bars = values(check(fitted.plot(1, relevance=1.0, feature_names=names)))
    (tops,) = [fitted.top_words(30, relevance=1.0, feature_names=names)[1]]
    assert [bar["word"] for bar in bars][:10] == [word for word, _, _ in tops[:10]]
    with pytest.raises(ValueError, match="topic is 3, expected one from 0 to 2"):
        fitted.plot(3)
    with pytest.raises(ValueError, match="feature_names has 2 words, expected 30"):
        fitted.plot(feature_names=["a", "b"])
