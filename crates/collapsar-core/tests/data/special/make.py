"""Writes the reference tables of the special functions: python make.py (mpmath 1.3.0, 60 digits)."""

import random
from pathlib import Path

from mpmath import gammainc, inf, loggamma, mp, mpf, nstr, pi, polygamma

mp.dps = 60
HERE = Path(__file__).parent
rng = random.Random(20120626)


def text(value):
    return nstr(value, 20, min_fixed=0, max_fixed=0)


def write(name, header, rows):
    lines = [header] + [",".join(row) for row in rows]
    (HERE / name).write_text("\n".join(lines) + "\n")


def log_uniform(low, high):
    return 10 ** rng.uniform(low, high)


points = [10 ** (k / 4) for k in range(-32, 49)]
points += [log_uniform(-8, 12) for _ in range(200)]
points += [rng.uniform(0, 20) for _ in range(100)]
# Near the zeros of ln gamma (1, 2), the zero of digamma, and where the recurrence stops (10).
for centre in [1.0, 2.0, 1.4616321449683623, 10.0, *range(3, 13)]:
    points += [centre]
    points += [centre + sign * log_uniform(-9, -2) for sign in (-1, 1) for _ in range(3)]
write(
    "gamma.csv",
    "x,ln_gamma,digamma,trigamma",
    [
        (repr(float(x)), *map(text, (loggamma(mpf(x)), polygamma(0, mpf(x)), polygamma(1, mpf(x)))))
        for x in sorted(points)
    ],
)

pairs = [(log_uniform(-8, 12), log_uniform(-8, 12)) for _ in range(200)]
pairs += [(rng.uniform(0, 20), rng.uniform(0, 20)) for _ in range(100)]
write(
    "beta.csv",
    "a,b,ln_beta,digamma_gap,trigamma_gap",
    [
        (
            repr(a),
            repr(b),
            text(loggamma(mpf(a)) + loggamma(mpf(b)) - loggamma(mpf(a) + mpf(b))),
            text(polygamma(0, mpf(a) + mpf(b)) - polygamma(0, mpf(a))),
            text(polygamma(1, mpf(a)) - polygamma(1, mpf(a) + mpf(b))),
        )
        for a, b in sorted(pairs)
    ],
)

rows = []
for d in (1, 2, 3, 5, 10, 50):
    for _ in range(20):
        x = (d - 1) / 2 + log_uniform(-4, 12)
        at = [mpf(x) - mpf(i) / 2 for i in range(d)]
        rows.append(
            (
                str(d),
                repr(x),
                text(mpf(d * (d - 1)) / 4 * mp.log(pi) + sum(map(loggamma, at))),
                text(sum(polygamma(0, a) for a in at)),
                text(sum(polygamma(1, a) for a in at)),
            )
        )
write("multivariate_gamma.csv", "d,x,ln_gamma,digamma,trigamma", rows)

# Both sides of the mean, where each way of computing them takes over from the next, and far out.
points = [(0.001, 1e-200), (0.001, 0.5), (0.05, 3.0), (0.5, 0.2), (0.5, 30.0), (1.0, 1e-12), (2.5, 2.5)]
points += [(9.5, 40.0), (12.0, 0.3), (30.0, 31.5), (100.0, 60.0), (100.0, 180.0), (1234.5, 1200.0)]
points += [(5e3, 5.4e3), (9.9e4, 9.8e4), (9.9e4, 99100.0), (1.2e5, 1.19e5), (1.2e5, 120001.0)]
points += [(1e6, 1e6), (1e6, 1.004e6), (1e6, 9.93e5)]
write(
    "gamma_cdf.csv",
    "a,x,below,above",
    [
        (
            repr(a),
            repr(x),
            text(gammainc(mpf(a), 0, mpf(x), regularized=True)),
            text(gammainc(mpf(a), mpf(x), inf, regularized=True)),
        )
        for a, x in points
    ],
)
