# SPDX-License-Identifier: BSD-2-Clause
"""Equal instructions on lines of their own, and side by side on one line, each clocked.

usage: places.py SEED MILLISECONDS [--wait]

Says READY, works for that much CPU time, prints TRUTH and a JSON document, and ends:

    lines     of the function on_lines, where the three instructions are
    columns   "line:column" of those of side_by_side, columns from 0 as co_positions() has them; nothing before 3.11,
              which has none
    calls     [function, CPU ns of the three instructions, ns that the call was to take, CLOCK_MONOTONIC ns at begin
              and end]; function 0 is on_lines
    clock_ns, switches, began, ended as visits.py
"""
import dis
import random
import sys
import time

import ownclock
from ownclock import cpu

TIMES_US = (20, 60, 150, 400)


def on_lines(a, b, c):
    one = cpu()
    1.5 in a
    two = cpu()
    1.5 in b
    three = cpu()
    1.5 in c
    return one, two, three, cpu()


def side_by_side(a, b, c):
    found = cpu(), 1.5 in a, cpu(), 1.5 in b, cpu(), 1.5 in c, cpu()
    return found[::2]


def haystack(us):
    """Returns a tuple in which searching for a missing value takes about so long."""
    x, times = (2.5,) * 10000, []
    for _ in range(5):
        begin = cpu()
        1.5 in x
        times.append(cpu() - begin)
    return (2.5,) * (10000 * us * 1000 // min(times))


def places(function):
    """Returns (line, column) of the instructions that search a, b and c, in that order."""
    found = []
    for i in dis.get_instructions(function):
        if i.opname == "CONTAINS_OP" or (i.opname, i.argval) == ("COMPARE_OP", "in"):
            position = getattr(i, "positions", None)
            found.append((position.lineno if position else None,
                          position.col_offset if position else None))
    if not found[0][0]:
        first = function.__code__.co_firstlineno
        found = [(first + 2, None), (first + 4, None), (first + 6, None)]
    return found


def main():
    numbers, hays = random.Random(int(sys.argv[1])), [haystack(us) for us in TIMES_US]
    hays, calls = list(zip(hays, TIMES_US)), []
    ownclock.ready()
    switches, began, begin = ownclock.losses(), time.monotonic_ns(), cpu()
    while cpu() - begin < int(sys.argv[2]) * 1000000:
        function, chosen = numbers.choice((on_lines, side_by_side)), numbers.choices(hays, k=3)
        entered = time.monotonic_ns()
        stamps = function(*(hay for hay, _ in chosen))
        calls.append((int(function is side_by_side), [stamps[i + 1] - stamps[i] for i in range(3)],
                      1000 * sum(us for _, us in chosen), entered, time.monotonic_ns()))
    ended, switches = time.monotonic_ns(), ownclock.losses() - switches
    lines = [str(line) for line, _ in places(on_lines)]
    columns = ["%d:%d" % place for place in places(side_by_side) if place[1] is not None]
    ownclock.tell({"lines": lines, "columns": columns, "calls": calls, "clock_ns": 1000,
                   "switches": switches, "began": began, "ended": ended})


if __name__ == "__main__":
    main()
