"""Models in the BUGS language."""

import pickle

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import pycollapsar

NORMAL = """
model {
  for (i in 1:N) { y[i] ~ dnorm(mu, 4) }
  mu ~ dnorm(1, 0.25)
  twice <- 2 * mu
}
"""

MIXTURE = """
model {
  for (i in 1:N) {
    z[i] ~ dcat(p[1:K])
    y[i] ~ dnorm(mu[z[i]], tau[z[i]])
  }
  p[1:K] ~ ddirch(a[1:K])
  for (k in 1:K) {
    a[k] <- 1
    mu[k] ~ dnorm(0, 0.01)
    tau[k] ~ dgamma(1, 1)
  }
}
"""


@pytest.fixture
def groups():
    rng = np.random.default_rng(0)
    return {"y": np.r_[rng.normal(0, 1, 50), rng.normal(8, 1, 50)], "N": 100, "K": 2}


def test_a_conjugate_model_is_exact():
    y = np.array([0.3, 1.9, 2.2])
    fit = pycollapsar.Model(NORMAL).fit({"y": y, "N": 3})
    evidence = multivariate_normal(np.ones(3), np.eye(3) / 4 + 4.0).logpdf(y)
    assert fit.bound == pytest.approx(evidence, rel=1e-12)
    precision = 0.25 + 3 * 4
    mean = (0.25 * 1 + 4 * y.sum()) / precision
    assert fit.mean("mu") == pytest.approx(mean, rel=1e-12)
    assert fit.sd("mu") == pytest.approx(precision**-0.5, rel=1e-12)
    assert fit.mean("twice") == pytest.approx(2 * mean, abs=5 * 2 * precision**-0.5 / 4000**0.5)


def test_tables_draws_and_traces(groups):
    pandas = pytest.importorskip("pandas")
    fit = pycollapsar.Model(MIXTURE).fit(groups, n_init=4)
    table = fit.posterior
    assert isinstance(table, pandas.DataFrame)
    assert list(table.columns) == ["mean", "sd", "q2.5", "median", "q97.5"]
    assert "mu[2]" in table.index and "z[1]" not in table.index
    assert sorted(fit.mean("mu").round()) == [0.0, 8.0]
    assert len(fit.bounds) == 4 and fit.bound == fit.bounds.max()
    draws = fit.draws(2000, ["mu", "z"])
    assert draws["mu"].shape == (2000, 2) and draws["z"].shape == (2000, 100)
    # Six standard errors.
    error = 6 * fit.sd("mu").max() / 2000**0.5
    np.testing.assert_allclose(draws["mu"].mean(axis=0), fit.mean("mu"), atol=error)
    assert set(np.unique(draws["z"])) <= {1.0, 2.0}
    assert len(fit.trace) == fit.iterations and np.all(np.diff(fit.trace["bound"]) >= 0)
    assert "z" in fit.explicit and "p" in fit.collapsed
    assert "bound" in repr(fit)


def test_missing_data_and_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"y": [0.3, np.nan, 2.2]})
    fit = pycollapsar.Model(NORMAL).fit(frame)
    assert "y" in fit.unknowns
    whole = fit.draws(10, "y")["y"]
    assert whole.shape[0] == 10 and np.isnan(whole[:, 0]).all() and np.isfinite(whole[:, 1]).all()
    nullable = pandas.DataFrame({"y": pandas.array([1, None, 3], dtype="Int64")})
    assert "y" in pycollapsar.Model(NORMAL).fit(nullable).unknowns


def test_matrices_keep_their_order():
    text = """
    model {
      for (i in 1:2) { for (j in 1:3) { m[i,j] ~ dnorm(y[i,j], 1.0E6) } }
    }
    """
    y = np.arange(6.0).reshape(2, 3)
    for given in (y, np.asfortranarray(y), y.tolist()):
        fit = pycollapsar.Model(text).fit({"y": given})
        np.testing.assert_allclose(fit.mean("m"), y, atol=1e-9)


def test_sparse_matrices_are_what_dense_ones_are():
    sparse = pytest.importorskip("scipy.sparse")
    text = """
    model {
      for (d in 1:3) { x[d,1:4] ~ dmulti(p[1:4], n[d]) }
      p[1:4] ~ ddirch(a[1:4])
    }
    """
    x = np.array([[3, 0, 0, 1], [0, 2, 0, 0], [0, 0, 0, 5]])
    data = {"n": x.sum(axis=1), "a": np.ones(4)}
    dense = pycollapsar.Model(text).fit({**data, "x": x})
    thin = pycollapsar.Model(text).fit({**data, "x": sparse.csr_matrix(x)})
    assert thin.bound == pytest.approx(dense.bound, rel=1e-12)
    np.testing.assert_allclose(thin.mean("p"), (1 + x.sum(axis=0)) / (4 + x.sum()), rtol=1e-12)


def test_fits_and_models_can_be_pickled(groups):
    fit = pycollapsar.Model(MIXTURE).fit(groups, n_init=2)
    copy = pickle.loads(pickle.dumps(fit))
    assert copy.bound == fit.bound
    np.testing.assert_array_equal(copy.mean("mu"), fit.mean("mu"))
    np.testing.assert_array_equal(copy.draws(3)["tau"], fit.draws(3)["tau"])


def test_what_is_collapsed_can_be_said(groups):
    fit = pycollapsar.Model(MIXTURE).fit(groups, explicit=["p"])
    assert "p" in fit.explicit
    with pytest.raises(pycollapsar.SettingError, match="collapse is q"):
        pycollapsar.Model(MIXTURE).fit(groups, collapse=["q"])


def test_bad_data_are_refused(groups):
    model = pycollapsar.Model(MIXTURE)
    with pytest.raises(pycollapsar.ModelError, match="K is neither data"):
        model.fit({"y": groups["y"], "N": 100})
    with pytest.raises(pycollapsar.DataError, match="y"):
        model.fit({**groups, "y": ["a", "b"]})
    with pytest.raises(TypeError, match="mapping"):
        model.fit([1, 2])
    with pytest.raises(pycollapsar.SettingError, match="one of z, p"):
        model.fit(groups).draws(names="q")
    with pytest.warns(UserWarning, match="not converged"):
        model.fit(groups, max_iter=1, tol=0)


def test_arviz(groups):
    pytest.importorskip("arviz")
    posterior = pycollapsar.Model(MIXTURE).fit(groups).to_arviz(50).posterior
    assert posterior["mu"].shape == (1, 50, 2)


def test_what_was_reached_is_kept_when_a_fit_is_stopped(groups):
    def callback(step):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough") as caught:
        pycollapsar.Model(MIXTURE).fit(groups, callback=callback)
    assert caught.value.fit.iterations == 1
    assert caught.value.fit.mean("mu").shape == (2,)
    # A callback may also stop without an exception.
    assert pycollapsar.Model(MIXTURE).fit(groups, callback=lambda step: True).iterations == 1


def test_graphs_show_what_is_collapsed(groups):
    import xml.etree.ElementTree as xml

    model = pycollapsar.Model(MIXTURE)
    fit = model.fit(groups, n_init=2)

    def drawn(svg):
        """How many outlines there are, and all texts."""
        texts = [text.text for text in xml.fromstring(svg).iter() if text.tag.endswith("text")]
        return svg.count("<ellipse"), set(texts)

    outlines, texts = drawn(fit._repr_svg_())
    assert {"z", "y", "p", "mu", "tau", "observed", "explicit", "collapsed"} <= texts
    # Two each for p and mu; one each for z, tau and y; four in the legend.
    assert fit.explicit == ["z", "tau"] and outlines == 2 * 2 + 3 + 4
    assert "i in 1:N" in texts and "k in 1:K" in texts
    # With all but p explicit there is one double outline.
    other = model.fit(groups, explicit=["mu", "tau"])
    assert drawn(other._repr_svg_())[0] == 2 + 4 + 4
    # Without data nothing is known to be data or to be collapsed.
    outlines, texts = drawn(model._repr_svg_())
    assert "stochastic" in texts and not texts & {"observed", "collapsed"}
    assert outlines == 5 + 1
    # A fit that was pickled draws the same.
    assert pickle.loads(pickle.dumps(fit))._repr_svg_() == fit._repr_svg_()


def test_limits_hold_and_checkpoints_go_on(groups, tmp_path):
    model = pycollapsar.Model(MIXTURE)
    with pytest.warns(UserWarning, match="not converged: stopped after 0.0 seconds|not converged"):
        assert model.fit(groups, n_init=1, max_seconds=0).iterations == 1
    with pytest.warns(UserWarning, match="stopped after 4 passes"):
        assert model.fit(groups, n_init=1, max_passes=4, tol=0).passes >= 4
    whole, file = model.fit(groups, n_init=1), tmp_path / "run.ckpt"
    with pytest.warns(UserWarning, match="stopped after 2 iterations"):
        model.fit(groups, n_init=1, max_iter=2, checkpoint=file)
    resumed = model.fit(groups, resume=file)
    assert (resumed.bound, resumed.iterations) == (whole.bound, whole.iterations)
    np.testing.assert_array_equal(resumed.mean("mu"), whole.mean("mu"))
    # A fit that is loaded again neither resumes nor writes.
    file.unlink()
    assert pickle.loads(pickle.dumps(resumed)).bound == whole.bound and not file.exists()
    with pytest.raises(pycollapsar.SettingError, match="checkpoint and resume follow one climb"):
        model.fit(groups, n_init=2, checkpoint=file)
    with pytest.raises(pycollapsar.SettingError, match="no such file, expected one written by check"):
        model.fit(groups, resume=file)


def test_data_that_nothing_reads_are_warned_of():
    data = {"y": [1.0, 2.0], "N": 2, "tua": 3.0}
    with pytest.warns(UserWarning, match="nothing reads tua of the data"):
        pycollapsar.Model(NORMAL).fit(data)


def test_elements_and_ranges_can_be_asked_for(groups):
    pytest.importorskip("pandas")
    fit = pycollapsar.Model(MIXTURE).fit(groups)
    assert list(fit.summary("z[2:4]").index) == ["z[2]", "z[3]", "z[4]"]
    assert list(fit.summary(["mu[2]", "p"]).index) == ["p[1]", "p[2]", "mu[2]"]
    assert len(fit.summary([])) == 0
    assert fit.unknowns == ["z", "p", "a", "mu", "tau"]
    with pytest.raises(pycollapsar.SettingError, match=r"names is mu\[9\], expected one of z, p"):
        fit.summary("mu[9]")


def test_a_check_fits_nothing(groups):
    model = pycollapsar.Model(MIXTURE)
    found = model.check(groups)
    fit = model.fit(groups)
    assert (found["collapsed"], found["explicit"]) == (fit.collapsed, fit.explicit)
    assert found["observed"] == {"y": 100} and found["predicted"] == {}
    assert any({"mu", "tau"} == {first, second} for first, second, _ in found["meetings"])
    assert all(place.startswith("model:") for *_, place in found["meetings"])
    assert model.check(groups, explicit=["p"])["collapsed"] == ["mu"]
    with pytest.raises(pycollapsar.SettingError, match="collapse"):
        model.check(groups, collapse=["mu", "tau"])
    with pytest.raises(pycollapsar.ModelError, match="K is neither data"):
        model.check({"y": groups["y"], "N": 100})


SCHOOLS = """
model {
  for (j in 1:8) { y[j] ~ dnorm(theta[j], 1 / (s[j] * s[j]))
                   theta[j] ~ dnorm(mu, tau) }
  mu ~ dnorm(0, 1.0E-4)
  tau ~ dgamma(1, 10)
}
"""
SCHOOLS_DATA = {"y": [28, 8, -3, 7, -1, 1, 18, 12], "s": [15, 10, 16, 11, 9, 11, 10, 18]}


def test_posteriors():
    sds = {}
    for posterior in ["mean-field", "linear-response", "exact"]:
        fit = pycollapsar.Model(SCHOOLS).fit(SCHOOLS_DATA, posterior=posterior)
        assert fit.verdict["posterior"] == posterior
        sds[posterior] = float(fit.sd("mu"))
        again = pickle.loads(pickle.dumps(fit))
        np.testing.assert_array_equal(again.draws(10)["theta"], fit.draws(10)["theta"])
    # Not knowing the schools makes the mean less certain; linear response knows that as the chains do.
    assert sds["mean-field"] < sds["linear-response"]
    assert abs(sds["linear-response"] / sds["exact"] - 1) < 0.1
    default = pycollapsar.Model(SCHOOLS).fit(SCHOOLS_DATA)
    assert default.verdict["posterior"] == "linear-response"
    estimate, error = default.log_evidence
    # Weights average to the evidence, which no bound is above.
    assert estimate > default.bound - 3 * error and 0 <= error < 0.5
    assert float(default.sd("mu")) == sds["linear-response"]


def test_chains():
    fit = pycollapsar.Model(SCHOOLS).fit(SCHOOLS_DATA, posterior="exact", n_chains=3)
    table = fit.summary("mu")
    assert table["r_hat"].iloc[0] < 1.02
    # Draws come in mirrored pairs: a mean may be known better than from as many independent ones, up to the logarithm of their number.
    assert 100 < table["ess_bulk"].iloc[0] <= 3000 * np.log10(3000)
    draws = fit.draws(7)
    assert draws["theta"].shape == (7, 8)
    arviz = pytest.importorskip("arviz")
    assert arviz is not None
    assert dict(fit.to_arviz(20).posterior.sizes)["chain"] == 3


def test_refused_posteriors():
    with pytest.raises(pycollapsar.SettingError, match="posterior"):
        pycollapsar.Model(SCHOOLS).fit(SCHOOLS_DATA, posterior="laplace")
    with pytest.raises(pycollapsar.SettingError, match="n_chains"):
        pycollapsar.Model(SCHOOLS).fit(SCHOOLS_DATA, posterior="exact", n_chains=0)


CHANGE = """
model {
  for (i in 1:N) { y[i] ~ dnorm(mu[1 + step(i - k - 0.5)], tau)
                   p[i] <- 1 / N }
  for (j in 1:2) { mu[j] ~ dnorm(0, 0.01) }
  k ~ dcat(p[])
  tau ~ dgamma(1, 1)
}
"""


def test_change_points_are_enumerated():
    y = np.array([0.1, -0.2, 0.3, 3.1, 2.8, 3.2, 2.9])
    model, data = pycollapsar.Model(CHANGE), {"y": y, "N": 7}
    assert model.check(data)["enumerated"] == ["k"]
    fit = model.fit(data)
    found = fit.states
    assert found["labels"] == ["k"] and len(found["states"]) == 7
    probabilities = np.array([state["probability"] for state in found["states"]])
    bounds = np.array([state["bound"] for state in found["states"]])
    np.testing.assert_allclose(probabilities, np.exp(bounds - fit.bound), rtol=1e-9)
    values = np.array([state["values"][0] for state in found["states"]])
    assert values[probabilities.argmax()] == 3
    assert fit.mean("k") == pytest.approx(probabilities @ values, rel=1e-9)
    draws = fit.draws(2000, ["k"])["k"]
    # Five standard errors.
    assert abs(np.mean(draws == 3) - probabilities.max()) < 5 * 0.5 / np.sqrt(2000)
    again = pickle.loads(pickle.dumps(fit))
    assert again.states == found
    whole = model.fit(data, enumerate=())
    assert whole.states is None and whole.bound < fit.bound


def test_initial_values_are_starts(groups):
    model = pycollapsar.Model(MIXTURE)
    poor = {"z": np.arange(100) % 2 + 1}
    good = {"mu": [0.0, 8.0], "tau": [1.0, np.nan]}
    fit = model.fit(groups, inits=[poor, good], n_init=2)
    # Both are climbed from, and the better end is kept; turns of labels let the poor one end where the good one does.
    assert len(fit.bounds) == 2 and fit.bound == max(fit.bounds)
    np.testing.assert_allclose(fit.mean("mu"), [0, 8], atol=0.5)
    # Beside the usual starts, where it is not said how many there are.
    assert model.fit(groups, inits=good).spread["starts"] > 3
    again = pickle.loads(pickle.dumps(fit))
    assert again.bound == fit.bound
    with pytest.warns(UserWarning, match="no effect, since random numbers"):
        model.fit(groups, inits={**good, ".RNG.name": "base::Wichmann-Hill"})
    with pytest.raises(pycollapsar.DataError, match=r"inits\[0\]: mus is no name of the model"):
        model.fit(groups, inits={"mus": 1})
    with pytest.raises(pycollapsar.SettingError, match="n_init is 1, expected at least 2"):
        model.fit(groups, inits=[poor, good], n_init=1)


def test_a_check_tells_what_a_fit_refuses():
    model = pycollapsar.Model("model { y ~ dnorm(a + b, 1); a ~ dflat(); b ~ dflat() }")
    for ask in (model.check, model.fit):
        with pytest.raises(pycollapsar.CollapsarError, match="positive definite"):
            ask({"y": 1.0})
