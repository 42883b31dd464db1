# SPDX-License-Identifier: BSD-2-Clause
"""Fifty threads, each with functions of its own; the main thread waits in C meanwhile. With a number
as argument so many, one on each CPU in turn."""
import functools
import gc
import os
import sys
import threading
import time

import oracle

COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 50
# Each function has its own lines. The target's file is theirs, as far as anyone can see.
SOURCE = "".join(
    """
def leaf_{0:02}(n):
    for _ in range(n):
        pass

def middle_{0:02}(n):
    return leaf_{0:02}(n)

def worker_{0:02}(rounds):
    for n in rounds:
        middle_{0:02}(n)
""".format(i)
    for i in range(COUNT)
)
exec(compile(SOURCE, "<workers>", "exec"))


def pin(number):
    """Keeps this thread on one CPU, so that it need not share one with its siblings."""
    cpus = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpus[number % len(cpus)]})


def wait_at(number, gate, own, primed):
    """Where a thread waits for all others; that stack is legal, too."""
    if len(sys.argv) > 1:
        pin(number)
    own.note(sys._getframe())
    primed.append(own)
    gate.acquire()


def main():
    gc.disable()
    # Each gets a turn several times a second.
    sys.setswitchinterval(0.001)
    gates, primed = [threading.Lock() for _ in range(COUNT)], []
    for i, gate in enumerate(gates):
        gate.acquire()
        own = oracle.Oracle()
        own.hot = ["leaf_%02d" % i]
        rounds = own.rounds(3, 1000, functools.partial(wait_at, i, gate, own, primed))
        # A thread's rounds begin in that thread, so that its own stacks are recorded.
        function = globals()["worker_%02d" % i]
        threading.Thread(target=function, args=(rounds,), daemon=True).start()
    while len(primed) < COUNT:
        time.sleep(0.01)
    oracle.tell(oracle.of_frame(sys._getframe()), *primed)
    for gate in gates:
        gate.release()
    oracle.say_ready()
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
