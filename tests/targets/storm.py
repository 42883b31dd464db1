# SPDX-License-Identifier: BSD-2-Clause
"""Threads that do nothing but wait, for 1.5 ms at a time.

    storm.py THREADS     prints READY"""
import sys
import threading
import time


def waits():
    while True:
        time.sleep(0.0015)


for _ in range(int(sys.argv[1])):
    threading.Thread(target=waits, daemon=True).start()
print("READY", flush=True)
sys.stdin.read()
