# SPDX-License-Identifier: BSD-2-Clause
"""Two threads on one CPU that hand over to each other in C, below so many functions of Python; in KRAIT_BENCH_WORK the
turns, each of which is two switches of that CPU. usage: switches.py LIBRARY pipe|yield DEPTH SWITCHES-A-SECOND
(0: as many as there can be)"""
import ctypes
import os
import sys
import threading

import work


def down(depth, function, *args):
    if depth > 1:
        return down(depth - 1, function, *args)
    return function(*args)


def main():
    library, kind, depth, rate = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    sys.setrecursionlimit(10000)
    threading.stack_size(64 << 20)
    c = ctypes.CDLL(library)
    count = ctypes.c_ulonglong.from_buffer(work.pairs())
    here, there = os.pipe(), os.pipe()
    if kind == "pipe":
        jobs = [(c.give_back, there[0], here[1]),
                (c.hand_over, here[0], there[1], ctypes.c_double(rate / 2), ctypes.byref(count))]
    else:
        jobs = [(c.yield_for_ever, ctypes.byref(count))] * 2
    threads = [threading.Thread(target=down, args=(depth, *job), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    print("READY", flush=True)
    sys.stdin.read()


main()
