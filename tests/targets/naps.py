# SPDX-License-Identifier: BSD-2-Clause
"""Threads that sleep for a moment, again and again: at any time most wait, and while somebody reads their stacks, many
have run.

usage: naps.py THREADS MILLISECONDS        says READY when each has begun
"""
import random
import sys
import threading
import time


def nap(barrier, seconds):
    barrier.wait()
    time.sleep(seconds * random.random())  # not all at the same time
    while True:
        time.sleep(seconds)


def main():
    barrier = threading.Barrier(int(sys.argv[1]) + 1)
    for _ in range(int(sys.argv[1])):
        threading.Thread(target=nap, args=(barrier, int(sys.argv[2]) / 1000), daemon=True).start()
    barrier.wait()
    print("READY", flush=True)
    time.sleep(1000)


main()
