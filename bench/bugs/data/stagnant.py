"""The exact posterior of stagnant: a sum over change-points and an integral over the precision, the lines in closed form."""

import math
import re

WIDE = 1e-6  # prior precision of the lines
SHAPE = RATE = 1e-3
PLACES = [(("alpha", 0)), (("beta[1]", 1)), (("beta[2]", 2))]


def vectors(text):
    return {
        name: [float(word) for word in words.split(",")]
        for name, words in re.findall(r"^(\w+) <- c\(([^)]*)\)", text, re.MULTILINE)
    }


def solved(matrix, right):
    """The inverse of a small positive definite matrix, the solution and the log determinant."""
    size = len(right)
    rows = [row[:] + [float(r == c) for c in range(size)] + [right[r]] for r, row in enumerate(matrix)]
    log_det = 0.0
    for pivot in range(size):
        log_det += math.log(rows[pivot][pivot])
        rows[pivot] = [value / rows[pivot][pivot] for value in rows[pivot]]
        for other in range(size):
            if other != pivot:
                times = rows[other][pivot]
                rows[other] = [a - times * b for a, b in zip(rows[other], rows[pivot])]
    return [row[size:2 * size] for row in rows], [row[-1] for row in rows], log_det


def exact(text, points=2000):
    """Mean and sd of every node that is compared."""
    data = vectors(text)
    y, x = data["Y"], data["x"]
    cells = []  # log weight, then first and second moments of each node
    for k in range(len(x)):
        design = [[1.0, x[i] - x[k] if i <= k else 0.0, 0.0 if i <= k else x[i] - x[k]] for i in range(len(x))]
        gram = [[sum(row[a] * row[b] for row in design) for b in range(3)] for a in range(3)]
        cross = [sum(row[a] * value for row, value in zip(design, y)) for a in range(3)]
        squares = sum(value * value for value in y)
        for point in range(points):
            log_tau = -3 + 14 * (point + 0.5) / points
            tau = math.exp(log_tau)
            precision = [[tau * gram[a][b] + WIDE * (a == b) for b in range(3)] for a in range(3)]
            inverse, mean, log_det = solved(precision, [tau * value for value in cross])
            explained = sum(tau * c * m for c, m in zip(cross, mean))
            log_weight = (len(x) / 2 + SHAPE) * log_tau - RATE * tau - (tau * squares - explained) / 2 - log_det / 2
            moments = {name: (mean[a], mean[a] ** 2 + inverse[a][a]) for name, a in PLACES}
            moments |= {"tau": (tau, tau * tau), "sigma": (tau ** -0.5, 1 / tau), "x.change": (x[k], x[k] ** 2)}
            cells.append((log_weight, moments))
    top = max(weight for weight, _ in cells)
    cells = [(math.exp(weight - top), moments) for weight, moments in cells]
    total = math.fsum(weight for weight, _ in cells)
    nodes = {}
    for name in cells[0][1]:
        mean = math.fsum(weight * moments[name][0] for weight, moments in cells) / total
        # About the mean, so that nothing cancels: the second moment less twice the mean times the first, plus its square.
        spread = math.fsum(weight * (m[name][1] - 2 * mean * m[name][0] + mean * mean) for weight, m in cells) / total
        nodes[name] = {"mean": mean, "sd": math.sqrt(spread), "mcse": 0.0, "sd_error": 0.0}
    return nodes
