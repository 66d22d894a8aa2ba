"""The figures of the stories, each from the files that its page's commands left in a folder."""

import csv
import json
from math import log10, sqrt

from draw import COLOURS, GREY, Drawing, Panel


def table(path, delimiter=","):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def oils(folder):
    oils, labels = table(folder / "olive.csv"), table(folder / "oils/assignments.csv")
    run = json.loads((folder / "oils/run.json").read_text())
    areas = list(dict.fromkeys(oil["area"] for oil in oils))
    count = {(area, k): 0 for area in areas for k in range(run["components"])}
    for oil, label in zip(oils, labels, strict=True):
        count[oil["area"], int(label["component"])] += 1
    used = [k for k in range(run["components"]) if any(count[area, k] for area in areas)]
    # Groups in the order of the areas that they are mostly of, so that the table is nearly a diagonal.
    used.sort(key=lambda k: sum(i * count[area, k] for i, area in enumerate(areas)) / sum(count[area, k] for area in areas))
    colour = {k: COLOURS[i] for i, k in enumerate(used)}

    # Which oils came together.
    cell, left, top = 56, 140, 44
    drawing = Drawing(left + cell * len(used) + 20, top + 30 * len(areas) + 30, "Oils of each area in each group")
    for i, k in enumerate(used):
        drawing.text(left + cell * (i + 0.5), top - 24, "group", text_anchor="middle", font_size=10)
        drawing.text(left + cell * (i + 0.5), top - 9, k, text_anchor="middle", fill=colour[k], font_weight="bold")
    for j, area in enumerate(areas):
        whole = sum(count[area, k] for k in used)
        drawing.text(left - 10, top + 30 * j + 20, area.replace("-", " "), text_anchor="end")
        for i, k in enumerate(used):
            n, x, y = count[area, k], left + cell * i, top + 30 * j
            drawing.box(x + 1, y + 1, cell - 2, 28, colour[k], fill_opacity=f"{0.06 + 0.64 * n / whole:.2f}")
            if n:
                drawing.text(x + cell / 2, y + 20, n, text_anchor="middle", fill="#111" if n / whole > 0.45 else GREY)
    drawing.text(left + cell * len(used) / 2, top + 30 * len(areas) + 20, "shade: the share of the area's oils", text_anchor="middle", font_size=11)
    figures = {"oils-table.svg": drawing.svg()}

    # Where the groups are, in two acids of eight, and what the bound says of their number.
    drawing = Drawing(760, 330, "Olive oils by two of eight acids, and the bound by the number of groups")
    plane = Panel(drawing, (58, 34, 330, 240), (4, 15.5), (-0.02, 0.62))
    plane.axes("linoleic acid, %", "eicosenoic acid, %")
    for oil, label in zip(oils, labels, strict=True):
        drawing.dot(*plane.at(float(oil["linoleic"]), float(oil["eicosenoic"])), 2.4, colour[int(label["component"])], fill_opacity=0.75)
    bounds = [(row["components"], row["bound"]) for row in run["compared"]]
    best = max(bounds, key=lambda row: row[1])
    climb = Panel(drawing, (470, 34, 260, 240), (0.5, bounds[-1][0] + 0.5), (-1600, 100))
    climb.axes("components offered", "bound on ln p(data), nats", [row[0] for row in bounds if row[0] % 2 == 0 or row[0] == 1])
    drawing.path([climb.at(*row) for row in bounds], COLOURS[0])
    for row in bounds:
        drawing.dot(*climb.at(*row), 5.0 if row == best else 3.0, COLOURS[3] if row == best else COLOURS[0])
    drawing.text(climb.x(best[0]), climb.y(best[1]) + 22, "best", text_anchor="middle", fill=COLOURS[3])
    return figures | {"oils-groups.svg": drawing.svg()}


def news(folder):
    quality, words = table(folder / "news/topics_quality.csv"), {}
    # In the order of the summary, by relevance.
    for row in sorted(table(folder / "news/topics.csv"), key=lambda row: -float(row["relevance"])):
        words.setdefault(row["topic"], []).append(row["word"])
    quality.sort(key=lambda row: -float(row["share"]))
    drawing = Drawing(760, 40 + 22 * len(quality), "Topics by their share of all words")
    scale = 210 / float(quality[0]["share"])
    drawing.text(44, 18, "share of all words", font_size=11)
    for i, row in enumerate(quality):
        y, share = 28 + 22 * i, float(row["share"])
        drawing.text(34, y + 14, row["topic"], text_anchor="end", font_size=11)
        drawing.box(44, y + 2, scale * share, 16, COLOURS[0], fill_opacity=f"{0.25 + 0.75 * max(0, min(1, float(row['npmi']) / 0.35)):.2f}")
        drawing.text(50 + scale * share, y + 14, f"{100 * share:.1f}%", font_size=11)
        drawing.text(310, y + 14, " ".join(words[row["topic"]][:7]))
    figures = {"news-topics.svg": drawing.svg()}

    # What two sentences are about.
    sentences = (folder / "sentences.txt").read_text().splitlines()
    drawing = Drawing(760, 20 + 125 * len(sentences), "What new sentences are about")
    for i, (sentence, row) in enumerate(zip(sentences, table(folder / "about.csv"), strict=True)):
        shares = sorted(((float(v), k[6:]) for k, v in row.items() if k.startswith("topic_")), reverse=True)[:3]
        drawing.text(20, 24 + 125 * i, f"“{sentence}”", font_style="italic")
        for j, (share, topic) in enumerate(shares):
            y = 36 + 125 * i + 26 * j
            drawing.box(20, y, 250 * share, 18, COLOURS[j], fill_opacity=0.8)
            drawing.text(26 + 250 * share, y + 14, f"{100 * share:.0f}%", font_size=11)
            drawing.text(310, y + 14, f"{topic}: " + " ".join(words[topic][:6]))
    return figures | {"news-sentences.svg": drawing.svg()}


SAMPLES = {"SRR1039508": "untreated", "SRR1039509": "dexamethasone", "SRR1039512": "untreated", "SRR1039513": "dexamethasone"}


def airway(folder):
    # Genes in the order of the annotation, which is that of the chromosome.
    symbols = {row[1]: row[2] for row in csv.reader(open(folder / "tx2gene.tsv", encoding="utf-8"), delimiter="\t")}
    genes = list(symbols)
    reads = {name: {row["Name"]: float(row["NumReads"]) for row in table(folder / name / "quant.genes.sf", "\t")} for name in SAMPLES}
    ends = {name: max(i for i, gene in enumerate(genes) if reads[name].get(gene, 0) >= 5) for name in SAMPLES}
    drawing = Drawing(760, 400, "Reads of each gene along the chromosome, in four samples")
    for i, (name, condition) in enumerate(SAMPLES.items()):
        panel = Panel(drawing, (70, 34 + 84 * i, 660, 56), (0, len(genes)), (0, 5))
        shade = COLOURS[0] if condition == "untreated" else COLOURS[3]
        panel.axes(marks_x=[], marks_y=[0, 2, 4], label=lambda v: f"{10 ** v:g}")
        drawing.text(70, 28 + 84 * i, f"{name}, {condition}", fill=shade)
        for j, gene in enumerate(genes):
            n = reads[name].get(gene, 0)
            if n >= 1:
                drawing.line(panel.x(j + 0.5), panel.y(0), panel.x(j + 0.5), panel.y(log10(n) + 0.1), shade, 1.6)
        x = panel.x(ends[name] + 1)
        if ends[name] > 0.9 * len(genes):
            continue
        drawing.line(x, panel.y(5), x, panel.y(0), GREY, 1.2, stroke_dasharray="3 3")
        drawing.text(x + 4, panel.y(3.9), "the file ends here", font_size=11)
    at = genes.index(next(gene for gene in genes if symbols[gene] == "ERRFI1"))
    drawing.text(panel.x(at), 392, "↑ ERRFI1", text_anchor="middle", font_weight="bold")
    drawing.text(70, 392, "genes in the order of the chromosome; reads on a log scale", font_size=11)
    figures = {"airway-reads.svg": drawing.svg()}

    # Fold changes with what is known of them.
    rows = [row for row in table(folder / "changes/compare.genes.tsv", "\t") if row["log2FoldChange"] != "NA"]
    covered = [row for row in rows if genes.index(row["Name"]) < min(ends.values())]
    strong = sorted((row for row in rows if row not in covered), key=lambda row: -abs(float(row["log2FoldChange"])))[: len(covered)]
    drawing = Drawing(760, 90 + 20 * max(len(covered), len(strong)), "Fold changes of genes with their intervals")
    for i, (title, part) in enumerate((("genes that all four files reach", covered), ("largest changes beyond where a file ends", strong))):
        panel = Panel(drawing, (100 + 370 * i, 34, 250, 20 * len(part) + 4), (-21, 21), (0, 1))
        panel.axes("log2 fold change, dexamethasone / untreated", "", [-20, -10, 0, 10, 20], [])
        drawing.text(100 + 370 * i, 20, title)
        drawing.line(panel.x(0), panel.top, panel.x(0), panel.top + panel.height, stroke_dasharray="3 3")
        for j, row in enumerate(part):
            y = 46 + 20 * j
            value, lower, upper = (float(row[key]) for key in ("log2FoldChange", "lower", "upper"))
            shade = COLOURS[0] if i == 0 else COLOURS[3]
            drawing.text(94 + 370 * i, y + 4, symbols[row["Name"]], text_anchor="end", font_size=11)
            drawing.line(panel.x(max(lower, -21)), y, panel.x(min(upper, 21)), y, shade, 2, stroke_opacity=0.5)
            drawing.dot(panel.x(value), y, 3.4, shade)
    figures["airway-changes.svg"] = drawing.svg()

    # What changed and what did not, where the answer is known: two orders of the same genes.
    answers = {name: float(fold) for name, _, fold in csv.reader(open(folder / "answers.tsv", encoding="utf-8"), delimiter="\t")}
    named = {row[1]: row[2] for row in csv.reader(open(folder / "genes.tsv", encoding="utf-8"), delimiter="\t")}
    rows = [row for row in table(folder / "known/compare.genes.tsv", "\t") if row["qvalue"] != "NA"]
    called = sum(float(row["qvalue"]) < 0.05 for row in rows)
    orders = (
        ("the largest fold changes", lambda row: -abs(float(row["log2FoldChange"]))),
        ("the smallest q", lambda row: float(row["qvalue"])),
    )
    drawing = Drawing(760, 110 + 20 * called, "The largest fold changes and the surest ones, and which of them are true")
    for i, (title, order) in enumerate(orders):
        panel = Panel(drawing, (100 + 370 * i, 34, 250, 20 * called + 4), (-8, 8), (0, 1))
        panel.axes("log2 fold change, b / a", "", [-8, -4, 0, 4, 8], [])
        drawing.text(100 + 370 * i, 20, title)
        drawing.line(panel.x(0), panel.top, panel.x(0), panel.top + panel.height, stroke_dasharray="3 3")
        for j, row in enumerate(sorted(rows, key=order)[:called]):
            y, true = 46 + 20 * j, answers.get(row["Name"], 0.0)
            value, lower, upper = (float(row[key]) for key in ("log2FoldChange", "lower", "upper"))
            shade = COLOURS[0] if true else COLOURS[3]
            drawing.text(94 + 370 * i, y + 4, named[row["Name"]], text_anchor="end", font_size=11)
            drawing.line(panel.x(max(lower, -8)), y, panel.x(min(upper, 8)), y, shade, 2, stroke_opacity=0.5)
            drawing.dot(panel.x(value), y, 3.4, shade)
            if true:
                drawing.line(panel.x(true), y - 6, panel.x(true), y + 6, GREY, 2)
    foot = 102 + 20 * called
    drawing.dot(110, foot - 4, 3.4, COLOURS[0])
    drawing.text(118, foot, "did change (grey: by how much)", font_size=11)
    drawing.dot(330, foot - 4, 3.4, COLOURS[3])
    drawing.text(338, foot, "did not change", font_size=11)
    figures["airway-known.svg"] = drawing.svg()
    figures["airway-volcano.svg"] = (folder / "known/figures/genes-volcano.svg").read_text(encoding="utf-8")
    return figures


def rats(folder):
    text = (folder / "rats.R").read_text()
    flat = [float(word) for word in text.split("c(")[1].split(")")[0].replace("\n", " ").split(",")]
    ages = [8.0, 15.0, 22.0, 29.0, 36.0]
    weights = [[flat[i + 30 * j] for j in range(5)] for i in range(30)]
    exact = {row["name"]: {k: float(v) for k, v in row.items() if k != "name"} for row in table(folder / "exact/posterior.csv")}
    drawing = Drawing(760, 400, "Thirty growth curves and the slope of each rat")
    panel = Panel(drawing, (52, 34, 300, 310), (5, 39), (120, 390))
    panel.axes("age, days", "weight, g", ages)
    for i, row in enumerate(weights):
        line = [panel.at(age, exact[f"alpha[{i + 1}]"]["mean"] + exact[f"beta[{i + 1}]"]["mean"] * (age - 22)) for age in (8, 36)]
        drawing.path(line, COLOURS[0], 1, stroke_opacity=0.55)
        for age, weight in zip(ages, row):
            drawing.dot(*panel.at(age, weight), 1.8, GREY, fill_opacity=0.7)
    line = [panel.at(age, exact["alpha.c"]["mean"] + exact["beta.c"]["mean"] * (age - 22)) for age in (8, 36)]
    drawing.path(line, COLOURS[3], 3)
    drawing.text(panel.x(30), panel.y(152), "mean growth", fill=COLOURS[3])

    slopes = sorted(range(30), key=lambda i: exact[f"beta[{i + 1}]"]["mean"])
    panel = Panel(drawing, (450, 34, 280, 310), (4.6, 7.9), (-0.5, 29.5))
    panel.axes("growth, g a day", "", None, [])
    centre = exact["beta.c"]
    drawing.box(panel.x(centre["q2.5"]), 34, panel.x(centre["q97.5"]) - panel.x(centre["q2.5"]), 310, COLOURS[3], fill_opacity=0.15)
    drawing.line(panel.x(centre["mean"]), 34, panel.x(centre["mean"]), 344, COLOURS[3], 1.5)
    for place, i in enumerate(slopes):
        own, y = exact[f"beta[{i + 1}]"], panel.y(place)
        drawing.line(panel.x(own["q2.5"]), y, panel.x(own["q97.5"]), y, COLOURS[0], 2, stroke_opacity=0.5)
        drawing.dot(panel.x(own["mean"]), y, 3.0, COLOURS[0])
        least = sum((a - 22) * w for a, w in zip(ages, weights[i])) / sum((a - 22) ** 2 for a in ages)
        drawing.dot(panel.x(least), y, 2.6, "none", stroke=GREY, stroke_width=1.2)
        drawing.text(444, y + 3, f"rat {i + 1}", text_anchor="end", font_size=8)
    drawing.dot(470, 20, 3.0, COLOURS[0])
    drawing.text(478, 24, "posterior, 95%", font_size=11)
    drawing.dot(580, 20, 2.6, "none", stroke=GREY, stroke_width=1.2)
    drawing.text(588, 24, "least squares, rat alone", font_size=11)
    figures = {"rats-growth.svg": drawing.svg()}

    # How much rats differ: the same number by three posteriors.
    draws = [1 / sqrt(float(row["tau.beta"])) for row in table(folder / "exact/draws.csv")]
    low, high, bins = 0.2, 1.0, 40
    heights = [0] * bins
    for value in draws:
        if low <= value < high:
            heights[int((value - low) / (high - low) * bins)] += 1
    drawing = Drawing(760, 250, "How much growth differs between rats, by three posteriors")
    panel = Panel(drawing, (150, 34, 560, 110), (low, high), (0, max(heights)))
    panel.axes("", "", None, [])
    for i, n in enumerate(heights):
        drawing.box(panel.x(low + i * (high - low) / bins), panel.y(n), 560 / bins - 1, 144 - panel.y(n), COLOURS[0], fill_opacity=0.35)
    drawing.text(150, 24, "standard deviation of growth between rats, g a day: exact draws, 95% intervals")
    for i, (name, title) in enumerate((("mean-field", "mean field"), ("fit", "linear response"), ("exact", "exact draws"))):
        row = next(row for row in table(folder / name / "posterior.csv") if row["name"] == "sigma.beta")
        y, shade = 184 + 22 * i, (COLOURS[3], COLOURS[2], COLOURS[0])[i]
        drawing.text(140, y + 4, title, text_anchor="end", fill=shade)
        drawing.line(panel.x(float(row["q2.5"])), y, panel.x(float(row["q97.5"])), y, shade, 4, stroke_opacity=0.6)
        drawing.dot(panel.x(float(row["mean"])), y, 4.5, shade)
    return figures | {"rats-between.svg": drawing.svg()}


STORIES = {"oils": oils, "news": news, "airway": airway, "rats": rats}
