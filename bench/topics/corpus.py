#!/usr/bin/env python3
"""Reads and writes bags of words in UCI's docword format, and sets documents aside for a test.

    corpus.py docword.NAME.txt.gz vocab.NAME.txt.gz --out FOLDER

writes the split into FOLDER, where every program then reads it: docword.NAME.txt.gz holds the documents
to train on, docword.NAME_test_obs.txt.gz and docword.NAME_test_eval.txt.gz the halves of the others.
"""

import argparse
import gzip
import pathlib
import sys

import numpy
import scipy.sparse

EVERY = 10
SEED = 0


def opened(path):
    """A text file for reading, gzipped or not."""
    path = str(path)
    return gzip.open(path, "rt") if path.endswith(".gz") else open(path)


def read(path):
    """The counts, documents by words, as CSR of float64."""
    with opened(path) as file:
        documents, words, entries = (int(file.readline()) for _ in range(3))
        table = numpy.loadtxt(file, dtype=numpy.int64, ndmin=2)
    if table.shape != (entries, 3):
        sys.exit(f"{path}: the header says {entries} entries, the file has {len(table)}")
    counts = table[:, 2].astype(numpy.float64)
    # Ids count from 1. Through COO, so that a pair that occurs twice is added up.
    matrix = scipy.sparse.coo_matrix((counts, (table[:, 0] - 1, table[:, 1] - 1)), shape=(documents, words))
    return matrix.tocsr()


def write(path, matrix):
    """The same format, gzipped without a date, so that equal counts give equal files."""
    matrix = matrix.tocsr()
    matrix.sort_indices()
    entries = matrix.tocoo()
    lines = [f"{size}\n" for size in (*matrix.shape, matrix.nnz)]
    lines += [f"{d + 1} {w + 1} {int(n)}\n" for d, w, n in zip(entries.row, entries.col, entries.data)]
    with open(path, "wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as file:
        file.write("".join(lines).encode())


def name_of(path):
    """NAME of docword.NAME.txt or docword.NAME.txt.gz."""
    name = pathlib.Path(path).name
    return name.removeprefix("docword.").removesuffix(".gz").removesuffix(".txt")


def halves(matrix, seed):
    """Each document's tokens in two halves by a random permutation; an odd one out is observed."""
    generator = numpy.random.default_rng(seed)
    observed = scipy.sparse.lil_matrix(matrix.shape)
    for document in range(matrix.shape[0]):
        row = slice(matrix.indptr[document], matrix.indptr[document + 1])
        tokens = generator.permutation(numpy.repeat(matrix.indices[row], matrix.data[row].astype(int)))
        words, counts = numpy.unique(tokens[: (len(tokens) + 1) // 2], return_counts=True)
        observed[document, words] = counts
    observed = observed.tocsr()
    evaluated = matrix - observed
    evaluated.eliminate_zeros()
    return observed, evaluated


def split(matrix, every=EVERY, seed=SEED):
    """Training documents, and the two halves of the others: every tenth that has two tokens to part."""
    tokens = numpy.asarray(matrix.sum(axis=1)).ravel()
    is_test = numpy.arange(matrix.shape[0]) % every == every - 1
    # A document without words says nothing in training, and some tools drop it unasked.
    return matrix[~is_test & (tokens > 0)], *halves(matrix[is_test & (tokens >= 2)], seed)


def files(folder, name):
    """Where a corpus and its test halves are, by the convention above."""
    return [pathlib.Path(folder) / f"docword.{name}{part}.txt.gz" for part in ("", "_test_obs", "_test_eval")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("docword")
    parser.add_argument("vocab")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--every", type=int, default=EVERY, help="one document in so many is for the test")
    parser.add_argument("--seed", type=int, default=SEED, help="of the permutations of tokens")
    args = parser.parse_args()
    name = name_of(args.docword)
    args.out.mkdir(parents=True, exist_ok=True)
    for path, matrix in zip(files(args.out, name), split(read(args.docword), args.every, args.seed)):
        write(path, matrix)
        print(f"{path.name}: {matrix.shape[0]} documents, {matrix.nnz} entries, {int(matrix.sum())} tokens")
    with opened(args.vocab) as file:
        (args.out / f"vocab.{name}.txt").write_text(file.read())


if __name__ == "__main__":
    main()
