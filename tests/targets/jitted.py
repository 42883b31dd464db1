# SPDX-License-Identifier: BSD-2-Clause
"""Loops that a JIT takes, in the main program and below C code."""


def hot():
    total = 0
    for i in range(50000):
        total += i * i
    return total


def key(x):
    total = 0
    for i in range(300):
        total += i * x
    return total


def in_sort():
    sorted(range(100), key=key)


print("READY", flush=True)
while True:
    hot()
    in_sort()
