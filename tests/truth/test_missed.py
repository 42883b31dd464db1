#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""The timer's ticks that krait says never came are those that a program lacks: samples and they together are the CPU time that
the kernel has charged to it. So a program that rests is not charged for what the timer did while its CPU was idle, and of one
that never rests, at a rate that no timer keeps up with, each tick that is gone is counted."""
import os
import signal

import stats
import truth as t

SECONDS = 3 if t.LONG else 1.5
# Work and rest in ms. What is longer than 20 ms lets an idle CPU stop the scheduler's tick, after which the kernel throttles
# events that go on ticking (__perf_event_account_interrupt(), kernel/events/core.c).
NAPS = [("works 3 ms, rests 7", 3, 7), ("works 3 ms, rests 60", 3, 60), ("works 0.4 ms, rests 0.6", 0.4, 0.6)]
# The interrupt and krait's program take longer than that.
TOO_FAST_HZ, DEPTH = 50000, 500
# Ticks that were due while a thread worked, but in no turn of which a later tick came, are not known: one in so many, at 10 kHz.
UNSEEN = 50


def observe(python, cpu, depth, work, rest, rate):
    """(samples and lost interrupts, missed ticks, what the target says)"""
    recording = t.h.record("-F", str(rate), timeout=240, command=python.command(
        python.target("dozes.py"), *map(str, (SECONDS, cpu, depth, work, rest, t.SEED))))
    counts = t.h.parse_stats(recording.err)
    return counts["interrupts"], counts["ticks_missed"], t.parse_truth(recording.out)[0]


def naps(tap, python, cpu, rate):
    for what, work, rest in NAPS:
        came, missed, truth = observe(python, cpu, 0, work, rest, rate)
        due = truth["ns"] * rate / 1e9
        chance = stats.thread_variance(truth["ns"] / 1e9, truth["switches"], 1 / rate)
        few = due / UNSEEN if rate > t.RATE else 0
        print("#   %s: %d came, %d missed, %.1f were due" % (what, came, missed, due))
        verdicts = [stats.Verdict("came and missed", came + missed, due - few, due, chance),
                    stats.Verdict("missed", missed, 0, max(0, due - came), chance)]
        t.report(tap, True, "%s on CPU %d at %d Hz, %s: as many came and were missed as it has CPU time" % (
            python.name, cpu, rate, what), verdicts)


def observe_begun(python, cpu, depth, work, rest, rate):
    """As observe(), of a program that krait knows: on a busy machine it may learn late of one that has just begun, and at such a
    rate what that has done before is many ticks."""
    with t.h.start(python, "dozes.py", *map(str, (SECONDS, cpu, depth, work, rest, t.SEED)), "--wait") as target:
        # It goes on when krait samples.
        os.kill(target.pid, signal.SIGSTOP)
        target.process.stdin.write(b"\n")
        recording = t.h.record("-p", str(target.pid), "-F", str(rate), timeout=240)
        truth = t.parse_truth(target.process.stdout.read().decode())[0]
    counts = t.h.parse_stats(recording.err)
    return counts["interrupts"], counts["ticks_missed"], truth


def crowded(tap, python, cpu):
    """Of interrupts that the kernel does not charge to the thread (CONFIG_IRQ_TIME_ACCOUNTING) the clock on the wall knows."""
    came, missed, truth = observe_begun(python, cpu, DEPTH, 1000, 0, TOO_FAST_HZ)
    low, high = (truth[key] * TOO_FAST_HZ / 1e9 for key in ("ns", "passed"))
    print("#   %d came, %d missed, %.1f to %.1f were due" % (came, missed, low, high))
    name = "%s on CPU %d at %d Hz" % (python.name, cpu, TOO_FAST_HZ)
    tap.ok(missed > low / 20, name + ": many ticks never come", "%d came, %d missed" % (came, missed))
    # And where its turn ends, those behind the last one that came: no more than usually lie between two.
    few = low / UNSEEN + (truth["switches"] + 1) * low / max(1, came)
    t.report(tap, True, name + ": each of them is counted", [
        stats.Verdict("came and missed", came + missed, low - few, high, (truth["switches"] + 1) / 4)])


def main():
    tap = t.begin()
    found = t.pythons(tap)
    cpus = sorted(os.sched_getaffinity(0))
    for python in found if t.LONG else found[:1]:
        # The kernel may treat the CPU that it began on in another way.
        for cpu in cpus if t.LONG else {cpus[0], cpus[-1]}:
            naps(tap, python, cpu, t.RATE)
            if t.LONG:
                naps(tap, python, cpu, t.HIGH_RATE)
    # No anchors shorten its walks.
    old = [p for p in found if p.minor < "3.15"]
    for python in old if t.LONG else old[:1]:
        crowded(tap, python, cpus[-1])
    t.h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
