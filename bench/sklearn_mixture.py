"""Fits scikit-learn's BayesianGaussianMixture from given labels and says what it cost, as JSON.

    sklearn_mixture.py DATA.npy LABELS.csv SETTINGS.json --threads P --trace T.csv --responsibilities R.npy

SETTINGS.json is the [mixture] table of peers.toml, options applied. bench/run calls this; one process
a fit, so that peak memory is that fit's.
"""

import argparse
import json
import resource
import time
import warnings

import numpy
import scipy
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture
from threadpoolctl import threadpool_info, threadpool_limits


class FromLabels(BayesianGaussianMixture):
    """Starts from labels and notes when each iteration ended."""

    def begin(self, labels):
        self.labels_at_start = labels
        self.trace = []
        self.began = time.perf_counter()
        return self

    def _initialize_parameters(self, X, random_state, xp=None):
        responsibilities = numpy.zeros((X.shape[0], self.n_components))
        responsibilities[numpy.arange(X.shape[0]), self.labels_at_start] = 1.0
        self._initialize(X, responsibilities)

    def _compute_lower_bound(self, log_resp, log_prob_norm):
        bound = super()._compute_lower_bound(log_resp, log_prob_norm)
        self.trace.append((time.perf_counter() - self.began, float(bound)))
        return bound


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def peak_bytes():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("labels")
    parser.add_argument("settings")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--trace")
    parser.add_argument("--responsibilities")
    args = parser.parse_args()

    with open(args.settings) as file:
        settings = json.load(file)
    peak_empty = peak_bytes()
    data = numpy.load(args.data)
    labels = numpy.loadtxt(args.labels, dtype=numpy.int64, skiprows=1)
    # "mean" and "covariance" are scikit-learn's own defaults, so that it computes them in its own way.
    assert settings["mean_prior"] == "mean" and settings["covariance_prior"] == "covariance"
    model = FromLabels(
        n_components=settings["components"],
        covariance_type=settings["covariance"],
        tol=settings["tolerance"],
        reg_covar=settings["reg_covar"],
        max_iter=settings["max_iterations"],
        n_init=1,
        weight_concentration_prior_type=settings["weight_concentration_prior_type"],
        weight_concentration_prior=settings["weight_concentration_prior"],
        mean_precision_prior=settings["mean_precision_prior"],
        mean_prior=None,
        degrees_of_freedom_prior=settings["degrees_of_freedom_prior"],
        covariance_prior=None,
    )
    with threadpool_limits(limits=args.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is in the report
        pools = [
            {key: pool[key] for key in ("internal_api", "version", "num_threads")}
            for pool in threadpool_info()
        ]
        cpu_before = cpu_seconds()
        model.begin(labels).fit(data)
        whole = time.perf_counter() - model.began
        cpu = cpu_seconds() - cpu_before
        peak = peak_bytes()
        if args.responsibilities:
            numpy.save(args.responsibilities, numpy.ascontiguousarray(model.predict_proba(data)))
    if args.trace:
        with open(args.trace, "w") as file:
            file.write("iteration,bound,seconds\n")
            for iteration, (seconds, bound) in enumerate(model.trace, 1):
                file.write(f"{iteration},{bound!r},{seconds:.6f}\n")
    print(
        json.dumps(
            {
                # To the last iteration's bound; `fit` then takes one more E step for its labels.
                "seconds": model.trace[-1][0],
                "seconds_with_labels": whole,
                "cpu_seconds": cpu,
                "iterations": model.n_iter_,
                "converged": bool(model.converged_),
                "first_lower_bound": model.trace[0][1],
                "lower_bound": float(model.lower_bound_),
                "data_bytes": data.nbytes,
                "peak_bytes": peak,
                "over_data_bytes": peak - data.nbytes,
                "interpreter_bytes": peak_empty,
                "threads": args.threads,
                "pools": pools,
                "versions": {
                    "scikit-learn": sklearn.__version__,
                    "numpy": numpy.__version__,
                    "scipy": scipy.__version__,
                },
            }
        )
    )


if __name__ == "__main__":
    main()
