# SPDX-License-Identifier: BSD-2-Clause
"""Threads that start and end all the time: crowds of them that live for a moment, and a few that live
just long enough to be given an anchor, each with a stack that is worth one.

usage: brief.py CROWD [SECONDS]   ends with "DONE CROWD" when so many have lived, not before SECONDS
"""
import random
import sys
import threading
import time

import oracle
import traps

CROWD = int(sys.argv[1])
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 0
ELDERS = 3
DEPTH = 40


def down(depth, n, until):
    if depth:
        return down(depth - 1, n, until)
    traps.direct(n)
    traps.callbacks(n)
    traps.exceptions(n)
    while time.monotonic() < until:
        traps.direct(n)
        traps.callbacks(n)
        traps.exceptions(n)
        traps.generators(n)


def elder(lifetime):
    down(DEPTH, 1, time.monotonic() + lifetime)


def moment():
    down(5, 1, 0)


def crowd():
    """Starts all of them, some at a time."""
    alive = []
    for _ in range(CROWD):
        thread = threading.Thread(target=moment)
        thread.start()
        alive.append(thread)
        if len(alive) == 8:
            while alive:
                alive.pop().join()
    while alive:
        alive.pop().join()


def elders(stop):
    """Always keeps some of them alive, none for long."""
    alive = []
    while not stop.is_set():
        while len(alive) < ELDERS:
            thread = threading.Thread(target=elder, args=(random.uniform(1.05, 1.6),))
            thread.start()
            alive.append(thread)
        alive = [t for t in alive if t.is_alive()]
        time.sleep(0.02)
    for thread in alive:
        thread.join()


def main():
    end = time.monotonic() + SECONDS
    stop = threading.Event()
    sys.setswitchinterval(0.0002)
    keeper = threading.Thread(target=elders, args=(stop,))
    keeper.start()
    oracle.say_ready()
    sys.stdin.readline()
    crowd()
    while time.monotonic() < end:
        time.sleep(0.05)
    stop.set()
    keeper.join()
    print("DONE %d" % CROWD, flush=True)


if __name__ == "__main__":
    main()
