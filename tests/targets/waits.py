# SPDX-License-Identifier: BSD-2-Clause
"""Waits in every way that there is, and measures by its own clocks how long.

usage: waits.py MILLISECONDS SHORT SPINNERS...     so long in each function; so many short sleeps; and for
                                                   each number, a crowd of so many threads that want the GIL

Prints TRUTH and a JSON document: tid of the main thread; for each function, which runs there, ns of the wall clock
less those of the thread's CPU clock; for each other thread, its CPU time,
how long it was ready to run by its schedstat (0 without /proc), what the host took from the machine's CPUs meanwhile,
and when (CLOCK_MONOTONIC).
"""
import hashlib
import json
import os
import queue
import socket
import subprocess
import sys
import threading
import time

OFF, THREADS = {}, []
# Whoever records knows the program by then.
SETTLE_SECS = 0.5


def open_schedstat():
    """-1 without /proc."""
    path = "/proc/self/task/%d/schedstat" % threading.get_native_id()
    return os.open(path, os.O_RDONLY) if os.path.exists(path) else -1


def usage(fd):
    """(when, ns on a CPU, ns ready to run), all of one moment: reading lets go of the GIL, and then waits for it. The
    time on a CPU in schedstat is as old as the last tick."""
    return time.monotonic_ns(), time.thread_time_ns(), int(os.pread(fd, 100, 0).split()[1]) if fd >= 0 else 0


def stolen():
    """ns that the host took from this machine's CPUs, which no thread's clock has (0 without /proc)."""
    if not os.path.exists("/proc/stat"):
        return 0
    with open("/proc/stat", encoding="ascii") as f:
        return int(f.readline().split()[8]) * 10**9 // os.sysconf("SC_CLK_TCK")


def timed(function, *args):
    """Off the CPU in a call: the wall clock outside, so that all of the call's time is within."""
    wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
    function(*args)
    cpu = time.thread_time_ns() - cpu
    wall = time.perf_counter_ns() - wall
    OFF[function.__name__] = OFF.get(function.__name__, 0) + wall - cpu


def in_sleep(seconds):
    time.sleep(seconds)


def in_short_sleeps(count):
    for _ in range(count):
        time.sleep(0.00005)


def in_pipe(fd):
    os.read(fd, 1)


def in_socket(sock):
    sock.recv(1)


def in_lock(lock):
    lock.acquire()


def in_condition(condition):
    with condition:
        condition.wait()


def in_queue(things):
    things.get()


def in_subprocess(seconds):
    subprocess.run(["sleep", str(seconds)], check=True)


def notify(condition):
    with condition:
        condition.notify()


def each_kind(seconds):
    later = []

    def after(function, *args):
        later.append(threading.Timer(seconds, function, args))
        later[-1].start()

    timed(in_sleep, seconds)
    reader, writer = os.pipe()
    after(os.write, writer, b"x")
    timed(in_pipe, reader)
    left, right = socket.socketpair()
    after(right.send, b"x")
    timed(in_socket, left)
    lock = threading.Lock()
    lock.acquire()
    after(lock.release)
    timed(in_lock, lock)
    condition = threading.Condition()
    after(notify, condition)
    timed(in_condition, condition)
    things = queue.Queue()
    after(things.put, 1)
    timed(in_queue, things)
    timed(in_subprocess, seconds)
    for timer in later:
        timer.join()


def spin(end):
    while time.perf_counter() < end:
        pass


def without_gil(end):
    data = b"x" * (1 << 20)
    while time.perf_counter() < end:
        hashlib.sha256(data).digest()


def worker(function, seconds, crowd, gate):
    fd = open_schedstat()
    gate.wait()
    taken = stolen()
    before = usage(fd)
    function(time.perf_counter() + seconds)
    after = usage(fd)
    taken = stolen() - taken
    THREADS.append({"tid": threading.get_native_id(), "crowd": crowd, "began": before[0], "ended": after[0],
                    "on": after[1] - before[1], "ready": after[2] - before[2], "stolen": taken})


def crowd(function, count, seconds):
    gate = threading.Barrier(count)
    name = "%s %d" % (function.__name__, count)
    threads = [threading.Thread(target=worker, args=(function, seconds, name, gate)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main():
    seconds, short = int(sys.argv[1]) / 1000, int(sys.argv[2])
    time.sleep(SETTLE_SECS)
    each_kind(seconds)
    timed(in_short_sleeps, short)
    for count in map(int, sys.argv[3:]):
        crowd(spin, count, 2 * seconds)
    crowd(without_gil, 1, seconds)
    print("TRUTH", json.dumps({"tid": threading.get_native_id(), "off": OFF, "threads": THREADS}))


if __name__ == "__main__":
    main()
