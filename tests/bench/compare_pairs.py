# SPDX-License-Identifier: BSD-2-Clause
"""krait beside another build of it, on equal targets, at the same time: what a sample costs in the kernel, in krait, and in its
file, and how much memory krait has. Each round both begin anew and have the other's target, so that neither the place nor what
the machine does meanwhile decides."""
import contextlib
import os
import re
import signal
import statistics
import subprocess
import time

import compare_unwinding
import harness as h
import measure
import plan
import profilers

RATE = 997
SECONDS, SETTLE_SECS, ROUNDS = 2.5, 1.5, 6
DEPTHS = (10, 30, 900)
MINORS = ("3.15", "3.11")
# The names of the kernel's code are read when the first sample in it comes, which takes 40 to 50 ms of CPU time, ten times as
# much as all else in a round: in which of the rounds that falls is chance.
OPTIONS = ("-q", "--no-native", "--no-kernel", "-F", str(RATE))
HEAD = ["target", "what", "before", "now", "ratio", "ratio of each round"]


class Build:
    """One of the two, while it records."""

    def __init__(self, krait, folder, pid):
        self.path = os.path.join(folder, "x.data")
        self.pid = pid
        self.process = subprocess.Popen([krait, "record", *OPTIONS, "-o", self.path, "-p", str(pid)],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def wait(self):
        h.wait_until(lambda: h.is_sampling(self.process), self.process)

    def read(self):
        """CPU seconds: of the target, of the programs in the kernel, of krait's processes."""
        own = self.process.pid
        return measure.cpu_of(self.pid), measure.bpf_seconds(own), measure.family_cpu(own), os.path.getsize(self.path)

    def memory(self):
        """MiB of krait and its helpers: their share of what they share, and what is theirs alone."""
        texts = [measure.proc_text(p, "smaps_rollup") for p in measure.family(self.process.pid)]
        return [sum(int(kib) for text in texts for kib in re.findall(r"^%s:\s+(\d+)" % name, text, re.M)) / 1024
                for name in ("Pss", "Private_(?:Clean|Dirty)")]

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(timeout=h.PATIENCE_SECS)
        finally:
            self.process.kill()


def costs(before, after, memory):
    """By name: what one of them took for each sample, and its memory."""
    target, bpf, own, size = (b - a for a, b in zip(before, after))
    samples = RATE * target
    return {"programs, us a sample": 1e6 * bpf / samples, "krait, us a sample": 1e6 * own / samples,
            "memory (PSS), MiB": memory[0], "memory of its own, MiB": memory[1], "file, bytes a sample": size / samples}


def one_round(builds, pids):
    """[costs of each], while both record."""
    with contextlib.ExitStack() as stack:
        runs = []
        for krait, pid in zip(builds, pids):
            run = Build(krait, stack.enter_context(compare_unwinding.scratch()), pid)
            stack.callback(run.end)
            runs.append(run)
        for run in runs:
            run.wait()
        time.sleep(SETTLE_SECS)
        before = [run.read() for run in runs]
        time.sleep(SECONDS)
        after = [run.read() for run in runs]
        return [costs(a, b, run.memory()) for run, a, b in zip(runs, before, after)]


@contextlib.contextmanager
def target(python, depth):
    job = measure.Job(python, plan.Workload("deep", "", "deep.py", str(depth)), profilers.Krait())
    try:
        yield job
    finally:
        job.stop()


def rounds(python, depth, builds):
    """[(costs of the build before, of this one)]"""
    with target(python, depth) as a, target(python, depth) as b:
        pids, found = [a.pid, b.pid], []
        for number in range(ROUNDS):
            # The build that begins first, and the target that it has, change apart from each other.
            turned = number % 4 in (1, 2)
            order = builds[::-1] if number % 2 else builds
            got = one_round(order, pids[::-1] if turned else pids)
            found.append(got[::-1] if number % 2 else got)
        return found


def rows(python, depth, builds, say):
    what = "%s, depth %d" % (python.name, depth)
    found = rounds(python, depth, builds)
    for name in found[0][0]:
        before, now = ([one[which][name] for one in found] for which in (0, 1))
        medians = statistics.median(before), statistics.median(now)
        ratios = [b / a for a, b in zip(before, now)]
        yield [what, name, "%.2f" % medians[0], "%.2f" % medians[1], "%.2f" % statistics.median(ratios),
               "%.2f to %.2f" % (min(ratios), max(ratios))]
        say("; ".join([what, name, "%.2f : %.2f (%.2f)" % (*medians, statistics.median(ratios))]))


def run(pythons, say, only=("",), before=None):
    """(head, rows, notes). before: the other build's executable. only: parts of names of targets."""
    if not before:
        raise SystemExit("krait: bench: --what pairs needs the other build: --before KRAIT")
    found = [p for p in (next((p for p in pythons if p.minor == minor), None) for minor in MINORS) if p]
    table = []
    with compare_unwinding.counted():
        for python in found:
            for depth in DEPTHS:
                if any(part in "%s, depth %d" % (python.name, depth) for part in only):
                    table += rows(python, depth, [before, h.KRAIT], say)
    return HEAD, table, [
        "before: `%s`; both at once, each on a target of its own, which they exchange: %d rounds of %g s at %d Hz, `%s`; medians, "
        "ratios of pairs" % (before, ROUNDS, SECONDS, RATE, " ".join(OPTIONS[1:3])),
        "programs' run time by the kernel's statistics, with what ticks that hit others cost, for each tick that the target's "
        "CPU time has"]
