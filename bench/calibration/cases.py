"""The cases of the study: how parameters and data are drawn, and which numbers are compared.

A case draws parameters from its prior and data from the model. `quantities` turns the values of nodes, drawn or true, into the
numbers whose ranks are taken; where labels have no order of their own these are the same for any order of them, as components
are sorted by one of their parameters or only sums over components are taken.
"""

import dataclasses
import math
import pathlib

HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass
class Case:
    name: str
    draw: callable  # from a generator: data and true values of nodes
    monitor: list
    quantities: callable  # from values of nodes
    told: str  # what it is, for the table
    command: str = "fit"
    text: str = ""  # of the model, where it has another name
    options: tuple = ()
    labels: dict = dataclasses.field(default_factory=dict)  # array to which of its indices is a label, for fits without draws
    states: int = 0  # of a label


# --- Draws that Python's generator lacks --------------------------------------------------------------


def gamma(rng, shape, rate):
    return rng.gammavariate(shape, 1 / rate)


def normal(rng, mean, precision):
    return rng.gauss(mean, 1 / math.sqrt(precision))


def dirichlet(rng, weights):
    parts = [rng.gammavariate(weight, 1) for weight in weights]
    return [part / sum(parts) for part in parts]


def poisson(rng, rate):
    """Counts events of a process of rate one."""
    count, time = 0, rng.expovariate(1)
    while time < rate:
        count, time = count + 1, time + rng.expovariate(1)
    return count


def label(rng, chances):
    return rng.choices(range(len(chances)), chances)[0]


def named(array, values):
    """Nested lists as nodes of an array."""
    if not isinstance(values, list):
        return {array: values}
    nodes = {}
    for place, value in enumerate(values, 1):
        for name, number in named("", value).items():
            nodes[f"{array}[{place}{',' + name[1:-1] if name else ''}]"] = number
    return nodes


def same(*names):
    return lambda at: {name: at[name] for name in names}


def by(at, key, count):
    """Components, those with the least `key` first."""
    return sorted(range(1, count + 1), key=lambda k: at[key.format(k)])


# --- Graph models --------------------------------------------------------------------------------------


def normal_sample(rng, number=10):
    mu, tau = normal(rng, 0, 0.25), gamma(rng, 2, 2)
    return {"N": number, "y": [normal(rng, mu, tau) for _ in range(number)]}, {"mu": mu, "tau": tau}


def regression(rng, number=20):
    a, b, tau = normal(rng, 0, 0.25), [rng.gauss(0, 1), rng.gauss(0, 1)], gamma(rng, 2, 2)
    x = []
    for _ in range(number):
        first = rng.gauss(0, 1)
        x.append([first, 0.7 * first + 0.7 * rng.gauss(0, 1)])
    y = [normal(rng, a + b[0] * u + b[1] * v, tau) for u, v in x]
    return {"N": number, "x": x, "y": y}, {"a": a, "tau": tau, "sigma": 1 / math.sqrt(tau)} | named("b", b)


def random_effects(rng, groups=8, each=4):
    mu, within, between = normal(rng, 0, 0.25), gamma(rng, 2, 2), gamma(rng, 2, 2)
    a = [normal(rng, mu, between) for _ in range(groups)]
    y = [normal(rng, effect, within) for effect in a for _ in range(each)]
    group = [1 + i // each for i in range(len(y))]
    return {"N": len(y), "G": groups, "group": group, "y": y}, {"mu": mu, "tau.within": within, "tau.between": between} | named("a", a)


def probit(rng, number=50):
    b = [rng.gauss(0, 1) for _ in range(3)]
    x = [[rng.gauss(0, 1), rng.gauss(0, 1)] for _ in range(number)]
    r = [int(rng.gauss(b[0] + b[1] * u + b[2] * v, 1) > 0) for u, v in x]
    return {"N": number, "x": x, "r": r}, named("b", b)


def hmm(count):
    # States stay for a while: rows are drawn with the same concentrations, so that states can be exchanged.
    def draw(rng, length=200):
        moves, shown = [1.0] * count, [1.0] * 4
        first = [1 / count] * count
        a, b = [dirichlet(rng, moves) for _ in range(count)], [dirichlet(rng, shown) for _ in range(count)]
        state, y = label(rng, first), []
        for _ in range(length):
            y.append(1 + label(rng, b[state]))
            state = label(rng, a[state])
        data = {"T": length, "K": count, "first": first, "moves": moves, "shown": shown, "y": y}
        return data, named("A", a) | named("B", b)

    return draw


def hmm_quantities(count):
    def quantities(at):
        order = by(at, "B[{},1]", count)
        told = {f"stays[{rank}]": at[f"A[{k},{k}]"] for rank, k in enumerate(order, 1)}
        told |= {f"shows1[{rank}]": at[f"B[{k},1]"] for rank, k in enumerate(order, 1)}
        told |= {f"shows2[{rank}]": at[f"B[{k},2]"] for rank, k in enumerate(order, 1)}
        # Sums over all labels, whatever their order.
        told["stay"] = sum(at[f"A[{k},{k}]"] for k in order)
        told["show4"] = sum(at[f"B[{k},4]"] ** 2 for k in order)
        return told

    return quantities


def poisson_mixture(rng, number=100):
    w, rates = dirichlet(rng, [2, 2]), [gamma(rng, 2, 0.4) for _ in range(2)]
    y = [poisson(rng, rates[label(rng, w)]) for _ in range(number)]
    return {"N": number, "y": y}, named("w", w) | named("lambda", rates)


def poisson_quantities(at):
    low, high = by(at, "lambda[{}]", 2)
    return {
        "w[low]": at[f"w[{low}]"], "lambda[low]": at[f"lambda[{low}]"], "lambda[high]": at[f"lambda[{high}]"],
        "overall": at["w[1]"] * at["lambda[1]"] + at["w[2]"] * at["lambda[2]"],
    }


def normal_mixture(rng, number=1000):
    w, mu, tau = dirichlet(rng, [2, 2]), [normal(rng, 0, 0.25) for _ in range(2)], [gamma(rng, 2, 2) for _ in range(2)]
    labels = [label(rng, w) for _ in range(number)]
    return {"N": number, "y": [normal(rng, mu[z], tau[z]) for z in labels]}, named("w", w) | named("mu", mu) | named("tau", tau)


def normal_mixture_quantities(at):
    low, high = by(at, "mu[{}]", 2)
    told = {"w[low]": at[f"w[{low}]"]}
    for place, k in (("low", low), ("high", high)):
        told |= {f"mu[{place}]": at[f"mu[{k}]"], f"tau[{place}]": at[f"tau[{k}]"]}
    told["overall"] = at["w[1]"] * at["mu[1]"] + at["w[2]"] * at["mu[2]"]
    return told


def factor(rng, number=50, size=5):
    loadings = [[rng.gauss(0, 1), rng.gauss(0, 1)] for _ in range(size)]
    m, psi = [normal(rng, 0, 0.25) for _ in range(size)], [gamma(rng, 3, 1.5) for _ in range(size)]
    y = []
    for _ in range(number):
        f = [rng.gauss(0, 1), rng.gauss(0, 1)]
        y.append([normal(rng, c + l[0] * f[0] + l[1] * f[1], p) for c, l, p in zip(m, loadings, psi)])
    return {"N": number, "D": size, "y": y}, named("m", m) | named("psi", psi) | named("L", loadings)


def factor_quantities(at):
    def common(a, b):
        return sum(at[f"L[{a},{k}]"] * at[f"L[{b},{k}]"] for k in (1, 2))

    told = {f"m[{d}]": at[f"m[{d}]"] for d in (1, 2)} | {f"psi[{d}]": at[f"psi[{d}]"] for d in (1, 2)}
    return told | {"common[1,1]": common(1, 1), "common[1,2]": common(1, 2), "common[3,4]": common(3, 4)}


def classes(rng, people=100, items=5):
    w, p = dirichlet(rng, [2, 2]), [[rng.random() for _ in range(items)] for _ in range(2)]
    r = []
    for _ in range(people):
        z = label(rng, w)
        r.append([int(rng.random() < chance) for chance in p[z]])
    return {"N": people, "T": items, "r": r}, named("w", w) | named("p", p)


def classes_quantities(at):
    low, high = by(at, "p[{},1]", 2)
    told = {"w[low]": at[f"w[{low}]"], "p[low,1]": at[f"p[{low},1]"], "p[high,1]": at[f"p[{high},1]"]}
    told |= {"p[low,2]": at[f"p[{low},2]"], "p[high,2]": at[f"p[{high},2]"]}
    told["overall"] = sum(at[f"w[{k}]"] * at[f"p[{k},3]"] for k in (1, 2))
    return told


def spike_slab(rng, number=40, size=6):
    w, tau, precision = rng.betavariate(2, 2), gamma(rng, 2, 2), [100, 1]
    z = [int(rng.random() < w) for _ in range(size)]
    b = [normal(rng, 0, precision[each]) for each in z]
    x = []
    for _ in range(number):
        common = rng.gauss(0, 1)
        x.append([0.5 * common + 0.9 * rng.gauss(0, 1) for _ in range(size)])
    y = [normal(rng, sum(u * v for u, v in zip(row, b)), tau) for row in x]
    return {"N": number, "P": size, "precision": precision, "x": x, "y": y}, {"w": w, "tau": tau} | named("b", b)


def level(rng, length=40):
    moves, noise = gamma(rng, 2, 0.5), gamma(rng, 2, 1)
    x = [rng.gauss(0, 1)]
    while len(x) < length:
        x.append(normal(rng, x[-1], moves))
    return {"T": length, "y": [normal(rng, at, noise) for at in x]}, {"tau.level": moves, "tau.noise": noise} | named("x", x)


def robust(rng, number=30):
    a, b, tau = normal(rng, 0, 0.25), rng.gauss(0, 1), gamma(rng, 2, 2)
    x = [rng.gauss(0, 1) for _ in range(number)]
    y = [normal(rng, a + b * u, tau * gamma(rng, 2, 2)) for u in x]
    return {"N": number, "x": x, "y": y}, {"a": a, "b": b, "tau": tau}


def rates(rng, number=10):
    beta = gamma(rng, 3, 1)
    times, each = [0.5 + 3 * rng.random() for _ in range(number)], [gamma(rng, 2, beta) for _ in range(number)]
    return {"N": number, "t": times, "y": [poisson(rng, t * r) for t, r in zip(times, each)]}, {"beta": beta} | named("lambda", each)


def wishart(rng, number=25):
    vector = inverse_factor(rng, 2, 4, 1)
    mu = [normal(rng, 0, 0.25) for _ in range(2)]
    y = [[m + e + rng.gauss(0, 0.5) for m, e in zip(mu, vector(1))] for _ in range(number)]
    # Of the precision L L'.
    (a, _), (b, c) = vector.lower
    omega = [[a * a, a * b], [a * b, b * b + c * c]]
    return {"N": number, "R": [[1, 0], [0, 1]], "y": y}, named("mu", mu) | named("Omega", omega)


def censored(rng, number=40, cut=0.5):
    a, b, tau = rng.gauss(0, 1), rng.gauss(0, 1), gamma(rng, 2, 2)
    x = [rng.gauss(0, 1) for _ in range(number)]
    y = [normal(rng, a + b * u, tau) for u in x]
    data = {"N": number, "cut": cut, "x": x, "over": [int(v > cut) for v in y], "y": [None if v > cut else v for v in y]}
    return data, {"a": a, "b": b, "tau": tau}


def item_response(rng, people=60, items=5):
    def positive():
        value = -1.0
        while value < 0:
            value = normal(rng, 1, 2)
        return value

    a, b = [positive() for _ in range(items)], [rng.gauss(0, 1) for _ in range(items)]
    r = []
    for _ in range(people):
        ability = rng.gauss(0, 1)
        r.append([int(rng.gauss(u * ability - v, 1) > 0) for u, v in zip(a, b)])
    return {"N": people, "T": items, "r": r}, named("a", a) | named("b", b)


GRAPHS = [
    Case("normal", normal_sample, ["mu", "tau"], same("mu", "tau"), "normal sample, N=10"),
    Case("regression", regression, ["a", "b", "tau", "sigma"], same("a", "b[1]", "b[2]", "tau", "sigma"), "regression on two correlated variables, N=20"),
    Case("random-effects", random_effects, ["mu", "tau.within", "tau.between", "a"],
         same("mu", "tau.within", "tau.between", "a[1]", "a[2]"), "8 groups of 4"),
    Case("probit", probit, ["b"], same("b[1]", "b[2]", "b[3]"), "probit regression, N=50"),
    Case("hmm2", hmm(2), ["A", "B"], hmm_quantities(2), "hidden Markov chain, 2 states, four symbols, T=200", text="hmm"),
    Case("hmm3", hmm(3), ["A", "B"], hmm_quantities(3), "hidden Markov chain, 3 states, four symbols, T=200", text="hmm"),
    Case("poisson-mixture", poisson_mixture, ["w", "lambda"], poisson_quantities, "two Poisson components, N=100"),
    Case("normal-mixture", normal_mixture, ["w", "mu", "tau"], normal_mixture_quantities, "two normal components in the language, N=1000"),
    Case("factor", factor, ["m", "psi", "L"], factor_quantities, "two factors of five measurements, N=50"),
    Case("classes", classes, ["w", "p"], classes_quantities, "two latent classes, five items, N=100"),
    Case("spike-slab", spike_slab, ["b", "w", "tau"], same("w", "tau", "b[1]", "b[2]", "b[3]"), "spike and slab, six variables, N=40"),
    Case("level", level, ["tau.level", "tau.noise", "x"], same("tau.level", "tau.noise", "x[1]", "x[20]", "x[40]"), "a wandering level, T=40"),
    Case("robust", robust, ["a", "b", "tau"], same("a", "b", "tau"), "regression with Student's errors, N=30"),
    Case("rates", rates, ["beta", "lambda"], same("beta", "lambda[1]", "lambda[2]"), "ten Poisson rates with a common scale"),
    Case("wishart", wishart, ["mu", "Omega"], same("mu[1]", "mu[2]", "Omega[1,1]", "Omega[1,2]", "Omega[2,2]"), "two traits with noise, N=25"),
    Case("censored", censored, ["a", "b", "tau"], same("a", "b", "tau"), "regression, censored from above, N=40"),
    Case("item-response", item_response, ["a", "b"], same("a[1]", "a[2]", "b[1]", "b[2]"), "60 people, five items with discriminations"),
]


# --- Transcripts ---------------------------------------------------------------------------------------

QUANT_PRIOR = 0.5


def quant(rng, reads=200, transcripts=6, features=12):
    """Reads show one of twelve features, with known chances given the transcript, so that most fit several transcripts."""
    chances = [dirichlet(rng, [0.5] * features) for _ in range(transcripts)]
    theta = dirichlet(rng, [QUANT_PRIOR] * transcripts)
    shown = [label(rng, chances[label(rng, theta)]) for _ in range(reads)]
    return {"chances": chances, "shown": shown}, named("theta", theta)


QUANT = [
    Case("quant", quant, [], same(*(f"theta[{t}]" for t in range(1, 7))), "200 reads of 6 transcripts, one prior of 0.5", command="quant"),
]


# --- Mixtures ------------------------------------------------------------------------------------------

MIXTURE_PRIOR = {"concentration": 2, "location": 0, "mean_precision": 0.2, "scale": 3}


def inverse_factor(rng, size, freedom, scale):
    """A matrix B with B B' drawn as the covariance of a normal-Wishart prior with scale times the identity: Bartlett's."""
    lower = [[0.0] * size for _ in range(size)]
    for i in range(size):
        lower[i][i] = math.sqrt(rng.gammavariate((freedom - i) / 2, 2) / scale)
        for j in range(i):
            lower[i][j] = rng.gauss(0, 1) / math.sqrt(scale)
    # The precision is L L', so that the covariance is that of the solution of L' v = a standard normal vector.
    def normal_vector(times):
        v = [0.0] * size
        for i in reversed(range(size)):
            v[i] = (times * rng.gauss(0, 1) - sum(lower[j][i] * v[j] for j in range(i + 1, size))) / lower[i][i]
        return v

    normal_vector.lower = lower
    return normal_vector


def mixture(count, size, number):
    def draw(rng):
        prior = MIXTURE_PRIOR
        w = dirichlet(rng, [prior["concentration"]] * count)
        normals = [inverse_factor(rng, size, size + 3, prior["scale"]) for _ in range(count)]
        mu = [each(1 / math.sqrt(prior["mean_precision"])) for each in normals]
        rows = []
        for _ in range(number):
            z = label(rng, w)
            rows.append([m + e for m, e in zip(mu[z], normals[z](1))])
        return {"rows": rows, "components": count, "freedom": size + 3}, named("weight", w) | named("mean", mu)

    return draw


def mixture_quantities(count, size):
    def quantities(at):
        told = {}
        for rank, k in enumerate(by(at, "mean[{},1]", count), 1):
            told |= {f"weight[{rank}]": at[f"weight[{k}]"]} | {f"mean[{rank},{d}]": at[f"mean[{k},{d}]"] for d in range(1, size + 1)}
        for d in range(1, size + 1):
            told[f"overall[{d}]"] = sum(at[f"weight[{k}]"] * at[f"mean[{k},{d}]"] for k in range(1, count + 1))
        return told

    return quantities


MIXTURES = [
    Case("mixture3", mixture(3, 2, 200), [], mixture_quantities(3, 2), "mixture, K=3, D=2, N=200", "mixture", labels={"weight": 0, "mean": 0}, states=3),
    Case("mixture2", mixture(2, 1, 1000), [], mixture_quantities(2, 1), "mixture, K=2, D=1, N=1000", "mixture", labels={"weight": 0, "mean": 0}, states=2),
]


# --- Topics --------------------------------------------------------------------------------------------

TOPICS_PRIOR = {"alpha": 0.5, "beta": 0.5}
TOPICS, WORDS = 3, 12


def topics(length, documents=60):
    def draw(rng):
        phi = [dirichlet(rng, [TOPICS_PRIOR["beta"]] * WORDS) for _ in range(TOPICS)]
        theta = [dirichlet(rng, [TOPICS_PRIOR["alpha"]] * TOPICS) for _ in range(documents)]
        counts, tokens = [], [0] * TOPICS
        for shares in theta:
            row = [0] * WORDS
            for _ in range(length):
                topic = label(rng, shares)
                tokens[topic] += 1
                row[label(rng, phi[topic])] += 1
            counts.append(row)
        share = [count / sum(tokens) for count in tokens]
        return {"counts": counts}, named("theta", theta) | named("share", share)

    return draw


def topics_quantities(at):
    """Topics by their share of all words; then how mixed a document is and how alike two are, whatever the order of topics."""
    order = by(at, "share[{}]", TOPICS)
    told = {f"share[{rank}]": at[f"share[{k}]"] for rank, k in enumerate(order, 1)}
    told |= {f"theta[{d},{rank}]": at[f"theta[{d},{k}]"] for d in (1, 2) for rank, k in enumerate(order, 1)}
    told["mixed"] = sum(at[f"theta[1,{k}]"] ** 2 for k in order)
    told["alike"] = sum(at[f"theta[1,{k}]"] * at[f"theta[2,{k}]"] for k in order)
    return told


TOPIC_MODELS = [
    Case(f"topics{length}", topics(length), [], topics_quantities, f"topics, K=3, 60 documents of {length} words, 12 words known", "topics", labels={"theta": 1, "share": 0}, states=TOPICS)
    for length in (20, 60)
]

ALL = GRAPHS + MIXTURES + TOPIC_MODELS + QUANT
