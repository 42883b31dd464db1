# SPDX-License-Identifier: BSD-2-Clause
"""A stack of the requested depth that stays while its leaf works: the purpose of an anchor. usage: depth.py
DEPTH"""
import sys


def descend(depth):
    return descend(depth - 1) if depth else bottom()


def work(n):
    total = 0
    for i in range(n):
        total += i * i
    return total


def bottom():
    print("READY", flush=True)
    while True:
        for _ in range(50):
            work(40)


if __name__ == "__main__":
    sys.setrecursionlimit(10000)
    descend(int(sys.argv[1]))
