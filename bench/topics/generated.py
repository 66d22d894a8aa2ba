#!/usr/bin/env python3
"""A stream of documents without end, drawn from topics that are known: batch by batch, each from its number alone.

    generated.py --documents 1000000 > documents.txt       a text a line, as `collapsar topics --stream -` reads them

Words follow a power law; a topic is a Dirichlet around it, so that topics share frequent words and each has rare ones of its
own. A document has few topics. The same numbers give the same documents, wherever the stream is entered.
"""

import argparse
import sys

import numpy
import scipy.sparse

#: Letters of words, none of which makes a stop word or a number.
LETTERS = "bcdfghjklmnpqrstvwxz"
#: Batches beyond those of any stream: documents for the test.
TEST = 1 << 40


class Stream:
    """Documents of a generated corpus."""

    def __init__(self, topics=50, vocabulary=20_000, length=80.0, alpha=0.05, sharpness=500.0, batch=256, seed=1):
        self.topics, self.vocabulary, self.length, self.alpha, self.batch, self.seed = topics, vocabulary, length, alpha, batch, seed
        generator = numpy.random.default_rng([seed, 0])
        frequencies = (numpy.arange(vocabulary) + 3.0) ** -1.05
        frequencies = generator.permutation(frequencies / frequencies.sum())
        weights = generator.standard_gamma(sharpness * frequencies, (topics, vocabulary)) + 1e-12
        self.phi = weights / weights.sum(axis=1, keepdims=True)
        # One increasing list for all topics: a draw of topic k is a draw between k and k + 1.
        ends = numpy.cumsum(self.phi, axis=1)
        self.ends = (ends / ends[:, -1:] + numpy.arange(topics)[:, None]).ravel()

    def counts(self, number, documents=None):
        """Counts of the documents of a batch, as CSR of float64."""
        documents = documents or self.batch
        generator = numpy.random.default_rng([self.seed, 1, number])
        lengths = 2 + generator.poisson(generator.gamma(4.0, (self.length - 2.0) / 4.0, documents))
        proportions = numpy.cumsum(generator.dirichlet(numpy.full(self.topics, self.alpha), documents), axis=1)
        rows = numpy.repeat(numpy.arange(documents), lengths)
        of = numpy.searchsorted((proportions / proportions[:, -1:] + numpy.arange(documents)[:, None]).ravel(), rows + generator.random(len(rows)), side="right")
        of = numpy.minimum(of - rows * self.topics, self.topics - 1)
        words = numpy.searchsorted(self.ends, of + generator.random(len(rows)), side="right")
        words = numpy.minimum(words - of * self.vocabulary, self.vocabulary - 1)
        table = scipy.sparse.coo_matrix((numpy.ones(len(rows)), (rows, words)), shape=(documents, self.vocabulary)).tocsr()
        table.sort_indices()
        return table

    def batches(self, documents):
        """So many documents, a batch at a time; the last may be shorter."""
        for number, first in enumerate(range(0, documents, self.batch)):
            counts = self.counts(number)
            yield counts[: documents - first] if documents - first < self.batch else counts

    def test(self, documents):
        """Documents that no batch of the stream has."""
        return self.counts(TEST, documents)

    def names(self):
        """A word of five letters for each number."""
        return numpy.array(["".join(LETTERS[word // len(LETTERS) ** place % len(LETTERS)] for place in range(5)) for word in range(self.vocabulary)])


def lines(counts, names):
    """Documents as texts: words in the order of their numbers, which a bag does not care for."""
    words = numpy.repeat(names[counts.indices], counts.data.astype(int))
    ends = numpy.concatenate([[0], numpy.cumsum(numpy.asarray(counts.sum(axis=1)).ravel().astype(int))])
    return "".join(" ".join(words[a:b]) + "\n" for a, b in zip(ends[:-1], ends[1:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    stream = Stream(seed=args.seed)
    names = stream.names()
    for counts in stream.batches(args.documents):
        sys.stdout.write(lines(counts, names))


if __name__ == "__main__":
    main()
