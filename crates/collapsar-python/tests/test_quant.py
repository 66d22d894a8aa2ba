"""Quantification of transcripts."""

import gzip
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
    with pytest.raises(collapsar.DataError, match="genes: no gene for any of 3 transcripts"):
        collapsar.quant(READS, names=["a", "b", "c"], genes={"x": "g"})
    with pytest.raises(collapsar.DataError, match="genes: 2, expected one for each of 3"):
        collapsar.quant(READS, genes=["g", "g"])
    with pytest.raises(collapsar.DataError, match="names: 2, expected one for each of 3"):
        collapsar.quant(READS, names=["a", "b"])


def test_genes_have_the_mean_length_of_what_is_there():
    lengths = [100.0, 200.0, 50.0]
    found = collapsar.quant(READS, lengths=lengths, genes=["g", "g", None])
    assert list(found.genes.columns) == list(found.transcripts.columns)
    members = found.transcripts.iloc[:2]
    mean = (members["Length"] * members["TPM"]).sum() / members["TPM"].sum()
    # Three decimals, as salmon writes them.
    assert found.genes.loc["g", "Length"] == pytest.approx(mean, abs=5e-4)
    assert found.genes.loc["g", "EffectiveLength"] == pytest.approx(mean, abs=5e-4)
    assert found.genes.loc["g", "TPM"] == pytest.approx(members["TPM"].sum())


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
    with pytest.raises(collapsar.DataError, match='1 of 2 transcripts is not in lengths, the first is "a"'):
        collapsar.quant(classes, lengths=named[["b"]])
    with pytest.raises(collapsar.DataError, match="without weights.*try lengths or transcripts$"):
        collapsar.quant(classes)
    fasta = tmp_path / "transcripts.fa"
    fasta.write_text(f">b\n{'ACGT' * 150}\n>a\n{'ACGT' * 100}\n")
    found = collapsar.quant(classes, transcripts=fasta, fragment_length=(100.0, 10.0))
    assert list(found.transcripts["Length"]) == [400.0, 600.0]
    # Fragments of 100 bases have so many places.
    assert list(found.transcripts["EffectiveLength"]) == pytest.approx([301.0, 501.0], abs=0.5)
    with pytest.raises(collapsar.DataError, match="nothing"):
        collapsar.quant(tmp_path / "nothing.prob")
    folder = tmp_path / "salmon"
    folder.mkdir()
    (folder / "quant.sf").write_text(
        "Name\tLength\tEffectiveLength\tTPM\tNumReads\na\t100\t90\t1000000\t5\n"
    )
    assert collapsar.read_quant(folder).transcripts.loc["a", "NumReads"] == 5.0


PROB = "# Ntotal 6\n# Nmap 5\n# M 2\n# LOGFORMAT (probabilities saved on log scale.)\n# r_name num_alignments (tr_id prob )^*{num_alignments}\n"


def test_noise(tmp_path):
    prob = tmp_path / "reads.prob"
    # Transcripts are counted from 1 on, noise is 0.
    entries = [{0: 0.1, 1: 0.2}, {0: 0.1, 1: 0.2, 2: 0.1}, {0: 0.2, 2: 0.1}, {0: 0.1, 2: 0.3}, {0: 0.3}]
    lines = []
    for number, entry in enumerate(entries):
        fields = " ".join(f"{target} {np.log(p)}" for target, p in entry.items())
        lines.append(f"r{number} {len(entry)} {fields}\n")
    prob.write_text(PROB + "".join(lines))
    noisy = collapsar.quant(prob, noise=True, posterior="collapsed")
    matrix = np.array([[entry.get(target, 0.0) for target in range(3)] for entry in entries])
    twin = collapsar.quant(matrix, posterior="collapsed").transcripts["NumReads"].to_numpy()
    np.testing.assert_allclose(noisy.transcripts["NumReads"], twin[1:], rtol=1e-9)
    assert noisy.noise == pytest.approx(twin[0] / 5)
    assert list(noisy.transcripts.index) == ["1", "2"] and noisy.processed == 6
    # Without it a read that fits nothing else is left out.
    plain = collapsar.quant(prob, posterior="collapsed")
    assert plain.transcripts["NumReads"].sum() == pytest.approx(4.0) and plain.noise is None
    prob.write_text(PROB.replace("Nmap 5", "Nmap 1") + "r1 1 0 -1.5\n")
    with pytest.raises(collapsar.DataError, match="reads.prob: no read fits a transcript, only noise"):
        collapsar.quant(prob)
    with pytest.raises(ValueError, match="noise is True with matrix"):
        collapsar.quant(READS, noise=True)


def test_content_decides_what_a_file_is(tmp_path):
    prob = tmp_path / "reads.bam"
    prob.write_text(PROB.replace("Nmap 5", "Nmap 1") + "r1 2 1 -1.5 2 -1.0\n")
    assert collapsar.quant(prob).processed == 6
    sam, fasta = aligned(tmp_path)
    renamed = sam.rename(tmp_path / "reads.prob")
    assert collapsar.quant(renamed, transcripts=fasta).library_type
    classes = tmp_path / "classes.prob.gz"
    classes.write_bytes(gzip.compress(b"2\n2\na\nb\n1 0 5\n2 0 1 4\n"))
    assert list(collapsar.quant(classes, lengths=[1.0, 1.0]).transcripts.index) == ["a", "b"]


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


def aligned(tmp_path, shared=4):
    """Transcripts a and b that differ in their last 30 bases only; reads of both, of a and of b."""
    rng = np.random.default_rng(0)
    common, *ends = ("".join(rng.choice(list("ACGT"), n)) for n in (270, 30, 30))
    both = {name: common + end for name, end in zip(("a.1", "b.1"), ends)}
    fasta = tmp_path / "transcripts.fa"
    fasta.write_text("".join(f">{name}\n{bases}\n" for name, bases in both.items()))
    reads = [(("a.1", "b.1"), 40)] * shared + [(("a.1",), 260)] * 3 + [(("b.1",), 260)] * 2
    lines = ["@HD\tVN:1.6\tGO:query"] + [f"@SQ\tSN:{name}\tLN:300" for name in both]
    for number, (targets, start) in enumerate(reads):
        for flag, target in zip((0, 256), targets):
            bases = both[target][start : start + 35]
            fields = [f"r{number}", flag, target, start + 1, 1, "35M", "*", 0, 0, bases, "I" * 35]
            lines.append("\t".join(map(str, fields)))
    sam = tmp_path / "reads.sam"
    sam.write_text("\n".join(lines) + "\n")
    return sam, fasta


def test_alignments(tmp_path):
    sam, fasta = aligned(tmp_path)
    found = collapsar.quant(sam, transcripts=fasta, posterior="collapsed", draws=3)
    # Equal lengths, equal places, no mismatches: shared reads favour neither.
    matrix = [[1.0, 1.0]] * 4 + [[1.0, 0.0]] * 3 + [[0.0, 1.0]] * 2
    twin = collapsar.quant(np.array(matrix), posterior="collapsed")
    np.testing.assert_allclose(found.transcripts["NumReads"], twin.transcripts["NumReads"], rtol=1e-6)
    np.testing.assert_allclose(found.transcripts["TPM"], twin.transcripts["TPM"], rtol=1e-6)
    assert list(found.transcripts.index) == ["a.1", "b.1"]
    assert list(found.transcripts["Length"]) == [300.0, 300.0]
    assert found.transcripts["EffectiveLength"].between(1, 300).all()
    assert found.library_type and found.processed == 9 and found.draws.shape == (3, 2)
    given = collapsar.quant(sam, transcripts=fasta, fragment_length=(100.0, 10.0), library_type="SF")
    assert given.fragment_length == pytest.approx((100.0, 10.0), rel=0.05)
    assert given.library_type == "SF"
    genes = tmp_path / "genes.tsv"
    genes.write_text("a.1\tg\nc\th\n")
    by_gene = collapsar.quant(sam, transcripts=fasta, genes=genes)
    assert list(by_gene.genes.index) == ["g", "b.1"]


def test_alignments_that_cannot_be_used(tmp_path):
    sam, fasta = aligned(tmp_path)
    with pytest.raises(collapsar.SettingError, match="transcripts is None, expected the FASTA"):
        collapsar.quant(sam)
    with pytest.raises(ValueError, match="lengths are given with alignments"):
        collapsar.quant(sam, transcripts=fasta, lengths=[1.0, 1.0])
    with pytest.raises(ValueError, match="without alignments"):
        collapsar.quant(READS, transcripts=fasta)
    with pytest.raises(collapsar.SettingError, match="XYZ"):
        collapsar.quant(sam, transcripts=fasta, library_type="XYZ")
    other = tmp_path / "other.fa"
    other.write_text(fasta.read_text().replace("a.1", "a.2"))
    with pytest.raises(collapsar.DataError, match="not in .*try ignore_versions$"):
        collapsar.quant(sam, transcripts=other)
    assert collapsar.quant(sam, transcripts=other, ignore_versions=True).processed == 9
    # All reads lie forward.
    with pytest.raises(collapsar.DataError, match="SR forbids 9 of 9 aligned reads.*library_type=\"A\""):
        collapsar.quant(sam, transcripts=fasta, library_type="SR")
    with pytest.raises(collapsar.DataError, match="missing.bam: no such file"):
        collapsar.quant(tmp_path / "missing.bam", transcripts=fasta)
    damaged = tmp_path / "damaged.bam"
    damaged.write_bytes(b"BAM\x01 and no more")
    with pytest.raises(collapsar.DataError, match="damaged.bam"):
        collapsar.quant(damaged, transcripts=fasta)
