# SPDX-License-Identifier: BSD-2-Clause
"""C that calls short Python functions all the time, in three levels: each stack is main and so many of the rest. With an argument
the functions are generators, resumed by Python and by C."""
import sys

PLENTY = list(range(200))
SOME = list(range(20))


def leaf(x):
    return -x


def inner(x):
    return leaf(x)


def middle(x):
    return sum(map(inner, SOME))


def outer(x):
    return max(PLENTY, key=middle)


def yields_leaf(n):
    for x in range(n):
        yield x


def yields_inner(n):
    yield from yields_leaf(n)


def yields_middle(n):
    for x in yields_inner(n):
        yield x


def yields_outer(n):
    yield from yields_middle(n)


def sends(n):
    resumed = yields_outer(n + 1)
    next(resumed)
    for _ in range(n):
        resumed.send(None)
    for _ in resumed:
        pass


def main():
    while len(sys.argv) < 2:
        sorted(SOME, key=outer)
    while True:
        for _ in yields_outer(20):
            pass
        sum(yields_outer(20))
        list(yields_outer(20))
        sends(20)


print("READY", flush=True)
main()
