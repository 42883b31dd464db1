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

# When, ns on a CPU, and schedstat are of one moment, and of this function: reading lets go of the lock, and then waits.
SPIN = """
def spin_%d(fd):
    numbers = range(%d)
    began = time.monotonic_ns(), time.thread_time_ns(), os.pread(fd, 100, 0)
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        sum(numbers)
    return began, (time.monotonic_ns(), time.thread_time_ns(), os.pread(fd, 100, 0))
"""
SECONDS, COUNT = float(sys.argv[1]), int(sys.argv[2])
for number in range(COUNT):
    exec(compile(SPIN % (number, 100 + 60000 * number), __file__, "exec"))


def open_schedstat():
    """Without /proc, opens a file that says the same: 0."""
    path = "/proc/self/task/%d/schedstat" % threading.get_native_id()
    if os.path.exists(path):
        return os.open(path, os.O_RDONLY)
    fd = os.memfd_create("schedstat")
    os.write(fd, b"0 0 0")
    return fd


def account(function, gate, said):
    fd = open_schedstat()
    gate.wait()
    (began, on, first), (ended, on_then, then) = function(fd)
    said[function.__name__] = {"tid": threading.get_native_id(), "on": on_then - on, "began": began, "ended": ended,
                               "ready": int(then.split()[1]) - int(first.split()[1])}


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
