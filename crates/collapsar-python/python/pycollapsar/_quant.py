"""How abundant transcripts are, from reads."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _collapsar
from ._errors import DataError
from ._plan import threads

_SAID = ("mean", "sd", "lower", "upper")
_POSTERIOR = [f"{of}.{what}" for of in ("TPM", "NumReads") for what in _SAID]


@dataclass
class Quantification:
    """What reads say of transcripts.

    Attributes
    ----------
    transcripts : DataFrame
        Length, EffectiveLength, TPM and NumReads by Name, as in salmon's ``quant.sf``.
    posterior : DataFrame or None
        Mean, sd and 95% interval of TPM and NumReads.
    genes, genes_posterior : DataFrame or None
        The same for genes, where they are known.
    draws : ndarray of shape (draws, transcripts) or None
        Numbers of reads, drawn from the posterior.
    bound : float or None
        The lower bound on ln p(reads).
    prior : float or None
        The prior of each transcript, given or learned.
    converged : bool
    library_type : str or None
        How reads lie on transcripts, in salmon's words, given or told from alignments.
    fragment_length : tuple of float or None
        Mean and standard deviation of the lengths of fragments, given or learned from alignments.
    processed : int or None
        Reads in the file of alignments, with those that could not be used.
    """

    transcripts: Any
    posterior: Any = None
    genes: Any = None
    genes_posterior: Any = None
    draws: Any = None
    bound: float | None = None
    prior: float | None = None
    converged: bool = True
    library_type: str | None = None
    fragment_length: tuple[float, float] | None = None
    processed: int | None = None

    def __repr__(self) -> str:
        reads = self.transcripts["NumReads"].sum()
        found = f"{len(self.transcripts)} transcripts, {reads:.0f} reads"
        return f"<pycollapsar.Quantification: {found}>"


def quant(
    reads: Any,
    *,
    counts: Any = None,
    lengths: Any = None,
    names: Sequence[str] | None = None,
    genes: Mapping[str, str] | Sequence[str | None] | str | os.PathLike[str] | None = None,
    transcripts: str | os.PathLike[str] | None = None,
    library_type: str = "A",
    fragment_length: tuple[float, float] | None = None,
    longest_fragment: int = 1000,
    incompatible: float = 0.0,
    sequence_bias: bool = False,
    position_bias: bool = False,
    gencode: bool = False,
    ignore_versions: bool = False,
    prior: float | str = 0.1,
    posterior: str = "exact",
    draws: int = 0,
    seed: int = 0,
    tol: float = 1e-8,
    n_jobs: int | None = None,
) -> Quantification:
    """Quantifies transcripts.

    Parameters
    ----------
    reads : path or sparse matrix of shape (reads, transcripts)
        Alignments to transcripts (``.bam``, ``.sam``, ``.cram``), all those of a read together, as
        aligners write them; BitSeq's probabilities (``.prob``, ``.prob.gz``); salmon's equivalence
        classes (any other name); or p(read | transcript) as a matrix.
    counts : array-like of shape (reads,), optional
        How often each row of the matrix is there; once where None.
    lengths : path or array-like of shape (transcripts,), optional
        BitSeq's ``.tr`` file, or effective lengths; a Series is matched by name. Without them TPM
        are shares of the reads.
    names : sequence of str, optional
        Names of the transcripts, where no file has them.
    genes : mapping, sequence or path, optional
        The gene of each transcript, by name or in order; or a file: a table of two columns, GTF or
        GFF3, where a transcript without a gene is its own.
    transcripts : path, optional
        With alignments: sequences of the transcripts that the reads were aligned to, in FASTA.
    library_type : str, default='A'
        With alignments: how reads lie on transcripts, in salmon's words, such as IU, ISR or SF; A
        tells it from the reads.
    fragment_length : tuple of float, optional
        With alignments: mean and standard deviation of the lengths of fragments; learned from pairs
        where None, and about (250, 60) for single reads.
    longest_fragment : int, default=1000
        With alignments: longer fragments are left out.
    incompatible : float, default=0.0
        With alignments: the probability of a strand or orientation that the library type does not
        allow; 0 leaves them out.
    sequence_bias, position_bias : bool, default=False
        With alignments: whether to correct for bases that fragments like to begin and end with, and
        for parts of transcripts that have more fragments than others.
    gencode, ignore_versions : bool, default=False
        With alignments: take names up to the first ``|``; compare names without their versions.
    prior : float or 'learn', default=0.1
        The prior of each transcript.
    posterior : {'exact', 'collapsed'}, default='exact'
        Draws from the posterior itself, or the fit's own Dirichlet distribution, which is too narrow
        where reads are shared.
    draws : int, default=0
        Draws of the numbers of reads to keep.
    seed : int, default=0
    tol : float, default=1e-8
        A component is at rest when a step raises its bound by less than this many nats.
    n_jobs : int, optional
        Threads; None and -1 mean all processors.

    Returns
    -------
    Quantification

    Examples
    --------
    >>> import pycollapsar
    >>> from scipy.sparse import csr_matrix
    >>> reads = csr_matrix([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    >>> found = pycollapsar.quant(reads, names=["a", "b"])
    >>> float(found.transcripts["NumReads"].sum().round(6))
    3.0
    """
    pandas = _pandas()
    if posterior not in ("exact", "collapsed"):
        raise ValueError(f"posterior is {posterior!r}, expected 'exact' or 'collapsed'")
    if isinstance(prior, str) and prior != "learn":
        raise ValueError(f"prior is {prior!r}, expected a number or 'learn'")
    source = _source(reads, counts)
    kind = source[0] if isinstance(source[0], str) else "matrix"
    labels: list[str] | None = list(names) if names is not None else None
    if kind == "alignments":
        if lengths is not None or names is not None:
            given = "lengths" if lengths is not None else "names"
            raise ValueError(f"{given} are given with alignments, expected transcripts only")
        labels = _collapsar.alignment_names(source[1], bool(gencode))
    elif transcripts is not None:
        raise ValueError("transcripts are given without alignments, expected lengths instead")
    if labels is None and kind == "classes":
        labels = _collapsar.class_names(source[1]) or None
    length, effective, named, of_genes = _lengths(lengths, labels)
    labels = labels or named
    wanted = {
        "effective": effective,
        "genes": [],
        "fragments": {
            "transcripts": transcripts,
            "library_type": library_type,
            "fragment_length": fragment_length,
            "longest_fragment": int(longest_fragment),
            "incompatible": float(incompatible),
            "sequence_bias": bool(sequence_bias),
            "position_bias": bool(position_bias),
            "gencode": bool(gencode),
            "ignore_versions": bool(ignore_versions),
        },
        "prior": None if prior == "learn" else float(prior),
        "tolerance": float(tol),
        "exact": posterior == "exact",
        "draws": int(draws),
        "seed": int(seed),
        "threads": threads(n_jobs),
    }
    chosen = of_genes if genes is None else genes
    gene_names, members = _members(chosen, labels)
    wanted["genes"] = members
    result = _collapsar.quantify(source, wanted)
    count = len(result["counts"])
    index = pandas.Index(
        labels or result["names"] or [str(i + 1) for i in range(count)], name="Name"
    )
    ones = np.ones(count)
    length = result.get("lengths", length)
    effective = result.get("effective", effective)
    table = pandas.DataFrame(
        {
            "Length": ones if length is None else length,
            "EffectiveLength": ones if effective is None else effective,
            "TPM": result["tpm"],
            "NumReads": result["counts"],
        },
        index=index,
    )
    found = Quantification(
        table,
        pandas.DataFrame(result["transcripts"], index=index, columns=_POSTERIOR),
        draws=result.get("draws"),
        bound=result["bound"],
        prior=result["alpha"],
        converged=result["converged"],
        library_type=result.get("library_type"),
        fragment_length=result.get("fragment_length"),
        processed=result.get("processed"),
    )
    if members:
        by = pandas.Index(gene_names, name="Name")
        sums = {
            column: [table[column].iloc[m].sum() for m in members] for column in ("TPM", "NumReads")
        }
        found.genes = pandas.DataFrame(sums, index=by)
        found.genes_posterior = pandas.DataFrame(result["genes"], index=by, columns=_POSTERIOR)
    return found


def read_quant(folder: str | os.PathLike[str]) -> Quantification:
    """Reads a folder that ``collapsar quant`` (or salmon) has written.

    Parameters
    ----------
    folder : path

    Returns
    -------
    Quantification
    """
    pandas = _pandas()
    read = _collapsar.quantification(folder)
    index = pandas.Index(read["names"], name="Name")
    columns = {
        "Length": read["lengths"],
        "EffectiveLength": read["effective"],
        "TPM": read["tpm"],
        "NumReads": read["counts"],
    }
    found = Quantification(pandas.DataFrame(columns, index=index), draws=read.get("draws"))

    def table(name: str) -> Any:
        path = os.path.join(folder, name)
        return pandas.read_csv(path, sep="\t", index_col="Name") if os.path.exists(path) else None

    found.posterior = table("posterior.tsv")
    found.genes = table("quant.genes.sf")
    found.genes_posterior = table("posterior.genes.tsv")
    return found


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("pycollapsar.quant needs pandas; try pip install pandas") from error
    return pandas


def _source(reads: Any, counts: Any) -> Any:
    if isinstance(reads, (str, os.PathLike)):
        if counts is not None:
            raise ValueError("counts are given with a file, expected them with a matrix only")
        path = os.fspath(reads)
        if path.lower().endswith((".bam", ".sam", ".cram", ".sam.gz")):
            return ("alignments", path)
        return ("prob" if path.removesuffix(".gz").endswith(".prob") else "classes", path)
    from scipy.sparse import csr_matrix

    matrix = csr_matrix(reads)
    if not matrix.has_canonical_format or (matrix.data == 0).any():
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    if not (np.isfinite(matrix.data).all() and (matrix.data > 0).all()):
        expected = "positive probabilities"
        raise DataError(f"reads: a number that is not positive, expected {expected}", "reads")
    rows = np.ones(matrix.shape[0]) if counts is None else np.asarray(counts, dtype=np.float64)
    if rows.shape != (matrix.shape[0],):
        raise DataError(
            f"counts: {len(np.ravel(rows))} numbers, expected one for each of"
            f" {matrix.shape[0]} rows",
            "counts",
        )
    return (
        np.ascontiguousarray(matrix.indptr, dtype=np.int64),
        np.ascontiguousarray(matrix.indices, dtype=np.uint32),
        np.ascontiguousarray(matrix.data, dtype=np.float64),
        np.ascontiguousarray(rows),
        matrix.shape[1],
    )


def _lengths(
    lengths: Any, labels: list[str] | None
) -> tuple[Any, Any, list[str] | None, list[str | None] | None]:
    """Lengths, effective ones, names and genes, as far as known; in the order of the labels."""
    if lengths is None:
        return None, None, None, None
    if isinstance(lengths, (str, os.PathLike)):
        names, length, effective, genes = _collapsar.transcript_lengths(lengths)
        real = np.where(np.isnan(effective), length, effective)
        order = _order(names, labels)
        known = [genes[i] for i in order] if any(g is not None for g in genes) else None
        found = [names[i] for i in order]
        return np.array(length)[order], np.maximum(real, 1.0)[order], found, known
    if hasattr(lengths, "index") and hasattr(lengths, "to_numpy") and labels is not None:
        lengths = lengths.to_numpy()[_order([str(name) for name in lengths.index], labels)]
    real = np.asarray(lengths, dtype=np.float64)
    return real, real, None, None


def _order(names: list[str], labels: list[str] | None) -> list[int]:
    """Where each label is among names."""
    if labels is None:
        return list(range(len(names)))
    places = {name: place for place, name in enumerate(names)}
    for label in labels:
        if label not in places:
            raise DataError(f"lengths: none for {label}, expected one for each transcript", label)
    return [places[label] for label in labels]


def _members(genes: Any, names: list[str] | None) -> tuple[list[str], list[list[int]]]:
    """Genes, in the order of their first transcripts, and the transcripts of each."""
    if genes is None:
        return [], []
    if isinstance(genes, (str, os.PathLike)):
        if names is None:
            raise DataError("genes: a file, expected names of the transcripts as well", "genes")
        found = _collapsar.genes_of(genes, names)
        if all(gene is None for gene in found):
            raise DataError(
                f"{os.fspath(genes)}: no gene for any of {len(names)} transcripts, the first is"
                f" {names[0]!r}, expected a gene for some",
                "genes",
            )
        genes = [gene or name for gene, name in zip(found, names)]
    if isinstance(genes, Mapping):
        if names is None:
            raise DataError("genes: by name, expected names of the transcripts as well", "genes")
        genes = [genes.get(name) for name in names]
    members: dict[str, list[int]] = {}
    for place, gene in enumerate(genes):
        if gene is not None:
            members.setdefault(str(gene), []).append(place)
    return list(members), list(members.values())
