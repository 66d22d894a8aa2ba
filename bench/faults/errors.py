"""Calls that fail one after the other, as on a full or a broken disk, by strace."""
import random
import shutil

import kills
import place as places

# Those that put something on a disk. What removes files may leave them for the next run.
CALLS = {"rename", "renameat", "renameat2", "mkdir", "mkdirat", "fsync", "fdatasync", "write", "ftruncate"}


def study(options, program, folder, chosen):
    import inputs
    source = folder / "small"
    inputs.make(source, program)
    rows, wrong = [], []
    each = -(-options.errors // len(chosen))
    for job in chosen:
        draw = random.Random(f"{options.seed} errors {job.name}")
        reference = places.Reference(program, folder, source, job, timed=1)
        tally = kills.Tally()
        place = places.Place(folder / "error", source, job, reference.earlier)
        _, _, lines = kills.traced(program, place, job.command())
        calls = kills.main_calls(lines)
        numbers = [number for number in kills.chosen(calls, 2 * each, draw) if calls[number - 1] in CALLS]
        draw.shuffle(numbers)
        failed = 0
        for number in numbers[:each]:
            place = places.Place(folder / "error", source, job, reference.earlier)
            error = draw.choice(["ENOSPC", "EIO", "EDQUOT"])
            rule = f"inject={kills.CALLS}:error={error}:when={number}"
            code, talk, lines = kills.traced(program, place, job.command(), rule)
            met = next((line for line in lines if "(INJECTED)" in line), "")[:150]
            tally.kills += 1
            failed += code == 1
            how = f"{error} at call {number} ({met})"
            # To standard error nobody hears what is wrong.
            heard = " write(2," not in met
            if code not in (0, 1) or (code == 1 and heard and b"collapsar: error: " not in talk):
                tally.note(f"{how}: ended with {code}: {talk[-200:].decode(errors='replace')}")
            # What is renamed and then cannot be told of is there; else all is as it was.
            if place.strangers():
                tally.note(f"{how}: left {place.strangers()}")
            if code == 0 and places.differences(place.results(), reference.results):
                tally.note(f"{how}: ended with 0 and other {places.differences(place.results(), reference.results)}")
            kills.after(program, place, reference, tally, how, code, talk)
        rows.append([job.name, tally.kills, failed, tally.kills - failed, len(tally.wrong)])
        print(*rows[-1], *tally.wrong[:3], sep="\t", flush=True)
        wrong += [f"{job.name}: {what}" for what in tally.wrong]
    shutil.rmtree(folder / "error", ignore_errors=True)
    rows.append(["all", *(sum(row[column] for row in rows) for column in range(1, 5))])
    head = ["command", "calls failed", "ended with a sentence", "went on", "wrong"]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n", wrong
