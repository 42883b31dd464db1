#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""However long names, symbols and outputs take: the ring buffer is emptied, anchors are written in time, -d lasts as
requested, and krait has priority only where it measures."""
import os
import re
import subprocess
import threading
import time

import harness as h

DEPTH = 300
RATE = 5000
# How long the main thread is blocked: full walks would fill the ring buffer several times over.
BLOCKED_SECS = 2
SPINNERS = 120 if h.is_all() else 40
SCHED_NAMES = {os.SCHED_OTHER: "SCHED_OTHER", os.SCHED_RR: "SCHED_RR"}


def scheduling(pid):
    return SCHED_NAMES.get(os.sched_getscheduler(pid), "?")


def comm(pid):
    """Returns "" if the process has ended."""
    try:
        with open("/proc/%d/comm" % pid, encoding="ascii") as f:
            return f.read().strip()
    except OSError:
        return ""


def all_threads(pid):
    return [int(name) for name in os.listdir("/proc/%d/task" % pid)]


def children_of(pid, tid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, tid), encoding="ascii") as f:
            return [int(word) for word in f.read().split()]
    except OSError:
        return []


def check_slow_reader(tap, python):
    """Nobody reads the output for a while, so the main thread blocks: nothing is lost, anchors do not wait, and -d
    does not end later."""
    name = python.name + ": an output that is not read"
    anchors = python.minor == "3.15"
    with h.start(python, "depth.py", str(DEPTH)) as target:
        h.age(target, 1.2)  # younger threads get no anchors
        krait = subprocess.Popen(
            [h.KRAIT, "record", "-q", "--stats", "--max-loss", "100", "-p", str(target.pid), "-d", "1s",
             "-F", str(RATE if anchors else RATE // 5), "-f", "script", "-o", "-"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        err = []
        listener = threading.Thread(target=lambda: err.append(krait.stderr.read().decode()))
        listener.start()
        time.sleep(BLOCKED_SECS)
        out = krait.stdout.read()
        listener.join(h.PATIENCE_SECS)
        krait.wait(h.PATIENCE_SECS)
        tap.ok(target.alive(), name + ": the target runs on")
    stats = h.parse_stats(err[0])
    tap.equal((stats.get("lost.ring full"), stats.get("balance")), (0, 0),
              name + ": nothing is lost", err[0])
    tap.ok(stats.get("interrupts", 0) > 100, name + ": there were interrupts", err[0])
    times = [float(t) for t in re.findall(rb"^\S.*?\s(\d+\.\d+):", out, re.MULTILINE)]
    tap.ok(times and max(times) - min(times) < 1.05, name + ": no sample from after the end",
           "%s s" % (times and max(times) - min(times)), err[0])
    tap.ok(0.9 < stats.get("seconds", 0) < 1.1, name + ": it took as long as was asked for", err[0])
    if anchors:
        # 40 ms, audits, and what a busy machine needs before a prober runs.
        tap.ok(stats.get("full", 0) < stats.get("interrupts", 0) / 4,
               name + ": the anchor was there in time", err[0])


def has_bound(pid):
    """Tells whether the kernel lowers the process's priority after long use of the CPU (RLIMIT_RTTIME)."""
    with open("/proc/%d/limits" % pid, encoding="ascii") as f:
        return bool(re.search(r"^Max realtime timeout +\d", f.read(), re.M))


def is_like_others(pid, want):
    """Probers, and the parsers they wait for, have krait's priority, but only briefly."""
    scheduler, first = scheduling(pid), comm(pid) in ("krait-prober", "krait-parser")
    return os.getpriority(os.PRIO_PROCESS, pid) == 5 and \
        (scheduler == "SCHED_OTHER" or first and scheduler == want and has_bound(pid))


def workers_of(pid):
    return [w for t in all_threads(pid) for w in children_of(pid, t)]


def check_priority(tap, python):
    """krait has priority over all others; other workers and commands do not; an option turns it off."""
    for option, want in ((), "SCHED_RR"), (("--no-realtime",), "SCHED_OTHER"):
        name = "%s: record %s" % (python.name, " ".join(option))
        with h.start(python, "depth.py", "5") as target:
            folder = h.tempfile.mkdtemp(prefix="krait-e2e-")
            h.folders.append(folder)
            krait = subprocess.Popen([h.KRAIT, "record", "-q", *option, "-o", os.path.join(folder, "x.data"),
                                      "-p", str(target.pid)], preexec_fn=lambda: os.nice(5))
            h.wait_until(lambda: h.is_sampling(krait), krait)
            # A process that is just starting has no name of its own yet, and no bound.
            h.wait_until(lambda: all(comm(w).startswith("krait-") for w in workers_of(krait.pid)), krait)
            threads = [scheduling(t) for t in all_threads(krait.pid)]
            workers = [(comm(w), scheduling(w), is_like_others(w, want)) for w in workers_of(krait.pid)]
            krait.send_signal(2)
            krait.wait(h.PATIENCE_SECS)
        tap.ok(threads and set(threads) == {want}, name + ": krait's threads are " + want, threads)
        tap.ok(workers and all(fine for _, _, fine in workers), name + ": its workers are like others",
               workers)
    says = "import os; print(os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0))"
    done = subprocess.run([h.KRAIT, "record", "-q", "-o", os.path.join(folder, "y.data"), "--",
                           *python.command("-c", says)], stdout=subprocess.PIPE, encoding="utf-8",
                          preexec_fn=lambda: os.nice(5), check=False)
    tap.equal(done.stdout.split(), ["0", "5"], python.name + ": a command runs as without krait")


def check_overload(tap, python):
    """More work than CPUs: -d lasts as requested, and start and end are short."""
    name = "%s: beside %d busy processes" % (python.name, SPINNERS)
    spinners = []
    try:
        with h.start(python, "depth.py", "5") as target:
            spinners += [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(SPINNERS)]
            folder = h.tempfile.mkdtemp(prefix="krait-e2e-")
            h.folders.append(folder)
            with h.Ahead():
                krait = subprocess.Popen([h.KRAIT, "record", "-q", "--stats", *h.PYTHON_ONLY, "-d", "1s", "-o",
                                          os.path.join(folder, "x.folded"), "-p", str(target.pid)],
                                         stderr=subprocess.PIPE, encoding="utf-8")
                begin = h.when_first(krait)
                _, err = krait.communicate(timeout=h.PATIENCE_SECS)
                took = time.monotonic() - begin
            r = h.Recording(krait.returncode, "", err, folder)
    finally:
        for spinner in spinners:
            spinner.kill()
        for spinner in spinners:
            spinner.wait()
    tap.ok(took < 4, name + ": -d 1s takes hardly longer", "%.2f s" % took, r.err)
    tap.ok(0.95 < r.stats.get("seconds", 0) < 1.05, name + ": and is a second of samples", r.err)
    h.check_accounts(tap, name, r)


def main():
    h.need_bpf()
    tap = h.Tap()
    pythons = h.interpreters(tap)
    python = next((p for p in pythons if p.minor == "3.15"), h.newest(pythons))
    if python:
        check_slow_reader(tap, python)
        check_priority(tap, python)
        check_overload(tap, python)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
