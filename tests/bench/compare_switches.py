# SPDX-License-Identifier: BSD-2-Clause
"""The cost of record --off-cpu at a switch: run time and count of its programs in the kernel's own statistics, minus
those of an empty program; and the additional CPU time of the target per switch, with the statistics off."""
import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

import harness as h
import measure
import profilers

SECONDS, SETTLE_SECS, PAIRS = 1.5, 1.0, 5
STATS = "/proc/sys/kernel/bpf_stats_enabled"
DECIDES, TAKES = "switch_threads", "arrival_"
RATES, DEPTHS = (1000, 20000, 100000, 300000), (10, 100, 900)
EMPTY = """struct task_struct;
__attribute__((section("tp_btf/sched_switch"), used)) int empty_switch(unsigned long long *ctx) { return 0; }
__attribute__((section("license"), used)) char LICENSE[] = "GPL";
"""


class Library:
    """handover.c, and an empty program, as files."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="krait-switches-")
        source = os.path.join(measure.HERE, "targets", "handover.c")
        self.path = os.path.join(self.folder, "handover.so")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", self.path, source], check=True)
        self.loader = os.path.join(self.folder, "nothing")
        subprocess.run(["cc", "-O2", "-o", self.loader, os.path.join(measure.HERE, "targets", "nothing.c"), "-lbpf"],
                       check=True)
        self.empty = os.path.join(self.folder, "empty.o")
        subprocess.run(["clang", "-O2", "-g", "-target", "bpf", "-c", "-x", "c", "-", "-o", self.empty], input=EMPTY,
                       encoding="utf-8", check=True)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        shutil.rmtree(self.folder, ignore_errors=True)


class Job:
    def __init__(self, python, library, kind, depth, rate):
        self.folder = python.scratch()
        for name in ("switches.py", "work.py"):
            shutil.copy(os.path.join(measure.HERE, "targets", name), self.folder)
        shutil.copy(library.path, self.folder)
        self.work = os.path.join(self.folder, "work")
        with open(self.work, "wb") as f:
            f.write(bytes(4096))
        env = dict(os.environ, KRAIT_BENCH_WORK=python.inside(self.work))
        inside = python.inside(self.folder)
        self.target = h.Target(python.command(inside + "/switches.py", inside + "/handover.so", kind, str(depth),
                                              str(rate)), env)
        self.pid = self.target.pid

    def read(self):
        """Returns (now, CPU seconds, switches) so far."""
        with open(self.work, "rb") as f:
            turns = int.from_bytes(f.read(8), "little")
        return time.monotonic(), measure.cpu_of(self.pid), 2 * turns

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.target.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Krait:
    """A recording of that process until the end."""

    def __init__(self, pid, *options):
        self.run = subprocess.Popen([h.KRAIT, "record", "-q", "--off-cpu", *h.PYTHON_ONLY, *options, "-f", "folded", "-o",
                                     "/dev/null", "-p", str(pid)], stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.pid = self.run.pid
        time.sleep(SETTLE_SECS)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.run.send_signal(signal.SIGINT)
        try:
            self.run.wait(20)
        except subprocess.TimeoutExpired:
            self.run.kill()
            self.run.wait()


def programs(held):
    """Returns {name: (ns, runs)} of the programs that a process holds."""
    out = subprocess.run(["bpftool", "-j", "prog"], capture_output=True, encoding="utf-8",
                         env=dict(os.environ, PATH=os.environ["PATH"] + ":/usr/sbin"))
    ids = {int(x["prog_id"]) for x in fdinfo(held) if "prog_id" in x}
    return {p.get("name", "?"): (p.get("run_time_ns", 0), p.get("run_cnt", 0)) for p in json.loads(out.stdout)
            if p["id"] in ids}


def fdinfo(pid):
    for fd in os.listdir("/proc/%d/fdinfo" % pid):
        text = measure.proc_text(pid, "fdinfo/" + fd)
        yield dict(line.split(None, 1) for line in text.replace(":", "").splitlines() if len(line.split(None, 1)) == 2)


def stats_on(on):
    with open(STATS, "w", encoding="ascii") as f:
        f.write("1" if on else "0")


def spent(before, after, part):
    """Returns (ns, runs) of the programs with that part in their names."""
    found = [(after[n][0] - before[n][0], after[n][1] - before[n][1]) for n in after if part in n and n in before]
    return sum(ns for ns, _ in found), sum(runs for _, runs in found)


@contextlib.contextmanager
def doing_nothing(library):
    """Returns the pid of a process that holds an empty program at the same switches in the same seconds: its
    statistics are the cost of measuring."""
    with h.Target([library.loader, library.empty]) as loader:
        yield loader.pid


def look(python, library, kind, depth, rate, *options):
    """Returns a row's cells."""
    with Job(python, library, kind, depth, rate) as job:
        stats_on(True)
        with doing_nothing(library) as idler, Krait(job.pid, *options) as krait:
            before, floor, began = programs(krait.pid), programs(idler), job.read()
            time.sleep(SECONDS)
            after, ended = programs(krait.pid), job.read()
            ns, calls = spent(floor, programs(idler), "empty_switch")
        stats_on(False)
        nothing = ns / max(1, calls)
    seconds, cpu, switches = (b - a for a, b in zip(began, ended))
    (decides, runs), (takes, arrivals) = (spent(before, after, part) for part in (DECIDES, TAKES))
    beyond = decides + takes - nothing * (runs + arrivals)
    return ["%.0f" % (switches / seconds), "%.0f" % (runs / seconds), "%.0f ns" % nothing,
            "%.0f ns" % (decides / max(1, runs)), "%.0f ns" % (takes / max(1, arrivals)),
            "%.2f %%" % (beyond / seconds / 1e7), "%.2f %%" % (beyond / 1e7 / cpu) if cpu else "-"]


def cpu_of_a_switch(python, library, kind):
    """Returns (alone, the additional cost beside a recording) in ns of the target's CPU time: alternating pairs,
    medians."""
    alone, more = [], []
    stats_on(False)
    with Job(python, library, kind, 10, 0) as job:
        def stretch():
            began = job.read()
            time.sleep(SECONDS / 3)
            _, cpu, switches = (b - a for a, b in zip(began, job.read()))
            return cpu * 1e9 / max(1, switches)
        for _ in range(PAIRS):
            before = stretch()
            with Krait(job.pid):
                beside = stretch()
            alone.append((before + stretch()) / 2)
            more.append(beside - alone[-1])
    return statistics.median(alone), statistics.median(more)


def run(pythons, say):
    """Returns (head, rows, notes)."""
    rows, notes = [], []
    found = {p.minor: p for p in pythons if p.kind == "exe" or p.minor not in ("3.13", "3.15")}
    with Library() as library, open(STATS, encoding="ascii") as f:
        was = f.read()
        try:
            for minor, options, depths, rates in (
                    ("3.13", (), (10,), RATES), ("3.13", (), DEPTHS[1:], RATES[:3]), ("3.15", (), DEPTHS, RATES[:3]),
                    ("3.15", ("--anchors", "off"), DEPTHS, RATES[:3])):
                for depth in depths if minor in found else ():
                    for rate in rates:
                        say("%s %s, depth %d, %d switches a second" % (minor, " ".join(options), depth, rate))
                        rows.append(["%s%s, depth %d, %d" % (minor, ", anchors off" if options else "", depth, rate)] +
                                    look(found[minor], library, "pipe", depth, rate, *options))
            for kind in ("pipe", "yield"):
                say("as many as there can be: " + kind)
                rows.append(["3.13, depth 10, all that a CPU can do: " + kind] +
                            look(found["3.13"], library, kind, 10, 0))
                alone, more = cpu_of_a_switch(found["3.13"], library, kind)
                notes.append("%s, as many as there can be, by the target's CPU time, medians of %d pairs without the "
                             "kernel's statistics: %.0f ns a switch alone, %+.0f ns beside a recording" % (
                                 kind, PAIRS, alone, more))
        finally:
            stats_on(was.strip() == "1")
    return ["Python, switches wanted a second", "switches of the target", "of the machine", "a program that does nothing",
            "decides", "takes", "of a CPU", "of the target's CPU"], rows, notes
