# SPDX-License-Identifier: BSD-2-Clause
"""A deep stack that stays, DEPTH frames, and short calls on top of it. usage: deep.py DEPTH"""
import gc
import sys

import oracle
import work


def leaf_a(n):
    for _ in range(n):
        pass


def leaf_b(n):
    for _ in range(n):
        pass


def tower_a(height, n):
    return tower_a(height - 1, n) if height else leaf_a(n)


def tower_b(height, n):
    return tower_b(height - 1, n) if height else leaf_b(n)


def both(n):
    for _ in range(n):
        tower_a(3, 40)
        tower_b(7, 40)


def descend(depth, rounds, done):
    if depth:
        return descend(depth - 1, rounds, done)
    for n in rounds:
        both(n)
        done[0] += n


def main():
    gc.disable()
    depth = int(sys.argv[1])
    sys.setrecursionlimit(2 * depth + 100)
    own = oracle.Oracle()
    descend(depth, own.rounds(1, 20, lambda: oracle.say(own)), work.pairs())


if __name__ == "__main__":
    main()
