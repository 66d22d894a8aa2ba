"""How soon a run answers that is asked to end, and how soon it ends, at random moments of commands with large inputs."""
import os
import random
import re
import select
import shutil
import signal
import subprocess
import time

import inputs
import place as places

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
WANTED = 1.0


def ask(program, folder, job, number, moment):
    """Seconds from the signal to the first word or the end, to the end, the exit code, and what was said from the signal on; nothing
    where the run had ended before."""
    process = places.start(program, [arg for arg in job.command() if arg != "--quiet"], folder, stdout=subprocess.DEVNULL)
    time.sleep(moment)
    if process.poll() is not None:
        process.communicate()
        return None
    talk, heard = process.stderr.fileno(), select.poll()
    heard.register(talk, select.POLLIN | select.POLLHUP)
    # What was said before is no answer.
    while heard.poll(0):
        if not os.read(talk, 65536):
            break
    listening = places.listens(process, number)
    began = time.monotonic()
    process.send_signal(number)
    heard.poll(places.SECONDS * 1000)
    answered = time.monotonic() - began
    code, _, said = places.finish(process)
    # Before it listens, a signal ends the program as it ends any other.
    early = code == -number and not listening
    return answered, time.monotonic() - began, 130 if early else code, said.decode(errors="replace")


def study(options, program, folder, chosen):
    source = folder / "large"
    inputs.make(source, program, large=True)
    each = -(-options.interrupts // len(chosen))
    rows, wrong, every, spoken = [], [], [], []
    for job in chosen:
        draw = random.Random(f"{options.seed} interrupts {job.name}")
        here = folder / "interrupt"
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir()
        (here / "in").symlink_to(source)
        began = time.monotonic()
        code, _, talk = places.run(program, job.command(), here, stdout=subprocess.DEVNULL)
        length = time.monotonic() - began
        if code not in job.codes:
            wrong.append(f"{job.name}: ended with {code}: {talk[-300:].decode(errors='replace')}")
            continue
        waits, words, listening, tries = [], [], 0, 0
        while len(waits) < each and tries < 20 * each:
            tries += 1
            number, moment = SIGNALS[len(waits) % 3], draw.random() * length
            answer = ask(program, here, job, number, moment)
            if answer is None:
                continue
            word, wait, code, talk = answer
            words.append(word)
            waits.append(wait)
            listening += "stopping after this step" in talk
            what = f"{job.name}: {number.name} after {moment:.3f} s of {length:.2f}"
            if code != 130:
                wrong.append(f"{what}: ended with {code} after {wait:.3f} s")
            if places.panicked(code, talk.encode()):
                wrong.append(f"{what}: {talk[-300:]}")
            if word > WANTED:
                last = re.sub(r"\s+", " ", talk)[-160:]
                wrong.append(f"{what}: answered after {word:.2f} s ({last})")
            # What is left by one is what the next begins with, as for a user.
        every += waits
        spoken += words
        waits.sort()
        words.sort()
        rows.append([job.name, f"{length:.1f}", len(waits), len(waits) - listening, listening,
                     f"{1000 * words[-1]:.0f}",
                     f"{1000 * waits[len(waits) // 2]:.0f}", f"{1000 * waits[-1]:.0f}"])
        print(*rows[-1], sep="\t", flush=True)
    shutil.rmtree(folder / "interrupt", ignore_errors=True)
    shutil.rmtree(source, ignore_errors=True)
    every.sort()
    within, ended = (sum(wait <= WANTED for wait in all_waits) for all_waits in (spoken, every))
    rows.append(["all", "", len(every), sum(row[3] for row in rows), sum(row[4] for row in rows),
                 f"{1000 * max(spoken):.0f}", f"{1000 * every[len(every) // 2]:.0f}", f"{1000 * every[-1]:.0f}"])
    text = (f"{within} of {len(every)} were answered within a second ({100 * within / len(every):.1f}%), by the end of the program or by "
            f"saying that it stops after the present step and keeps what was reached; {ended} had ended by then.\n\n")
    return text + table(rows), wrong


def table(rows):
    head = ["command", "seconds", "interrupts", "ended at once", "kept what was reached", "answered, longest ms", "ended, median ms", "ended, longest ms"]
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"
