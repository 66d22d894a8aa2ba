"""Means and standard deviations of posterior.csv, and whether they are those of a reference."""

import csv
import math

import sets

# Errors that a mean or a deviation may be away; one of 16,000 is by chance.
ERRORS = 4
WITHIN = 0.05


class Mean(float):
    """A mean that knows its deviation and the errors of both, so that components are sorted with them."""


def rows(model, path):
    """The means of a posterior.csv by node, components in the reference's order."""
    found = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            name = row["name"].replace(" ", "")
            found[name] = Mean(row["mean"])
            found[name].sd = float(row["sd"])
            found[name].errors = [float(row.get(key) or 0) for key in ("mcse_mean", "mcse_sd")]
    return sets.ordered(found, model.order) if model.order else found


def far(node, wanted):
    """Whether mean and deviation of exact draws are too far from the reference's."""
    mean_error, sd_error = node.errors
    # A reference that does not tell the error of its deviation has that of as many independent normal draws; heavier tails have
    # more, of which our own error, by its own number of draws, knows.
    draws = (wanted["sd"] / wanted["mcse"]) ** 2 if wanted["mcse"] else math.inf
    normal = wanted["sd"] / math.sqrt(2 * draws)
    ours = (node.sd / mean_error) ** 2 if mean_error else math.inf
    heavy = sd_error * math.sqrt(ours / draws) if math.isfinite(draws) and math.isfinite(ours) else 0.0
    theirs = wanted.get("sd_error", max(normal, heavy))
    apart = abs(node - wanted["mean"]) > ERRORS * math.hypot(mean_error, wanted["mcse"]) + 1e-12 * abs(wanted["mean"])
    wide = abs(node.sd - wanted["sd"])
    return apart, wide > WITHIN * wanted["sd"] and wide > ERRORS * math.hypot(sd_error, theirs)
