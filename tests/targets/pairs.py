# SPDX-License-Identifier: BSD-2-Clause
"""Very short calls of which only some combinations are legal: shared functions that call what
their caller gave them. A stack that mixes two moments shows a pair that never was."""
import oracle


def red(): pass
def green(): pass
def blue(): pass
def red_inner(): return red()
def green_inner(): return green()
def blue_inner(): return blue()


def shared(function):
    function()


def passed_on(function):
    shared(function)


def only_red():
    passed_on(red)
    shared(red_inner)
    red()


def only_green():
    passed_on(green)
    shared(green_inner)
    green()


def only_blue():
    passed_on(blue)
    shared(blue_inner)
    blue()


def yields_red():
    for _ in range(3):
        yield red_inner()


def yields_green():
    for _ in range(3):
        yield green_inner()


def drain(generator):
    for _ in generator:
        pass


def drain_red():
    drain(yields_red())


def drain_green():
    drain(yields_green())


def sort_blue():
    sorted((1, 2, 3), key=lambda _: blue() or 1)


def sort_red():
    sorted((1, 2, 3), key=lambda _: red() or 1)


def pairs(n):
    for _ in range(n):
        only_red()
        only_green()
        only_blue()
        drain_red()
        drain_green()
        sort_blue()
        sort_red()


if __name__ == "__main__":
    oracle.run([pairs], ["shared", "red", "green", "blue"], 3, 1000)
