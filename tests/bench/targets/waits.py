# SPDX-License-Identifier: BSD-2-Clause
"""Threads that wait, each in one way and in a function of its own, and that work a little between; two that want the
GIL all the time. Each accounts for itself in the file named by KRAIT_BENCH_WORK: pairs of 64-bit numbers, nanoseconds
off the CPU in its function (the wall clock less the thread's CPU clock), and its CPU time. For those that want the
GIL, the former is without what the kernel says that they were ready to run. usage: waits.py [gil]: those too"""
import os
import queue
import socket
import sys
import threading
import time

import work

WAIT_SECS, TURNS = 0.02, 40000


def in_sleep(_):
    time.sleep(WAIT_SECS)


def in_pipe(fd):
    os.read(fd, 1)


def in_socket(end):
    end.recv(1)


def in_lock(lock):
    lock.acquire()


def in_condition(condition):
    with condition:
        condition.wait()


def in_queue(things):
    things.get()


def burn():
    for _ in range(TURNS):
        pass


def waiter(function, thing, numbers, place):
    while True:
        wall, cpu = time.perf_counter_ns(), time.thread_time_ns()
        function(thing)
        cpu = time.thread_time_ns() - cpu
        numbers[2 * place] += time.perf_counter_ns() - wall - cpu
        burn()
        numbers[2 * place + 1] = time.thread_time_ns()


def feeder(feeds):
    while True:
        time.sleep(WAIT_SECS)
        for feed in feeds:
            feed()


def ready_ns(path):
    """How long it was ready to run: that is no wait."""
    with open(path, encoding="ascii") as f:
        return int(f.read().split()[1])


def spinner(numbers, place):
    # Its own file would be looked for again each time.
    path = "/proc/self/task/%d/schedstat" % threading.get_native_id()
    ready, began = ready_ns(path), time.perf_counter_ns() - time.thread_time_ns()
    while True:
        burn()
        cpu = time.thread_time_ns()
        numbers[2 * place] = max(0, time.perf_counter_ns() - began - cpu - (ready_ns(path) - ready))
        numbers[2 * place + 1] = cpu


def spin_1(numbers, place):
    """All that the thread does is below: it waits for the GIL where it reads its file, too."""
    spinner(numbers, place)


def spin_2(numbers, place):
    spinner(numbers, place)


def notify(condition):
    with condition:
        condition.notify()


def main():
    reader, writer = os.pipe()
    left, right = socket.socketpair()
    lock, condition, things = threading.Lock(), threading.Condition(), queue.Queue()
    lock.acquire()
    waits = [(in_sleep, None), (in_pipe, reader), (in_socket, left), (in_lock, lock), (in_condition, condition),
             (in_queue, things)]
    numbers = work.pairs()
    for place, (function, thing) in enumerate(waits):
        threading.Thread(target=waiter, args=(function, thing, numbers, place), daemon=True).start()
    feeds = [lambda: os.write(writer, b"x"), lambda: right.send(b"x"), lambda: lock.locked() and lock.release(),
             lambda: notify(condition), lambda: things.put(1)]
    threading.Thread(target=feeder, args=(feeds,), daemon=True).start()
    if len(sys.argv) > 1:
        for place, function in enumerate((spin_1, spin_2)):
            threading.Thread(target=function, args=(numbers, len(waits) + place), daemon=True).start()
    print("READY", flush=True)
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
