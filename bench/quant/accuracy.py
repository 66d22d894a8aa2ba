#!/usr/bin/env python3
"""How near a tool's expression is to the truth of a simulation, the same for every tool.

    accuracy.py --truth truth.tsv FOLDER ...

A folder holds what a tool left: quant.sf, abundance.tsv, *.isoforms.results, or *.m_alphas with its
*.tr there or a folder up; beside quant.sf perhaps posterior.tsv, whose intervals are then checked. README.md has the
definitions.
"""

import argparse
import csv
import json
import pathlib
import sys

import numpy
from scipy.stats import spearmanr

from simulate import opened, per_million

# An estimate of fewer reads than this is none, for the relative difference alone.
NONE = 0.5
# Bins of true counts in which coverage is told: from the first, below the second.
BINS = [1, 10, 100, 1000, float("inf")]
# Of each transcript, in BitSeq; it has no option.
BITSEQ_PRIOR = 1


def table(path):
    """The rows of a file with a header, as dictionaries."""
    with opened(path) as file:
        return list(csv.DictReader(file, delimiter="\t"))


# --- What tools leave ------------------------------------------------------------------------------


def columns(path, name, count, tpm):
    """Counts and TPM by transcript, of a file that has both."""
    return {row[name]: (float(row[count]), float(row[tpm])) for row in table(path)}


def bitseq(alphas, transcripts, mean):
    """From the Dirichlet posterior: reads are its parameters less the prior, TPM reads by effective length.

    With `mean` reads are the mean fractions times all reads, as BitSeq's users take them: then
    every transcript has about one read, and most of the difference to the truth is that.
    """
    with opened(transcripts) as file:
        rows = [line.split() for line in file if not line.startswith("#")]
    with opened(alphas) as file:
        values = numpy.array([line.split()[:2] for line in file if not line.startswith("#")], dtype=float)
    if len(values) != len(rows) + 1:
        # Without its option -t BitSeq takes the last transcript with a read for the last there is.
        sys.exit(f"{alphas}: has {len(values)} rows, but {transcripts} and the noise are {len(rows) + 1}")
    assigned = numpy.maximum(values[:, 1] - BITSEQ_PRIOR, 0)
    reads = (values[:, 0] * assigned.sum() if mean else assigned)[1:]
    tpm = per_million(reads / [float(row[3]) for row in rows])
    return {row[1]: (count, value) for row, count, value in zip(rows, reads, tpm)}


def one(folder, pattern):
    found = sorted(folder.glob(pattern))
    return found[0] if found else None


def estimates(folder, mean):
    """Counts and TPM by transcript, or nothing if the folder has no result."""
    if path := one(folder, "quant.sf*"):
        return columns(path, "Name", "NumReads", "TPM")
    if path := one(folder, "abundance.tsv*"):
        return columns(path, "target_id", "est_counts", "tpm")
    if path := one(folder, "*.isoforms.results*"):
        return columns(path, "transcript_id", "expected_count", "TPM")
    if path := one(folder, "*.m_alphas*"):
        return bitseq(path, one(folder, "*.tr*") or one(folder.parent, "*.tr"), mean)
    return None


# --- Measures --------------------------------------------------------------------------------------


def relative_difference(truth, found):
    """Mean of |x - y| / (x + y) over all transcripts, 0 where both are 0."""
    total = truth + found
    return float(numpy.mean(numpy.abs(truth - found) / numpy.where(total > 0, total, 1)))


def measures(truth, found):
    """Of a tool's counts and TPM, over all transcripts of the truth."""
    names = [row["transcript_id"] for row in truth]
    strange = set(found) - set(names)
    if strange:
        sys.exit(f"{min(strange)} is no transcript of the truth")
    counts, tpm = numpy.array([found.get(name, (0.0, 0.0)) for name in names]).T
    true_counts, true_tpm = numbers(truth, "true_count"), numbers(truth, "true_tpm")
    there = counts >= NONE
    logs = numpy.corrcoef(numpy.log1p(true_counts), numpy.log1p(counts))
    return {
        "spearman_counts": float(spearmanr(true_counts, counts)[0]),
        "spearman_tpm": float(spearmanr(true_tpm, tpm)[0]),
        "mard_counts": relative_difference(true_counts, there * counts),
        "mard_tpm": relative_difference(true_tpm, there * tpm),
        "mard_counts_uncut": relative_difference(true_counts, counts),
        "pearson_log_counts": float(logs[0, 1]),
    }


def numbers(rows, name):
    return numpy.array([float(row[name]) for row in rows])


def coverage(truth, posterior):
    """Share of truths inside the 95 % intervals, of transcripts with a read, and by bins of their counts."""
    rows = {row["Name"]: row for row in posterior}
    expressed = [row for row in truth if float(row["true_count"]) > 0]
    ours = [rows[row["transcript_id"]] for row in expressed]
    counts = numbers(expressed, "true_count")
    shares = {}
    for kind, column in (("counts", "NumReads"), ("tpm", "TPM")):
        true = counts if kind == "counts" else numbers(expressed, "true_tpm")
        inside = (numbers(ours, f"{column}.lower") <= true) & (true <= numbers(ours, f"{column}.upper"))
        shares[f"coverage_{kind}"] = float(inside.mean())
        bins = [(low, (low <= counts) & (counts < high)) for low, high in zip(BINS, BINS[1:])]
        shares[f"coverage_{kind}_from"] = {str(low): float(inside[part].mean()) for low, part in bins if part.any()}
    return shares


def report(truth, folder, mean=False):
    """All measures of a folder, or nothing if it has no result."""
    folder = pathlib.Path(folder)
    found = estimates(folder, mean)
    if found is None:
        return None
    values = measures(truth, found)
    if path := one(folder, "posterior.tsv*"):
        values |= coverage(truth, table(path))
    return values


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--truth", required=True)
    parser.add_argument("--mean", action="store_true", help="BitSeq's mean fractions as they are, prior included")
    parser.add_argument("folders", nargs="+", type=pathlib.Path, metavar="FOLDER")
    args = parser.parse_args()
    truth = table(args.truth)
    for folder in args.folders:
        values = report(truth, folder, args.mean)
        if values is None:
            sys.exit(f"{folder}: has none of quant.sf, abundance.tsv, *.isoforms.results and *.m_alphas")
        print(json.dumps({"folder": str(folder)} | values))


if __name__ == "__main__":
    main()
