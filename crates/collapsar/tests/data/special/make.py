"""Writes the reference tables of the special functions: python make.py (mpmath 1.3.0, 60 digits)."""

import random
from pathlib import Path

from mpmath import loggamma, mp, mpf, nstr, pi, polygamma

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
