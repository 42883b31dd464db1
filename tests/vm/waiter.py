# SPDX-License-Identifier: BSD-2-Clause
"""Waits in functions of its own and says how long, by its own clocks: wall clock less CPU clock, in ns.

usage: waiter.py SECONDS     for each function a line: waited FUNCTION NS STATE

One long wait each, and short ones that are sampled: of these there are as many as fill the time.
"""
import sys
import time

_thread = __import__("_thread")
posix = __import__("posix")

LOCK = _thread.allocate_lock()
LOCK.acquire()


def in_sleep(seconds):
    time.sleep(seconds)


def in_short_sleeps(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        time.sleep(0.0003)


def in_lock(seconds):
    LOCK.acquire(True, seconds)


def in_pipe(seconds):
    reader, writer = posix.pipe()
    _thread.start_new_thread(write_later, (writer, seconds))
    posix.read(reader, 1)


def write_later(fd, seconds):
    time.sleep(seconds)
    posix.write(fd, b"x")


def timed(function, state, seconds):
    wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
    function(seconds)
    cpu = time.thread_time_ns() - cpu
    wall = time.perf_counter_ns() - wall
    print("waited", function.__name__, wall - cpu, state)


time.sleep(1)  # krait knows the program by then
for f, s in ((in_sleep, "sleep"), (in_lock, "lock"), (in_pipe, "io: read pipe"), (in_short_sleeps, "sleep")):
    timed(f, s, float(sys.argv[1]) / 2)
