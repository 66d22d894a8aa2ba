"""Files for every command, drawn from explicit seeds: small ones for kills, large ones so that reading takes time."""
import json
import random
import shutil
import subprocess

GAUSSIANS = """model {
  for (i in 1:N) {
    z[i] ~ dcat(p[])
    y[i] ~ dnorm(mu[z[i]], tau)
  }
  for (k in 1:3) { mu[k] ~ dnorm(0, 0.01) }
  tau ~ dgamma(1, 1)
  p[1:3] ~ ddirch(a[])
}
"""


def table(path, rows, seed, name="xyz"):
    """Overlapping groups in three columns."""
    draw = random.Random(seed)
    with open(path, "w") as file:
        file.write(",".join(name) + "\n")
        for row in range(rows):
            group = row % 6
            centre = (group, 1.5 * (group % 3), -0.7 * group)
            file.write(",".join(f"{draw.gauss(middle, 0.8):.6f}" for middle in centre) + "\n")


def texts(path, documents, words, seed):
    """A document a line, of two of eight topics."""
    draw = random.Random(seed)
    with open(path, "w") as file:
        for _ in range(documents):
            topics = draw.sample(range(8), 2)
            line = (f"w{draw.choice(topics) * 40 + int(draw.expovariate(0.1)) % 40:03d}x" for _ in range(words))
            file.write(" ".join(line) + "\n")


def probabilities(path, transcripts, reads, seed):
    """Reads of one to four transcripts in the format of BitSeq, and names with lengths beside them."""
    draw = random.Random(seed)
    with open(path.with_suffix(".tr"), "w") as file:
        file.write(f"# M {transcripts}\n")
        for transcript in range(transcripts):
            file.write(f"g{transcript // 4} t{transcript} {800 + 13 * transcript % 900}\n")
    with open(path, "w") as file:
        file.write(f"# Ntotal {reads}\n# Nmap {reads}\n# M {transcripts}\n# LOGFORMAT (probabilities saved on log scale.)\n")
        for read in range(reads):
            gene = int(draw.paretovariate(0.7)) % (transcripts // 4) * 4
            found = draw.sample(range(gene, gene + 4), draw.randint(1, 4))
            hits = " ".join(f"{one + 1} {draw.uniform(-9, -7):.4f}" for one in found)
            file.write(f"r{read} {len(found) + 1} {hits} 0 -30.0\n")


def gaussians(folder, rows, seed):
    """The text of a model with labels, and its data as JSON."""
    draw = random.Random(seed)
    (folder / "model.bug").write_text(GAUSSIANS)
    y = [round(draw.gauss((-3, 0, 4)[row % 3], 1), 5) for row in range(rows)]
    (folder / "data.json").write_text(json.dumps({"N": rows, "a": [1, 1, 1], "y": y}))


def samples(folder, number, transcripts, seed):
    """Folders as salmon writes them, without draws, and what condition each is of."""
    draw = random.Random(seed)
    folder.mkdir(parents=True)
    level = [draw.lognormvariate(4, 1) for _ in range(transcripts)]
    with open(folder / "groups.tsv", "w") as groups:
        groups.write("folder\tcondition\n")
        for sample in range(number):
            changed = sample >= number // 2
            groups.write(f"s{sample}\t{'treated' if changed else 'control'}\n")
            (folder / f"s{sample}").mkdir()
            with open(folder / f"s{sample}" / "quant.sf", "w") as file:
                file.write("Name\tLength\tEffectiveLength\tTPM\tNumReads\n")
                for one, mean in enumerate(level):
                    reads = mean * (3 if changed and one % 20 == 0 else 1) * draw.lognormvariate(0, 0.2)
                    file.write(f"t{one}\t1000\t800.000\t{reads:.6f}\t{reads:.3f}\n")


def make(folder, program, large=False):
    """All inputs in `folder`, saved fits among them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    table(folder / "data.csv", 100_000 if large else 1500, 1)
    table(folder / "new.csv", 200_000 if large else 20_000, 2)
    texts(folder / "notes.txt", 5_000 if large else 300, 60, 3)
    texts(folder / "more.txt", 20_000 if large else 3000, 40, 4)
    probabilities(folder / "reads.prob", 4000 if large else 400, 150_000 if large else 8000, 5)
    samples(folder / "study", 12 if large else 6, 40_000 if large else 2000, 6)
    gaussians(folder, 20_000 if large else 300, 7)
    # Saved fits, of small data in either case.
    few = folder / "few"
    few.mkdir()
    table(few / "few.csv", 600, 8)
    texts(few / "few.txt", 200, 60, 3)

    def run(*args):
        subprocess.run([program, "--quiet", *args], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    run("mixture", "few/few.csv", "--components", "6", "--out", "clusters")
    run("topics", "few/few.txt", "--topics", "8", "--out", "subjects")
    for number in (4, 5):
        run("mixture", "data.csv", "--components", str(number), "--max-iterations", "5", "--out", f"run{number}")
