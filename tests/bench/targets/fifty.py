# SPDX-License-Identifier: BSD-2-Clause
"""COUNT threads that wait below functions of their own, and one that never stops and notes how long it stood
still: the longest time between two looks at the clock since it was last asked. usage: fifty.py COUNT

The file named by KRAIT_BENCH_WORK has 64-bit numbers: that time in nanoseconds, which the reader sets to 0; and how
often the thread has looked.
"""
import sys
import threading
import time

import work

COUNT, DEPTH = int(sys.argv[1]), 8
SOURCE = """
def wait_{0}(gate):
    here, text, values = {0}, "waiter {0}", list(range({0}))
    gate.acquire()

def step_{0}(gate, depth):
    if depth:
        step_{0}(gate, depth - 1)
    else:
        wait_{0}(gate)
"""


def left(clock):
    return clock()


def right(clock):
    return clock()


def watch(numbers):
    clock = time.perf_counter_ns
    before = clock()
    while True:
        now = left(clock)
        if now - before > numbers[0]:
            numbers[0] = now - before
        before = right(clock)
        if before - now > numbers[0]:
            numbers[0] = before - now
        numbers[1] += 1


def main():
    gate = threading.Lock()
    gate.acquire()
    for i in range(COUNT):
        scope = {}
        exec(compile(SOURCE.format(i), "waiters.py", "exec"), scope)
        threading.Thread(target=scope["step_%d" % i], args=(gate, DEPTH), daemon=True).start()
    time.sleep(0.2)
    print("READY", flush=True)
    watch(work.pairs())


if __name__ == "__main__":
    main()
