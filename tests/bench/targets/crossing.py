# SPDX-License-Identifier: BSD-2-Clause
"""Calls itself through C (max) so many times, and works a moment at each level: stacks with some native frames for each of
Python's. The longer it works at the last one, the more samples in a row have one stack. usage: crossing.py DEPTH WORK"""
import sys


def work(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


def cross(depth):
    work(40)
    if depth:
        return max((depth - 1,), key=cross)
    return work(int(sys.argv[2]))


print("READY", flush=True)
while True:
    cross(int(sys.argv[1]))
