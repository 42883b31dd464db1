# SPDX-License-Identifier: BSD-2-Clause
"""Threads that want the interpreter's lock, each in a function of its own.

usage: convoy.py SECONDS        of CPU time each, however busy the machine is: first one alone; then two at once, one of
                                them twice as greedy

Prints TRUTH and a JSON document: for each phase, of each function its thread's id, ns that it ran, and that passed.
"""
import json
import sys
import threading
import time

SECONDS = float(sys.argv[1])


def alone(end):
    while time.thread_time() < end:
        pass


def modest(end):
    while time.thread_time() < end:
        pass


def greedy(end):
    """Releases the lock only between calls of some 10 ms."""
    numbers = range(400000)
    while time.thread_time() < end:
        sum(numbers)


def account(function, gate, said):
    gate.wait()
    wall, cpu = time.monotonic_ns(), time.thread_time_ns()
    function(time.thread_time() + SECONDS)
    said[function.__name__] = {"tid": threading.get_native_id(), "on": time.thread_time_ns() - cpu,
                               "passed": time.monotonic_ns() - wall}


def phase(*functions):
    gate, said = threading.Barrier(len(functions)), {}
    threads = [threading.Thread(target=account, args=(f, gate, said)) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return said


def main():
    print("TRUTH", json.dumps([phase(alone), phase(modest, greedy)]))


if __name__ == "__main__":
    main()
