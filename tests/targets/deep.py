# SPDX-License-Identifier: BSD-2-Clause
"""Recursion deeper than krait follows: the leaf side must be present and true, and the root marked as
missing."""
import sys

DEPTH = 5000


def descend(depth):
    if depth:
        return descend(depth - 1)
    return bottom()


def bottom():
    print("READY", flush=True)
    while True:
        for _ in range(1000):
            pass


if __name__ == "__main__":
    sys.setrecursionlimit(2 * DEPTH)
    descend(DEPTH)
