"""Tables and pictures of a run: what every fit found, case by case."""

import collections
import csv
import math
import random
import statistics

import cases
import fits
import ranks

# Of the least chance of a case under exact draws, times the number of all quantities (Bonferroni).
LEAST_P = 0.01
LEAST_HELD = 0.90
GOOD_K_HAT = 0.7
HEAD = [
    "case", "posterior", "fits", "quantities", "95% intervals hold: lowest", "all", "50%: lowest", "all", "k-hat: median", "fits below 0.7",
    "there 95% hold: lowest", "least p of ranks", "corrected", "CPU s a fit", "verdicts",
]


def read(path):
    """The rows of rows.csv by case and posterior."""
    rows = collections.defaultdict(list)
    if path.exists():
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                rows[row["case"], row["posterior"]].append(row)
    return rows


def names(case):
    return list(case.quantities(case.draw(random.Random(0))[1]))


def shares(rows, field, number):
    """Of each quantity, how many intervals hold the truth; nothing where none was printed."""
    told = []
    for i in range(number):
        marks = [row[field][i] for row in rows if i < len(row[field]) and row[field][i] != "-"]
        told.append(sum(mark == "1" for mark in marks) / len(marks) if marks else math.nan)
    return told


def percent(values, taken):
    values = [value for value in values if not math.isnan(value)]
    return f"{taken(values):.0%}" if values else ""


class Found:
    """One case under one posterior."""

    def __init__(self, case, posterior, rows, k_hat):
        self.case, self.posterior, self.quantities = case, posterior, names(case)
        self.failed = [row["failed"] for row in rows if row["failed"]]
        self.rows = [row for row in rows if not row["failed"]]
        number = len(self.quantities)
        self.held = {level: shares(self.rows, f"held{level}", number) for level in (50, 95)}
        self.good = [row for row in self.rows if k_hat.get((case.name, row["replicate"]), math.inf) < GOOD_K_HAT]
        self.good_held = shares(self.good, "held95", number)
        placed = [[int(word) for word in row["ranks"].split()] for row in self.rows if row["ranks"]]
        self.ranks = [list(column) for column in zip(*placed)]
        self.chances = [ranks.uniform_p(each) for each in self.ranks]
        self.shapes = [value for (name, _), value in k_hat.items() if name == case.name]

    def line(self, counted):
        least = min(self.chances, default=math.nan)
        verdicts = collections.Counter(row["verdict"] for row in self.rows).most_common()
        cells = [
            self.case.name, self.posterior, len(self.rows), len(self.quantities),
            percent(self.held[95], min), percent(self.held[95], statistics.mean),
            percent(self.held[50], min), percent(self.held[50], statistics.mean),
            f"{statistics.median(self.shapes):.2f}" if self.shapes else "",
            len(self.good) if self.shapes else "", percent(self.good_held, min),
            f"{least:.2g}" if self.chances else "",
            f"{min(1.0, least * counted):.2g}" if self.chances and self.posterior == "exact" else "",
            f"{statistics.mean(float(row['seconds']) for row in self.rows):.3f}",
            ", ".join(f"{word} {count}" for word, count in verdicts if word != "none"),
        ]
        return f"| {' | '.join(map(str, cells))} |"

    def complaints(self, counted):
        name, least = self.case.name, min(self.chances, default=1.0)
        if self.failed:
            yield f"{name}, {self.posterior}: {len(self.failed)} fits failed: {self.failed[0]}"
        if self.posterior == "exact" and least * counted < LEAST_P:
            worst = self.quantities[self.chances.index(least)]
            yield f"{name}, exact: ranks of {worst} are not uniform (p {least:.2g}, corrected {least * counted:.2g})"
        if self.posterior == "linear-response" and self.case.command == "fit" and self.good:
            held = min(self.good_held)
            # Two standard errors of a share of 0.9 are granted.
            if held < LEAST_HELD - 2 * math.sqrt(LEAST_HELD * (1 - LEAST_HELD) / len(self.good)):
                worst = self.quantities[self.good_held.index(held)]
                yield f"{name}, linear response: 95% intervals of {worst} hold {held:.0%} where k-hat is below {GOOD_K_HAT} ({len(self.good)} fits)"

    def details(self):
        for i, quantity in enumerate(self.quantities):
            held = [f"{self.held[level][i]:.4f}".replace("nan", "") for level in (50, 95)]
            placed = [f"{self.chances[i]:.3g}", " ".join(map(str, ranks.bins(self.ranks[i])))] if self.ranks else ["", ""]
            yield [self.case.name, self.posterior, quantity, len(self.rows), *held, *placed]


def short(present, every, counted):
    """One line a case: how often 95% intervals hold, all quantities together and the worst, and the least corrected p."""
    yield "| case | mean field | linear response | where k-hat is below 0.7 | exact | p of ranks, corrected |"
    yield "|---|--:|--:|--:|--:|--:|"
    for case in present:
        found = {each.posterior: each for each in every if each.case is case}
        cells = []
        for posterior in fits.POSTERIORS:
            held = found[posterior].held[95]
            cells.append(f"{percent(held, statistics.mean)} ({percent(held, min)})" if found[posterior].rows else "")
            if posterior == "linear-response":
                held, good = found[posterior].good_held, len(found[posterior].good)
                cells.append(f"{percent(held, statistics.mean)} ({percent(held, min)}) of {good}" if good else "")
        chances = found["exact"].chances
        cells.append(f"{min(1.0, min(chances) * counted):.2g}" if chances else "")
        yield f"| {case.told} | {' | '.join(cells)} |"


def write(folder):
    rows = read(folder / "rows.csv")
    k_hat = {
        (row["case"], row["replicate"]): float(row["k_hat"])
        for (_, posterior), each in rows.items() if posterior == "linear-response" for row in each if row["k_hat"]
    }
    present = [case for case in cases.ALL if any(name == case.name for name, _ in rows)]
    every = [Found(case, posterior, rows.get((case.name, posterior), []), k_hat) for case in present for posterior in fits.POSTERIORS]
    counted = sum(len(found.chances) for found in every if found.posterior == "exact")
    complaints = [line for found in every for line in found.complaints(counted)]
    seconds = sum(float(row["seconds"]) for found in every for row in found.rows)
    text = [
        "# Calibration", "", f"    {(folder / 'command.txt').read_text().strip()}", "",
        f"{sum(len(found.rows) for found in every)} fits, {seconds / 60:.1f} CPU minutes; {counted} quantities under exact draws, for which p is corrected.", "",
        "Share of 95% intervals that hold the truth, all quantities together, and of the worst quantity in brackets:", "",
        *short(present, every, counted), "", "![Histograms of ranks](ranks.svg)", "", "In full:", "",
        *(f"- {case.name}: {case.told}" for case in present), "",
        f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD), *(found.line(counted) for found in every if found.rows), "",
        "Not as wanted:" if complaints else "All as wanted.", *([""] + [f"- {line}" for line in complaints] if complaints else []), "",
    ]
    (folder / "summary.md").write_text("\n".join(text))
    with open(folder / "quantities.csv", "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["case", "posterior", "quantity", "fits", "held50", "held95", "p", "ranks"])
        out.writerows(row for found in every for row in found.details())
    lists = {(found.case.name, found.posterior): found.ranks for found in every}
    (folder / "ranks.svg").write_text(ranks.picture([case.name for case in present], fits.POSTERIORS, lambda *key: lists[key]))
    print("\n".join(text))
