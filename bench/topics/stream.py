#!/usr/bin/env python3
"""Online learning of a generated stream, every document seen once: perplexity over processor time, on one thread. See README.md.

    stream.py --tool collapsar|scikit-learn|gensim --out FILE.jsonl
    stream.py --tool program --fit FOLDER --out FILE.jsonl      what `collapsar topics --stream - --out FOLDER` has learned
    stream.py --tool truth --out FILE.jsonl                     the topics that documents were drawn from

Making documents and looking at the model are outside the clock, and so is the import of a tool.
"""

import curve  # before numpy: sets the number of threads

import argparse
import json
import pathlib

import numpy

import completion
import corpus
import generated


class Look(curve.Curve):
    """A curve whose documents are made as they are asked for."""

    def __init__(self, args, settings):
        self.args, self.tolerance, self.last_bound = args, None, None
        self.stream = generated.Stream(batch=args.batch, seed=args.seed)
        self.observed, self.evaluated = corpus.halves(self.stream.test(args.test), args.seed)
        self.grid = curve.grid(-(-args.documents // args.batch))
        self.clock = curve.Clock()
        self.common = {
            "tool": args.tool, "version": "", "corpus": "generated", "topics": args.topics, "alpha": args.alpha, "beta": args.beta, "seed": args.seed,
        }
        self.settings = settings
        self.file = open(args.out, "w")

    def batches(self):
        """The stream; the clock stands still while a batch is made."""
        for batch in self.stream.batches(self.args.documents):
            self.clock.start()
            yield batch
            self.clock.stop()

    def affordable(self, iteration):
        return self.clock.cpu <= self.args.budget


def estimator(kind, args, line, settings):
    """scikit-learn's class or ours, which have the same parameters."""
    model = kind(
        args.topics, doc_topic_prior=args.alpha, topic_word_prior=args.beta, random_state=args.seed,
        total_samples=args.documents, batch_size=args.batch, n_jobs=1, **settings,
    )

    def topics():
        phi = model.components_ / model.components_.sum(axis=1, keepdims=True)
        return phi, [args.alpha] * args.topics

    for step, batch in enumerate(line.batches(), 1):
        model.partial_fit(batch)
        if line.visit(step, topics, lambda: model.transform(line.observed)):
            break


def ours(args, line, settings):
    from pycollapsar import LatentDirichletAllocation

    estimator(LatentDirichletAllocation, args, line, settings)


def scikit_learn(args, line, settings):
    from sklearn.decomposition import LatentDirichletAllocation

    estimator(LatentDirichletAllocation, args, line, settings)


def gensim(args, line, settings):
    import gensim_topics

    class Documents:
        """What gensim takes for a corpus: its length is known, its documents come a batch at a time."""

        def __len__(self):
            return args.documents

        def __iter__(self):
            for batch in line.batches():
                line.clock.stop()
                documents = gensim_topics.documents(batch)
                line.clock.start()
                yield from documents

    class Watched(gensim_topics.Watched):
        def get_topics(self):
            topics = super().get_topics().astype(numpy.float64)
            return topics / topics.sum(axis=1, keepdims=True)

    # As its users have it, in numbers of four bytes.
    model = Watched(
        num_topics=args.topics, alpha=args.alpha, eta=args.beta, random_state=args.seed, chunksize=args.batch, update_every=1, passes=1, eval_every=None,
        id2word={word: str(word) for word in range(line.stream.vocabulary)}, decay=settings["learning_decay"], offset=settings["learning_offset"],
    )
    model.watch(line)
    try:
        model.update(Documents())
    except curve.Enough:
        pass


def score(args, line, phi, own=None):
    line.clock.start()
    line.visit(line.grid[-1], lambda: (phi, [args.alpha] * len(phi)), lambda: completion.weights(phi, numpy.full(len(phi), args.alpha), line.observed))


def truth(args, line, settings):
    score(args, line, line.stream.phi)


def program(args, line, settings):
    """Topics of a folder, in the order of the generator's words; what it never saw has the prior."""
    saved = json.loads((pathlib.Path(args.fit) / "topics.json").read_text())
    places = {name: place for place, name in enumerate(line.stream.names())}
    phi = numpy.full((args.topics, line.stream.vocabulary), args.beta)
    counts = numpy.array(saved["word_counts"], dtype=float).reshape(len(saved["vocabulary"]), args.topics)
    phi[:, [places[word] for word in saved["vocabulary"]]] += counts.T
    score(args, line, phi / phi.sum(axis=1, keepdims=True))


TOOLS = {"collapsar": ours, "scikit-learn": scikit_learn, "gensim": gensim, "truth": truth, "program": program}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", required=True, choices=list(TOOLS))
    parser.add_argument("--fit", help="the folder of a run of the program")
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--test", type=int, default=1000, help="documents whose halves are foreseen")
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--alpha", type=float, default=0.05)
    parser.add_argument("--beta", type=float, default=0.1)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--decay", type=float, default=0.7)
    parser.add_argument("--offset", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=float, default=float("inf"), help="seconds of processor time")
    parser.add_argument("--out", required=True, help="FILE.jsonl, a line for each look at the model")
    parser.set_defaults(save=None)
    args = parser.parse_args()
    settings = {"learning_decay": args.decay, "learning_offset": args.offset}
    TOOLS[args.tool](args, Look(args, settings | {"batch": args.batch}), settings)


if __name__ == "__main__":
    main()
