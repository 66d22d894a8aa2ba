"""Checkpoints in which one digit or one byte is another one: all of them are refused."""
import random

import inputs
import place as places


def changed(content, draw):
    """The content with one digit changed, or in half of the cases one byte; and where."""
    digits = draw.random() < 0.5
    while True:
        at = draw.randrange(len(content))
        if digits and chr(content[at]).isdigit():
            other = draw.choice([digit for digit in b"0123456789" if digit != content[at]])
            break
        if not digits:
            other = draw.choice([byte for byte in range(256) if byte != content[at]])
            break
    return content[:at] + bytes([other]) + content[at + 1:], at


def study(options, program, folder, chosen):
    source = folder / "small"
    inputs.make(source, program)
    able = [job for job in chosen if job.checkpoint]
    each = -(-options.checkpoints // len(able))
    rows, wrong = [], []
    for job in able:
        draw = random.Random(f"{options.seed} checkpoints {job.name}")
        place = places.Place(folder / "checkpoint", source, job)
        args = [arg for arg in job.command() if arg != "--report"]
        # Half-way, where it is not all of the state of a run that has ended.
        code, _, talk = places.run(program, [*args, "--max-iterations", "6"], place.folder)
        content = (place.folder / "run.ckpt").read_bytes()
        refused = 0
        before = place.results()
        for _ in range(each):
            text, at = changed(content, draw)
            (place.folder / "run.ckpt").write_bytes(text)
            code, out, talk = places.run(program, job.command(resume=True), place.folder)
            if code == 1 and talk.startswith(b"collapsar: error: checkpoint: ") and not out:
                refused += 1
            else:
                wrong.append(f"{job.name}: byte {at} of {len(content)}: ended with {code}: {talk[-200:].decode(errors='replace')}")
            if place.results() != before or place.harmed() or place.strangers() or (place.folder / "run.ckpt").read_bytes() != text:
                wrong.append(f"{job.name}: byte {at}: files were changed")
        (place.folder / "run.ckpt").write_bytes(content)
        code, _, talk = places.run(program, job.command(resume=True), place.folder)
        if code != 0:
            wrong.append(f"{job.name}: unchanged, and ended with {code}: {talk.decode(errors='replace')}")
        rows.append([job.name, len(content), each, refused])
        print(*rows[-1], sep="\t", flush=True)
    rows.append(["all", "", sum(row[2] for row in rows), sum(row[3] for row in rows)])
    lines = ["| command | bytes | changed | refused |", "|---|--:|--:|--:|"]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n", wrong
