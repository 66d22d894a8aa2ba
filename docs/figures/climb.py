"""Draws climb.svg: the bound against passes over the data, for several methods from one start.

Run from the repository after `cargo build --release`; needs numpy and matplotlib.
"""

import json
import pathlib
import subprocess
import tempfile

import matplotlib
import numpy as np

matplotlib.use("svg")
import matplotlib.pyplot as plt

matplotlib.rcParams["svg.hashsalt"] = "collapsar"
ROOT = pathlib.Path(__file__).resolve().parents[2]
METHODS = [
    ("vbem", ["--method", "vbem"], "#888888"),
    ("fr", ["--method", "fr"], "#c9822b"),
    ("lbfgs", ["--method", "lbfgs"], "#3b8a4f"),
    ("auto, no jumps", ["--method", "auto", "--jumps", "off"], "#7a5cc7"),
    ("auto", ["--method", "auto"], "#1f6fd1"),
]

rng = np.random.default_rng(3)
centres = 3 * np.array([[0, 0], [1, 1], [1, -1], [-1, 1], [-1, -1]])
rows = centres[np.arange(500) % 5] + rng.standard_normal((500, 2))

figure, axes = plt.subplots(figsize=(7.2, 3.6))
with tempfile.TemporaryDirectory() as folder:
    data = pathlib.Path(folder, "ring.csv")
    np.savetxt(data, rows, delimiter=",", header="x,y", comments="")
    for label, flags, colour in METHODS:
        out = pathlib.Path(folder, label)
        command = [ROOT / "target/release/collapsar", "mixture", data, "--components", "8"]
        command += ["--start", "random", "--seed", "1", "--out", out, "--quiet", *flags]
        subprocess.run(command, check=True, capture_output=True)
        steps = [json.loads(line) for line in (out / "trace.jsonl").read_text().splitlines()]
        best = np.maximum.accumulate([step["bound"] for step in steps])
        passes = [step["passes"] for step in steps]
        axes.plot(passes, best, color=colour, label=f"{label}: {best[-1]:.1f} after {passes[-1]}")
        axes.plot(passes[-1], best[-1], "o", color=colour, markersize=4)
axes.set_xlabel("passes over the data")
axes.set_ylabel("bound on ln p(data), nats")
axes.set_xscale("log")
axes.legend(frameon=False, fontsize=8, loc="lower right")
axes.spines[["top", "right"]].set_visible(False)
axes.set_title("Five Gaussians at (0,0), (±3,±3); 500 rows, 8 components, one random start", fontsize=9)
figure.tight_layout()
figure.savefig(pathlib.Path(__file__).with_name("climb.svg"), metadata={"Date": None})
figure.savefig(pathlib.Path(tempfile.gettempdir(), "climb.png"), dpi=110)
