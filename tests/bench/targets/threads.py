# SPDX-License-Identifier: BSD-2-Clause
"""COUNT threads that all work, each in functions of its own. usage: threads.py COUNT"""
import functools
import gc
import sys
import threading
import time

import oracle
import work

COUNT = int(sys.argv[1])
SOURCE = """
def leaf_{0}(n):
    for _ in range(n):
        pass

def middle_{0}(n):
    return leaf_{0}(n)

def worker_{0}(rounds, done):
    for n in rounds:
        middle_{0}(n)
        middle_{0}(n)
        done[2 * {0}] += n
"""


def wait_at(gate, own, primed):
    """Where a thread waits for all others; its stack is legal, too."""
    own.note(sys._getframe())
    primed.append(own)
    gate.acquire()


def main():
    gc.disable()
    gates, primed, done = [threading.Lock() for _ in range(COUNT)], [], work.pairs()
    for i, gate in enumerate(gates):
        gate.acquire()
        scope = {}
        exec(compile(SOURCE.format(i), "workers.py", "exec"), scope)
        own = oracle.Oracle()
        # The rounds of a thread begin in it, so that its own stacks are noted.
        rounds = own.rounds(3, 500, functools.partial(wait_at, gate, own, primed))
        threading.Thread(target=scope["worker_%d" % i], args=(rounds, done), daemon=True).start()
    while len(primed) < COUNT:
        time.sleep(0.01)
    oracle.tell(oracle.of_frame(sys._getframe()), *primed)
    oracle.say_ready()
    for gate in gates:
        gate.release()
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
