#!/usr/bin/env python3
"""BayesPy on one of its documented examples: writes the data, or fits them and prints what that cost. See README.md."""

import argparse
import json
import time


def sticky(stay, states):
    """Moves of a chain that keeps its state with this chance."""
    other = (1 - stay) / (states - 1)
    return [[stay if row == column else other for column in range(states)] for row in range(states)]


# --- Data: the sizes and distributions of BayesPy's documentation, drawn here ----------------------------


def mixture_data(np, draw):
    shapes = [
        ([0, 0], [[2, 0], [0, 0.1]]), ([0, 0], [[0.1, 0], [0, 2]]),
        ([2, 2], [[2, -1.5], [-1.5, 2]]), ([-2, -2], [[0.5, 0], [0, 0.5]]),
    ]
    y = np.vstack([draw.multivariate_normal(mean, covariance, size=50) for mean, covariance in shapes])
    small = 1e-5
    return {
        "N": 200, "D": 2, "K": 10, "alpha": [small] * 10, "m0": [0, 0], "P0": [[small, 0], [0, small]],
        "R0": [[small, 0], [0, small]], "y": y.tolist(),
    }


def pca_data(np, draw):
    x, w = draw.standard_normal((100, 2)), draw.standard_normal((20, 2))
    y = w @ x.T + 0.1 * draw.standard_normal((20, 100))
    return {"M": 20, "N": 100, "D": 10, "zero": [0] * 10, "one": np.identity(10).tolist(), "y": y.tolist()}


def weather_data(np, draw):
    start, moves, emission = [0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]], [[0.1, 0.4, 0.5], [0.6, 0.3, 0.1]]
    state, seen = draw.choice(2, p=start), []
    for _ in range(100):
        seen.append(int(draw.choice(3, p=emission[state])) + 1)
        state = draw.choice(2, p=moves[state])
    return {"N": 100, "a0": start, "A": moves, "P": emission, "y": seen}


def hmm_data(np, draw):
    centres, spread, moves = np.array([[0, 0], [3, 4], [6, 0]]), 2.0, sticky(0.9, 3)
    state, y = draw.choice(3), []
    for _ in range(200):
        y.append((centres[state] + spread * draw.standard_normal(2)).tolist())
        state = draw.choice(3, p=moves[state])
    return {
        "N": 200, "K": 3, "alpha": [1e-3] * 3, "mu": centres.tolist(),
        "Lambda": (np.identity(2) / spread**2).tolist(), "y": y,
    }


def state_space_data(np, draw):
    m, n, turn = 30, 400, 0.3
    a = np.zeros((4, 4))
    a[:2, :2] = [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    a[2, 2] = 1
    c = draw.standard_normal((m, 4))
    x = np.empty((n, 4))
    x[0] = 10 * draw.standard_normal(4)
    for t in range(1, n):
        x[t] = a @ x[t - 1] + [1, 1, 10, 10] * draw.standard_normal(4)
    y = c @ x.T + 3 * draw.standard_normal((m, n))
    # One in five is seen. They are listed, so that nothing need be said of the others.
    row, column = np.nonzero(draw.random((m, n)) < 0.2)
    return {
        "M": m, "N": n, "D": 10, "L": len(row), "zero": [0] * 10, "one": np.identity(10).tolist(),
        "first": (1e-3 * np.identity(10)).tolist(), "row": (row + 1).tolist(), "time": (column + 1).tolist(),
        "y": y[row, column].tolist(),
    }


def lda_data(np, draw):
    documents, words, vocabulary, topics = 10, 10000, 100, 5
    shares = draw.dirichlet([0.1] * topics, size=documents)
    texts = draw.dirichlet([0.1] * vocabulary, size=topics)
    doc = draw.integers(documents, size=words)
    word = [draw.choice(vocabulary, p=texts[draw.choice(topics, p=shares[each])]) for each in doc]
    return {
        "NT": words, "D": documents, "K": topics, "V": vocabulary, "alpha": [1] * topics, "eta": [1] * vocabulary,
        "doc": (doc + 1).tolist(), "w": [int(each) + 1 for each in word],
    }


# --- Models: each gives the engine, started and with its data, what turns its factors after an iteration if there is
# --- such a thing, and how many iterations come before the first turn -----------------------------------


def mixture_model(np, data):
    from bayespy.inference import VB
    from bayespy.nodes import Categorical, Dirichlet, Gaussian, Mixture, Wishart

    shares = Dirichlet(np.array(data["alpha"]))
    z = Categorical(shares, plates=(data["N"],))
    mu = Gaussian(data["m0"], data["P0"], plates=(data["K"],))
    precision = Wishart(data["D"], data["R0"], plates=(data["K"],))
    y = Mixture(z, Gaussian, mu, precision)
    z.initialize_from_random()
    y.observe(np.array(data["y"]))
    return VB(y, mu, precision, z, shares), None, 0


def pca_model(np, data):
    from bayespy.inference import VB
    from bayespy.inference.vmp.transformations import RotateGaussianARD, RotationOptimizer
    from bayespy.nodes import Gamma, GaussianARD, SumMultiply

    size = data["D"]
    x = GaussianARD(0, 1, plates=(1, data["N"]), shape=(size,))
    alpha = Gamma(1e-5, 1e-5, plates=(size,))
    c = GaussianARD(0, alpha, plates=(data["M"], 1), shape=(size,))
    tau = Gamma(1e-5, 1e-5)
    y = GaussianARD(SumMultiply("d,d->", x, c), tau)
    y.observe(np.array(data["y"]))
    engine = VB(y, x, c, alpha, tau)
    c.initialize_from_random()
    turn = RotationOptimizer(RotateGaussianARD(x), RotateGaussianARD(c, alpha), size).rotate
    return engine, turn, 0


def weather_model(np, data):
    from bayespy.inference import VB
    from bayespy.nodes import Categorical, CategoricalMarkovChain, Mixture

    z = CategoricalMarkovChain(data["a0"], data["A"], states=data["N"])
    y = Mixture(z, Categorical, data["P"])
    y.observe(np.array(data["y"]) - 1)
    return VB(y, z), None, 0


def hmm_model(np, data):
    from bayespy.inference import VB
    from bayespy.nodes import CategoricalMarkovChain, Dirichlet, Gaussian, Mixture

    first = Dirichlet(np.array(data["alpha"]))
    moves = Dirichlet(np.array([data["alpha"]] * data["K"]))
    z = CategoricalMarkovChain(first, moves, states=data["N"])
    y = Mixture(z, Gaussian, np.array(data["mu"]), np.array(data["Lambda"]))
    y.observe(np.array(data["y"]))
    return VB(y, z, moves, first), None, 0


def state_space_model(np, data):
    from bayespy.inference import VB
    from bayespy.inference.vmp import transformations
    from bayespy.nodes import Dot, Gamma, GaussianARD, GaussianMarkovChain

    size = data["D"]
    alpha = Gamma(1e-5, 1e-5, plates=(size,))
    a = GaussianARD(0, alpha, shape=(size,), plates=(size,))
    x = GaussianMarkovChain(np.zeros(size), np.array(data["first"]), a, np.ones(size), n=data["N"])
    gamma = Gamma(1e-5, 1e-5, plates=(size,))
    c = GaussianARD(0, gamma, shape=(size,), plates=(data["M"], 1))
    c.initialize_from_random()
    tau = Gamma(1e-5, 1e-5)
    y = GaussianARD(Dot(c, x), tau)
    values, seen = np.zeros((data["M"], data["N"])), np.zeros((data["M"], data["N"]), dtype=bool)
    place = (np.array(data["row"]) - 1, np.array(data["time"]) - 1)
    values[place], seen[place] = data["y"], True
    y.observe(values, mask=seen)
    engine = VB(x, c, gamma, a, alpha, tau, y)
    loadings = transformations.RotateGaussianARD(c, gamma)
    states = transformations.RotateGaussianMarkovChain(x, transformations.RotateGaussianARD(a, alpha))
    return engine, transformations.RotationOptimizer(states, loadings, size).rotate, 10


def lda_model(np, data):
    from bayespy.inference import VB
    from bayespy.inference.vmp.nodes.categorical import CategoricalMoments
    from bayespy.nodes import Categorical, Constant, Dirichlet, Gate

    shares = Dirichlet(np.array(data["alpha"], dtype=float), plates=(data["D"],))
    texts = Dirichlet(np.array(data["eta"], dtype=float), plates=(data["K"],))
    document = Constant(CategoricalMoments(data["D"]), np.array(data["doc"]) - 1)
    z = Categorical(Gate(document, shares), plates=(data["NT"],))
    word = Categorical(Gate(z, texts))
    word.observe(np.array(data["w"]) - 1)
    shares.initialize_from_random()
    texts.initialize_from_random()
    return VB(word, z, texts, shares, document), None, 0


EXAMPLES = {
    "mixture": (mixture_data, mixture_model), "pca": (pca_data, pca_model), "weather": (weather_data, weather_model),
    "hmm": (hmm_data, hmm_model), "state-space": (state_space_data, state_space_model), "lda": (lda_data, lda_model),
}


# ---------------------------------------------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("example", choices=EXAMPLES)
    parser.add_argument("data", help="a JSON file, written with --make and read without")
    parser.add_argument("--make", action="store_true", help="write the data")
    parser.add_argument("--seed", type=int, default=1, help="of the data, or of the start")
    parser.add_argument("--tolerance", type=float, default=1e-5, help="BayesPy's: of the bound, relative")
    parser.add_argument("--plain", action="store_true", help="without the rotations of pca and state-space")
    args = parser.parse_args()
    make, model = EXAMPLES[args.example]

    import numpy as np

    if args.make:
        with open(args.data, "w") as file:
            json.dump(make(np, np.random.default_rng(args.seed)), file)
        return
    with open(args.data) as file:
        data = json.load(file)
    np.random.seed(args.seed)
    engine, turn, before = model(np, data)
    built = time.process_time()
    if before:
        engine.update(repeat=before, tol=args.tolerance, verbose=False)
    if turn and not args.plain:
        engine.set_callback(turn)
    engine.update(repeat=2000, tol=args.tolerance, verbose=False)
    bounds = engine.L[np.isfinite(engine.L)]
    print(
        json.dumps(
            {
                "bound": float(bounds[-1]), "iterations": int(engine.iter), "converged": bool(engine.converged),
                "inference_seconds": round(time.process_time() - built, 4),
                "seconds": round(time.process_time(), 4),
            }
        )
    )


if __name__ == "__main__":
    main()
