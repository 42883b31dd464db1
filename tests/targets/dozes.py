# SPDX-License-Identifier: BSD-2-Clause
"""One thread on one CPU that works and rests by turns, for random times (SEED 0: always the same), or only works, deep down
in calls.

usage: dozes.py SECONDS CPU DEPTH WORK_MS REST_MS SEED [--wait] [--asyncio]

Says TRUTH and a JSON document (ns of the process's CPU clock and of CLOCK_MONOTONIC since it could read them, how often it
lost its CPU), and ends at once. With --wait, it says READY and waits for a line on stdin, and all that is since then. With
--asyncio it rests in asyncio's event loop.
"""
import os
import random
import sys
import time

import ownclock


def work(ns):
    end = time.thread_time_ns() + ns
    while time.thread_time_ns() < end:
        pass


def turns(seconds, work_ns, rest, draw):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        work(int(work_ns * draw.uniform(0.2, 1.8)))
        if rest:
            time.sleep(rest * draw.uniform(0.2, 1.8))


async def turns_of_loop(sleep, seconds, work_ns, rest, draw):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        work(int(work_ns * draw.uniform(0.2, 1.8)))
        await sleep(rest * draw.uniform(0.2, 1.8))


def loop(*args):
    import asyncio

    asyncio.run(turns_of_loop(asyncio.sleep, *args))


def descend(depth, *args):
    if depth:
        return descend(depth - 1, *args)
    return loop(*args) if "--asyncio" in sys.argv else turns(*args)


class Even:
    """Draws the middle."""

    def uniform(self, low, high):
        return (low + high) / 2


def ready():
    """Returns what there has been before."""
    ownclock.ready()
    return {"ns": time.process_time_ns(), "switches": ownclock.losses()}


def main():
    before = ready() if "--wait" in sys.argv else {"ns": 0, "switches": 0}
    began, cpu = time.monotonic_ns(), time.process_time_ns() - before["ns"]
    seconds, number, depth, work_ms, rest_ms, seed = map(float, sys.argv[1:7])
    os.sched_setaffinity(0, {int(number)})
    sys.setrecursionlimit(int(depth) + 1000)
    descend(int(depth), seconds, 1e6 * work_ms, rest_ms / 1e3, random.Random(int(seed)) if seed else Even())
    used = time.process_time_ns() - before["ns"]
    ownclock.tell({"ns": used, "passed": time.monotonic_ns() - began + cpu,
                   "switches": ownclock.losses() - before["switches"]})
    os._exit(0)


main()
