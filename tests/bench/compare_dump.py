# SPDX-License-Identifier: BSD-2-Clause
"""Looking once: for each program that prints a process's stacks, how long it takes, how right it is, and for how long
the process stands still. The target has 50 waiting threads and one that never waits."""
import json
import os
import re
import shutil
import statistics
import subprocess
import time

import measure
import plan
import profilers
from profiler import rival
import harness as h

COUNT, ROUNDS = 50, 5
TARGET = plan.Workload("fifty", "50 threads that wait, one that never does", "fifty.py", str(COUNT))
WATCHER = [["left", "watch", "main"], ["right", "watch", "main"], ["watch", "main"], ["main"]]
PATIENCE_SECS = 60


def of_json(text):
    """Threads of a JSON dump: [names, innermost first]. krait's dump has them by process."""
    document = json.loads(text)
    threads = document[0]["threads"] if "threads" in document[0] else document
    return [[f["name"] for f in t["frames"] or []] for t in threads]


def of_text(thread, frame, step=1):
    """Threads of a text: a line matching thread begins one, a line matching frame has a name; step -1 if the
    outermost comes first."""
    def parse(text):
        found = []
        for line in text.splitlines():
            if re.search(thread, line):
                found.append([])
            else:
                name = re.search(frame, line)
                if name and found:
                    found[-1].append(name[1])
        return [names[::step] for names in found]
    return parse


def tools(python):
    """Returns [(name, command for a pid, parser, why not)]."""
    pyspy, why = rival("py-spy", "py-spy")
    gdb = shutil.which("gdb")
    yield "krait dump", lambda pid: [h.KRAIT, "dump", "--json", pid], of_json, ""
    yield "krait dump --locals", lambda pid: [h.KRAIT, "dump", "--json", "--locals", pid], of_json, ""
    yield "krait dump --locals --native", lambda pid: [h.KRAIT, "dump", "--json", "--locals", "--native", pid], \
        of_json, "" if "--native" in h.run_krait("dump", "--help").stdout else "this krait has no --native"
    yield "py-spy dump", lambda pid: [pyspy, "dump", "--json", "-p", pid], of_json, why
    yield "py-spy dump --locals --native", lambda pid: [pyspy, "dump", "--json", "--locals", "--native", "-p", pid], \
        of_json, why
    yield "py-spy dump --nonblocking", lambda pid: [pyspy, "dump", "--json", "--nonblocking", "-p", pid], \
        of_json, why
    sampling = "" if python.minor == "3.15" else "it looks at its own version only, 3.15"
    for option in ((), ("--blocking",)):
        yield " ".join(("profiling.sampling dump -a",) + option), lambda pid, option=option: python.command(
            "-m", "profiling.sampling", "dump", "-a", *option, pid), of_text(r"^Stack dump", r'File ".*", line \d+, in (\S+)', -1), sampling
    script = python.path + "-gdb.py"
    why = "no gdb" if not gdb else "" if os.path.exists(script) else "no debug information of this interpreter"
    yield "gdb py-bt", lambda pid: [gdb, "-batch", "-nx", "-ex", "source " + script, "-ex", "thread apply all py-bt",
                                    "-p", pid], of_text(r"^Thread \d+", r'File ".*", line \d+, in (\S+)'), why


def is_right(names):
    """Returns True, False, or None if nothing was reported."""
    names = [n for n in names if re.fullmatch(r"(wait|step)_\d+|left|right|watch|main", n)]
    if not names:
        return None
    if names in WATCHER:
        return True
    number = names[0].rpartition("_")[2]
    return names == ["wait_" + number] + ["step_" + number] * 9


def look(job, command, parse):
    """Makes one dump. Returns seconds, CPU seconds, the longest time that the target stood still, (right, wrong,
    missing)."""
    job.pairs[0] = 0
    before, began = os.times(), time.monotonic()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace",
                          timeout=PATIENCE_SECS)
    took, after = time.monotonic() - began, os.times()
    still = job.pairs[0]
    try:
        verdicts = [is_right(names) for names in parse(done.stdout)]
    except (ValueError, KeyError, IndexError, TypeError):
        verdicts = []
    right, wrong = verdicts.count(True), verdicts.count(False)
    return {"took": took, "cpu": after[2] + after[3] - before[2] - before[3], "still": still / 1e9, "right": right,
            "wrong": wrong, "missing": max(0, COUNT + 1 - right - wrong), "said": (done.stderr or done.stdout)[-200:]}


def alone(job, seconds):
    """Returns the longest time that the target stands still without any observer."""
    job.pairs[0] = 0
    time.sleep(seconds)
    return job.pairs[0] / 1e9


def row(python, name, looks, quiet):
    total = sum(x["right"] + x["wrong"] + x["missing"] for x in looks)

    def median(key):
        return 1000 * statistics.median(x[key] for x in looks)

    return ["%s, %s" % (name, python.version), "%.0f" % median("took"), "%.0f" % median("cpu"),
            "%d of %d" % (sum(x["right"] for x in looks), total), "%d" % sum(x["wrong"] for x in looks),
            "%d" % sum(x["missing"] for x in looks), "%.1f" % median("still"),
            "%.1f" % (1000 * statistics.median(quiet))]


HEAD = ["program, Python", "ms", "CPU ms", "threads right", "wrong", "without a stack", "stood still ms", "unobserved ms"]


def run(pythons, say):
    """Returns (head, rows, notes)."""
    rows, notes = [], []
    chosen = [next((p for p in pythons if p.minor == "3.15" and p.kind == "exe"), None),
              next((p for p in pythons if p.minor == "3.13" and os.path.exists(p.path + "-gdb.py")), None)]
    for python in filter(None, chosen):
        job = measure.Job(python, TARGET, profilers.Krait())
        try:
            # Otherwise a short stop would be lost among other programs' effects.
            os.setpriority(os.PRIO_PROCESS, job.pid, -20)
            for name, command, parse, why in tools(python):
                if why:
                    notes.append("%s, %s: left out: %s" % (name, python.version, why))
                    continue
                say("%s on %s" % (name, python.version))
                looks, quiet = [], []
                for _ in range(ROUNDS):
                    looks.append(look(job, command(str(job.pid)), parse))
                    quiet.append(alone(job, looks[-1]["took"]))
                rows.append(row(python, name, looks, quiet))
                if not looks[-1]["right"]:
                    notes.append("%s, %s: %s" % (name, python.version, looks[-1]["said"].strip()[-160:]))
        finally:
            job.stop()
    return HEAD, rows, notes
