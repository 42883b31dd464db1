# SPDX-License-Identifier: BSD-2-Clause
"""Two threads that want the GIL, one that sleeps, one that waits for a pipe, each in a function of its own.

Prints READY, then runs until it is killed, or its standard input ends."""
import os
import sys
import threading
import time


def spin_a():
    n = 0
    while True:
        n += 1


def spin_b():
    n = 0
    while True:
        n += 1


def in_sleep():
    while True:
        time.sleep(0.1)


def in_pipe(fd):
    while True:
        os.read(fd, 1)


def feed(fd):
    while True:
        time.sleep(0.05)
        os.write(fd, b"x")


reader, writer = os.pipe()
for function, args in ((spin_a, ()), (spin_b, ()), (in_sleep, ()), (in_pipe, (reader,)), (feed, (writer,))):
    threading.Thread(target=function, args=args, daemon=True).start()
print("READY", flush=True)
sys.stdin.read()
