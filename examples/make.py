#!/usr/bin/env python3
"""Writes the data of every example, and the values they were drawn from into truth.json. Standard library only."""

import csv
import json
import math
import pathlib
import random

HERE = pathlib.Path(__file__).resolve().parent


def rounded(values, digits):
    """Nested lists with fewer digits."""
    if isinstance(values, list):
        return [rounded(value, digits) for value in values]
    return values if values is None or isinstance(values, int) else round(values, digits)


def dirichlet(draw, weights):
    parts = [draw.gammavariate(weight, 1) for weight in weights]
    return [part / sum(parts) for part in parts]


def category(draw, shares):
    """A category from 1, as the language counts."""
    return draw.choices(range(1, len(shares) + 1), shares)[0]


def poisson(draw, mean):
    """By multiplying uniform numbers: means here are small."""
    count, product = 0, draw.random()
    while product > math.exp(-mean):
        count, product = count + 1, product * draw.random()
    return count


def identity(size):
    return [[int(row == column) for column in range(size)] for row in range(size)]


def named(name, values):
    """Nested lists as nodes: `mu[2,1]` and its value."""
    nodes = {}

    def visit(value, place):
        if isinstance(value, list):
            for index, part in enumerate(value, 1):
                visit(part, [*place, str(index)])
        else:
            nodes[f"{name}[{','.join(place)}]" if place else name] = value

    visit(values, [])
    return nodes


# --- One function an example: the data, the nodes that are known, and which arrays go by labels without order ------


def mixture(draw):
    shares = [0.5, 0.3, 0.2]
    centres = [[-2.0, 0.0], [2.0, 2.0], [2.0, -2.0]]
    # Cholesky factors of the covariances: a, b, c stand for [[a, 0], [b, c]].
    factors = [(0.7, 0.5, 0.6), (1.0, 0.0, 0.4), (0.4, -0.3, 0.8)]
    y = []
    for _ in range(200):
        k = category(draw, shares) - 1
        (a, b, c), (u, v) = factors[k], (draw.gauss(0, 1), draw.gauss(0, 1))
        y.append([centres[k][0] + a * u, centres[k][1] + b * u + c * v])
    data = {
        "N": 200, "D": 2, "K": 3, "alpha": [1, 1, 1], "m0": [0, 0], "R0": [[1, 0], [0, 1]], "nu0": 3,
        "y": rounded(y, 3),
    }
    return data, named("pi", shares) | named("mu", centres), {"pi": 0, "mu": 0}


def lda(draw):
    topics = [
        [0.3, 0.25, 0.2, 0.1, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.01],
        [0.02, 0.02, 0.02, 0.02, 0.3, 0.25, 0.2, 0.1, 0.02, 0.02, 0.02, 0.01],
        [0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.01, 0.3, 0.25, 0.2, 0.1],
    ]
    doc, word = [], []
    for document in range(1, 31):
        shares = dirichlet(draw, [0.4] * 3)
        for _ in range(40):
            doc.append(document)
            word.append(category(draw, topics[category(draw, shares) - 1]))
    data = {"NT": len(doc), "D": 30, "K": 3, "V": 12, "alpha": [0.4] * 3, "eta": [0.5] * 12, "doc": doc, "w": word}
    return data, named("phi", topics), {"phi": 0}


def quantification(draw):
    # Four exons; a transcript is a chain of some of them, and a read is 150 bases of it from a place at random.
    lengths = [300, 200, 500, 400]
    transcripts = [[0, 1, 2, 3], [0, 2, 3], [0, 1, 3], [2, 3], [0, 1]]
    shares = [0.35, 0.30, 0.05, 0.20, 0.10]
    places = [sum(lengths[exon] for exon in chain) - 149 for chain in transcripts]

    def touched(chain, start):
        """The exons that a read touches, in order."""
        seen, end = [], 0
        for exon in chain:
            end += lengths[exon]
            if start < end and start + 150 > end - lengths[exon]:
                seen.append(exon)
        return seen

    def has(chain, run):
        return any(chain[at:at + len(run)] == run for at in range(len(chain)))

    rows = []
    for _ in range(400):
        m = category(draw, shares) - 1
        run = touched(transcripts[m], draw.randrange(places[m]))
        chances = [int(has(chain, run)) / count for chain, count in zip(transcripts, places)]
        rows.append(rounded([chance / max(chances) for chance in chances], 4))
    data = {"N": 400, "M": 5, "alpha": [1] * 5, "L": rows}
    return data, named("theta", shares), {}


def hmm(draw):
    moves = [[0.95, 0.05], [0.10, 0.90]]
    dice = [[1 / 6] * 6, [0.1, 0.1, 0.1, 0.1, 0.1, 0.5]]
    state, rolls = 1, []
    for _ in range(500):
        rolls.append(category(draw, dice[state - 1]))
        state = category(draw, moves[state - 1])
    data = {
        "T": 500, "start": [0.5, 0.5], "a": [[9, 1], [1, 9]], "b": [[20] * 6, [1] * 6], "x": rolls,
    }
    return data, named("A", moves) | named("B", rounded(dice, 4)), {}


def state_space(_):
    # The flow of the Nile at Aswan, 1871 to 1970, in 1e8 cubic metres; five years more to be forecast.
    flow = [
        1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960, 1180, 799, 958, 1140,
        1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840, 874, 694, 940, 833, 701, 916, 692, 1020, 1050, 969,
        831, 726, 456, 824, 702, 1120, 1100, 832, 764, 821, 768, 845, 864, 862, 698, 845, 744, 796, 1040, 759,
        781, 865, 845, 944, 984, 897, 822, 1010, 771, 676, 649, 846, 812, 742, 801, 1040, 860, 874, 848, 890,
        744, 749, 838, 1050, 918, 986, 797, 923, 975, 815, 1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740,
    ]
    assert len(flow) == 100 and sum(flow) == 91935
    return {"T": 105, "y": flow + [None] * 5}, {}, {}


def factor_analysis(draw):
    loadings = [[1.5, 0.0], [1.2, 0.3], [0.9, -0.4], [0.3, 1.3], [0.0, 1.1], [-0.4, 1.0], [0.8, 0.8], [0.0, 0.0]]
    means = [2.0, -1.0, 0.5, 0.0, 3.0, 1.0, -2.0, 0.0]
    sigma = 0.5
    y = []
    for _ in range(100):
        x = [draw.gauss(0, 1), draw.gauss(0, 1)]
        y.append([m + sum(w * v for w, v in zip(row, x)) + draw.gauss(0, sigma) for m, row in zip(means, loadings)])
    data = {"N": 100, "D": 8, "K": 4, "zero": [0] * 4, "one": identity(4), "y": rounded(y, 3)}
    return data, named("mu", means) | {"sigma": sigma}, {}


def ard_regression(draw):
    weights = [2.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0]
    x = rounded([[draw.gauss(0, 1) for _ in weights] for _ in range(100)], 3)
    y = [1.0 + sum(w * v for w, v in zip(weights, row)) + draw.gauss(0, 0.7) for row in x]
    data = {"N": 100, "D": 10, "X": x, "y": rounded(y, 3)}
    return data, named("w", weights) | {"b": 1.0, "sigma": 0.7}, {}


def hierarchical_normal(draw):
    between, within = 4.0, 8.0
    rows, means = [], []
    for group in range(1, 21):
        means.append(draw.gauss(50, between))
        rows += [[group, round(draw.gauss(means[-1], within), 1)] for _ in range(draw.randint(4, 16))]
    data = {"group": [row[0] for row in rows], "y": [row[1] for row in rows]}
    truth = {"mu": 50.0, "sigma.between": between, "sigma.within": within} | named("theta", rounded(means, 2))
    return data, truth, {}


def poisson_gamma(draw):
    shape, rate = 2.0, 4.0
    rates = [draw.gammavariate(shape, 1 / rate) for _ in range(30)]
    exposure = [round(draw.uniform(1, 20), 1) for _ in rates]
    counts = [poisson(draw, each * time) for each, time in zip(rates, exposure)]
    data = {"N": 30, "shape": shape, "t": exposure, "x": counts}
    return data, {"beta": rate} | named("theta", rounded(rates, 3)), {}


def overdispersed_counts(draw):
    a, b, between, within = 0.8, 0.6, 0.5, 0.4
    sites, visits = 25, 4
    effects = [draw.gauss(0, between) for _ in range(sites)]
    x = [round(draw.gauss(0, 1), 2) for _ in range(sites)]
    hours = [[round(draw.uniform(0.5, 3), 1) for _ in range(visits)] for _ in range(sites)]
    y = [
        [poisson(draw, hours[i][j] * math.exp(a + b * x[i] + effects[i] + draw.gauss(0, within))) for j in range(visits)]
        for i in range(sites)
    ]
    data = {"N": sites, "T": visits, "x": x, "hours": hours, "y": y}
    truth = {"a": a, "b": b, "sigma.site": between, "sigma.visit": within} | named("site", rounded(effects, 3))
    return data, truth, {}


def latent_class(draw):
    shares = [0.65, 0.35]
    chances = [[0.9, 0.8, 0.85, 0.7, 0.9, 0.75], [0.2, 0.3, 0.1, 0.4, 0.25, 0.15]]
    x = []
    for _ in range(250):
        answers = chances[category(draw, shares) - 1]
        x.append([None if draw.random() < 0.08 else int(draw.random() < chance) for chance in answers])
    data = {"N": 250, "J": 6, "K": 2, "alpha": [1, 1], "x": x}
    return data, named("pi", shares) | named("p", chances), {"pi": 0, "p": 0}


def dirichlet_multinomial(draw):
    shares = [[0.40, 0.30, 0.15, 0.10, 0.05], [0.25, 0.35, 0.10, 0.10, 0.20], [0.15, 0.20, 0.45, 0.15, 0.05]]
    region = [1 + district % 3 for district in range(24)]
    totals = [draw.randint(30, 120) for _ in region]
    counts = []
    for each, total in zip(region, totals):
        votes = [category(draw, shares[each - 1]) for _ in range(total)]
        counts.append([votes.count(party) for party in range(1, 6)])
    data = {"N": 24, "R": 3, "K": 5, "alpha": [1] * 5, "region": region, "n": totals, "y": counts}
    return data, named("p", shares), {}


def matrix_factorisation(draw):
    users = [[draw.gauss(0, 1), draw.gauss(0, 1)] for _ in range(40)]
    films = [[draw.gauss(0, 1), draw.gauss(0, 1)] for _ in range(25)]
    level, sigma = 3.0, 0.4
    ratings, hidden = [], {}
    for i, user in enumerate(users, 1):
        ratings.append([])
        for j, film in enumerate(films, 1):
            value = level + user[0] * film[0] + user[1] * film[1]
            seen = draw.random() < 0.6
            ratings[-1].append(round(value + draw.gauss(0, sigma), 2) if seen else None)
            if not seen and i <= 3:
                hidden[f"r[{i},{j}]"] = round(value, 2)
    data = {"N": 40, "M": 25, "K": 2, "zero": [0, 0], "one": identity(2), "r": ratings}
    return data, {"level": level, "sigma": sigma} | hidden, {}


def bayesian_network(draw):
    cloudy = [0.5, 0.5]
    sprinkler = [[0.5, 0.5], [0.9, 0.1]]
    rain = [[0.8, 0.2], [0.2, 0.8]]
    wet = [[[0.95, 0.05], [0.15, 0.85]], [[0.10, 0.90], [0.02, 0.98]]]
    columns = {"cloudy": [], "sprinkler": [], "rain": [], "wet": []}
    for _ in range(300):
        c = category(draw, cloudy)
        s, r = category(draw, sprinkler[c - 1]), category(draw, rain[c - 1])
        day = [c, s, r, category(draw, wet[s - 1][r - 1])]
        for column, value in zip(columns.values(), day):
            column.append(None if draw.random() < 0.1 else value)
    # A day more, of which only the wet grass is known, and another of which the sprinkler is known as well.
    for column, values in zip(columns.values(), ([None, None], [None, 2], [None, None], [2, 2])):
        column.extend(values)
    truth = named("p.cloudy", cloudy) | named("p.sprinkler", sprinkler) | named("p.rain", rain) | named("p.wet", wet)
    # Rain on those two days by the true tables: a mean between 1 (no) and 2 (yes).
    for day, seen in ((301, (1, 2)), (302, (2,))):
        weight = [0.0, 0.0]
        for c in (1, 2):
            for s in seen:
                for r in (1, 2):
                    weight[r - 1] += cloudy[c - 1] * sprinkler[c - 1][s - 1] * rain[c - 1][r - 1] * wet[s - 1][r - 1][1]
        truth[f"rain[{day}]"] = round(1 + weight[1] / sum(weight), 3)
    return {"N": 302, "one": [1, 1]} | columns, truth, {}


def logistic(odds):
    return 1 / (1 + math.exp(-odds))


def logistic_effects(draw):
    a, b, sigma = -0.5, 1.2, 0.6
    x = [litter % 2 for litter in range(24)]
    n = [draw.randint(5, 40) for _ in x]
    effects = [draw.gauss(0, sigma) for _ in x]
    y = [sum(draw.random() < logistic(a + b * each + effect) for _ in range(size)) for each, size, effect in zip(x, n, effects)]
    return {"N": 24, "n": n, "x": x, "y": y}, {"a": a, "b": b, "sigma": sigma}, {}


def occupancy(draw):
    mean_psi, slope, mean_p, wind = 0.6, 1.0, 0.4, -0.5
    x = [round(draw.gauss(0, 1), 2) for _ in range(120)]
    w = [[round(draw.gauss(0, 1), 2) for _ in range(4)] for _ in x]
    odds = lambda p: math.log(p / (1 - p))
    there = [draw.random() < logistic(odds(mean_psi) + slope * each) for each in x]
    seen = lambda here, each: int(here and draw.random() < logistic(odds(mean_p) + wind * each))
    y = [[seen(here, each) for each in row] for here, row in zip(there, w)]
    truth = {"mean.psi": mean_psi, "b": slope, "mean.p": mean_p, "d": wind, "occupied": sum(there)}
    return {"N": 120, "J": 4, "x": x, "w": w, "y": y}, truth, {}


def robust_regression(draw):
    """One reading in ten was noted with a slip: ten too many or ten too few."""
    intercept, slope, noise = 2.0, 0.8, 0.5
    x = [round(0.2 * n, 1) for n in range(1, 61)]
    y = [intercept + slope * each + draw.gauss(0, noise) for each in x]
    slips = draw.sample(range(60), 6)
    for place in slips:
        y[place] += draw.choice([-10, 10])
    data = {"N": 60, "x": x, "y": rounded(y, 2)}
    return data, {"a": intercept, "b": slope}, {}


def growth(draw):
    high, drop, share, tau = 2.6, 1.5, 0.75, 100.0
    age = sorted(round(draw.uniform(0.5, 20), 1) for _ in range(40))
    length = [high - drop * share**x + draw.gauss(0, tau**-0.5) for x in age]
    data = {"N": 40, "x": age, "y": rounded(length, 3)}
    return data, {"high": high, "drop": drop, "share": share, "tau": tau}, {}


def dose_response(draw):
    middle, slope = 1.8, 4.0
    dose = [1.2, 1.35, 1.5, 1.65, 1.8, 1.95, 2.1, 2.25]
    died = lambda each: sum(draw.gauss(0, 1) < slope * (each - middle) for _ in range(25))
    return {"N": 8, "n": [25] * 8, "dose": dose, "dead": [died(each) for each in dose]}, {"b": slope, "LD50": middle}, {}


def survival(draw):
    shape, medians, study = 1.6, [30, 55], 60
    make = [1 + index % 2 for index in range(80)]
    weeks = [medians[each - 1] * (draw.expovariate(1) / math.log(2)) ** (1 / shape) for each in make]
    until = [study if index % 4 else study / 2 for index in range(80)]
    running = [int(each > end) for each, end in zip(weeks, until)]
    # What was seen to fail has no limit that matters: one behind it.
    seen = [None if on else round(each, 1) for each, on in zip(weeks, running)]
    limit = [end if on else 2 * study for end, on in zip(until, running)]
    return {"N": 80, "make": make, "weeks": seen, "limit": limit, "is.censored": running}, {"shape": shape} | named("median", medians), {}


def median_regression(draw):
    at_60, slope = 720, 9.5
    area = [round(draw.uniform(20, 120)) for _ in range(90)]
    # Rents lie about the line as often above as below it; some far above.
    rent = [at_60 + slope * (each - 60) + draw.choice([-1, 1]) * draw.expovariate(1 / 70) for each in area]
    rent = [round(each + (600 if index % 15 == 7 else 0)) for index, each in enumerate(rent)]
    return {"N": 90, "area": area, "rent": rent}, {"a": at_60, "b": slope}, {}


def hidden_counts(draw):
    rates, p = [12, 5], 0.45
    habitat = [1 + index % 2 for index in range(30)]
    there = [poisson(draw, rates[each - 1]) for each in habitat]
    y = [[sum(draw.random() < p for _ in range(count)) for _ in range(3)] for count in there]
    return {"S": 30, "J": 3, "habitat": habitat, "y": y}, named("lambda", rates) | {"p": p, "total": sum(there)}, {}


def multinomial_choice(draw):
    a, b, c = [0, 0.4, -0.8], [0, -0.2, 0.9], -0.08
    income = rounded([draw.gauss(0, 1) for _ in range(250)], 2)
    minutes = [[round(draw.uniform(15, 60)), round(draw.uniform(10, 70)), round(draw.uniform(10, 45))] for _ in income]
    phi = [[math.exp(a[k] + b[k] * each + c * row[k]) for k in range(3)] for each, row in zip(income, minutes)]
    way = [category(draw, row) for row in phi]
    share = [math.exp(each) / sum(map(math.exp, a)) for each in a]
    nodes = {"a[2]": a[1], "a[3]": a[2], "b[2]": b[1], "b[3]": b[2], "c": c}
    return {"N": 250, "income": income, "minutes": minutes, "way": way}, nodes | named("share", rounded(share, 4)), {}


def eight_schools(_):
    # The effects and standard errors of Rubin (1981), table 1, rounded as it has them: data, and no truth that is known.
    y, se = [28, 8, -3, 7, -1, 1, 18, 12], [15, 10, 16, 11, 9, 11, 10, 18]
    return {"J": 8, "y": y, "se": se}, {}, {}


# With the seed of each, so that a new one moves none of the others.
EXAMPLES = [
    *enumerate([
        mixture, lda, quantification, hmm, state_space, factor_analysis, ard_regression, hierarchical_normal, poisson_gamma,
        latent_class, dirichlet_multinomial, matrix_factorisation, bayesian_network, logistic_effects, occupancy,
    ], 1),
    (14, robust_regression), (14, growth), (14, eight_schools), (14, overdispersed_counts),
    (14, dose_response), (14, survival), (14, median_regression), (14, hidden_counts),
    (14, multinomial_choice),
]


def as_json(data):
    """One line a name, and one line a row of a matrix."""
    lines = []
    for name, value in data.items():
        if isinstance(value, list) and isinstance(value[0], list):
            rows = ",\n  ".join(json.dumps(row) for row in value)
            lines.append(f"{json.dumps(name)}: [\n  {rows}\n]")
        else:
            lines.append(f"{json.dumps(name)}: {json.dumps(value)}")
    return "{" + ",\n".join(lines) + "}\n"


def main():
    truth = {}
    for seed, example in EXAMPLES:
        name = example.__name__.replace("_", "-")
        data, nodes, labels = example(random.Random(seed))
        (HERE / name).mkdir(exist_ok=True)
        if name == "hierarchical-normal":
            with open(HERE / name / "data.csv", "w", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(data)
                writer.writerows(zip(*data.values()))
        else:
            (HERE / name / "data.json").write_text(as_json(data))
        truth[name] = {"nodes": nodes, "labels": labels}
    (HERE / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")


if __name__ == "__main__":
    main()
