"""What the program writes to a terminal: pages by default, a line of progress, nothing foreign on dumb ones. terminal.py PROGRAM"""

import fcntl
import json
import os
import pathlib
import pty
import random
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios

WIDTH = 80


def seen(program, folder, *words, **surroundings):
    """All that a terminal of 80 columns gets."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, WIDTH, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TERM", "COLUMNS")}
    process = subprocess.Popen(
        [program, *map(str, words)], cwd=folder, stdout=follower, stderr=follower, stdin=follower, env={**kept, **surroundings}
    )
    os.close(follower)
    text = b""
    while True:
        ready, _, _ = select.select([leader], [], [], 120)
        try:
            part = os.read(leader, 65536) if ready else b""
        except OSError:
            part = b""
        if not part:
            break
        text += part
    os.close(leader)
    assert process.wait() == 0, text.decode()[-2000:]
    return text.decode()


def main():
    program = str(pathlib.Path(sys.argv[1]).resolve())
    random.seed(3)
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        rows = [[random.gauss(0.8 * (i % 7), 1) for _ in range(6)] for i in range(60_000)]
        (folder / "rows.csv").write_text("a,b,c,d,e,f\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
        # Slow on any machine: three seconds of steps that gain next to nothing.
        slow = ["mixture", "rows.csv", "--components", 12, "--jumps", "off", "--method", "vbem", "--tolerance", 1e-12, "--time", 3]
        text = seen(program, folder, *slow, "--out", "bar", TERM="xterm-256color")
        assert (folder / "bar" / "report.html").exists(), "a run in a terminal has its page"
        assert re.search(r"\d+ passes, bound -?[\d.]+, gain .*/s", text), f"no progress in {text[:500]!r}"
        assert " left" in text, f"no time left in {text[-500:]!r}"
        # Chains of every kind, of several seconds on any machine.
        (folder / "few.csv").write_text("a,b\n" + "".join(f"{row[0]},{row[1]}\n" for row in rows[:20_000]))
        words = [[f"{'ab'[d % 2]}{random.randrange(200)}" for _ in range(60)] for d in range(800)]
        (folder / "texts.txt").write_text("".join(" ".join(text) + "\n" for text in words))
        (folder / "model.bug").write_text("model { for (i in 1:N) { y[i] ~ dt(mu, tau, 4) } mu ~ dnorm(0, 0.01) tau ~ dgamma(1, 1) }")
        numbers = [random.gauss(1, 2) for _ in range(3000)]
        (folder / "data.json").write_text(json.dumps({"N": len(numbers), "y": numbers}))
        for chains in (
            ["mixture", "few.csv", "--components", 3, "--draws", 3000],
            ["topics", "texts.txt", "--topics", 5, "--draws", 1500],
            ["fit", "model.bug", "--data", "data.json", "--draws", 20_000],
        ):
            text = seen(program, folder, *chains, "--posterior", "exact", TERM="xterm-256color")
            assert re.search(r"[\d,]+ of [\d,]+ draws.*, [\d.]+/s, [\d.]+ (m?s|min).* left", text), f"no draws of {chains[0]} in {text[:500]!r}"
            text = seen(program, folder, *chains[:-1], 100, "--posterior", "exact", TERM="dumb")
            assert " left" not in text and "\x1b" not in text, f"no progress on a dumb terminal, found {text[:300]!r}"
        text = seen(program, folder, *slow, "--out", "dumb", "--no-report", TERM="dumb", NO_COLOR="1")
        assert "\x1b" not in text, f"no codes on a dumb terminal, found {text[:300]!r}"
        assert not (folder / "dumb" / "report.html").exists(), "--no-report leaves the page out"
        subprocess.run([program, "-q", *map(str, slow[:4]), "--max-iterations", "2", "--out", "pipe"], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert not (folder / "pipe" / "report.html").exists(), "a run that nobody sees has no page by default"
        summary = seen(program, folder, "mixture", "rows.csv", "--components", 3, "--max-iterations", 5, TERM="dumb")
        # Warnings are one line each, for programs that read them.
        wide = [line for line in summary.splitlines() if len(line) > WIDTH and not line.startswith("collapsar: ")]
        print("lines beyond 80 columns:", wide)
        assert not wide, "summaries fit 80 columns"
    print("terminals: pages by default, progress of climbs and chains with rate and time left, no codes on dumb ones, 80 columns")


if __name__ == "__main__":
    main()
