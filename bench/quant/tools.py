"""The commands of each tool, and how a command is measured."""

import dataclasses
import pathlib
import re
import subprocess

# The last number of iterations that a tool's log tells, whichever tool it is.
ITERATIONS = [
    r"iter\(\w\): +(\d+)",  # BitSeq
    r"iteration = ([\d,]+)",  # salmon
    r"ran for ([\d,]+) rounds",  # kallisto
    r"ROUND = (\d+)",  # RSEM
    r"([\d,]+) iterations",  # Collapsar
]
# Why BitSeq stopped. Only "converged" is an optimum: it also gives up where its bound falls.
ENDED = r"End: (.+)"
TIMES = {
    "user_seconds": r"User time \(seconds\): ([\d.]+)",
    "system_seconds": r"System time \(seconds\): ([\d.]+)",
    "wall_seconds": r"Elapsed .*\): ([\d:.]+)",
    "peak_mb": r"Maximum resident set size \(kbytes\): (\d+)",
}


@dataclasses.dataclass
class Files:
    """The files of a set."""

    folder: pathlib.Path

    def __post_init__(self):
        self.transcripts, self.truth = self.folder / "transcripts.fa", self.folder / "truth.tsv"
        self.reads = [self.folder / "reads_1.fq", self.folder / "reads_2.fq"]
        self.bam = self.folder / "alignments.bam"
        self.prob, self.lengths = self.folder / "bitseq.prob", self.folder / "bitseq.tr"


def bitseq(files, out, threads):
    """Two programs, from the alignments on."""
    parse = ["parseAlignment", files.bam, "--uniform", "-s", files.transcripts, "-P", threads]
    return {
        "parseAlignment": [*parse, "-o", out / "bitseq.prob", "-t", out / "bitseq.tr"],
        **estimated("FR", out / "bitseq.prob", out / "bitseq.tr", out, threads),
    }


def bitseq_hs(files, out, threads):
    """The second program alone by another method, which converges where the first one gives up."""
    return estimated("HS", files.prob, files.lengths, out, threads)


def estimated(method, prob, lengths, out, threads):
    """A run without an iteration tells what reading and writing cost. Without -t transcripts get lost."""
    words = ["estimateVBExpression", prob, "-t", lengths, "-P", threads, "-s", 1, "-v", "-m", method]
    words += ["-o", out / "estimate"]
    return {"estimateVB, reading": [*words, "--maxIter=0"], "estimateVB": words}


def salmon(files, out, threads, *options):
    words = ["salmon", "quant", "-t", files.transcripts, "-l", "A", "-a", files.bam, "-p", threads]
    return {"quant": [*words, *options, "-o", out]}


def salmon_em(files, out, threads):
    return salmon(files, out, threads, "--useEM")


def kallisto(files, out, threads):
    index = out / "transcripts.idx"
    return {
        "index": ["kallisto", "index", "-i", index, files.transcripts],
        "quant": ["kallisto", "quant", "-i", index, "-o", out, "-t", threads, "--plaintext", *files.reads],
    }


def rsem(files, out, threads):
    """From FASTQ by its own call of bowtie2: it takes no alignments with gaps, and ours have some."""
    reference = out / "reference"
    words = ["rsem-calculate-expression", "--bowtie2", "--paired-end", "--no-bam-output", "--seed", 1, "-p", threads]
    return {
        "prepare-reference": ["rsem-prepare-reference", "--bowtie2", files.transcripts, reference],
        "calculate-expression": [*words, *files.reads, reference, out / "rsem"],
    }


PEERS = {
    "BitSeq": bitseq, "BitSeq HS": bitseq_hs, "salmon": salmon, "salmon EM": salmon_em, "kallisto": kallisto,
    "RSEM": rsem,
}


def ours(program, options, files, out, threads):
    """The slot of Collapsar: the options of settings.toml with the files of the set."""
    paths = {name: getattr(files, name) for name in ("bam", "transcripts", "prob", "lengths")}
    words = [option.format(**paths) for option in options]
    return {"quant": [program, "quant", *words, "--threads", threads, "--out", out]}


def has_quant(program):
    return subprocess.run([program, "quant", "--help"], capture_output=True).returncode == 0


# --- Measuring -------------------------------------------------------------------------------------


def measured(command, log):
    """Runs a command with its words in the log; what GNU time says of it and of all its children."""
    times = log.with_suffix(".time")
    with open(log, "w") as file:
        words = ["/usr/bin/time", "-v", "-o", times, *command]
        code = subprocess.run([str(word) for word in words], stdout=file, stderr=subprocess.STDOUT).returncode
    report, told = times.read_text() if times.exists() else "", log.read_text(errors="replace")
    # A command that is killed together with its clock leaves no report: empty fields, and the exit code.
    found = {name: re.search(pattern, report) for name, pattern in TIMES.items()}
    row = {name: seconds(match.group(1)) if match else None for name, match in found.items()}
    if row["peak_mb"] is not None:
        row["peak_mb"] = round(row["peak_mb"] * 1024 / 1e6, 1)
    ended = re.search(ENDED, told)
    return row | {"iterations": iterations(told), "ended": ended.group(1) if ended else None, "exit": code}


def seconds(text):
    """Of 12.3, 1:02.3 or 1:02:03."""
    total = 0.0
    for part in text.split(":"):
        total = 60 * total + float(part)
    return round(total, 2)


def iterations(text):
    for pattern in ITERATIONS:
        if found := re.findall(pattern, text):
            return int(found[-1].replace(",", ""))
    return None
