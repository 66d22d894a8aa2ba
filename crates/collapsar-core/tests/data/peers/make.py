"""Writes arviz.json, what ArviZ says of chains and weights that `tests/diagnostics.rs` makes in the same way:
python make.py (arviz 0.23.4, numpy 2.4.6, scipy 1.17.1)."""

import json
import math
from pathlib import Path

import arviz as az
import numpy as np


class Generator:
    """Knuth's congruential generator; sums of uniforms are the same bits in every language."""

    def __init__(self, seed):
        self.state = seed

    def uniform(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return ((self.state >> 11) + 0.5) * 2.0**-53

    def normal(self):
        total = 0.0
        for _ in range(12):
            total += self.uniform()
        return total - 6.0


def autoregression(seed, chains, draws, rho):
    generator = Generator(seed)
    result = []
    for _ in range(chains):
        x, chain = 0.0, []
        for _ in range(draws):
            x = rho * x + generator.normal()
            chain.append(x)
        result.append(chain)
    return np.array(result)


def shifted(x, by):
    x[2] += by
    return x


def widened(x, by):
    x[1] *= by
    return x


CHAINS = {
    "independent": autoregression(1, 4, 250, 0.0),
    "correlated": autoregression(2, 4, 250, 0.75),
    "slow": autoregression(3, 4, 250, 0.984375),
    "alternating": autoregression(4, 4, 250, -0.5),
    "shifted": shifted(autoregression(5, 4, 250, 0.5), 2.0),
    "widened": widened(autoregression(6, 4, 250, 0.5), 4.0),
    "odd": autoregression(7, 4, 251, 0.5),
    "one chain": autoregression(8, 1, 400, 0.5),
    "many": autoregression(9, 16, 60, 0.5),
    "short": autoregression(10, 4, 11, 0.25),
    "labels": np.floor(autoregression(11, 4, 250, 0.5)),
    "two labels": (autoregression(12, 4, 250, 0.5) > 0.75).astype(float),
    "stuck": np.repeat(autoregression(13, 4, 25, 0.0), 10, axis=1),
    "far away": autoregression(14, 4, 250, 0.5) + 2.0**20,
}
PROBABILITIES = [0.05, 0.5, 0.9]

# Logarithms of weights: of Pareto numbers with a tail index k, of normal draws under wider and narrower targets.
WEIGHTS = {}
for index, k in enumerate([0.1, 0.4, 0.8, 1.5]):
    generator = Generator(20 + index)
    WEIGHTS[f"pareto {k}"] = [-k * math.log(generator.uniform()) for _ in range(1000)]
generator = Generator(30)
WEIGHTS["wider"] = [0.125 * generator.normal() ** 2 for _ in range(500)]
generator = Generator(31)
WEIGHTS["narrower"] = [-0.5 * generator.normal() ** 2 - 700.0 for _ in range(2000)]
generator = Generator(32)
WEIGHTS["few"] = [generator.normal() for _ in range(25)]
generator = Generator(33)
WEIGHTS["rounded"] = [math.floor(4.0 * generator.normal()) / 4.0 for _ in range(400)]
generator = Generator(34)
WEIGHTS["far apart"] = [100.0 * generator.normal() for _ in range(300)]


def number(value):
    value = float(value)
    return value if math.isfinite(value) else None


def of_chains(x):
    data = az.convert_to_dataset(x[:, :, None])
    row = az.summary(data, kind="all", round_to="none").iloc[0]
    result = {name: number(row[name]) for name in ["mean", "sd", "r_hat", "ess_bulk", "ess_tail", "mcse_mean", "mcse_sd"]}
    result["ess_quantile"] = [number(az.ess(x, method="quantile", prob=p)) for p in PROBABILITIES]
    result["mcse_quantile"] = [number(az.mcse(x, method="quantile", prob=p)) for p in PROBABILITIES]
    return result


def of_weights(x):
    x = np.array(x)
    ln_weights, k_hat = az.psislw(x)
    raw, _ = az.psislw(x, normalize=False)
    weights = np.exp(ln_weights)
    largest = raw.max()
    mean = np.exp(raw - largest).mean()
    return {
        "k_hat": number(k_hat),
        "largest": number(ln_weights.max()),
        "ess": number(1 / (weights**2).sum()),
        "ln_mean": number(largest + np.log(mean)),
        "mcse_ln_mean": number(np.exp(raw - largest).std(ddof=1) / mean / np.sqrt(len(x))),
    }


found = {
    "probabilities": PROBABILITIES,
    "chains": {name: of_chains(x) for name, x in CHAINS.items()},
    "weights": {name: of_weights(x) for name, x in WEIGHTS.items()},
}
Path(__file__).with_name("arviz.json").write_text(json.dumps(found, indent=1) + "\n")
