# SPDX-License-Identifier: BSD-2-Clause
"""The cost of native stacks: in the kernel per sample, as a share of a core, for reading how a new library's code is
unwound, and in memory for many processes of one application. Each figure has a limit beside it."""
import contextlib
import glob
import json
import os
import re
import resource
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

import harness as h
import measure
import test_wheels

RATE = 997
SECONDS, SETTLE_SECS, PAIRS = 1.5, 1.0, 5
# Enough levels for about 30 native frames.
FRAMES, PROBE_DEPTH = 30, 4
MINORS = ("3.11", "3.12", "3.13", "3.14", "3.15")
# How long the target works at the last level: several consecutive stacks are equal, or each differs.
STAYS, CHANGES = 200000, 400
EVERYTHING = ("--interpreter-frames", "--off-cpu", "--opcodes", "--task-names")
WAYS = (("the stack stays", STAYS, ()), ("the stack changes", CHANGES, ()), ("the stack changes, everything on", CHANGES, EVERYTHING))
# What each single option adds: measured only if requested by name.
ALONE = tuple(("the stack changes, " + option, CHANGES, (option,)) for option in EVERYTHING)
PROCESSES = 300
APPLICATION = "import asyncio, json, sqlite3, ssl, decimal, ctypes, time\nprint('READY', flush=True)\n" \
    "end = time.process_time() + .02\nwhile True:\n    time.sleep(0 if time.process_time() < end else .5)\n"
HEAD = ["what", "of", "median", "worst", "limit"]
STATS = "/proc/sys/kernel/bpf_stats_enabled"


@contextlib.contextmanager
def counted():
    """The kernel measures programs meanwhile."""
    with open(STATS, encoding="ascii") as f:
        before = f.read()
    try:
        write(STATS, "1")
        yield
    finally:
        write(STATS, before)


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


class Recording:
    """Records these processes, or all."""

    def __init__(self, folder, pids, options=()):
        self.process = subprocess.Popen(
            [h.KRAIT, "record", "-q", "--stats", "--max-loss", "100", "-F", str(RATE), "-o", os.path.join(folder, "x.data"),
             *options, *(["-p", ",".join(map(str, pids))] if pids else ["-a"])], stderr=subprocess.PIPE, encoding="utf-8")
        h.wait_until(lambda: h.is_sampling(self.process), self.process)
        time.sleep(SETTLE_SECS)

    def read(self):
        """Returns (CPU seconds of its processes, of its programs)."""
        return measure.family_cpu(self.process.pid), measure.bpf_seconds(self.process.pid)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        return h.parse_stats(self.process.communicate(timeout=h.PATIENCE_SECS)[1])

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


@contextlib.contextmanager
def recording(folder, pids, options=()):
    run = Recording(folder, pids, options)
    try:
        yield run
    finally:
        run.kill()


@contextlib.contextmanager
def scratch():
    folder = tempfile.mkdtemp(prefix="krait-bench-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


# ---- samples --------------------------------------------------------------------------------------


def window(run, pid):
    """Returns (seconds, the target's CPU seconds, krait's, its programs') of a period."""
    begin, cpu, (own, bpf) = time.monotonic(), measure.cpu_of(pid), run.read()
    time.sleep(SECONDS)
    own_after, bpf_after = run.read()
    return time.monotonic() - begin, measure.cpu_of(pid) - cpu, own_after - own, bpf_after - bpf


def pair(run, pid):
    """Compares a period in which the target runs with one in which it is stopped. Returns microseconds of programs
    per sample (minus the cost of interrupts in other processes), and the share of a core that krait and its
    programs take."""
    busy = window(run, pid)
    os.kill(pid, signal.SIGSTOP)
    still = window(run, pid)
    os.kill(pid, signal.SIGCONT)
    samples = RATE * busy[1]
    others = still[3] * busy[0] / still[0]
    alone = others / (RATE * busy[0] * os.cpu_count())
    return 1e6 * ((busy[3] - others) / samples + alone), 100 * (busy[2] + busy[3]) / busy[0]


def start(python, folder, depth, work):
    """Gives it a CPU of its own, if permitted, so that other work does not evict its caches."""
    shutil.copy(os.path.join(measure.HERE, "targets", "crossing.py"), folder)
    target = h.Target(python.command(python.inside(folder) + "/crossing.py", str(depth), str(work)))
    with contextlib.suppress(OSError):
        os.sched_setscheduler(target.pid, os.SCHED_RR, os.sched_param(1))
    return target


def frames_of(stats):
    return stats.get("native.frames", 0) / max(1, stats.get("native.samples", 0))


def depth_for(python, folder):
    """Returns how many levels have FRAMES native frames."""
    counts = []
    for depth in (0, PROBE_DEPTH):
        with start(python, folder, depth, STAYS) as target, recording(folder, [target.pid]) as run:
            counts.append(frames_of(run.end()))
    a_level = (counts[1] - counts[0]) / PROBE_DEPTH
    return max(0, round((FRAMES - counts[0]) / a_level)) if a_level > 0 else 0


def wanted_ways(python, only):
    """Single options only if a name requests them."""
    ways = WAYS + ALONE if any("--" in part for part in only) else WAYS
    return [way for way in ways if any(part in "%s, %s" % (python.name, way[0]) for part in only)]


def samples_rows(python, ways, say):
    folder = python.scratch()
    try:
        depth = depth_for(python, folder)
        for name, work, options in ways:
            say("%s, %s" % (python.name, name))
            with start(python, folder, depth, work) as target, recording(folder, [target.pid], options) as run:
                pairs = [pair(run, target.pid) for _ in range(PAIRS)]
                stats = run.end()
            what = "%s, %.0f native frames, %s" % (python.name, frames_of(stats), name)
            for title, values, unit, limit in (("programs, a sample", [p[0] for p in pairs], "us", 6),
                                               ("krait in all, of a core", [p[1] for p in pairs], "%", 1.5)):
                yield [title, what, "%.2f %s" % (statistics.median(values), unit), "%.2f" % max(values), "%g" % limit]
    finally:
        shutil.rmtree(folder)


# ---- files and processes --------------------------------------------------------------------------


def file_rows(notes):
    """Measures the largest libraries available."""
    found = glob.glob(os.path.join(test_wheels.WHEELS, "venv", "lib", "python3*", "site-packages", "pyarrow", "libarrow.so.*")) + \
        glob.glob(os.path.join(test_wheels.WHEELS, "venv", "lib", "python3*", "site-packages", "numpy.libs", "*openblas*"))
    paths = [p for p in found if os.path.isfile(p)]
    tool = os.path.join(h.BUILD, "tests", "bench", "rows_cost")
    if not paths or not os.path.exists(tool):
        notes.append("rows of a library: left out: " + ("no " + tool if paths else "no pyarrow (scripts/wheels)"))
        return
    out = subprocess.run([tool, *paths], capture_output=True, encoding="utf-8", check=True).stdout
    for path, line in zip(paths, out.splitlines()):
        ms, rows, size, whole = (float(word) for word in line.split())
        a_40 = ms * 40e6 / whole
        yield ["rows of a new library", "%s, %.0f MB, %d rows" % (os.path.basename(path), whole / 1e6, rows), "%.0f ms" % ms,
               "%.0f for 40 MB" % a_40, "150"]
        yield ["bytes a row", os.path.basename(path), "%.2f" % (size / rows), "", "6"]


def maps_mib(pid):
    """Returns MiB of its maps in the kernel."""
    found = {}
    for fd in os.listdir("/proc/%d/fdinfo" % pid):
        info = dict(re.findall(r"^(\w+):\s+(\d+)$", measure.proc_text(pid, "fdinfo/" + fd), re.M))
        if "map_id" in info:
            found[info["map_id"]] = int(info.get("memlock", 0)) / 2**20
    return sum(found.values())


def slabs_mib():
    """Returns MiB of the maps that hold pieces of unwind tables, over all kraits: nobody holds descriptors of
    those."""
    out = subprocess.run(["bpftool", "-j", "map", "list"], capture_output=True, encoding="utf-8", check=True).stdout
    return sum(m.get("bytes_memlock", 0) for m in json.loads(out) if m.get("name") == "unwind_slab") / 2**20


def slabs_left_mib():
    """Likewise, once the kernel has freed those of kraits that have ended, which takes a moment."""
    last, now = None, slabs_mib()
    for _ in range(20):
        if now in (0, last):
            break
        time.sleep(.5)
        last, now = now, slabs_mib()
    return now


def own_mib(pid):
    return sum(int(m[1]) for m in (re.search(r"^Pss:\s+(\d+)", measure.proc_text(p, "smaps_rollup"), re.M)
                                   for p in measure.family(pid)) if m) / 1024


def memory(python, count):
    """Returns MiB of krait's processes, of its maps, and of unwind tables, for so many processes of one
    application."""
    before = slabs_left_mib()
    with contextlib.ExitStack() as stack, scratch() as folder:
        for _ in range(count):
            stack.enter_context(h.Target(python.command("-c", APPLICATION)))
        # More than -p accepts.
        with recording(folder, []) as run:
            time.sleep(2 * SECONDS)
            return own_mib(run.process.pid), maps_mib(run.process.pid), slabs_mib() - before


def memory_rows(python, say):
    one = memory(python, 1)
    say("%d processes" % PROCESSES)
    many = memory(python, PROCESSES)
    for name, few, all_of in zip(("krait's processes", "its maps in the kernel", "tables"), one, many):
        yield ["memory, " + name, "%s, 1 and %d processes" % (python.name, PROCESSES), "%.1f and %.1f MiB" % (few, all_of), "", ""]
    yield ["memory for %d processes" % PROCESSES, "what they have more than one", "%.1f MiB" % (sum(many) - sum(one)), "", "48"]


def run(pythons, say, only=("",)):
    """Returns (head, rows, notes). only: parts of names: of "INTERPRETER, WAY", "library" or "processes"."""
    rows, notes = [], ["programs' run time by the kernel's statistics, which add some 30 ns to each run; %d pairs of %g s" % (
        PAIRS, SECONDS)]
    # Each target has a pipe here.
    resource.setrlimit(resource.RLIMIT_NOFILE, (8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    found = [p for p in (next((p for p in pythons if p.minor == minor), None) for minor in MINORS) if p]
    def keep(more):
        # A later failure must not lose finished rows.
        for row in more:
            say("; ".join(row))
            rows.append(row)

    with counted():
        for python in found:
            ways = wanted_ways(python, only)
            keep(samples_rows(python, ways, say) if ways else [])
    if any(part in "library" for part in only):
        keep(file_rows(notes))
    if any(part in "processes" for part in only):
        keep(memory_rows(found[0], say))
    return HEAD, rows, notes
