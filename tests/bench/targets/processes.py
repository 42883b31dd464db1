# SPDX-License-Identifier: BSD-2-Clause
"""COUNT processes of one program, each of which works a little and sleeps: together they keep about
one CPU busy. usage: processes.py COUNT"""
import gc
import os
import sys
import time

import oracle
import work

COUNT = int(sys.argv[1])
# Of some 2 ms of work and a pause.
PAUSE_SECS = 0.002 * COUNT


def leaf(n):
    for _ in range(n):
        pass


def middle(n):
    leaf(n)
    leaf(n)


def serve(rounds, done, place, parent):
    """Until the parent is gone; says of itself what it has cost."""
    for n in rounds:
        middle(n)
        done[2 * place] += 1
        done[2 * place + 1] = time.process_time_ns()
        if n > 100 and os.getppid() != parent:
            os._exit(0)
        time.sleep(PAUSE_SECS if n > 100 else 0)


def children(done):
    """Never returns in a child. The first one says what stacks they have."""
    told, tell = os.pipe()
    own = oracle.Oracle()
    parent = os.getpid()
    for place in range(COUNT):
        if os.fork() == 0:
            rounds = own.rounds(20, 50000, lambda: os.write(tell, b".") and oracle.tell(own)
                                if place == 0 else os.write(tell, b"."))
            serve(rounds, done, place, parent)
    ready = 0
    while ready < COUNT:
        ready += len(os.read(told, COUNT))


def main():
    gc.disable()
    children(work.pairs())
    oracle.tell(oracle.of_frame(sys._getframe()))
    oracle.say_ready()
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
