"""Quantification of transcripts."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import gammaln

import collapsar

pandas = pytest.importorskip("pandas")

# Rows are reads: p(read | transcript).
READS = np.array([[0.2, 0.0, 0.0], [0.2, 0.1, 0.0], [0.0, 0.3, 0.1], [0.0, 0.3, 0.1], [0.0, 0.0, 0.5]])


def exact(prior):
    """ln p(reads) and mean counts, by adding up all origins."""
    total, mean = 0.0, np.zeros(3)
    for origins in itertools.product(range(3), repeat=len(READS)):
        weight = np.prod([READS[n, t] for n, t in enumerate(origins)])
        counts = np.bincount(origins, minlength=3)
        ln_p = gammaln(3 * prior) - gammaln(3 * prior + len(READS))
        ln_p += (gammaln(prior + counts) - gammaln(prior)).sum()
        total += weight * np.exp(ln_p)
        mean += weight * np.exp(ln_p) * counts
    return np.log(total), mean / total


def test_small_problems_agree_with_enumeration():
    evidence, mean = exact(1.0)
    found = collapsar.quant(csr_matrix(READS), prior=1.0, draws=20_000, lengths=[100.0, 200.0, 50.0])
    assert found.bound <= evidence
    # Draws are sixty-fold apart from the truth only if they are of something else: five errors.
    error = 5 * found.draws.std(axis=0) / np.sqrt(len(found.draws) / 4)
    assert np.all(np.abs(found.draws.mean(axis=0) - mean) <= error + 1e-9)
    assert found.transcripts["NumReads"].sum() == pytest.approx(5.0)
    assert found.transcripts["TPM"].sum() == pytest.approx(1e6)
    assert list(found.posterior.columns[:2]) == ["TPM.mean", "TPM.sd"]


def test_counts_stand_for_rows():
    counted = collapsar.quant(READS[[0, 1, 2, 4]], counts=[3, 1, 2, 1], posterior="collapsed")
    listed = collapsar.quant(READS[[0, 0, 0, 1, 2, 3, 4]], posterior="collapsed")
    np.testing.assert_allclose(counted.transcripts, listed.transcripts, rtol=1e-9)
    assert counted.bound == pytest.approx(listed.bound, rel=1e-9)
    with pytest.raises(collapsar.DataError, match="whole number"):
        collapsar.quant(READS, counts=[0.5] * 5)


def test_genes_are_sums():
    found = collapsar.quant(READS, names=["a", "b", "c"], genes={"a": "g", "b": "g", "c": "h"})
    sums = found.transcripts["NumReads"].groupby(["g", "g", "h"]).sum()
    np.testing.assert_allclose(found.genes["NumReads"], sums)
    assert list(found.genes_posterior.index) == ["g", "h"]


def test_files(tmp_path):
    classes = tmp_path / "eq_classes.txt"
    classes.write_text("2\n2\na\nb\n1 0 5\n2 0 1 4\n")
    found = collapsar.quant(classes, lengths=[100.0, 100.0])
    assert list(found.transcripts.index) == ["a", "b"]
    assert found.transcripts["NumReads"].sum() == pytest.approx(9.0)
    named = pandas.Series([50.0, 100.0], index=["b", "a"])
    found = collapsar.quant(classes, lengths=named, genes={"a": "g", "b": "g"})
    assert list(found.transcripts["EffectiveLength"]) == [100.0, 50.0]
    assert found.genes.loc["g", "NumReads"] == pytest.approx(9.0)
    with pytest.raises(collapsar.DataError, match="none for a"):
        collapsar.quant(classes, lengths=named[["b"]])
    with pytest.raises(collapsar.DataError, match="effective length"):
        collapsar.quant(classes)
    with pytest.raises(collapsar.DataError, match="nothing"):
        collapsar.quant(tmp_path / "nothing.prob")
    folder = tmp_path / "salmon"
    folder.mkdir()
    (folder / "quant.sf").write_text(
        "Name\tLength\tEffectiveLength\tTPM\tNumReads\na\t100\t90\t1000000\t5\n"
    )
    assert collapsar.read_quant(folder).transcripts.loc["a", "NumReads"] == 5.0


def test_bad_input_is_refused():
    with pytest.raises(collapsar.DataError, match="positive"):
        collapsar.quant(-READS)
    with pytest.raises(ValueError, match="posterior"):
        collapsar.quant(READS, posterior="wrong")
    with pytest.raises(ValueError, match="prior"):
        collapsar.quant(READS, prior="wrong")
    with pytest.raises(collapsar.DataError, match="effective lengths"):
        collapsar.quant(READS, lengths=[1.0])
    with pytest.raises(collapsar.SettingError):
        collapsar.quant(READS, prior=-1.0)
