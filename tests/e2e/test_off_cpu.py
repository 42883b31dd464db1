#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Off-CPU time of threads that sleep through the whole recording: none of them returns, so everything is read from
outside. Checks who waits in which function and for what, in the capture as well as in the recording."""
import contextlib
import os
import re
import signal
import subprocess
import threading
import time

import harness as h

WANT = {"in_sleep": "[sleep]", "in_lock": "[lock]", "in_pipe": "[io: read pipe]",
        "in_socket": "[io: recvfrom socket]"}
SECONDS = 0.3
# Reading stacks takes time; on an overloaded machine, unread ones count as lost.
TRIES = 3


def waits(text, besides=()):
    """Returns {function: (leaf, ns)} of folded stacks; None for a function that occurs twice. besides: leaves to
    ignore."""
    found = {}
    for line in text.splitlines():
        stack, _, ns = line.rpartition(" ")
        names = [re.sub(r" \(.*", "", frame) for frame in stack.split(";")]
        for function in WANT:
            if function in names and names[-1] not in besides:
                found[function] = None if function in found else (names[-1], int(ns))
    return found


def krait(*args):
    return subprocess.run([h.KRAIT, *args], capture_output=True, encoding="utf-8", timeout=h.PATIENCE_SECS)


def folded(path, *args):
    return krait("convert", "-f", "folded", "-o", "-", "--event", "offcpu-time", *args, "-i", path)


def are_asleep(pid):
    """Checks all threads, twice: after READY there is nothing else to sleep for."""
    for _ in range(2):
        for tid in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/stat" % (pid, tid), encoding="utf-8", errors="replace") as f:
                if f.read().rpartition(")")[2].split()[0] != "S":
                    return False
        time.sleep(0.05)
    return True


def record(target):
    deadline = time.monotonic() + h.PATIENCE_SECS
    while not are_asleep(target.pid) and time.monotonic() < deadline:
        pass
    for _ in range(TRIES):
        r = h.record("--off-cpu", "-p", str(target.pid), "-d", "%dms" % (1000 * SECONDS), outputs=("x.data",),
                     lines=False)
        if not sum(map(int, re.findall(r"^offcpu-time\.lost\.[a-z ]* (\d+)$", r.err, re.M))):
            break
    return r


def check(tap, python):
    name = python.name
    with h.start(python, "asleep.py") as target:
        r = record(target)
        tap.equal(r.code, 0, name + ": exit code", r.err)
        tap.ok("\noffcpu-time.balance 0\n" in r.err, name + ": the accounts balance", r.err)
        path = r.path("x.data")
        found = waits(folded(path).stdout)
        tap.equal({f: leaf and leaf[0] for f, leaf in found.items()}, WANT, name + ": each waits for what it waits for",
                  r.err)
        short = {f: w for f, w in found.items() if not w or not 0.9 * SECONDS <= w[1] / 1e9}
        tap.ok(not short, name + ": for all of the time", short)
        locks = waits(folded(path, "--state", "lock").stdout)
        tap.equal(sorted(locks), ["in_lock"], name + ": --state leaves the others out")
        tap.ok(target.alive(), name + ": the target is alive")
    return path


def check_killed(tap, python):
    """A thread killed while it waits returns to a CPU to die: its stack is taken there."""
    name = python.name + ": killed"
    with h.start(python, "asleep.py") as target:
        killer = threading.Timer(1 + SECONDS, os.kill, (target.pid, signal.SIGKILL))
        killer.start()
        r = h.record("--off-cpu", "-p", str(target.pid), "-d", "60s", outputs=("x.data",), lines=False)
        killer.join()
    tap.equal(r.code, 0, name + ": that it ended before -d is no error", r.err)
    # On a busy machine the kernel may preempt a thread that has returned to die.
    found = waits(folded(r.path("x.data")).stdout, besides=["[runnable]"])
    tap.equal({f: leaf and leaf[0] for f, leaf in found.items()}, WANT, name + ": waits have their stacks", r.err)
    tap.ok(all(w and w[1] >= 0.5 * SECONDS * 1e9 for w in found.values()), name + ": up to then", found)


def new_group():
    """Returns the folder of a new control group that can be frozen, or None."""
    for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        if os.path.exists(os.path.join(root, "cgroup.controllers")):
            folder = os.path.join(root, "krait-test-%d" % os.getpid())
            with contextlib.suppress(OSError):
                os.mkdir(folder)
                return folder
    return None


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="ascii") as f:
        f.write(text)


def check_frozen(tap, python):
    """docker pause: whatever a thread was doing, it is stopped, and does not wait for memory."""
    name, folder = python.name + ": frozen", new_group()
    if not folder:
        tap.skip(name, "no control group (v2) can be made here")
        return
    try:
        with h.start(python, "asleep.py") as target:
            write(folder, "cgroup.procs", str(target.pid))
            write(folder, "cgroup.freeze", "1")
            h.wait_until(lambda: "frozen 1" in open(os.path.join(folder, "cgroup.events"), encoding="ascii").read())
            said = krait("dump", str(target.pid)).stdout
            states = re.findall(r"^Thread .*\((?:main, )?([a-z]+[^,)]*)", said, re.M)
            tap.ok(len(states) >= len(WANT) and set(states) == {"stopped: frozen"}, name + ": dump says so of each thread", said)
            # The first recording ends while they are frozen: those waits are read from outside.
            thaw = threading.Timer(1.2, write, (folder, "cgroup.freeze", "0"))
            for seconds in (0.2, 2):
                if seconds == 2:
                    thaw.start()
                r = h.record("--off-cpu", "-p", str(target.pid), "-d", "%dms" % (1000 * seconds), outputs=("x.data",), lines=False)
                leaves = {line.rpartition(" ")[0].split(";")[-1] for line in folded(r.path("x.data")).stdout.splitlines()}
                # Of a thread that had left before the recording began, a signal may have stopped it as well.
                tap.ok({"[stopped: frozen]", "[stopped]"} & leaves and not any(leaf.startswith("[fault") for leaf in leaves),
                       name + ": recorded for %g s" % seconds, leaves, r.err)
                tap.ok(seconds == 2 or leaves == {"[stopped: frozen]"}, name + ": and nothing else while they are", leaves)
            thaw.join()
    finally:
        write(folder, "cgroup.freeze", "0")
        h.wait_until(lambda: not open(os.path.join(folder, "cgroup.procs"), encoding="ascii").read())
        os.rmdir(folder)


def main():
    h.need_bpf()
    tap = h.Tap()
    found = h.interpreters(tap)
    old = [p for p in found if p.minor < "3.13"]
    path = ""
    check_killed(tap, found[0])
    check_frozen(tap, found[0])
    for python in found[:1] + old[:1]:
        path = check(tap, python)
    tap.equal(krait("report", "--state", "asleep", path).returncode, 2, "a state that there is not")
    tap.ok(os.path.getsize(path) > 0, "the capture is there")
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
