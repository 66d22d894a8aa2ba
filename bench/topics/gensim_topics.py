#!/usr/bin/env python3
"""gensim's LdaModel, batch: perplexity over processor time. See README.md."""

import curve  # before numpy: sets the number of threads

import gensim
import numpy
from gensim.models import LdaModel


class Watched(LdaModel):
    """Looks at the model after each M step. gensim's own callbacks come before it."""

    def watch(self, line):
        self.line, self.steps = line, 0
        self.tests = documents(line.observed)
        return self

    def do_mstep(self, rho, other, extra_pass=False):
        super().do_mstep(rho, other, extra_pass)
        self.steps += 1
        if self.line.visit(self.steps, lambda: (self.get_topics(), self.alpha), self.weights):
            raise curve.Enough

    def weights(self):
        gamma, _ = self.inference(self.tests)
        return gamma / gamma.sum(axis=1, keepdims=True)


def documents(matrix):
    """gensim's form of a corpus: lists of pairs of word and count."""
    rows = zip(matrix.indptr[:-1], matrix.indptr[1:])
    return [list(zip(matrix.indices[a:b].tolist(), matrix.data[a:b].tolist())) for a, b in rows]


def main():
    parser = curve.options(__doc__)
    parser.add_argument("--document-iterations", type=int, default=50)
    parser.add_argument("--gamma-threshold", type=float, default=1e-3)
    # update_every=0 takes one M step a pass, but still weighs it with (offset + pass)^-decay: only
    # decay 0 makes that weight 1, so that a pass is a step of batch variational Bayes.
    parser.add_argument("--decay", type=float, default=0.0, help="0: full steps; gensim's default is 0.5")
    args = parser.parse_args()
    settings = {
        "update_every": 0, "iterations": args.document_iterations, "gamma_threshold": args.gamma_threshold,
        "decay": args.decay, "offset": 1.0, "eval_every": None,
    }
    line = curve.Curve(args, "gensim", gensim.__version__, settings | {"dtype": "float64"})
    alpha = args.alpha if args.alpha == "auto" else float(args.alpha)
    train = documents(line.train)
    line.clock.start()
    # Without the corpus, which the constructor would fit before there is anything to watch.
    model = Watched(
        num_topics=args.topics, alpha=alpha, eta=args.beta, random_state=args.seed, dtype=numpy.float64,
        id2word={word: str(word) for word in range(line.train.shape[1])}, chunksize=len(train),
        passes=args.iterations, **settings,
    )
    line.clock.stop()
    model.watch(line)
    line.clock.start()
    try:
        # One call for all passes: each call adds the documents to those seen and scales counts by that.
        model.update(train)
    except curve.Enough:
        pass


if __name__ == "__main__":
    main()
