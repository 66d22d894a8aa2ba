"""Every command with the outputs that it has. Paths are relative to a place, whose `in` holds the inputs."""
import dataclasses


@dataclasses.dataclass
class Job:
    name: str
    args: list
    # Folders end with a slash.
    outputs: list = dataclasses.field(default_factory=list)
    # Another run into the same outputs, whose results lie there in some trials.
    earlier: list = dataclasses.field(default_factory=list)
    checkpoint: bool = False
    # Exit codes of a run that nothing disturbs.
    codes: tuple = (0,)

    def command(self, resume=False):
        args = list(self.args)
        if self.checkpoint:
            args += ["--checkpoint", "run.ckpt"]
            args += ["--resume", "run.ckpt"] if resume else []
        return args


def fit(name, *more, outputs=("out/",)):
    args = ["fit", "in/model.bug", "--data", "in/data.json", "--out", "out", "--checkpoint-every", "3", *more]
    return Job(name, args, list(outputs), ["--seed", "7"], checkpoint=True)


def all_jobs(large=False):
    """Sizes are such that a run takes tenths of a second; `large` takes seconds, much of them reading."""
    seeded = ["--seed", "7"]
    climb = ["--out", "out", "--checkpoint-every", "2"]
    few = ["--max-iterations", "20"] if large else []
    # Slow enough to be met while they draw.
    draws = ["--draws", "300" if large else "150"]
    jobs = [
        Job("mixture", ["mixture", "in/data.csv", "-k", "8", "--start", "random", "--samples", "100", "--report", *climb, *few],
            ["out/"], seeded, True),
        Job("mixture exact", ["mixture", "in/data.csv", "-k", "3", "--posterior", "exact", *draws, *climb, *few],
            ["out/"], seeded, True),
        Job("mixture predict", ["mixture", "predict", "in/clusters", "in/new.csv", "--out", "labels.csv"], ["labels.csv"]),
        Job("topics", ["topics", "in/notes.txt", "-k", "8", *climb, *few], ["out/"], seeded, True),
        Job("topics exact", ["topics", "in/notes.txt", "-k", "4", "--posterior", "exact", "--draws", "30" if large else "20", *climb, *few],
            ["out/"], seeded, True),
        Job("topics infer", ["topics", "infer", "in/subjects", "in/more.txt", "--out", "documents.csv"], ["documents.csv"]),
        Job("quant", ["quant", "--prob", "in/reads.prob", "--lengths", "in/reads.tr", "--draws", "100" if large else "20", "--out", "out"],
            ["out/"], seeded),
        Job("quant compare", ["quant", "compare", "--groups", "in/study/groups.tsv", "--out", "out"], ["out/"],
            ["--contrast", "treated,control"]),
        fit("fit mean-field", "--posterior", "mean-field", "--draws", "200"),
        fit("fit linear-response", "--posterior", "linear-response", "--draws", "200"),
        fit("fit exact", "--posterior", "exact", *draws),
        Job("check", ["check", "in/model.bug", "--data", "in/data.json", "--svg", "model.svg", "--dot", "model.dot"],
            ["model.svg", "model.dot"]),
        Job("compare", ["compare", "in/run4", "in/run5"]),
        Job("report", ["report", "in/run4", "in/run5", "--out", "page.html"], ["page.html"]),
        Job("reproduce mixture", ["reproduce", "mixture", "--restarts", "15" if large else "3", "--rows", "100", "--out", "out"],
            ["out/"], seeded),
        Job("reproduce topics", ["reproduce", "topics", "--documents", "100" if large else "40", "--words", "100", "--length", "100",
                                 "-k", "4", "--starts", "3", "--methods", "vbem,auto", "--out", "out"], ["out/"], seeded),
        Job("reproduce quant", ["reproduce", "quant", "--genes", "300" if large else "100", "--reads", "30000" if large else "5000",
                                "--starts", "2", "--methods", "vbem,fr,auto", "--out", "out"], ["out/"], seeded),
        Job("reproduce curvature", ["reproduce", "curvature", "--out", "curvature.svg"], ["curvature.svg"], seeded),
        Job("tour", ["tour", "--save", "geyser.csv"], ["geyser.csv"]),
        Job("man", ["man", "--dir", "pages"], ["pages/"]),
    ]
    for job in jobs:
        # One thread, whose system calls have an order; the large jobs have all processors.
        job.args = ["--quiet", *([] if large else ["--threads", "1"]), *job.args]
    return jobs
