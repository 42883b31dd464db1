# SPDX-License-Identifier: BSD-2-Clause
"""Time off the CPU, and the GIL: a target whose threads account for themselves, and what each program reports. All
figures are shares of the elapsed time."""
import os
import re
import signal
import subprocess
import sys
import time

import harness as h
import measure
import plan
import profilers
from profiler import rival

sys.path.insert(0, os.path.join(h.ROOT, "tests", "truth"))
import test_waits  # noqa: E402

SECONDS, RATE = 6, 200
WAITS = ["in_sleep", "in_pipe", "in_socket", "in_lock", "in_condition", "in_queue"]
SPINS = ["spin_1", "spin_2"]
TARGETS = {False: plan.Workload("waits", "threads that wait", "waits.py"),
           True: plan.Workload("waits-gil", "threads that wait, two that want the GIL", "waits.py", "gil")}


def names(frames):
    return {f.split(" (")[0].rpartition(".")[2] for f in frames}


class Seen:
    """Shares by function of the observed time: off the CPU; waiting for the GIL; holding it."""

    def __init__(self, off=None, gil=None, held=None):
        self.off, self.gil, self.held = off or {}, gil or {}, held or {}


def krait(python, pid, out):
    line = [h.KRAIT, "record", "-q", "--stats", "--max-loss", "100", *h.PYTHON_ONLY, "--off-cpu", "-F", "997",
            "-p", str(pid), "-d", "%ds" % SECONDS, "-o", out + ".script", "-o", out + ".folded"]
    return line, out


def read_krait(out, text):
    stats = h.parse_stats(text)
    ns = stats["seconds"] * 1e9
    seen = Seen()
    for _, _, length, stack in test_waits.waits(out + ".script"):
        for name in names(stack) & set(WAITS):
            seen.off[name] = seen.off.get(name, 0) + length / ns
        for name in names(stack) & set(SPINS) if stack[0] == "[gil]" else ():
            seen.gil[name] = seen.gil.get(name, 0) + length / ns
    for frames, count in h.parse_folded(out + ".folded"):
        for name in names(frames) & set(SPINS):
            seen.held[name] = seen.held.get(name, 0) + count / 997 / stats["seconds"]
    return seen


def sampling(mode):
    def command(python, pid, out):
        return python.command("-m", "profiling.sampling", "attach", "--all-threads", "--no-gc", "--mode", mode, "-r",
                              str(RATE), "-d", str(SECONDS), "--collapsed", "-o", python.inside(out), str(pid)), out

    def read(out, text):
        took = float(re.search(r"Captured [\d,.]+ samples? in ([\d,.]+) second", text)[1].replace(",", ""))
        looks = float(re.search(r"Captured ([\d,]+) samples?", text)[1].replace(",", ""))
        return of_samples(out, looks or took * RATE, mode == "gil")
    return command, read


def pyspy(*options):
    def command(python, pid, out):
        return [rival("py-spy", "py-spy")[0], "record", "-f", "raw", *options, "-r", str(RATE), "-d", str(SECONDS), "-o",
                out, "-p", str(pid)], out

    def read(out, text):
        return of_samples(out, SECONDS * RATE, "--gil" in options)
    return command, read


def of_samples(out, looks, gil):
    """Each look sees each thread at most once."""
    seen = Seen()
    for frames, count in h.parse_folded(out):
        parts = [re.sub(r":-?\d+$", "", f).rpartition(":")[2] if ".py:" in f and " (" not in f else f for f in frames]
        for name in names(parts) & set(WAITS + SPINS):
            kind = seen.held if gil else seen.off
            kind[name] = kind.get(name, 0) + count / looks
    return seen


TOOLS = {
    "krait --off-cpu": (krait, read_krait),
    "profiling.sampling --mode wall": sampling("wall"),
    "profiling.sampling --mode gil": sampling("gil"),
    "py-spy --idle": pyspy("--idle"),
    "py-spy": pyspy(),
    "py-spy --gil": pyspy("--gil"),
}


def look(job, python, tool):
    """Returns (the target's own account, the program's report), both for the same period."""
    command, read = tool
    line, out = command(python, job.pid, job.folder + "/out")
    before, began = job.pairs.tolist(), time.monotonic()
    done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace",
                          timeout=SECONDS + 60)
    after, ns = job.pairs.tolist(), (time.monotonic() - began) * 1e9
    shares = [(b - a) / ns for a, b in zip(before, after)]
    count = len(WAITS)
    truth = Seen(dict(zip(WAITS, shares[0:2 * count:2])), dict(zip(SPINS, shares[2 * count::2])),
                 dict(zip(SPINS, shares[2 * count + 1::2])))
    return truth, read(out, done.stdout + done.stderr)


def percent(seen, name):
    return "%.1f" % (100 * seen[name]) if name in seen else "-"


def rows_of(title, kind, functions, found):
    """One row per function: each program's figure, followed by the truth for the same seconds."""
    for function in functions:
        cells = []
        for truth, seen in found.values():
            mine, own = getattr(seen, kind), getattr(truth, kind)
            cells.append("%s / %s" % (percent(mine, function), percent(own, function)) if mine else "-")
        yield [title % function] + cells


def run(pythons, say):
    """Returns (head, rows, notes)."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    python = next((p for p in pythons if p.minor == "3.15" and p.kind == "exe"), None)
    if not python:
        return [], [], ["no Python 3.15 (scripts/pythons)"]
    notes = ["perf's --off-cpu: left out: Debian's perf is built without it"]
    rows = []
    for gil in (False, True):
        found = {}
        for name, tool in TOOLS.items():
            if "py-spy" in name and not rival("py-spy", "py-spy")[0]:
                found[name] = (Seen(), Seen())
                notes.append("%s: left out: %s" % (name, rival("py-spy", "py-spy")[1]))
                continue
            say("%s%s" % (name, " with spinners" if gil else ""))
            job = measure.Job(python, TARGETS[gil], profilers.Krait())
            try:
                found[name] = look(job, python, tool)
            except (OSError, ValueError, KeyError, TypeError, subprocess.TimeoutExpired) as error:
                found[name] = (Seen(), Seen())
                notes.append("%s: failed: %s" % (name, str(error)[-120:]))
            finally:
                job.stop()
        suffix = ", beside two that want the GIL" if gil else ""
        rows += rows_of("%s waits" + suffix, "off", WAITS, found)
        if gil:
            rows += rows_of("%s waits for the GIL", "gil", SPINS, found)
            rows += rows_of("%s has the GIL / is on a CPU with it", "held", SPINS, found)
    return ["percent: said / true"] + list(TOOLS), rows, notes
