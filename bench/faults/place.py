"""A folder in which a command runs beside files that it must not touch; what its results are, times left out."""
import contextlib
import csv
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import time

PRECIOUS = "a file of the user's\n"
# Numbers with a unit of time, as people read them.
TIMES = re.compile(rb"\d[\d.,]*(e[-+]?\d+)?( \xc2\xb1 [\d.,e+-]+)? ?(ns|\xc2\xb5s|us|ms|s|min|h)\b|\d[\d.,]*(?=\s*seconds)")
SECONDS = 60


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def tree(folder):
    """Paths below a folder, with what each is: a digest, a link's target, or a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = "link " + os.readlink(path)
        elif path.is_dir():
            found[name] = "folder"
        else:
            found[name] = digest(path)
    return found


class Place:
    """A fresh folder with inputs, an output folder or file that may hold an earlier run, and files of the user's."""

    def __init__(self, folder, inputs, job, earlier=None):
        self.folder = folder
        self.job = job
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        shutil.copytree(inputs, folder / "in", symlinks=True)
        if earlier is not None:
            shutil.copytree(earlier, folder, symlinks=True, dirs_exist_ok=True)
        self.plant()
        self.user = {name: what for name, what in tree(folder).items() if not self.is_output(name)}

    def plant(self):
        """What looks like ours and is not: other names, names of the right form that are links, folders."""
        spots = [self.folder] + [self.folder / out for out in self.job.outputs if out.endswith("/")]
        precious = self.folder / "precious.txt"
        precious.write_text(PRECIOUS)
        for spot in spots:
            spot.mkdir(exist_ok=True)
            (spot / "notes").mkdir()
            for name in ("mine.txt", "notes/mine.txt", ".run.mine.tmp", ".out.tmp", ".run.ckpt.0123.tmp", "run.json.bak"):
                (spot / name).write_text(PRECIOUS + name)
            (spot / ".run.0123456789abcdef.tmp").symlink_to(precious)
        for out in self.job.outputs:
            path = self.folder / out
            if not out.endswith("/") and not path.exists():
                # A link where the result goes: replaced, not followed.
                path.symlink_to(precious)

    PLANTED = re.compile(r"^(in|precious\.txt)(/|$)|(^|/)(mine\.txt|notes(/mine\.txt)?|\.run\.mine\.tmp|\.out\.tmp|\.run\.ckpt\.0123\.tmp"
                         r"|run\.json\.bak|\.run\.0123456789abcdef\.tmp)$")

    def is_output(self, name):
        if self.PLANTED.search(name):
            return False
        outs = [out.rstrip("/") for out in self.job.outputs] + ["run.ckpt"]
        return any(name == out or name.startswith(out + "/") for out in outs)

    def harmed(self):
        """What of the user's is not as it was."""
        now = tree(self.folder)
        return [name for name, what in self.user.items() if now.get(name) != what]

    def strangers(self):
        """Files that are neither the user's nor results by name: leftovers."""
        return [name for name in tree(self.folder)
                if name not in self.user and (not self.is_output(name) or re.search(r"(^|/)\.", name))]

    def results(self):
        """Results by name, with times left out, without leftovers."""
        found = {}
        for name, what in tree(self.folder).items():
            if not self.is_output(name) or name == "run.ckpt" or what == "folder" or re.search(r"(^|/)\.", name):
                continue
            found[name] = what if what.startswith("link ") else timeless(self.folder / name)
        return found

    def recorded(self):
        """Whether run.json stands in the output folder; None where the command has none."""
        folders = [out for out in self.job.outputs if out.endswith("/") and self.job.name != "man"]
        return (self.folder / folders[0] / "run.json").exists() if folders else None


def timeless(path):
    """Contents of a result without the times in it."""
    content = path.read_bytes()
    if path.name == "run.json":
        return json.dumps(bare(json.loads(content)), sort_keys=True)
    if path.name == "trace.jsonl":
        return [json.dumps(bare(json.loads(line)), sort_keys=True) for line in content.splitlines()]
    if path.suffix == ".csv" and content.partition(b"\n")[0].split(b",").count(b"seconds"):
        rows = list(csv.reader(io.StringIO(content.decode())))
        return [row[:rows[0].index("seconds")] + row[rows[0].index("seconds") + 1:] for row in rows]
    if path.suffix == ".md" and path.parent.name == "out":
        # Tables of times go whole, with the ratios of them.
        return re.sub(rb"(?m)^\| *method *\|[^\n]*seconds[^\n]*\n(\|[^\n]*\n)*", b"", content)
    if path.suffix == ".html":
        return re.sub(rb"(?i)\"?seconds\"?[^,}<]*", b"", TIMES.sub(b"", content.replace(b"--quiet ", b"")))
    return hashlib.sha256(content).hexdigest()


def bare(value):
    """A record without seconds, without how it was asked for, and without the checkpoint that it went on from."""
    if isinstance(value, dict):
        return {key: bare(part) for key, part in value.items() if "seconds" not in key and key != "command"}
    if isinstance(value, list):
        return [bare(part) for part in value if not (isinstance(part, dict) and part.get("name") == "run.ckpt")]
    return value


def differences(found, expected, resumed=False):
    """Names of results that differ. The trace of a resumed run has the steps from its checkpoint on."""
    wrong = [name for name in expected if name not in found] + [name for name in found if name not in expected]
    for name, what in expected.items():
        if name not in found or found[name] == what:
            continue
        if resumed and name.endswith("trace.jsonl") and (not found[name] or what[-len(found[name]):] == found[name]):
            continue
        if resumed and name.endswith("report.html"):
            # It draws the steps that the run made, and says how it was asked for.
            continue
        wrong.append(name)
    return wrong


def start(program, args, folder, prepare=None, wrap=(), **more):
    """The program in a folder, with signals as a terminal's shell leaves them."""

    def fresh():
        for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(name, signal.SIG_DFL)
        if prepare:
            prepare()

    more.setdefault("stdin", subprocess.DEVNULL)
    more.setdefault("stdout", subprocess.PIPE)
    more.setdefault("stderr", subprocess.PIPE)
    return subprocess.Popen([*wrap, str(program), *args], cwd=folder, preexec_fn=fresh, **more)


def finish(process, seconds=SECONDS):
    """Exit code and both streams; a process that does not end is killed, and its code is None."""
    try:
        out, talk = process.communicate(timeout=seconds)
        return process.returncode, out or b"", talk or b""
    except subprocess.TimeoutExpired:
        process.kill()
        out, talk = process.communicate()
        return None, out or b"", talk or b""


def run(program, args, folder, **more):
    return finish(start(program, args, folder, **more))


def listens(process, number):
    """Whether the program has begun to hear a signal: before, it ends by it as any other."""
    with contextlib.suppress(OSError):
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        mask = int(re.search(r"SigCgt:\s*(\w+)", status)[1], 16)
        return bool(mask >> (number - 1) & 1)
    return False


def panicked(code, talk):
    """Whether a run ended in no way that is documented."""
    return code in (101, 134, -signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS, -signal.SIGILL) or b"panicked" in talk


def writable(folder):
    """Undoes read-only trials."""
    with contextlib.suppress(OSError):
        for path in [folder, *folder.rglob("*")]:
            if path.is_dir() and not path.is_symlink():
                os.chmod(path, stat.S_IRWXU)


class Reference:
    """What a job gives where nothing disturbs it, and how long that takes."""

    def __init__(self, program, folder, inputs, job, timed=3):
        self.program, self.inputs, self.job = program, inputs, job
        self.earlier, self.earlier_results = None, None
        self.seconds = []
        self.results = self.run(folder / "reference", job.command(), timed)
        if job.earlier:
            place = folder / "earlier"
            self.earlier_results = self.run(place, [*job.command(), *job.earlier], 1)
            kept = folder / "kept"
            shutil.rmtree(kept, ignore_errors=True)
            kept.mkdir()
            for out in job.outputs:
                if (place / out).is_dir():
                    shutil.copytree(place / out, kept / out, ignore=lambda _, names: [n for n in names if Place.PLANTED.search("/" + n)],
                                    symlinks=True)
                else:
                    shutil.copy(place / out, kept / out)
            self.earlier = kept
            shutil.rmtree(place)

    def run(self, folder, args, times):
        found = None
        for _ in range(times):
            place = Place(folder, self.inputs, self.job)
            began = time.monotonic()
            code, out, talk = run(self.program, args, folder, stdout=subprocess.DEVNULL)
            self.seconds.append(time.monotonic() - began)
            if code not in self.job.codes:
                raise SystemExit(f"faults: {self.job.name} ended with {code}: {talk.decode(errors='replace')}")
            results = place.results()
            if place.harmed() or place.strangers():
                raise SystemExit(f"faults: {self.job.name} undisturbed: harmed {place.harmed()}, left {place.strangers()}")
            if found is not None and differences(results, found):
                raise SystemExit(f"faults: two runs of {self.job.name} differ in {differences(results, found)}")
            found = results
        return found

    def typical(self):
        return sorted(self.seconds[:3])[len(self.seconds[:3]) // 2]
