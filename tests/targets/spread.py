# SPDX-License-Identifier: BSD-2-Clause
"""Calls a library that spreads its work over threads: one line after the other, then two threads at once. argv: the library."""
import ctypes
import sys
import threading
import time

library = ctypes.CDLL(sys.argv[1])


def small():
    library.spread(30, 2)


def large():
    library.spread(90, 2)


# krait needs a moment to read how the library's stacks are unwound.
library.spread(20, 1)
time.sleep(0.3)
for _ in range(2):
    small()
    large()
both, begin = [], threading.Barrier(2)


def wait():
    begin.wait()
    library.spread(50, 1)


for _ in range(2):
    both.append(threading.Thread(target=wait))
    both[-1].start()
for t in both:
    t.join()
