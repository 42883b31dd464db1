# SPDX-License-Identifier: BSD-2-Clause
"""Four functions in turn, each for a quarter of a period of the wall clock, for ever the same.

usage: periodic.py PERIOD_NS MILLISECONDS [--wait]

Says READY, works for that much CPU time, prints TRUTH and a JSON document, and ends:

    parts   CPU ns of each function, all in all; turns, how many there were
    pauses  turns that are in neither, as ownclock.paused() has them
    names, switches, began, ended as visits.py
"""
import sys
import time

import ownclock
from ownclock import cpu


def until(deadline):
    while time.monotonic_ns() < deadline:
        pass


def first(deadline):
    until(deadline)


def second(deadline):
    until(deadline)


def third(deadline):
    until(deadline)


def fourth(deadline):
    until(deadline)


PARTS = [first, second, third, fourth]


def work(period, total_ns):
    """Each part begins when the clock is a multiple of a quarter."""
    sums, turns, pauses = [0] * len(PARTS), 0, []
    while sum(sums) < total_ns:
        began = time.monotonic_ns()
        quarter = 4 * began // period
        begin = cpu()
        PARTS[quarter % 4]((quarter + 1) * period // 4)
        used = cpu() - begin
        if used > period // 4 + ownclock.LEAST_NS:
            pauses.append((used, began, time.monotonic_ns()))
            continue
        sums[quarter % 4] += used
        turns += 1
    return sums, turns, pauses


def main():
    ownclock.ready()
    switches, began = ownclock.losses(), time.monotonic_ns()
    sums, turns, pauses = work(int(sys.argv[1]), int(sys.argv[2]) * 1000000)
    ownclock.tell({
        "names": [f.__name__ for f in PARTS], "parts": sums, "turns": turns, "pauses": pauses,
        "switches": ownclock.losses() - switches, "began": began, "ended": time.monotonic_ns(),
    })


if __name__ == "__main__":
    main()
