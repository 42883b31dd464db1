# SPDX-License-Identifier: BSD-2-Clause
"""A program that has nothing to do with the attack beside it. It burns CPU time in functions whose
names the test knows, and tells how much: its user and system time between two moments.

    bystander.py DEPTH     prints READY; for each line "MS" on stdin works so many ms of CPU time and
                           prints TRUTH {...}; ends with stdin

Turns of its work that took far longer than others are "pauses", (ns, CLOCK_MONOTONIC ns at begin and end): there the
machine stood still while the clock ran on (tests/truth/pauses.py).

CPython 3.8 and later."""
import json
import resource
import sys
import time

LEAST_NS = 1000000


def bystander_left(n):
    for i in range(n):
        i * i


def bystander_right(n):
    total = 0
    while n:
        total += n
        n -= 1


def bystander_raise():
    raise ValueError


def bystander_yield():
    yield 1
    yield 2


def bystander_work(until):
    """Also uses exceptions and generators, to notice a write into its thread state."""
    turns, begin, began = [], time.process_time_ns(), time.monotonic_ns()
    while begin < until:
        bystander_left(2000)
        bystander_right(1000)
        try:
            bystander_raise()
        except ValueError:
            pass
        for _ in bystander_yield():
            pass
        end, ended = time.process_time_ns(), time.monotonic_ns()
        turns.append((end - begin, began, ended))
        begin, began = end, ended
    # Sorts in this function's own frame: a comprehension would be a function unknown to the test.
    turns.sort()
    limit, pauses = 2 * turns[len(turns) // 2][0] + LEAST_NS, []
    while turns and turns[-1][0] > limit:
        pauses.append(turns.pop())
    return pauses


def bystander_down(depth, until):
    return bystander_down(depth - 1, until) if depth else bystander_work(until)


def losses():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_nivcsw + usage.ru_nvcsw


def bystander_main():
    depth = int(sys.argv[1])
    sys.setrecursionlimit(depth + 1000)
    print("READY", flush=True)
    for line in sys.stdin:
        switches = losses()
        began, clock = time.monotonic_ns(), time.process_time_ns()
        pauses = bystander_down(depth, clock + int(line) * 1000000)
        ended, clock = time.monotonic_ns(), time.process_time_ns() - clock
        print("TRUTH", json.dumps({"began": began, "ended": ended, "ns": clock,
                                   "switches": losses() - switches, "pauses": pauses}), flush=True)


bystander_main()
