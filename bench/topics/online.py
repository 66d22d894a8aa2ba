#!/usr/bin/env python3
"""Online learning, a batch of documents a step: perplexity over processor time, on one thread. See README.md.

    online.py --tool collapsar|scikit-learn|gensim --train docword --observed docword --evaluated docword --out FILE.jsonl

`--iterations` are batches; documents come in the order of the file, shuffled once by the seed, as often as needed.
"""

import curve  # before numpy: sets the number of threads

import numpy


def estimator(kind, args, line, settings):
    """scikit-learn's class or ours, which have the same parameters."""
    model = kind(
        args.topics, doc_topic_prior=float(args.alpha), topic_word_prior=args.beta, random_state=args.seed,
        total_samples=line.train.shape[0], batch_size=args.batch, n_jobs=1, **settings,
    )

    def topics():
        phi = model.components_ / model.components_.sum(axis=1, keepdims=True)
        return phi, [float(args.alpha)] * args.topics

    for step, batch in enumerate(batches(args, line.train.shape[0]), 1):
        model.partial_fit(line.train[batch])
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

    train = gensim_topics.documents(line.train)
    line.clock.stop()
    line.clock.start()
    model = gensim_topics.Watched(
        num_topics=args.topics, alpha=float(args.alpha), eta=args.beta, random_state=args.seed, dtype=numpy.float64,
        id2word={word: str(word) for word in range(line.train.shape[1])}, chunksize=args.batch, update_every=1,
        passes=1 + args.iterations * args.batch // len(train), eval_every=None,
        decay=settings["learning_decay"], offset=settings["learning_offset"],
    )
    model.watch(line)
    try:
        model.update(train)
    except curve.Enough:
        pass


def batches(args, documents):
    """Places of the documents of each batch."""
    for step in range(args.iterations):
        first = step * args.batch % documents
        yield slice(first, first + args.batch)


TOOLS = {"collapsar": ours, "scikit-learn": scikit_learn, "gensim": gensim}


def main():
    parser = curve.options(__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--decay", type=float, default=0.7)
    parser.add_argument("--offset", type=float, default=10.0)
    args = parser.parse_args()
    settings = {"learning_decay": args.decay, "learning_offset": args.offset}
    line = curve.Curve(args, args.tool, "", settings | {"batch": args.batch})
    order = numpy.random.default_rng(args.seed).permutation(line.train.shape[0])
    line.train = line.train[order]
    line.clock.start()
    TOOLS[args.tool](args, line, settings)


if __name__ == "__main__":
    main()
