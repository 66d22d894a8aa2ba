"""How abundant transcripts are, from reads."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _collapsar
from ._errors import DataError

_COLUMNS = ["Length", "EffectiveLength", "TPM", "NumReads"]
_POSTERIOR = [
    f"{of}.{what}" for of in ("TPM", "NumReads") for what in ("mean", "sd", "lower", "upper")
]


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
        Reads that there were, with those that could not be used.
    noise : float or None
        The fraction of the reads that is noise, where it was asked for.
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
    noise: float | None = None

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
    noise: bool = False,
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
        Alignments to transcripts (SAM, BAM or CRAM), all those of a read together, as aligners
        write them; BitSeq's probabilities (``.prob``); salmon's or kallisto's equivalence classes;
        or p(read | transcript) as a matrix. The content of a file decides what it is.
    counts : array-like of shape (reads,), optional
        How often each row of the matrix is there; once where None.
    lengths : path or array-like of shape (transcripts,), optional
        BitSeq's ``.tr`` file, or effective lengths; a Series is matched by name. Without them TPM
        are fractions of the reads.
    names : sequence of str, optional
        Names of the transcripts, where no file has them.
    genes : mapping, sequence or path, optional
        The gene of each transcript, by name or in order; or a file: a table of two columns, GTF or
        GFF3, where a transcript without a gene is its own.
    transcripts : path, optional
        Sequences of the transcripts in FASTA: with alignments, those that the reads were aligned
        to; with classes, for their lengths.
    library_type : str, default='A'
        With alignments: how reads lie on transcripts, in salmon's words, such as IU, ISR or SF; A
        tells it from the reads.
    fragment_length : tuple of float, optional
        With transcripts: mean and standard deviation of the lengths of fragments; learned from pairs
        where None, and about (250, 60) for single reads and classes.
    longest_fragment : int, default=1000
        With alignments: longer fragments are left out.
    incompatible : float, default=0.0
        With alignments: the probability of a strand or orientation that the library type does not
        allow; 0 leaves them out.
    sequence_bias, position_bias : bool, default=False
        With alignments: whether to correct for bases that fragments like to begin and end with, and
        for parts of transcripts that have more fragments than others.
    gencode, ignore_versions : bool, default=False
        Take names up to the first ``|``; compare names without their versions.
    noise : bool, default=False
        With BitSeq's probabilities: let reads come from noise too, as BitSeq does.
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
    if kind == "alignments" and (lengths is not None or names is not None):
        given = "lengths" if lengths is not None else "names"
        raise ValueError(f"{given} are given with alignments, expected transcripts only")
    if transcripts is not None and kind not in ("alignments", "classes"):
        raise ValueError(
            "transcripts are given without alignments or classes, expected lengths instead"
        )
    if transcripts is not None and lengths is not None:
        raise ValueError("lengths and transcripts are given, expected one of them")
    if noise and kind != "prob":
        raise ValueError(f"noise is True with {kind}, expected it with a .prob file only")
    options = {
        "lengths": _lengths(lengths),
        "names": None if names is None else [str(name) for name in names],
        "genes": _genes(genes),
        "transcripts": transcripts,
        "library_type": library_type,
        "fragment_length": fragment_length,
        "longest_fragment": int(longest_fragment),
        "incompatible": float(incompatible),
        "sequence_bias": bool(sequence_bias),
        "position_bias": bool(position_bias),
        "gencode": bool(gencode),
        "ignore_versions": bool(ignore_versions),
        "noise": bool(noise),
        "prior": None if prior == "learn" else float(prior),
        "tolerance": float(tol),
        "exact": posterior == "exact",
        "draws": int(draws),
        "seed": int(seed),
    }
    result = _collapsar.quantify(source, options, None if n_jobs is None else int(n_jobs))

    def tables(of: str) -> tuple[Any, Any]:
        if of not in result:
            return None, None
        index, estimates, summaries = result.pop(of)
        index = pandas.Index(index, name="Name")
        return (
            pandas.DataFrame(estimates, index=index, columns=_COLUMNS),
            pandas.DataFrame(summaries, index=index, columns=_POSTERIOR),
        )

    return Quantification(*tables("transcripts"), *tables("genes"), **result)


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
        return (_collapsar.reads_format(reads), os.fspath(reads))
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


def _lengths(lengths: Any) -> Any:
    """A file of lengths, or names, of which there may be none, and effective lengths."""
    if lengths is None or isinstance(lengths, (str, os.PathLike)):
        return lengths
    names: list[str] = []
    if hasattr(lengths, "index") and hasattr(lengths, "to_numpy"):
        names, lengths = [str(name) for name in lengths.index], lengths.to_numpy()
    return names, np.asarray(lengths, dtype=np.float64).tolist()


def _genes(genes: Any) -> Any:
    """A file of genes, or genes by name or in order."""
    if genes is None or isinstance(genes, (str, os.PathLike)):
        return genes
    if isinstance(genes, Mapping):
        return {str(name): str(gene) for name, gene in genes.items() if gene is not None}
    return [None if gene is None else str(gene) for gene in genes]
