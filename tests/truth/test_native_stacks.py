#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Compares native stacks with those that perf unwinds afterwards from copies of the stack (--call-graph dwarf), for
one process in the same seconds. Nearly all reach the thread's start; each call site, and each running function,
has the same share of the samples in both; perf names both captures. Each comparison prints what a whole stack
costs.

If a sample hits memory that is not present, or perf's copy is too short, perf's stack ends early: such stacks are
excluded from the shares, on both sides, as long as they are few.

"""
import collections
import os
import re
import resource
import shutil
import signal
import subprocess

import stats
import truth as t

PERF_RATE = 499
STACK_BYTES = "16384"
# Of a target's own CPU time.
SECONDS = 4 if t.LONG else 1
WHOLE = 0.995
TARGETS = (("callbacks.py",), ("inside.py", "in_hashlib", "in_zlib", "in_sqlite")) if t.LONG else \
    (("callbacks.py",),)
# Debian's builds, which have frame pointers from 3.15 on.
MINORS = ("3.11", "3.13", "3.14", "3.15") if t.LONG else ("3.11", "3.14")
OWN = re.compile(r"\.krait/python-[0-9a-f]+\.so$")


def cpu_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def record(target, folder):
    """Records with both at the same time. Returns {name: CPU seconds}."""
    pid, cost = str(target.pid), {}
    lines = {
        "perf": ["perf", "record", "-q", "-k", "mono", "-e", "cpu-clock", "-F", str(PERF_RATE), "--user-callchains",
                 "--call-graph", "dwarf," + STACK_BYTES, "-o", os.path.join(folder, "perf.data"), "-p", pid],
        "krait": [t.h.KRAIT, "record", "-q", "-F", str(t.RATE), "--no-kernel", "--interpreter-frames", "--stats",
                  "--max-loss", "100", "-o", os.path.join(folder, "krait.data"), "-p", pid]}
    running = {name: subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8")
               for name, line in lines.items()}
    t.h.wait_until(lambda: t.h.has_events(running["perf"].pid) and t.h.is_sampling(running["krait"]))
    end = t.h.cpu_seconds(target.pid) + SECONDS
    t.h.wait_until(lambda: t.h.cpu_seconds(target.pid) >= end)
    for process in running.values():
        process.send_signal(signal.SIGINT)
    said = {}
    for name, process in running.items():
        before = cpu_of_children()
        said[name] = process.communicate(timeout=t.h.PATIENCE_SECS)[1]
        cost[name] = cpu_of_children() - before
    return t.h.parse_stats(said["krait"]), cost


def stacks_of(path, is_perf):
    """Returns [(seconds, [(dso, symbol, address), leaf first])] of the native frames, as perf names them. In both, a
    caller's address is within its call."""
    done = subprocess.run(["perf", "script", "-i", path, "--ns", "--no-inline", "-F", "time,ip,sym,dso"],
                          capture_output=True, encoding="utf-8", errors="replace", timeout=4 * t.h.PATIENCE_SECS)
    found = []
    for block in done.stdout.split("\n\n"):
        head = re.match(r"\s*([\d.]+):", block)
        frames = re.findall(r"^\s*([0-9a-f]+) (.*) \((.*)\)$", block, re.M)
        if head:
            native = [(os.path.basename(dso), symbol, int(ip, 16)) for ip, symbol, dso in frames
                      if not OWN.search(dso) and not dso.startswith("[k")]
            found.append((float(head[1]), [(d, s, a - (i > 0 and not is_perf)) for i, (d, s, a) in enumerate(native)]))
    return found


def roots_of(stacks):
    """Returns where threads begin: functions in nearly all stacks, or in those of a few threads."""
    return {place for place, n in collections.Counter((f[-1][0], f[-1][2]) for _, f in stacks if f).items()
            if n > 0.05 * len(stacks)}


def shares(stacks):
    """Returns the share of stacks that contain each place, and for each function of those in which it runs."""
    places, leaves = collections.Counter(), collections.Counter()
    for _, frames in stacks:
        places.update({(dso, address) for dso, _, address in frames[1:]})
        leaves[(frames[0][0], frames[0][1])] += 1
    return places, leaves


def compare(mine, other, cnt, other_cnt):
    verdicts = []
    for key in set(mine) | set(other):
        p = (mine[key] + other[key]) / (cnt + other_cnt)
        expected = other[key] * cnt / other_cnt
        verdicts.append(stats.Verdict("%s %s" % (key[0], key[1] if isinstance(key[1], str) else hex(key[1])),
                                      mine[key], expected, expected, cnt * p * (1 - p) * (1 + cnt / other_cnt)))
    return verdicts


def common(krait, perf):
    """Returns the period that both recorded."""
    begin, end = max(krait[0][0], perf[0][0]), min(krait[-1][0], perf[-1][0])
    return ([s for s in part if begin <= s[0] <= end and s[1]] for part in (krait, perf))


def check(tap, python, script, *args):
    name = "%s: %s" % (python.name, script)
    folder = python.scratch()
    try:
        with t.h.start(python, script, *args) as target:
            counted, cost = record(target, folder)
        paths = {n: os.path.join(folder, n + ".data") for n in ("krait", "perf")}
        krait, perf = (stacks_of(path, n == "perf") for n, path in paths.items())
        size = {n: os.path.getsize(path) for n, path in paths.items()}
    finally:
        shutil.rmtree(folder)
    whole, samples = counted.get("native.complete", 0), counted.get("native.samples", 0)
    tap.ok(samples > 300 * SECONDS and whole >= WHOLE * samples,
           "%s: native stacks reach the thread's start: %d of %d" % (name, whole, samples))
    judge(tap, name, krait, perf, size, cost, whole / max(1, samples))


def judge(tap, name, krait, perf, size, cost, whole):
    if not krait or not perf:
        tap.ok(False, name + ": both have samples", len(krait), len(perf))
        return
    counts = len(krait), len(perf)
    roots = roots_of(perf) & roots_of(krait)
    tap.ok(roots, name + ": threads begin at the same places", roots_of(perf), roots_of(krait))
    krait, perf = common(krait, perf)
    krait_whole, perf_whole = ([s for s in part if (s[1][-1][0], s[1][-1][2]) in roots] for part in (krait, perf))
    tap.ok(len(krait_whole) >= 0.99 * len(krait) and len(perf_whole) >= 0.9 * len(perf), name + ": most can be compared",
           "%d of %d, %d of %d" % (len(krait_whole), len(krait), len(perf_whole), len(perf)))
    print("#   %s: krait %.2f %% whole, %d bytes and %.0f us a sample; perf %.2f %%, %d bytes and %.0f us" % (
        name, 100 * whole, size["krait"] / counts[0], 1e6 * cost["krait"] / counts[0],
        100 * len(perf_whole) / max(1, len(perf)), size["perf"] / counts[1], 1e6 * cost["perf"] / counts[1]))
    if not krait_whole or not perf_whole:
        return
    for what, mine, other in zip(("place of a call", "function that runs"), shares(krait_whole), shares(perf_whole)):
        verdicts = compare(mine, other, len(krait_whole), len(perf_whole))
        t.report(tap, True, "%s: each %s has its share" % (name, what), verdicts)


def main():
    tap = t.begin()
    found = t.quiet_interpreters()
    for minor in MINORS:
        python = next((p for p in found if p.minor == minor and p.build == "exe" and p.path.startswith("/usr/bin/")), None)
        for target in TARGETS:
            if not python or not shutil.which("perf"):
                tap.skip("%s: %s" % (minor, target[0]), "no such interpreter of Debian's, or no perf")
            else:
                check(tap, python, *target)
    tap.done()
    t.h.cleanup()


if __name__ == "__main__":
    main()
