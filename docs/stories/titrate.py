"""An experiment whose answer is known, from the alignments of one library: titrate.py READS.prob GENES.tsv

Deals the reads of every gene out to six samples, evenly but for what replicates differ by (a fifth, up or down). Of the genes
with 150 reads or more, one in five is changed: it has more reads in the samples of one condition, 1.5, 2 or 4 times as many.
A read's gene is that of its best alignment. Writes SAMPLE.prob and answers.tsv."""

import math
import random
import sys

SAMPLES = {"a1": False, "a2": False, "a3": False, "b1": True, "b2": True, "b3": True}
CHANGES = [1.5, 2.0, 4.0]
random.seed(1)

with open(sys.argv[2]) as file:
    genes = [line.split("\t")[1] for line in file][1:]
head, reads = [], {}
with open(sys.argv[1]) as file:
    for line in file:
        if line.startswith("#"):
            head.append(line)
            continue
        words = line.split()
        # Pairs of a transcript and a log probability, the last of which is noise.
        best = max((float(words[at + 1]), int(words[at])) for at in range(2, len(words) - 2, 2))
        reads.setdefault(genes[best[1] - 1], []).append(line)

samples = {sample: [] for sample in SAMPLES}
with open("answers.tsv", "w") as answers:
    for gene, lines in sorted(reads.items()):
        fold = 1.0
        if len(lines) >= 150 and random.random() < 0.2:
            fold = random.choice(CHANGES) ** random.choice([-1, 1])
        print(gene, len(lines), math.log2(fold), sep="\t", file=answers)
        shares = [random.lognormvariate(0, 0.2) * (fold if changed else 1) for changed in SAMPLES.values()]
        for line, sample in zip(lines, random.choices(list(SAMPLES), shares, k=len(lines))):
            samples[sample].append(line)
for sample, lines in samples.items():
    random.shuffle(lines)
    with open(f"{sample}.prob", "w") as file:
        for line in head:
            counts = line.startswith(("# Ntotal", "# Nmap"))
            file.write(f"{line[:line.rindex(' ')]} {len(lines)}\n" if counts else line)
        file.writelines(lines)
