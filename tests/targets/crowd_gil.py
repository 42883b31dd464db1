# SPDX-License-Identifier: BSD-2-Clause
"""Threads that all want the interpreter's lock all the time, each in a function of its own, each with another greed.

usage: crowd_gil.py SECONDS THREADS        functions are spin_0, spin_1 ...; number n lets go after about n ms

Prints TRUTH and a JSON document: for each function its thread's id, ns that it ran and was ready to run, that passed,
and when.
"""
import json
import os
import sys
import threading
import time

SPIN = """
def spin_%d(end):
    numbers = range(%d)
    while time.perf_counter() < end:
        sum(numbers)
"""
SECONDS, COUNT = float(sys.argv[1]), int(sys.argv[2])
for number in range(COUNT):
    exec(compile(SPIN % (number, 100 + 60000 * number), __file__, "exec"))


def ready():
    """ns; 0 without /proc."""
    if not os.path.exists("/proc/self/schedstat"):
        return 0
    with open("/proc/self/task/%d/schedstat" % threading.get_native_id(), encoding="ascii") as f:
        return int(f.read().split()[1])


def account(function, gate, said):
    gate.wait()
    wall, cpu, waited = time.monotonic_ns(), time.thread_time_ns(), ready()
    function(time.perf_counter() + SECONDS)
    said[function.__name__] = {"tid": threading.get_native_id(), "on": time.thread_time_ns() - cpu,
                               "ready": ready() - waited, "began": wall, "ended": time.monotonic_ns()}


def main():
    gate, said = threading.Barrier(COUNT), {}
    threads = [threading.Thread(target=account, args=(globals()["spin_%d" % n], gate, said)) for n in range(COUNT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("TRUTH", json.dumps(said))


if __name__ == "__main__":
    main()
