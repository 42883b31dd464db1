# SPDX-License-Identifier: BSD-2-Clause
"""Calls functions of many kinds in random order for random times, and clocks each visit.

usage: visits.py SEED MILLISECONDS [--wait] [--self] [NAME=FACTOR...]

Says READY when it has found out how fast this machine is, works for that much CPU time, prints
TRUTH and a JSON document, and ends:

    names     functions; a stack with one of them is a sample of it
    inner     {function: the only one of names that calls it}
    visits    [function, thread CPU ns at begin and end, CLOCK_MONOTONIC ns at begin and end]
    planned   ns that each visit was to take, or what is in proportion to that for each function
    cpu       thread CPU ns of everything, what is between the visits too
    clock_ns  what reading the clocks takes of a visit's time: as much of it is the caller's
    switches  how often the thread lost its CPU

--wait begins with a line on stdin rather than half a second later. --self samples itself, by a
signal: see selfsample.py. With NAME=FACTOR the same visits are made once more, with that much more
work in those of that function, and there is a second TRUTH.
"""
import random
import sys
import time
import zlib
from os import stat

import ownclock
import selfsample
from ownclock import cpu

DATA = bytes(range(256)) * 65536  # 16 MiB
NUMBERS = random.Random(1)
FACTORS = [NUMBERS.getrandbits(int(1000 * 1.2 ** i)) for i in range(38)]
UNSORTED = [NUMBERS.random() for _ in range(100000)]


# ---- what is visited; n is some amount of work -----------------------------------------------------


def looping(n):
    for _ in range(n):
        pass


def multiplying(n):
    """One instruction, however long it takes."""
    FACTORS[n] * FACTORS[n]


def sorting(n):
    sorted(UNSORTED[:n])


def checksumming(n):
    """Releases the GIL meanwhile."""
    zlib.crc32(memoryview(DATA)[:n])


def descending(n, depth=15):
    if depth:
        return descending(n, depth - 1)
    return bottom(n)


def bottom(n):
    for _ in range(n):
        pass


def numbers(n):
    for i in range(n):
        yield i


def generating(n):
    for _ in numbers(n):
        pass


def tiny(x):
    return x


def calling(n):
    for i in range(n):
        tiny(i)


def asking(n):
    """Makes the kernel work."""
    for _ in range(n):
        stat("/")


def allocating(n):
    """Uses fresh pages: the kernel works in page faults."""
    bytearray(n)


FUNCTIONS = [looping, multiplying, sorting, checksumming, descending, generating, calling, asking,
             allocating]
LIMITS = {"multiplying": len(FACTORS) - 1, "sorting": len(UNSORTED), "checksumming": len(DATA)}

# ---- how much work takes how long ------------------------------------------------------------------


def time_of(function, n):
    begin = cpu()
    function(n)
    return cpu() - begin


def calibrate(function):
    """Returns [(work, ns)], growing up to 10 ms or the maximum."""
    table, n, most = [], 1, LIMITS.get(function.__name__, 1 << 30)
    while True:
        table.append((n, min(time_of(function, n), time_of(function, n))))
        if table[-1][1] > 10000000 or n == most:
            return table
        n = min(n + 1 if function is multiplying else 2 * n, most)


def work_for(table, wanted):
    """Returns the amount of work that takes about so many ns, and how many ns that is."""
    for n, ns in table:
        if ns >= wanted:
            return (n, ns) if table is TABLES["multiplying"] else (max(1, int(n * wanted / ns)), wanted)
    return table[-1]


TABLES = {f.__name__: calibrate(f) for f in FUNCTIONS}


def plan(seed, total_ns):
    """Plans the visits: half of them 5 to 200 us, half up to 6 ms, so that they can fall anywhere between two
    interrupts at a usual rate."""
    numbers, left, found = random.Random(seed), total_ns, []
    while left > 0:
        function = numbers.choice(FUNCTIONS)
        wanted = numbers.uniform(*((5e3, 2e5) if numbers.random() < 0.5 else (2e5, 6e6)))
        found.append((function, *work_for(TABLES[function.__name__], wanted)))
        left -= wanted
    return found


def slowed(visits, slower):
    factors = {name: float(factor) for name, factor in slower.items()}
    return [(f, int(n * factors.get(f.__name__, 1)), ns * factors.get(f.__name__, 1)) for f, n, ns in visits]


# ---- the visits ------------------------------------------------------------------------------------


def visit(function, n):
    began = time.monotonic_ns()
    begin = cpu()
    function(n)
    end = cpu()
    return begin, end, began, time.monotonic_ns()


def clock_cost(done):
    """ns of a visit by the clock around it that are not by the one inside. So much of the reading is
    before and after it, and much the same within. Where the thread lost its CPU says nothing."""
    outside = [ended - began - (end - begin) for begin, end, began, ended in done]
    outside = [ns for ns in outside if ns < 50000]
    return sum(outside) / len(outside)


def work(visits):
    """Makes the visits and says what they took."""
    indices = {f: i for i, f in enumerate(FUNCTIONS)}
    own = selfsample.start(1e-3) if "--self" in sys.argv else None
    switches, begin, began = ownclock.losses(), cpu(), time.monotonic_ns()
    done = [visit(function, n) for function, n, _ in visits]
    end, ended, switches = cpu(), time.monotonic_ns(), ownclock.losses() - switches
    return {
        "names": [f.__name__ for f in FUNCTIONS],
        "inner": {"bottom": "descending", "numbers": "generating", "tiny": "calling"},
        "visits": [(indices[v[0]],) + d for v, d in zip(visits, done)],
        "planned": [int(ns) for _, _, ns in visits],
        "cpu": end - begin, "began": began, "ended": ended,
        "clock_ns": clock_cost(done), "switches": switches,
        "self": selfsample.stop(own) if own is not None else [],
    }


def main():
    visits = plan(int(sys.argv[1]), int(sys.argv[2]) * 1000000)
    slower = dict(a.split("=") for a in sys.argv[3:] if "=" in a)
    ownclock.ready()
    found = [work(visits)]
    if slower:
        found.append(work(slowed(visits, slower)))
    for document in found:
        ownclock.tell(document)


if __name__ == "__main__":
    main()
