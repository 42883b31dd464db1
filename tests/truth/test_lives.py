#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""No moment of a thread's life is lost or counted twice. By the exact times of its switches, as added up by the BPF
programs, time on a CPU plus time off it equal the elapsed time; they match what the kernel itself says of the
thread (schedstat: on a CPU, ready to run); and so do the samples of record --wall."""
import collections
import os
import re
import signal
import struct
import subprocess
import tempfile
import time

import stats
import truth as t
from kernel_map import KernelMap
from test_waits import chance, losses, stands_for_others, waits

SECONDS = 4 if t.LONG else 1.5
# The error allowed for a thread's samples: so many periods of the clock, plus one part in so many of its time.
# tick_chance() of bpf/wait/tick.h leaves that much to chance; anything beyond goes to a mark.
CHANCE, CHANCE_SHARE = 16, 256
TRIES = 3
# Relative to the elapsed time; values read one after another may be some switches apart.
SHARE, LEAST_NS = 0.01, 4e6
LOOK_NS = 1e6
HEAD = re.compile(r".*? +\d+/(\d+) +\[\d+\] +([\d.]+): +(\d+) cpu-clock")
# struct thread_wait and wait_place() of bpf/abi.h.
WAIT, PLACES, ON_CPU = struct.Struct("QQQQQQIIIHBB"), 32768, 0xfffe

Life = collections.namedtuple("Life", "when on off kernel_on kernel_ready switches")


class Lives:
    """What each thread does, according to the target."""

    def add(self, document):
        self.by_tid = {int(tid): what for tid, what in document.items()}


def wait_of(waits_map, tid):
    for place in (tid % PLACES, (tid * 2654435761 % (1 << 32) >> 11) % PLACES):
        found = WAIT.unpack(waits_map[place])
        if found[0] and found[6] == tid:
            return found
    return None


def look(waits_map, pid, tid):
    """Returns what krait has added up for a thread so far, and what the kernel has. None: krait does not know
    it."""
    deadline = time.monotonic() + t.h.PATIENCE_SECS
    while time.monotonic() < deadline:
        begin = time.monotonic_ns()
        found = wait_of(waits_map, tid)
        when = time.monotonic_ns()
        if not found:
            return None
        with open("/proc/%d/task/%d/schedstat" % (pid, tid), encoding="ascii") as f:
            kernel_on, ready, switches = map(int, f.read().split())
        _, _, since, on, off, _, _, _, _, state, _, _ = found
        is_off = state != ON_CPU
        # Otherwise it was just being written, or we lost the CPU between the two reads.
        if found[:6] == (wait_of(waits_map, tid) or ())[:6] and time.monotonic_ns() - begin < LOOK_NS:
            break
    lasts = max(when - since, 0)
    return Life(when, on + (0 if is_off else lasts), off + (lasts if is_off else 0), kernel_on, ready, switches)


def look_twice(krait, pid, tids):
    """Returns ({tid: (Life, Life)}, ns that the host took from all CPUs in between)."""
    with KernelMap(krait.pid, "waits") as waits_map:
        deadline = time.monotonic() + t.h.PATIENCE_SECS
        while True:
            taken = t.h.stolen_seconds()
            before = {tid: look(waits_map, pid, tid) for tid in tids}
            # A thread that sleeps all along never meets the scheduler.
            if sum(life is None for life in before.values()) <= 1 or time.monotonic() > deadline:
                break
            time.sleep(0.01)
        time.sleep(SECONDS)
        after = {tid: look(waits_map, pid, tid) for tid in tids}
    return {tid: (before[tid], after[tid]) for tid in tids if before[tid] and after[tid]}, 1e9 * (t.h.stolen_seconds() - taken)


def record(target, tids):
    """Returns (looks, stolen, samples off the CPU, samples on the CPU)."""
    with tempfile.TemporaryDirectory(prefix="krait-lives-") as folder:
        path = folder + "/x.script"
        with subprocess.Popen([t.h.KRAIT, "record", "-q", "--stats", *t.h.PYTHON_ONLY, "--wall", "-p", str(target.pid),
                               "-o", path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              encoding="utf-8") as krait:
            t.h.wait_until(lambda: t.h.is_sampling(krait), krait)
            looks, taken = look_twice(krait, target.pid, tids)
            krait.send_signal(signal.SIGINT)
            err = krait.communicate(timeout=t.h.PATIENCE_SECS)[1]
        off = list(waits(path))
        return looks, taken, off, cpu_samples(path), err


def cpu_samples(path):
    """Returns (tid, ns of CLOCK_MONOTONIC, ns)."""
    with open(path, encoding="utf-8", errors="replace") as f:
        found = filter(None, map(HEAD.match, f))
        return [(int(x[1]), float(x[2]) * 1e9, int(x[3])) for x in found]


def within(waits_of, a, b):
    """Returns [(ns between the two looks, leaf)]. An individually sampled wait has its own length."""
    found = []
    for when, ns, stack in waits_of:
        others = stands_for_others(ns)
        inside = ns if others else min(when, b.when) - max(when - ns, a.when)
        if inside > 0 and (a.when < when <= b.when or not others):
            found.append((inside, stack[0]))
    return found


def near(a, b, passed, more=0):
    return abs(a - b) <= max(SHARE * passed, LEAST_NS) + more


def check(tap, python):
    name = python.name
    with t.h.Target(python.command(python.target("lives.py")), oracle=Lives()) as target:
        lives = target.oracle.by_tid
        for _ in range(TRIES):
            looks, taken, off, on, err = record(target, sorted(lives))
            # A lost wait is counted, but nobody knows which thread's it was.
            if not any(".lost." in loss for loss in losses(err)):
                break
    gone = sum(t.h.parse_stats(err).get("waits.%s_ns" % how, 0) for how in ("lost", "missed"))
    tap.ok(len(looks) >= len(lives) - 1, name + ": the threads are known", sorted(lives.items()), err)
    wrong = {what: [] for what in ("passed", "kernel", "ready", "off", "cpu", "wall")}
    # No ticks came during time that the host took, and krait reports how many: nobody knows for which threads.
    held_up = t.h.parse_stats(err).get("cpu-clock.ticks_missed", 0) * 1e9 / t.RATE
    for tid, (a, b) in looks.items():
        least = chance(off, tid)
        passed, on_ns, off_ns = b.when - a.when, b.on - a.on, b.off - a.off
        kernel_on, ready = b.kernel_on - a.kernel_on, b.kernel_ready - a.kernel_ready
        mine = within([x[1:] for x in off if x[0] == tid], a, b)
        sampled = sum(ns for ns, _ in mine)
        # The kernel adds it up when the thread gets a CPU.
        runnable = sum(ns for who, when, ns, stack in off
                       if who == tid and a.when < when <= b.when and stack[0] == "[runnable]")
        cpu = sum(ns for who, when, ns in on if who == tid and a.when < when <= b.when)
        row = "%-20s passed %.1f, on %.1f (kernel %.1f, samples %.1f), off %.1f (samples %.1f), ready %.1f (samples %.1f)" % (
            lives[tid], *(x / 1e6 for x in (passed, on_ns, kernel_on, cpu, off_ns, sampled, ready, runnable)))
        print("#   %s, %d switches" % (row, b.switches - a.switches))
        if not near(on_ns + off_ns, passed, passed):
            wrong["passed"].append(row)
        if not near(on_ns, kernel_on, passed, taken):
            wrong["kernel"].append(row)
        if not near(runnable, ready, passed, least):
            wrong["ready"].append(row)
        if not near(min(sampled + gone, max(sampled, off_ns)), off_ns, passed, least):
            wrong["off"].append(row)
        period = 1e9 / t.RATE
        slack = min(stats.bound(stats.thread_variance(on_ns / 1e9, b.switches - a.switches, period / 1e9)),
                    CHANCE + on_ns / period / CHANCE_SHARE) * period
        if not near(min(cpu + held_up, max(cpu, on_ns)), on_ns, passed, slack):
            wrong["cpu"].append(row)
        if not near(cpu + sampled, passed, passed, least + slack + held_up + gone):
            wrong["wall"].append(row)
    tap.ok(not wrong["passed"], name + ": on a CPU and off it, each thread has the time that passed", *wrong["passed"])
    tap.ok(not wrong["kernel"], name + ": as long on a CPU as the kernel says", "stolen: %.1f ms" % (taken / 1e6),
           *wrong["kernel"])
    tap.ok(not wrong["ready"], name + ": ready to run for as long as the kernel says", *wrong["ready"])
    tap.ok(not wrong["off"], name + ": samples of waits stand for the time off the CPU", *wrong["off"],
           *losses(err))
    tap.ok(not wrong["cpu"], name + ": samples of CPU time for that on it, but for chance", *wrong["cpu"],
           *losses(err))
    tap.ok(not wrong["wall"], name + ": and both together for the time that passed", *wrong["wall"], *losses(err))


def main():
    tap = t.begin()
    for python in t.pythons(tap):
        check(tap, python)
    t.h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
