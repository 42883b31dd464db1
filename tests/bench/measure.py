# SPDX-License-Identifier: BSD-2-Clause
"""One run: a target works alone, then beside a profiler, then alone again.

The target counts its work. A profiler's cost is the CPU time per unit of work beside the profiler, relative to the
mean of the two periods alone: other load changes how much is done in a second but hardly the time per unit. It
includes everything that happens in the target's own time: interrupts, BPF programs, and stops. The CPU time of the
profiler's own processes is counted separately.

"""
import math
import mmap
import os
import re
import shutil
import signal
import subprocess
import time

import harness as h
import profilers

HERE = os.path.dirname(os.path.abspath(__file__))
PAIRS = 256
# By then each profiler samples, unless the machine is overloaded.
SETTLE_SECS = 0.5
# Before and after, the target works alone for this fraction of the profiled time.
ALONE = 0.4
# A profiler that has not ended by then has failed.
PATIENCE_SECS = 40
CPUCLOCK_SCHED = 2
UNKNOWN = "<unknown function>"


class ShortOracle(h.Oracle):
    """The target's possible stacks, in the form of a Profile's frames."""

    def __init__(self, profiler):
        super().__init__()
        self.profiler = profiler

    def add(self, document):
        super().add(profilers.short_oracle(document, self.profiler.qualified, self.profiler.lines))


# ---- processes ------------------------------------------------------------------------------------


def cpu_of(pid):
    """Returns the CPU seconds of all present and past threads of a process; 0 if it has ended."""
    try:
        return time.clock_gettime((~pid << 3) | CPUCLOCK_SCHED)
    except OSError:
        return 0.0


def proc_text(pid, name):
    try:
        with open("/proc/%d/%s" % (pid, name), encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def children(pid):
    try:
        threads = os.listdir("/proc/%d/task" % pid)
    except OSError:
        return []
    return [int(c) for t in threads for c in proc_text(pid, "task/%s/children" % t).split()]


def family(pid):
    """Returns a process and its descendants."""
    return [pid] + [d for c in children(pid) for d in family(c)]


def family_cpu(pid):
    """Returns the CPU seconds of a process, its descendants, and children they have waited for."""
    total, tick = 0.0, os.sysconf("SC_CLK_TCK")
    for member in family(pid):
        fields = proc_text(member, "stat").rpartition(")")[2].split()
        waited = (int(fields[13]) + int(fields[14])) / tick if len(fields) > 14 else 0
        total += cpu_of(member) + waited
    return total


def peak_kib(pid):
    """Returns the peak resident memory so far of a process and its descendants. (ru_maxrss will not do: it starts
    from that of this process, which forks them.)"""
    found = (re.search(r"VmHWM:\s+(\d+)", proc_text(p, "status")) for p in family(pid))
    return sum(int(match[1]) for match in found if match)


def bpf_seconds(pid):
    """Returns the run time of the BPF programs that a process has loaded."""
    times = {}
    try:
        fds = os.listdir("/proc/%d/fdinfo" % pid)
    except OSError:
        return 0.0
    for fd in fds:
        info = dict(re.findall(r"(\w+):\s*(\d+)", proc_text(pid, "fdinfo/" + fd)))
        if "run_time_ns" in info:
            times[info.get("prog_id", fd)] = int(info["run_time_ns"])
    return sum(times.values()) / 1e9


# ---- target ---------------------------------------------------------------------------------------


class Job:
    """A running target of targets/ with its count of work."""

    def __init__(self, python, workload, profiler):
        self.folder = python.scratch()
        for path in (os.path.join(HERE, "targets"), os.path.join(h.TARGETS, "oracle.py")):
            (shutil.copytree if os.path.isdir(path) else shutil.copy)(
                path, self.folder + "/targets/" if os.path.isfile(path) else
                self.folder + "/targets")
        path = self.folder + "/work"
        with open(path, "wb") as f:
            f.write(bytes(16 * PAIRS))
        with open(path, "r+b") as f:
            self.pairs = memoryview(mmap.mmap(f.fileno(), 0)).cast("Q")
        script = python.inside(self.folder + "/targets/" + workload.script)
        env = dict(os.environ, KRAIT_BENCH_WORK=python.inside(path))
        try:
            self.target = h.Target(python.command(script, *workload.args), env,
                                   ShortOracle(profiler))
        except RuntimeError:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        self.pid = self.target.pid

    def read(self):
        """Returns (now, CPU seconds, work) so far."""
        pairs = self.pairs.tolist()
        return time.monotonic(), cpu_of(self.pid) + sum(pairs[1::2]) / 1e9, sum(pairs[::2])

    def readings(self, seconds):
        """Returns the readings at the beginning and end of a period of that length."""
        before = self.read()
        time.sleep(seconds)
        return [before, self.read()]

    def stop(self):
        self.target.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


# ---- profiler -------------------------------------------------------------------------------------


class Attached:
    """A profiler at work on a target."""

    def __init__(self, command, log):
        self.log = log
        with open(log, "wb") as f:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=f, stderr=f)
        self.pid = self.process.pid
        self.started, self.peak_kib, self.cpu, self.ended = time.monotonic(), 0, 0.0, False

    def look(self):
        self.peak_kib = max(self.peak_kib, peak_kib(self.pid))

    def is_alive(self):
        """Must not reap it: only wait4() in end() tells what it has used."""
        return not os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)

    def end(self, endless):
        """Asks it to end, or waits. Returns its CPU seconds including all its children."""
        if endless:
            os.kill(self.pid, signal.SIGINT)
        self.asked_to_end = time.monotonic()
        while time.monotonic() - self.asked_to_end < PATIENCE_SECS:
            self.look()
            pid, _, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self.process.returncode, self.ended = 0, True
                self.cpu = usage.ru_utime + usage.ru_stime
                return
            time.sleep(0.01)

    def kill(self):
        if self.process.returncode is None:
            for pid in reversed(family(self.pid)):
                os.kill(pid, signal.SIGKILL)
            self.process.wait()

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()


# ---- the run --------------------------------------------------------------------------------------


def per_work(stretch):
    return stretch[1] / stretch[2] if stretch[2] else math.nan


def judge(oracle, profile):
    """Returns (stacks that can be judged, impossible ones, one of those). A first frame in brackets is a profiler's
    remark, such as [exiting]; such a stack, and one with a frame marked as unknown, does not claim to be whole."""
    if profile.stacks is None or not oracle.codes:
        return None, None, None
    plain = [(frames, n) for frames, n in profile.stacks
             if frames and not frames[0].startswith("[") and UNKNOWN not in frames]
    illegal, _ = oracle.judge(plain, 0)
    worst = max(illegal, key=lambda s: s[1], default=None)
    example = ";".join(worst[0][-6:]) if worst else None
    return sum(n for _, n in plain), sum(n for _, n in illegal), example


def cpu_since(readings, start):
    """Returns the target's CPU seconds from start to the last of its readings, interpolated linearly."""
    for (t0, cpu0, _), (t1, cpu1, _) in zip(readings, readings[1:]):
        if start < t1:
            at_start = cpu0 + (cpu1 - cpu0) * max(0.0, start - t0) / (t1 - t0)
            return readings[-1][1] - at_start
    return 0.0


def stretch(readings):
    """Returns (seconds, CPU seconds, work) from one reading to another."""
    return tuple(b - a for a, b in zip(*readings))


def wait_for_start(profiler, run):
    """Waits until it samples; profilers that cannot be asked get a fixed time."""
    time.sleep(SETTLE_SECS)
    while not profiler.started(run.pid) and run.is_alive() and \
            time.monotonic() - run.started < PATIENCE_SECS / 2:
        time.sleep(0.05)


def observe(profiler, python, workload, rate, seconds, job):
    """Returns what one profiler delivers and costs; raises RuntimeError if it fails."""
    with profiler.beside(job.folder + "/out"):
        return observe_beside(profiler, python, workload, rate, seconds, job)


def observe_beside(profiler, python, workload, rate, seconds, job):
    out = job.folder + "/out"
    before = stretch(job.readings(seconds * ALONE))
    pids = ",".join(map(str, family(job.pid))) if workload.family == "live" else job.pid
    limit = None if profiler.endless else SETTLE_SECS + seconds
    readings = [job.read()]
    run = Attached(profiler.command(python, pids, rate, limit, out), job.folder + "/log")
    try:
        wait_for_start(profiler, run)
        cpu, bpf = family_cpu(run.pid), bpf_seconds(run.pid)
        start_cpu = cpu + bpf
        readings += job.readings(seconds)
        cpu, bpf = family_cpu(run.pid) - cpu, bpf_seconds(run.pid) - bpf
        time.sleep(profiler.tail)
        bpf_all = bpf_seconds(run.pid)
        run.look()
        run.end(profiler.endless)
        if not run.ended:
            raise RuntimeError("had not ended %d s later" % PATIENCE_SECS)
    finally:
        run.kill()
    with_it = stretch(readings[1:])
    after = stretch(job.readings(seconds * ALONE))
    profile = profiler.parse(out, run.text())
    if not profile.delivered:
        said = run.text().replace(job.folder + "/", "").strip().splitlines()
        raise RuntimeError("no samples" + (": " + said[-1][:120] if said else ""))
    active = profile.seconds or limit or run.asked_to_end - run.started
    if profiler.wall:
        asked = rate * active * workload.stacks
    elif profiler.endless:
        asked = rate * cpu_since(readings, readings[-1][0] - active)
    else:
        asked = rate * active * with_it[1] / with_it[0]
    judged, wrong, example = judge(job.target.oracle, profile)
    alone = (per_work(before) + per_work(after)) / 2
    return {
        "asked": asked, "delivered": profile.delivered,
        "complete": profile.complete, "judged": judged, "wrong": wrong, "wrong_example": example,
        "active_seconds": active, "cpu_seconds": run.cpu, "bpf_seconds": bpf_all,
        "start_cpu": start_cpu, "native": profile.native,
        "cpu_share": cpu / with_it[0], "bpf_share": bpf / with_it[0],
        "alone": [before, after], "beside": with_it,
        "cost": per_work(with_it) / alone - 1, "drift": per_work(after) / per_work(before) - 1,
        "peak_kib": run.peak_kib,
        "bytes": profile.size or sum(os.path.getsize(path) for path in profiler.outputs(out)),
    }


def run(profiler, python, workload, rate, seconds):
    """Returns a row of results, or one that says what went wrong."""
    row = {"profiler": profiler.name, "target": workload.name, "rate": rate,
           "python": python.version, "error": None}
    if workload.family and not profiler.children:
        return dict(row, error="does not follow children")
    job = None
    try:
        job = Job(python, workload, profiler)
        row.update(observe(profiler, python, workload, rate, seconds, job))
    except (RuntimeError, OSError, ValueError) as error:
        row["error"] = str(error)
    finally:
        if job:
            job.stop()
    return row
