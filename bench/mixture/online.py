#!/usr/bin/env python3
"""Mixtures from batches against fits of all rows: held-out density over processor time, one thread, on generated rows.

    online.py [--rows 200000] [--columns 10] [--components 20] [--seeds 3] --out FILE.csv

Four tools: the online fit (a pass, and until passes no longer differ), `partial_fit` of rows as they come, the fit of all rows,
and scikit-learn's MiniBatchKMeans followed by its GaussianMixture from those centres. Densities are nats a row of held-out rows;
that of the mixture that rows were drawn from is given too.
"""

import argparse
import csv
import os
import time
import warnings

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np
from scipy.special import logsumexp
from sklearn.cluster import MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from pycollapsar import BayesianGaussianMixture


def generated(args, seed):
    """Rows of a mixture of full covariances whose components overlap, held-out rows, and the density of these."""
    rng = np.random.default_rng(seed)
    k, d = args.components, args.columns
    weights = rng.dirichlet(np.full(k, 3.0))
    means = rng.normal(0, 2.0, (k, d))
    factors = np.array([np.linalg.cholesky(np.cov(rng.normal(0, 1, (d, 3 * d)))) for _ in range(k)])

    def draw(count):
        z = rng.choice(k, count, p=weights)
        return means[z] + np.einsum("nij,nj->ni", factors[z], rng.normal(0, 1, (count, d)))

    def ln_density(rows):
        each = []
        for weight, mean, factor in zip(weights, means, factors):
            y = np.linalg.solve(factor, (rows - mean).T)
            constant = np.log(weight) - np.log(np.diag(factor)).sum() - 0.5 * d * np.log(2 * np.pi)
            each.append(constant - 0.5 * (y**2).sum(axis=0))
        return logsumexp(each, axis=0).mean()

    rows, held_out = draw(args.rows), draw(20_000)
    return rows, held_out, ln_density(held_out)


def stream(args, rows, seed):
    model = ours(args, seed, total_samples=len(rows), batch_size=args.batch)
    for first in range(0, len(rows), 10 * args.batch):
        model.partial_fit(rows[first : first + 10 * args.batch])
    return model


def ours(args, seed, **options):
    return BayesianGaussianMixture(n_components=args.components, random_state=seed, n_jobs=1, posterior="mean-field", **options)


def peers(args, rows, seed):
    centres = MiniBatchKMeans(args.components, random_state=seed, n_init=1, batch_size=1024).fit(rows).cluster_centers_
    return GaussianMixture(args.components, means_init=centres, init_params="random_from_data", random_state=seed, max_iter=100).fit(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--components", type=int, default=20)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    tools = {
        "online, a pass": lambda rows, seed: ours(args, seed, learning_method="online", batch_size=args.batch, max_iter=1).fit(rows),
        "online": lambda rows, seed: ours(args, seed, learning_method="online", batch_size=args.batch).fit(rows),
        "partial_fit": lambda rows, seed: stream(args, rows, seed),
        "batch": lambda rows, seed: ours(args, seed).fit(rows),
        "batch, auto": lambda rows, seed: ours(args, seed, method="auto").fit(rows),
        "MiniBatchKMeans + GaussianMixture": lambda rows, seed: peers(args, rows, seed),
    }
    with open(args.out, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["tool", "seed", "rows", "columns", "components", "cpu_seconds", "passes", "held_out", "held_out_of_truth"])
        for seed in range(args.seeds):
            rows, held_out, truth = generated(args, seed)
            for name, fit in tools.items():
                start = time.process_time()
                model = fit(rows, seed)
                seconds = time.process_time() - start
                passes = 1 if name == "partial_fit" else getattr(model, "n_passes_", model.n_iter_)
                found = model.score(held_out)
                out.writerow([name, seed, args.rows, args.columns, args.components, f"{seconds:.3f}", passes, f"{found:.5f}", f"{truth:.5f}"])
                file.flush()
                print(f"{name:35} {seconds:8.2f} s  {passes:4}  {found:.4f}  ({truth:.4f})")


if __name__ == "__main__":
    main()
