"""Compares what was called with the answers of titrate.py: answers.py CHANGES_FOLDER"""

import csv
import sys

with open("answers.tsv") as file:
    true = {gene: round(float(fold), 6) for gene, _, fold in csv.reader(file, delimiter="\t")}
with open(f"{sys.argv[1]}/compare.genes.tsv") as file:
    rows = [row for row in csv.DictReader(file, delimiter="\t") if row["qvalue"] != "NA"]
number = lambda row, column: float(row[column])
of = lambda row: true.get(row["Name"], 0.0)
called = [row for row in rows if number(row, "qvalue") < 0.05]
print("change  genes  called")
for size in sorted({abs(of(row)) for row in rows}, reverse=True):
    alike = [row for row in rows if abs(of(row)) == size]
    found = [row for row in alike if row in called]
    print(f"{f'{2 ** size:g}x' if size else 'none':>6}  {len(alike):5}  {len(found):6}")
wrong = sum(number(row, "log2FoldChange") * of(row) < 0 for row in called)
print(f"called in the wrong direction: {wrong}")
held = sum(number(row, "lower") <= of(row) <= number(row, "upper") for row in rows)
print(f"intervals of 95% that hold the answer: {100 * held / len(rows):.1f}%")
largest = sorted(rows, key=lambda row: -abs(number(row, "log2FoldChange")))[: len(called)]
print(f"of as many genes with the largest fold changes, changed: {sum(of(row) != 0 for row in largest)} of {len(largest)}")
