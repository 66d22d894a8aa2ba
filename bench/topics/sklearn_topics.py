#!/usr/bin/env python3
"""scikit-learn's LatentDirichletAllocation, batch: perplexity over processor time. See README.md."""

import curve  # before numpy: sets the number of threads

import sklearn
from sklearn.decomposition import LatentDirichletAllocation


class Watched(LatentDirichletAllocation):
    """Looks at the model after each step of a fit that is otherwise scikit-learn's own."""

    def watch(self, line, with_bound):
        self.line, self.with_bound, self.steps = line, with_bound, 0
        return self

    def _em_step(self, X, total_samples, batch_update, parallel=None):
        super()._em_step(X, total_samples, batch_update, parallel)
        self.steps += 1
        if self.line.visit(self.steps, self.topics, self.weights, self.bound if self.with_bound else None):
            raise curve.Enough

    def topics(self):
        # components_ are the Dirichlets' parameters, the prior included.
        phi = self.components_ / self.components_.sum(axis=1, keepdims=True)
        return phi, [self.doc_topic_prior_] * self.n_components

    def weights(self):
        return self.transform(self.line.observed)

    def bound(self):
        """As `score` has it: of documents fitted anew to the topics of now, with no random number drawn."""
        weights, _ = self._e_step(self.line.train, cal_sstats=False, random_init=False)
        return float(self._approx_bound(self.line.train, weights, sub_sampling=False))


def main():
    parser = curve.options(__doc__)
    parser.add_argument("--max-doc-update-iter", type=int, default=100)
    parser.add_argument("--mean-change-tol", type=float, default=1e-3)
    parser.add_argument("--tight", action="store_true", help="1000 updates a document, to a mean change of 1e-5")
    parser.add_argument("--tolerance", type=float, help="stop when an iteration gains less of the bound, relative")
    parser.add_argument("--no-bound", action="store_true", help="it costs an E step at each look")
    args = parser.parse_args()
    if args.tight:
        args.max_doc_update_iter, args.mean_change_tol = 1000, 1e-5
        args.tolerance = 1e-6 if args.tolerance is None else args.tolerance
    if args.tolerance is not None and args.no_bound:
        parser.error("--tolerance needs the bound")
    settings = {
        "learning_method": "batch", "max_doc_update_iter": args.max_doc_update_iter,
        "mean_change_tol": args.mean_change_tol, "evaluate_every": -1, "n_jobs": 1,
    }
    line = curve.Curve(args, "scikit-learn", sklearn.__version__, settings | {"tolerance": args.tolerance}, args.tolerance)
    model = Watched(
        n_components=args.topics, doc_topic_prior=float(args.alpha), topic_word_prior=args.beta,
        max_iter=args.iterations, random_state=args.seed, **settings,
    )
    model.watch(line, not args.no_bound)
    line.clock.start()
    try:
        model.fit(line.train)
    except curve.Enough:
        pass


if __name__ == "__main__":
    main()
