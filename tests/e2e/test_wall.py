#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""record --wall: time on and off the CPU as one measure. Each thread's sum is the elapsed time, whether it works,
waits or sleeps: in the printed table, in a flame graph and in the capture."""
# run-tests: beside others
# run-tests: second try: shares of a recording of a moment are judged, and a host that takes the CPU away moves them
import re
import subprocess

import harness as h

SECONDS = 1.0
# For a running thread: a few ticks more or less, and unread stacks of other threads count as lost.
LEAST, MOST = 0.9, 1.03
TRIES = 3


class Said:
    """Ignores what targets/doing.py says of its threads."""

    def add(self, document):
        pass


def krait(*args):
    return subprocess.run([h.KRAIT, *args], capture_output=True, encoding="utf-8", timeout=h.PATIENCE_SECS)


def by_thread(path, *args):
    """Returns {tid: seconds}."""
    text = krait("report", "--by", "thread", "-n", "0", "--unit", "samples", *args, "-i", path).stdout
    return {int(tid): int(ns) / 1e9 for ns, tid in re.findall(r"^ *[\d.]+% +(\d+) +\d+/(\d+) ", text, re.M)}


def folded_ns(text):
    return sum(int(line.rpartition(" ")[2]) for line in text.splitlines())


def record(target):
    for _ in range(TRIES):
        r = h.record("--wall", "-p", str(target.pid), "-d", "%dms" % (1000 * SECONDS),
                     outputs=("x.data", "x.folded"), lines=False)
        if not sum(map(int, re.findall(r"^offcpu-time\.lost\.[a-z ]* (\d+)$", r.err, re.M))):
            break
    return r


def check(tap, python):
    name = python.name
    with h.Target(python.command(python.target("doing.py")), oracle=Said()) as target:
        r = record(target)
        tap.equal(r.code, 0, name + ": exit code", r.err)
        said = krait("record", "--wall", "-p", str(target.pid), "-d", "100ms", "-f", "folded", "-o", "-").stderr
        tap.ok("# event wall-clock" in said and "# event cpu-clock" not in said, name + ": the summary is of both",
               said)
        threads = by_thread(r.path("x.data"), "--wall")
        tap.ok(len(threads) >= 10, name + ": every thread is there", threads)
        wrong = {tid: s for tid, s in threads.items() if not LEAST * SECONDS <= s <= MOST * SECONDS}
        tap.ok(not wrong, name + ": each has the time that has passed", wrong, r.err)
        both = krait("convert", "--idle", "-f", "folded", "-o", "-", "-i", r.path("x.data")).stdout
        with open(r.path("x.folded"), encoding="utf-8") as f:
            tap.equal(folded_ns(both), folded_ns(f.read()), name + ": the capture says the same")
        script = krait("script", "-i", r.path("x.data")).stdout
        tap.ok(" cpu-clock: " in script and " offcpu-time: " in script, name + ": apart in the capture")
        tap.ok(target.alive(), name + ": the target is alive")


def check_end(tap, python):
    """The waits that are open at the end are read from outside; who runs meanwhile loses nothing by it."""
    name, cnt, seconds = python.name, 150, 0.5
    with h.Target(python.command(python.target("naps.py"), str(cnt), "200"), oracle=Said()) as target:
        r = h.record("--wall", "-p", str(target.pid), "-d", "%dms" % (1000 * seconds), outputs=("x.data",), lines=False)
        tap.ok("offcpu-time.lost.thread torn 0\n" in r.err, name + ": no open wait is lost", r.err)
        threads = by_thread(r.path("x.data"), "--wall")
        # Where stacks get rare, one stands for more than the waits that it is of: the sum is right.
        mean = sum(threads.values()) / (cnt + 1)
        tap.ok(0.7 * seconds <= mean <= 1.3 * seconds, name + ": threads that nap have their time up to the end",
               mean, r.err)


def main():
    h.need_bpf()
    tap = h.Tap()
    found = h.interpreters(tap)
    old = [p for p in found if p.minor < "3.13"]
    for python in found[:1] + old[:1]:
        check(tap, python)
    check_end(tap, found[0])
    tap.equal(krait("record", "--wall", "-e", "page-faults", "true").returncode, 2, "without a clock there is no sum")
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
