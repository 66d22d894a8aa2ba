#!/usr/bin/env python3
"""Simulates pairs of reads from a transcriptome with known expression.

    simulate.py --transcripts FILE.fa --genes tx2gene.tsv --pairs N --seed S --out FOLDER

writes reads_1.fq, reads_2.fq and truth.tsv into FOLDER; README.md has the model. Equal options give
equal files.
"""

import argparse
import contextlib
import csv
import gzip
import pathlib
import sys

import numpy

LONGEST_FRAGMENT = 1000
# Pairs that are written together: enough for numpy, few enough for the memory.
BATCH = 100_000
# Fewer transcripts per million than this are none at all.
FLOOR = 0.01
BASES = numpy.frombuffer(b"ACGT", numpy.uint8)
COMPLEMENT = numpy.arange(256, dtype=numpy.uint8)
COMPLEMENT[BASES] = BASES[::-1]
CODE = numpy.full(256, 4, numpy.uint8)
CODE[BASES] = range(4)


def opened(path):
    """A text file for reading, gzipped or not."""
    path = str(path)
    return gzip.open(path, "rt") if path.endswith(".gz") else open(path)


class Transcripts:
    """Names, and all sequences one after another, a byte a base."""

    def __init__(self, path):
        self.names, sequences = [], []
        with opened(path) as file:
            for line in file:
                if line.startswith(">"):
                    self.names.append(line[1:].split()[0])
                    sequences.append([])
                else:
                    sequences[-1].append(line.strip().upper())
        sequences = ["".join(parts) for parts in sequences]
        self.lengths = numpy.array([len(sequence) for sequence in sequences])
        self.offsets = numpy.cumsum(self.lengths) - self.lengths
        self.bases = numpy.frombuffer("".join(sequences).encode(), numpy.uint8)


def genes_of(names, path):
    """The gene of each transcript; without a file every transcript is a gene of its own."""
    if path is None:
        return list(names)
    with opened(path) as file:
        genes = {row["transcript_id"]: row["gene_id"] for row in csv.DictReader(file, delimiter="\t")}
    missing = [name for name in names if name not in genes]
    if missing:
        sys.exit(f"{path}: has no gene for {missing[0]}")
    return [genes[name] for name in names]


# --- Expression ------------------------------------------------------------------------------------


def expression(generator, genes, args):
    """Relative expression: a log-normal level a gene, Dirichlet shares of its expressed isoforms.

    A transcript is expressed if its gene is and it is among its gene's isoforms in use, each with
    the root of the wanted share, so that isoforms of a gene come and go together.
    """
    _, gene = numpy.unique(genes, return_inverse=True)
    root = numpy.sqrt(args.expressed)
    level = numpy.exp(args.sigma * generator.standard_normal(gene.max() + 1))
    level *= generator.random(len(level)) < root
    weight = generator.standard_gamma(args.shares, len(gene)) * (generator.random(len(gene)) < root)
    total = numpy.bincount(gene, weight)[gene]
    return level[gene] * numpy.divide(weight, total, out=numpy.zeros(len(gene)), where=total > 0)


def per_million(values):
    return 1e6 * values / values.sum()


# --- Fragments -------------------------------------------------------------------------------------


def fragment_lengths(args):
    """The lengths that a fragment may have, and their probabilities."""
    lengths = numpy.arange(args.read_length, LONGEST_FRAGMENT + 1)
    if args.fragments == "normal":
        logs = -0.5 * ((lengths - args.fragment_mean) / args.fragment_sd) ** 2
    else:
        variance = numpy.log1p((args.fragment_sd / args.fragment_mean) ** 2)
        centre = numpy.log(args.fragment_mean) - variance / 2
        logs = -0.5 * (numpy.log(lengths) - centre) ** 2 / variance - numpy.log(lengths)
    weights = numpy.exp(logs - logs.max())
    return lengths, weights / weights.sum()


def effective_lengths(lengths, fragments, probabilities):
    """The mean number of places for a fragment, given that it is no longer than the transcript."""
    mass, first = numpy.cumsum(probabilities), numpy.cumsum(probabilities * fragments)
    last = numpy.minimum(lengths, fragments[-1]) - fragments[0]
    within = numpy.maximum(last, 0)
    return numpy.where(last >= 0, lengths + 1 - first[within] / mass[within], 0.0)


def drawn_fragments(generator, transcripts, chosen, fragments, probabilities):
    """A length and a start for each fragment, uniform over the places it has."""
    mass = numpy.cumsum(probabilities)
    longest = numpy.minimum(transcripts.lengths[chosen], fragments[-1]) - fragments[0]
    # The cumulated mass up to the transcript's length is the whole mass there.
    index = numpy.searchsorted(mass, generator.random(len(chosen)) * mass[longest])
    length = fragments[numpy.minimum(index, longest)]
    places = transcripts.lengths[chosen] - length + 1
    return length, (generator.random(len(chosen)) * places).astype(numpy.int64)


# --- Reads -----------------------------------------------------------------------------------------


def qualities(generator, reads, length):
    """Phred qualities: a low start, a plateau, a slow fall over the last third, noise shared within a
    read and of each base, and one base in a hundred that is poor."""
    position = numpy.arange(length)
    typical = numpy.where(position < 5, 33.0, 38.0) - numpy.maximum(0, position - 2 * length // 3) / 3
    values = typical + 1.5 * generator.standard_normal((reads, 1)) + 2.0 * generator.standard_normal((reads, length))
    poor = generator.random((reads, length)) < 0.01
    values[poor] -= generator.integers(10, 26, poor.sum())
    return numpy.clip(numpy.rint(values), 2, 40).astype(numpy.uint8)


def misread(generator, bases, quality, factor):
    """Each base is another one with the probability that its quality says, times the factor."""
    wrong = generator.random(bases.shape) < factor * 10.0 ** (-0.1 * quality)
    code = CODE[bases[wrong]]
    other = BASES[(code + generator.integers(1, 4, len(code))) % 4]
    # What is no base at all stays what it is.
    bases[wrong] = numpy.where(code < 4, other, bases[wrong])


def records(first, mate, bases, quality):
    """FASTQ as bytes. All names are of one width, so a batch is one rectangle."""
    reads, length = bases.shape
    names = numpy.char.mod(f"@s%07d/{mate}\n", numpy.arange(first, first + reads)).astype("S")
    rows = numpy.empty((reads, names.itemsize + 2 * length + 4), numpy.uint8)
    rows[:, : names.itemsize] = names.view(numpy.uint8).reshape(reads, -1)
    at = names.itemsize
    rows[:, at : at + length] = bases
    rows[:, at + length : at + length + 3] = numpy.frombuffer(b"\n+\n", numpy.uint8)
    rows[:, at + length + 3 : -1] = quality + 33
    rows[:, -1] = ord("\n")
    return rows.tobytes()


def batch(generator, transcripts, chosen, fragments, probabilities, args):
    """Bases and qualities of both mates. One fragment in two is read from the other strand."""
    length, start = drawn_fragments(generator, transcripts, chosen, fragments, probabilities)
    left = (transcripts.offsets[chosen] + start)[:, None] + numpy.arange(args.read_length)
    right = left + (length - args.read_length)[:, None]
    forward, backward = transcripts.bases[left], COMPLEMENT[transcripts.bases[right]][:, ::-1]
    swapped = (generator.random(len(chosen)) < 0.5)[:, None]
    for bases in (numpy.where(swapped, backward, forward), numpy.where(swapped, forward, backward)):
        quality = qualities(generator, *bases.shape)
        misread(generator, bases, quality, args.errors)
        yield bases, quality


# ---------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def created(path):
    """A file of bytes, gzipped by its name, without a date, so that equal reads give equal files."""
    with open(path, "wb") as raw:
        if path.suffix != ".gz":
            yield raw
            return
        with gzip.GzipFile(filename="", mode="wb", compresslevel=1, fileobj=raw, mtime=0) as file:
            yield file


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--transcripts", required=True, help="FASTA, gzipped or not")
    parser.add_argument("--genes", help="table with transcript_id and gene_id; without it no isoforms")
    parser.add_argument("--pairs", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--expressed", type=float, default=0.42, help="share of transcripts that are")
    parser.add_argument("--sigma", type=float, default=1.75, help="deviation of the log of a gene's level")
    parser.add_argument("--shares", type=float, default=0.4, help="Dirichlet parameter of isoforms' shares")
    parser.add_argument("--fragments", choices=["log-normal", "normal"], default="log-normal")
    parser.add_argument("--fragment-mean", type=float, default=203.27)
    parser.add_argument("--fragment-sd", type=float, default=36.89)
    parser.add_argument("--read-length", type=int, default=75)
    parser.add_argument("--errors", type=float, default=1.0, help="times what the qualities say; 0 for none")
    parser.add_argument("--gzip", action="store_true", help="reads_1.fq.gz and reads_2.fq.gz")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    return parser.parse_args()


def main():
    args = arguments()
    generator = numpy.random.default_rng(args.seed)
    transcripts = Transcripts(args.transcripts)
    genes = genes_of(transcripts.names, args.genes)
    fragments, probabilities = fragment_lengths(args)
    effective = effective_lengths(transcripts.lengths, fragments, probabilities)
    tpm = per_million(expression(generator, genes, args) * (effective > 0))
    tpm = per_million(numpy.where(tpm < FLOOR, 0, tpm))
    mass = tpm * effective
    counts = generator.multinomial(args.pairs, mass / mass.sum())
    chosen = generator.permutation(numpy.repeat(numpy.arange(len(counts)), counts))

    args.out.mkdir(parents=True, exist_ok=True)
    with open(args.out / "truth.tsv", "w") as file:
        print("transcript_id", "gene_id", "length", "eff_length", "true_tpm", "true_count", sep="\t", file=file)
        for row in zip(transcripts.names, genes, transcripts.lengths, effective, tpm, counts):
            print("{}\t{}\t{}\t{:.3f}\t{:.6f}\t{}".format(*row), file=file)
    ending = ".fq.gz" if args.gzip else ".fq"
    with created(args.out / f"reads_1{ending}") as one, created(args.out / f"reads_2{ending}") as two:
        for first in range(0, args.pairs, BATCH):
            part = chosen[first : first + BATCH]
            mates = batch(generator, transcripts, part, fragments, probabilities, args)
            for mate, file, (bases, quality) in zip((1, 2), (one, two), mates):
                file.write(records(first, mate, bases, quality))
    print(f"{args.pairs} pairs of {(counts > 0).sum()} transcripts, {(tpm > 0).sum()} of {len(tpm)} expressed")


if __name__ == "__main__":
    main()
