#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait agent on a machine in trouble: a storm of processes that start, and far more work than CPUs. What it costs against
its budget, and how late its windows close. Disturbs everybody else.
usage: KRAIT=build/krait KRAIT_ROOT=. KRAIT_BUILD=build pressure.py storm|load [SECONDS [STARTS A SECOND | SPINNERS]]"""
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import profiler  # makes the harness of the end-to-end tests known
import harness as h
import otlp

BUDGET, WINDOW_SECS, WARM_SECS = 0.5, 2, 8


def storm(seconds, rate):
    """Starts so many short-lived commands a second, among them forks of a Python and new interpreters. Returns how
    many were started."""
    began, cnt = time.monotonic(), 0
    while (now := time.monotonic()) < began + seconds:
        if cnt > (now - began) * rate:
            time.sleep(0.002)
            continue
        cnt += 1
        if cnt % 4 == 0:
            pid = os.fork()
            if not pid:
                os._exit(0)
        else:
            command = ["/usr/bin/python3", "-S", "-c", "pass"] if cnt % 4 == 1 else ["/bin/true"]
            pid = os.posix_spawn(command[0], command, os.environ)
        if cnt % 8 == 0:
            while True:
                try:
                    if not os.waitpid(-1, os.WNOHANG)[0]:
                        break
                except ChildProcessError:
                    break
    return cnt


def spin(seconds, cnt):
    """Starts so many processes that want a CPU each."""
    pids = []
    for _ in range(cnt):
        pid = os.fork()
        if not pid:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                pass
            os._exit(0)
        pids.append(pid)
    time.sleep(seconds)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return cnt


def windows(folder):
    """Returns [(number, seconds, seconds late, facts)]."""
    found = {}
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if not name.endswith(".otlp"):
            continue
        with open(path, "rb") as f:
            body = otlp.Body(f.read())
        for p in body.profiles:
            end = (p.begin + p.length) / 1e9
            found[p.facts["krait.window.number"]] = (p.length / 1e9, os.stat(path).st_mtime - end, p.facts)
    return [(number, *found[number]) for number in sorted(found)]


def main():
    what = sys.argv[1]
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 20
    much = int(sys.argv[3]) if len(sys.argv) > 3 else (200 if what == "storm" else 600)
    folder = tempfile.mkdtemp(prefix="krait-pressure-")
    agent = subprocess.Popen([h.KRAIT, "agent", "-i", "%ds" % WINDOW_SECS, "--cpu-budget", "%g%%" % BUDGET, "--otlp-dir",
                              os.path.join(folder, "windows")], stdin=subprocess.DEVNULL)
    time.sleep(WARM_SECS)
    before = os.getloadavg()[0]
    at = time.time()
    cnt = (storm if what == "storm" else spin)(seconds, much)
    until = time.time()
    load = os.getloadavg()[0]
    time.sleep(2 * WINDOW_SECS)
    agent.send_signal(signal.SIGTERM)
    agent.wait(h.PATIENCE_SECS)
    found = windows(os.path.join(folder, "windows"))
    shutil.rmtree(folder)
    numbers = [w[0] for w in found]
    print("%s %d: %d in %.0f s, load %.1f to %.1f; windows %d, missing %d, late by %.2f s at the median, %.2f at most" % (
        what, much, cnt, until - at, before, load, len(numbers), len(set(range(1, max(numbers) + 1)) - set(numbers)),
        statistics.median(w[2] for w in found), max(w[2] for w in found)))
    for number, took, late, facts in found:
        print("  window %2d: %.2f s, late %.2f, CPU %.2f %% of one (%.2f programs), %d Hz, level %d%s%s, %d %% starved, "
              "unseen %d, missed ticks %d" % (
            number, took, late, 100 * (facts["krait.window.own.cpu_ns"] + facts["krait.window.own.kernel_ns"]) / took / 1e9,
            100 * facts["krait.window.own.kernel_ns"] / took / 1e9, facts["krait.window.rate"],
            facts["krait.window.budget.level"], ", stalled" if facts.get("krait.window.budget.stalled") else "",
            ", looks %.1f s later" % (facts["krait.window.budget.look_delay_ns"] / 1e9)
            if "krait.window.budget.look_delay_ns" in facts else "", 100 * facts.get("krait.window.budget.starved_ns", 0) / took / 1e9,
            facts.get("krait.window.processes.unseen", 0), facts.get("krait.window.cpu.ticks.missed", 0)))


if __name__ == "__main__":
    main()
