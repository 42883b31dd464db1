# SPDX-License-Identifier: BSD-2-Clause
"""Greenlets that were begun at different depths, one of them below C code, and take turns: at the addresses
below each lies what others have left there."""
import greenlet


def leaf(x):
    for _ in range(100):
        pass
    return x


def green_a():
    while True:
        leaf(0)
        sorted(range(40), key=leaf)
        greenlet.getcurrent().parent.switch()


def green_b():
    while True:
        leaf(0)
        sorted(range(40), key=leaf)
        greenlet.getcurrent().parent.switch()


def down(n, function):
    return down(n - 1, function) if n else function()


one, other = greenlet.greenlet(green_a), greenlet.greenlet(green_b)
down(3, one.switch)
sorted([1], key=lambda x: down(10, other.switch))
print("READY", flush=True)
while True:
    one.switch()
    other.switch()
