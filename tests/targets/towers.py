# SPDX-License-Identifier: BSD-2-Clause
"""Towers of calls that are built and torn down all the time, on the same addresses but of other
functions: whoever remembers a frame by its address and finds it again is wrong here. The towers
stand for 1 to 1000 microseconds, on a base that stays, partly behind C functions."""
import sys

import oracle


def leaf_a(n):
    for _ in range(n):
        pass


def leaf_b(n):
    for _ in range(n):
        pass


def tower_a(height, n):
    if height:
        return tower_a(height - 1, n)
    return leaf_a(n)


def tower_b(height, n):
    if height:
        return tower_b(height - 1, n)
    return leaf_b(n)


def mixed_a(height, n):
    return mixed_b(height - 1, n) if height else leaf_a(n)


def mixed_b(height, n):
    return mixed_a(height - 1, n) if height else leaf_b(n)


def key_a(n):
    return tower_a(6, n) or 0


def key_b(n):
    return tower_b(6, n) or 0


def behind_c_a(n):
    sorted((n,), key=key_a)


def behind_c_b(n):
    sorted((n,), key=key_b)


def steps_a(n):
    for _ in range(3):
        yield tower_a(4, n)


def steps_b(n):
    for _ in range(3):
        yield tower_b(4, n)


def thrown_a(n):
    tower_a(5, n)
    raise KeyError


def thrown_b(n):
    tower_b(5, n)
    raise KeyError


def unwind(function, n):
    try:
        function(n)
    except KeyError:
        pass


def build(n):
    tower_a(12, n)
    tower_b(12, n)
    mixed_a(9, n)
    mixed_b(9, n)
    behind_c_a(n)
    behind_c_b(n)
    for _ in steps_a(n):
        pass
    for _ in steps_b(n):
        pass
    unwind(thrown_a, n)
    unwind(thrown_b, n)


def base(depth, n):
    if depth:
        return base(depth - 1, n)
    for size in (1, 1, 1, 10, 10, 100, 3000, 30000):
        build(min(size, n))


def towers(n):
    base(60, n)


if __name__ == "__main__":
    sys.setrecursionlimit(10000)
    oracle.run([towers], ["leaf_a", "leaf_b"], 1, 30000)
