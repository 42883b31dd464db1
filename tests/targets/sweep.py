# SPDX-License-Identifier: BSD-2-Clause
"""Functions of one microsecond to ten milliseconds, each one instruction long, called by others.

usage: sweep.py SEED MILLISECONDS [--wait] [--self]

Says READY, works for that much CPU time, prints TRUTH and a JSON document, and ends:

    lengths   of each length: name of the short function and of its caller, calls, CPU ns of all
              batches, and what of a call can be its caller's, at least and at most, in ns
    batches   [us, calls, CPU ns, CLOCK_MONOTONIC ns at begin and end]
    switches, began, ended as visits.py

Where exactly between two instructions a call begins nobody can say: the loop alone is the caller's,
a call of a function that does nothing may be all the caller's, and what is above that is not. After
longer work both take more than in a tight loop, whose branches the CPU knows, but not twice as much;
and whatever else runs on that core empties its caches meanwhile: up to a microsecond, or a hundredth
of what is called.
"""
import random
import statistics
import sys
import time

import ownclock
import selfsample
from ownclock import cpu

LENGTHS_US = (1, 3, 10, 30, 100, 300, 1000, 3000, 10000)
BATCH_NS = 10000000
SOURCE = """
def short_{0}(x):
    1.5 in x

def caller_{0}(n, x):
    for _ in range(n):
        short_{0}(x)
"""
exec(compile("".join(SOURCE.format(us) for us in LENGTHS_US), "<lengths>", "exec"))


def nothing(x):
    x


def calls_nothing(n, x):
    for _ in range(n):
        nothing(x)


def only_loops(n, x):
    for _ in range(n):
        pass


def time_of(function, n, x):
    begin = cpu()
    function(n, x)
    return cpu() - begin


def haystack(us):
    """Returns an object in which searching for a missing value takes that long and no memory. The search is one
    instruction, during which the interpreter runs no signal handler."""
    call, size = globals()["caller_%d" % us], 16
    while True:
        n = max(1, 300 // us)
        ns = min(time_of(call, n, range(size)) for _ in range(3)) / n
        if ns >= us * 1000:
            return range(int(size * us * 1000 / ns))
        size *= 2


def work(seed, total_ns, haystacks):
    """Batches of random size in random order; and the overheads, in between: what a turn of the loop alone takes, and
    with a call of nothing, in ns."""
    numbers, batches, least, most = random.Random(seed), [], [], []
    begin = cpu()
    while cpu() - begin < total_ns:
        us = numbers.choice(LENGTHS_US)
        n = max(1, int(numbers.uniform(0.2, 1.8) * BATCH_NS / (us * 1000)))
        began = time.monotonic_ns()
        ns = time_of(globals()["caller_%d" % us], n, haystacks[us])
        batches.append((us, n, ns, began, time.monotonic_ns()))
        least.append(time_of(only_loops, 1000, None) / 1000)
        most.append(time_of(calls_nothing, 1000, None) / 1000)
    return batches, statistics.median(least), statistics.median(most)


def main():
    haystacks = {us: haystack(us) for us in LENGTHS_US}
    ownclock.ready()
    own = selfsample.start(1e-3) if "--self" in sys.argv else None
    switches, began = ownclock.losses(), time.monotonic_ns()
    batches, least, most = work(int(sys.argv[1]), int(sys.argv[2]) * 1000000, haystacks)
    ended, switches = time.monotonic_ns(), ownclock.losses() - switches
    ownclock.tell({
        "lengths": [{"us": us, "short": "short_%d" % us, "caller": "caller_%d" % us,
                     "calls": sum(b[1] for b in batches if b[0] == us),
                     "ns": sum(b[2] for b in batches if b[0] == us), "least": least / 2,
                     "most": most * 2 + min(1000, 10 * us)}
                    for us in LENGTHS_US],
        "batches": batches, "began": began, "ended": ended, "switches": switches,
        "self": selfsample.stop(own) if own is not None else [],
    })


if __name__ == "__main__":
    main()
