#!/usr/bin/env python3
"""Held-out perplexity by document completion, the same for every tool.

    completion.py --topics FILE.npz --observed docword --evaluated docword

FILE.npz holds `phi` (topics by words, each row the posterior mean of a topic) and `alpha` (a number a
topic). A test document's weights come from its observed half, the perplexity is that of the other half.
"""

import argparse

import numpy
import scipy.sparse
from scipy.special import digamma

import corpus

CHANGE = 1e-4
ITERATIONS = 1000
# Entries of documents that are taken together: few enough that their topics stay in the cache.
BATCH = 8192


def weights(phi, alpha, observed):
    """theta, documents by topics: the mean of q(theta), found by the fixed point on the observed half."""
    topics = numpy.ascontiguousarray(phi.T)
    theta = numpy.empty((observed.shape[0], phi.shape[0]))
    for documents in batches(observed):
        gamma = fixed_point(topics, alpha, observed[documents])
        theta[documents] = gamma / gamma.sum(axis=1, keepdims=True)
    return theta


def batches(observed):
    """Runs of documents with about BATCH entries."""
    first = 0
    while first < observed.shape[0]:
        end = numpy.searchsorted(observed.indptr, observed.indptr[first] + BATCH, side="right") - 1
        end = min(max(end, first + 1), observed.shape[0])
        yield slice(first, end)
        first = end


def fixed_point(topics, alpha, observed):
    """gamma = alpha + expected counts, for each document until its mean absolute change is below CHANGE."""
    tokens = numpy.asarray(observed.sum(axis=1))
    gamma = alpha + tokens / len(alpha)
    open_documents = numpy.arange(observed.shape[0])
    part = None
    for _ in range(ITERATIONS):
        if part is None:
            part = Part(topics, observed[open_documents])
        old = gamma[open_documents]
        new = alpha + part.expected_counts(old)
        gamma[open_documents] = new
        moving = numpy.abs(new - old).mean(axis=1) >= CHANGE
        # A document stops by itself, so that its result does not depend on its neighbours.
        if not moving.all():
            open_documents, part = open_documents[moving], None
        if not len(open_documents):
            break
    return gamma


class Part:
    """Some documents' counts, with the topics' probabilities of their words gathered once."""

    def __init__(self, topics, counts):
        self.counts = counts
        self.rows = numpy.repeat(numpy.arange(counts.shape[0]), numpy.diff(counts.indptr))
        self.phi = topics[counts.indices]
        entries = numpy.arange(counts.nnz + 1)
        self.ratios = scipy.sparse.csr_matrix(
            (numpy.ones(counts.nnz), entries[:-1], counts.indptr), shape=(counts.shape[0], counts.nnz)
        )

    def expected_counts(self, gamma):
        logs = digamma(gamma)
        # Any factor a document cancels; this one keeps the largest exponential at 1.
        factors = numpy.exp(logs - logs.max(axis=1, keepdims=True))
        self.ratios.data[:] = self.counts.data / numpy.einsum("jk,jk->j", factors[self.rows], self.phi)
        return factors * (self.ratios @ self.phi)


def perplexity_of(theta, phi, evaluated):
    """exp of minus the mean log probability of the evaluated tokens."""
    rows = numpy.repeat(numpy.arange(evaluated.shape[0]), numpy.diff(evaluated.indptr))
    probability = numpy.einsum("jk,jk->j", theta[rows], numpy.ascontiguousarray(phi.T)[evaluated.indices])
    return float(numpy.exp(-(evaluated.data @ numpy.log(probability)) / evaluated.data.sum()))


def perplexity(phi, alpha, observed, evaluated):
    phi, alpha = numpy.asarray(phi, dtype=numpy.float64), numpy.asarray(alpha, dtype=numpy.float64)
    check(phi, alpha, observed, evaluated)
    return perplexity_of(weights(phi, alpha, observed), phi, evaluated)


def check(phi, alpha, observed, evaluated):
    """A wrong shape or scale would still give a number, so look first."""
    if observed.shape != evaluated.shape or phi.shape != (len(alpha), observed.shape[1]):
        raise ValueError(f"shapes: phi {phi.shape}, alpha {alpha.shape}, {observed.shape}, {evaluated.shape}")
    if not (phi > 0).all() or numpy.abs(phi.sum(axis=1) - 1).max() > 1e-6 or not (alpha > 0).all():
        raise ValueError("rows of phi must be positive and sum to 1, alpha must be positive")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--topics", required=True, help="npz with phi and alpha")
    parser.add_argument("--observed", required=True)
    parser.add_argument("--evaluated", required=True)
    args = parser.parse_args()
    with numpy.load(args.topics) as file:
        phi, alpha = file["phi"], file["alpha"]
    print(perplexity(phi, alpha, corpus.read(args.observed), corpus.read(args.evaluated)))


if __name__ == "__main__":
    main()
