# SPDX-License-Identifier: BSD-2-Clause
"""outer() runs inner() in a greenlet, whose parent it is; usage: greenlets.py SECONDS"""
import sys
import time

import greenlet


def inner(end):
    while time.monotonic() < end:
        sum(range(1000))


def outer(end):
    greenlet.greenlet(inner).switch(end)


outer(time.monotonic() + float(sys.argv[1]))
