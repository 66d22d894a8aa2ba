#!/usr/bin/env python3
"""tomotopy's LDAModel, collapsed Gibbs sampling: perplexity over processor time. See README.md."""

import curve  # before numpy: sets the number of threads

import numpy
import tomotopy


def documents(matrix):
    """Each document's tokens, words named by their column."""
    names = numpy.array([str(word) for word in range(matrix.shape[1])], dtype=object)
    rows = zip(matrix.indptr[:-1], matrix.indptr[1:])
    return [numpy.repeat(names[matrix.indices[a:b]], matrix.data[a:b].astype(int)).tolist() for a, b in rows]


def topics(model, words):
    """phi with columns in the corpus's order, and alpha."""
    columns = [int(name) for name in model.used_vocabs]
    phi = numpy.full((model.k, words), float(model.eta))
    # tomotopy knows only the words it was trained on. From its distribution back to counts, so that
    # the other words get the prior's share, as they do in the other tools.
    totals = numpy.array(model.get_count_by_topics()) + len(columns) * model.eta
    for topic in range(model.k):
        phi[topic, columns] = model.get_topic_word_dist(topic).astype(float) * totals[topic]
    return phi / phi.sum(axis=1, keepdims=True), numpy.array(model.alpha, dtype=float)


def weights(model, tests, iterations):
    """theta by tomotopy's own inference; words it was not trained on are left out by it."""
    known = set(model.used_vocabs)
    alpha = numpy.array(model.alpha, dtype=float)
    theta = numpy.tile(alpha / alpha.sum(), (len(tests), 1))
    usable = [index for index, words in enumerate(tests) if known.intersection(words)]
    made = [model.make_doc(tests[index]) for index in usable]
    theta[usable], _ = model.infer(made, iterations=iterations, workers=1)
    return theta


def main():
    parser = curve.options(__doc__)
    parser.add_argument("--learn", action="store_true", help="learn alpha, as tomotopy does unless told")
    parser.add_argument("--optim-interval", type=int, default=10, help="sweeps from one update of alpha to the next")
    parser.add_argument("--infer-iterations", type=int, default=100, help="sweeps of its own inference")
    args = parser.parse_args()
    settings = {
        "optim_interval": args.optim_interval if args.learn else 0, "burn_in": 0, "workers": 1,
        "infer_iterations": args.infer_iterations, "isa": tomotopy.isa,
    }
    line = curve.Curve(args, "tomotopy", tomotopy.__version__, settings)
    model = tomotopy.LDAModel(k=args.topics, alpha=float(args.alpha), eta=args.beta, seed=args.seed)
    model.optim_interval, model.burn_in = settings["optim_interval"], settings["burn_in"]
    for words in documents(line.train):
        model.add_doc(words)
    tests = documents(line.observed)
    line.clock.start()
    done = 0
    for sweeps in line.grid:
        model.train(sweeps - done, workers=1, show_progress=False)
        done = sweeps
        if line.visit(
            sweeps, lambda: topics(model, line.train.shape[1]), lambda: weights(model, tests, args.infer_iterations)
        ):
            break


if __name__ == "__main__":
    main()
