# SPDX-License-Identifier: BSD-2-Clause
"""Spends its time in known conditions, one function each: handling exceptions, collecting garbage, neither.

usage: at.py SECONDS        of CPU time in each
"""
import gc
import sys
import time

SECONDS = float(sys.argv[1])


def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def plain():
    spin(SECONDS)


def handler():
    try:
        raise ValueError
    except ValueError:
        spin(SECONDS)


def after():
    """The exception has been handled."""
    try:
        raise ValueError
    except ValueError:
        pass
    spin(SECONDS)


def generate(seconds):
    spin(seconds)
    yield


def below_generator():
    """The generator handles nothing; its caller does."""
    try:
        raise KeyError
    except KeyError:
        for _ in generate(SECONDS):
            pass


def generate_handling(seconds):
    try:
        raise OSError
    except OSError:
        spin(seconds)
        yield


def in_generator():
    for _ in generate_handling(SECONDS):
        pass


def finally_unwinding():
    try:
        try:
            raise ValueError
        finally:
            spin(SECONDS)
    except ValueError:
        pass


class Node:
    """Part of a ring."""


class Loud:
    """Runs Python code when it is collected."""

    def __del__(self):
        finaliser()


def finaliser():
    spin(SECONDS)


def collecting():
    """Makes endless rings and keeps collecting them."""
    rings = []
    for _ in range(20000):
        a, b = Node(), Node()
        a.other, b.other = b, a
        rings.append(a)
    end = time.thread_time() + SECONDS
    while time.thread_time() < end:
        gc.collect()


def finalised():
    loud = Loud()
    loud.self = loud
    del loud
    gc.collect()


def main():
    gc.disable()
    for function in (plain, handler, after, below_generator, in_generator, finally_unwinding, collecting, finalised):
        function()


if __name__ == "__main__":
    main()
