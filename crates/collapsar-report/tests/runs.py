"""Runs of every kind, with names of every kind, of data that are made here or lie in the repository; browser.py opens their pages."""

import json
import pathlib
import random
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
HOSTILE = ["<script>window.ran=1</script>", "</script><img src=x onerror=window.ran=1>", "\"'`", "שלום \u202eolleh", "n" * 10_000]
REPLICATED = """model {
  for (i in 1:N) { y[i] ~ dnorm(mu[g[i]], tau)  y.rep[i] ~ dnorm(mu[g[i]], tau) }
  for (k in 1:3) { mu[k] ~ dnorm(%(long)s, 1) }
  %(long)s ~ dnorm(0, 0.01)
  tau ~ dgamma(1, 1)
}
"""


def run(program, *words, cwd=None):
    subprocess.run([program, "--quiet", *map(str, words)], check=True, stdout=subprocess.DEVNULL, cwd=cwd)


def fits(program, folder):
    schools = ROOT / "examples" / "eight-schools"
    for name, words in {"fit": [], "draws": ["--draws", 200]}.items():
        run(program, "fit", "model.bug", "--data", "data.json", "--out", folder / name, "--report", *words, cwd=schools)
    # A name of many letters is all that BUGS allows of what is hostile.
    (folder / "model.bug").write_text(REPLICATED % {"long": "m" * 10_000})
    groups = [1 + i % 3 for i in range(60)]
    data = {"y": [random.gauss(2 * g, 1) for g in groups], "g": groups, "N": 60}
    (folder / "data.json").write_text(json.dumps(data))
    monitor = ["--monitor", "mu,tau,y.rep," + "m" * 10_000]
    run(program, "fit", "model.bug", "--data", "data.json", "--out", "exact", "--report", "--posterior", "exact", *monitor, cwd=folder)
    run(program, "report", "fit", "draws", "--out", "compare.html", cwd=folder)
    return ["fit", "draws", "exact"]


def mixtures(program, folder):
    rows = [[random.gauss(4 * (i % 3), 1), random.gauss(3 * (i % 2), 1), random.gauss(0, 1)] for i in range(600)]
    rows = [[*row, row[0] + random.gauss(0, 1), random.gauss(0, 1)] for row in rows]
    head = ",".join('"' + name.replace('"', '""') + '"' for name in HOSTILE)
    (folder / "rows.csv").write_text(head + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    run(program, "mixture", "rows.csv", "--out", "mixture", "--components", "1..5", "--report", cwd=folder)
    (folder / "one.csv").write_text("x\n" + "".join(f"{row[0]}\n" for row in rows))
    run(program, "mixture", "one.csv", "--out", "one", "--posterior", "exact", "--draws", 100, "--report", cwd=folder)
    return ["mixture", "one"]


def topics(program, folder):
    words = ["<b>bold</b>", "&amp;", "alpha", "beta", "gamma", "delta", "epsilon", "zeta", *HOSTILE, *(f"w{i}" for i in range(60))]
    texts = []
    for document in range(60):
        topic = document % 3
        texts.append([words[(topic * 20 + int(random.expovariate(0.15))) % len(words)] for _ in range(80)])
    counts = [(d + 1, words.index(w) + 1, text.count(w)) for d, text in enumerate(texts) for w in sorted(set(text))]
    (folder / "docword.x.txt").write_text(f"60\n{len(words)}\n{len(counts)}\n" + "".join("%d %d %d\n" % line for line in counts))
    (folder / "vocab.x.txt").write_text("\n".join(words) + "\n")
    run(program, "topics", "docword.x.txt", "--topics", 5, "--holdout", "0.2", "--curve", "curve.jsonl", "--out", "topics", "--report", cwd=folder)
    lines = [
        {"id": HOSTILE[d % 5] + str(d), "text": HOSTILE[d % 3] + " " + " ".join(text)} for d, text in enumerate(texts)
    ]
    (folder / "texts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    options = ["--text-column", "text", "--id-column", "id", "--topics", "2,4,6"]
    run(program, "topics", "texts.jsonl", *options, "--out", "texts", "--report", cwd=folder)
    return ["topics", "texts"]


def classes(path, names, seed, more):
    """salmon's equivalence classes of these transcripts, some with `more` times the reads."""
    random.seed(seed)
    count = len(names)
    alone = [f"1\t{i}\t{random.randint(1, 300) * (more if i % 9 == 0 else 1)}" for i in range(count)]
    shared = [f"2\t{i}\t{i + 1}\t{random.randint(1, 90)}" for i in range(count - 1)]
    path.write_text("\n".join([str(count), str(len(alone + shared)), *names, *alone, *shared]) + "\n")


def quantifications(program, folder):
    names = [f"T{i}" for i in range(80)] + ["<i>T</i>", *HOSTILE]
    lengths = [random.randint(500, 3000) for _ in names]
    # One word a cell: what has spaces in it is no name there.
    names = [name.replace(" ", "_") for name in names]
    (folder / "lengths.tr").write_text("".join(f"gene {name} {length}\n" for name, length in zip(names, lengths)))
    (folder / "genes.tsv").write_text("".join(f"{name}\tG{i // 3}\n" for i, name in enumerate(names)))
    samples = {"quant": 1, "s1": 1, "s2": 1, "s3": 8, "s4": 8}
    for seed, (name, more) in enumerate(samples.items()):
        classes(folder / f"{name}.txt", names, seed, more)
        words = ["--classes", f"{name}.txt", "--lengths", "lengths.tr", "-g", "genes.tsv", "--draws", 20, "--out", name, "--report"]
        run(program, "quant", *words, cwd=folder)
    (folder / "groups.tsv").write_text("s1\tcontrol\ns2\tcontrol\ns3\ttreated <b>\ns4\ttreated <b>\n")
    run(program, "quant", "compare", "--groups", "groups.tsv", "-g", "genes.tsv", "--out", "changes", "--report", cwd=folder)
    aligned = ROOT / "crates/collapsar-cli/tests/cmd/quant.in"
    words = ["-a", "reads.sam", "-t", "transcripts.fa", "-g", "genes.tsv", "--out", folder / "aligned", "--report"]
    run(program, "quant", *words, cwd=aligned)
    return ["quant", "changes", "aligned"]


def make(program, folder):
    """The page of each run, by name."""
    random.seed(1)
    names = [name for kind in (fits, mixtures, topics, quantifications) for name in kind(program, folder)]
    return {name: folder / name / "report.html" for name in names} | {"compare": folder / "compare.html"}
