# SPDX-License-Identifier: BSD-2-Clause
"""Native stacks: how many reach the thread's start, and how many contain the C code that must be there, by
interpreter (callbacks from C into Python, tests/targets/callbacks.py) and by library as PyPI ships it
(tests/targets/wheels.py)."""
import os
import re
import shutil
import signal
import tempfile

import harness as h
import measure
import profilers
import test_callbacks
import test_wheels

SECONDS, RATE = 1.5, 499
# With fewer samples, the table says so.
FEW = 200
MINORS = (("3.8", "shared"), ("3.9", "shared"), ("3.10", "shared"), ("3.11", "exe"), ("3.12", "shared"), ("3.13", "exe"),
          ("3.14", "exe"), ("3.15", "exe"))
TOOLS = (profilers.KraitNative, profilers.Otel, profilers.PySpyNative, profilers.PerfWithStacks, profilers.PerfDwarf)

# By the library's name, or by that of a function or source file, depending on what each one shows.
BETWEEN = {"qsort": r"libc\.so|libc-|qsort_r|msort", "sqlite": r"sqlite3"}


class Case:
    """A command line, and a judge of a stack's C code: True, False, or None if it cannot be told."""

    def __init__(self, name, command, judge):
        self.name, self.command, self.judge = name, command, judge


def judge_callbacks(stack, kinds=tuple(BETWEEN)):
    """Tells whether the C code between caller and callee is there; for kinds whose C code is in the interpreter it
    cannot be told."""
    for kind in kinds:
        frames = test_callbacks.between(stack, kind)
        if frames is not None:
            return any(re.search(BETWEEN[kind], f) for f in frames)
    return None


def judge_qsort(stack):
    """If sqlite3 is also in the interpreter."""
    return judge_callbacks(stack, ("qsort",))


def judge_library(pattern):
    def judge(stack):
        return any(re.search(pattern, f) for f in stack)
    return judge


def cases(pythons, notes):
    script = os.path.join(h.TARGETS, "callbacks.py")
    for minor, kind in MINORS:
        found = [p for p in pythons if (p.minor, p.kind) == (minor, kind)]
        if found:
            yield Case("callbacks, %s" % found[0].version, found[0].command(found[0].target("callbacks.py")),
                       judge_callbacks)
        else:
            notes.append("callbacks on %s: left out: no such interpreter" % minor)
    for case in test_wheels.CASES:
        why = test_wheels.why_missing(case)
        python = os.path.join(test_wheels.WHEELS, case.folder, "bin", "python3")
        if why:
            notes.append("%s: left out: %s" % (case.name, why))
        elif case.script == "callbacks.py":
            yield Case(case.name, [python, "-B", script], judge_qsort)
        else:
            yield Case(case.name, [python, "-B", os.path.join(h.TARGETS, case.script), case.name],
                       judge_library(case.frame))


def profile(tool, pid, folder):
    """Returns the Profile of a process that works for some seconds."""
    out = os.path.join(folder, "out")
    with tool.beside(out):
        run = measure.Attached(tool.command(None, pid, RATE, None, out), os.path.join(folder, "log"))
        try:
            measure.wait_for_start(tool, run)
            end = h.cpu_seconds(pid) + SECONDS
            h.wait_until(lambda: h.cpu_seconds(pid) >= end, run.process)
            measure.time.sleep(tool.tail)
            run.end(True)
        finally:
            run.kill()
        return tool.parse(out, run.text())


def cell(tool, case):
    """Returns the share of whole stacks, and the share of those with the right C code."""
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    try:
        with h.Target(case.command) as target:
            got = profile(tool, target.pid, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    verdicts = [(case.judge(frames), n) for frames, n in got.mixed or []]
    right, judged = sum(n for v, n in verdicts if v), sum(n for v, n in verdicts if v is not None)
    whole = "%.1f %%" % (100 * got.native[0] / got.native[1]) if got.native and got.native[1] else "-"
    if not got.delivered:
        return "no samples"
    few = " (of %d)" % got.delivered if got.delivered < FEW else ""
    return whole + "; " + ("%.1f %%" % (100 * right / judged) if judged else "-") + few


def run(pythons, say, only=("",)):
    """Returns (head, rows, notes)."""
    # Programs are ended with SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rows, notes, tools = [], [], []
    for tool in [kind() for kind in TOOLS]:
        if tool.available(pythons):
            tools.append(tool)
        else:
            notes.append("%s: left out: %s" % (tool.name, tool.why))
    for case in cases(pythons, notes):
        if not any(part in case.name for part in only):
            continue
        say(case.name)
        row = [case.name]
        for tool in tools:
            try:
                row.append(cell(tool, case))
            except (RuntimeError, OSError, ValueError) as error:
                row.append("failed")
                notes.append("%s on %s: %s" % (tool.name, case.name, str(error)[-120:]))
        rows.append(row)
        say("; ".join(row))
    return ["target"] + [t.name for t in tools], rows, notes
