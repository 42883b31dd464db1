# SPDX-License-Identifier: BSD-2-Clause
"""C that calls short Python functions all the time, in three levels: each stack is main and so many of the rest."""
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


def main():
    while True:
        sorted(SOME, key=outer)


print("READY", flush=True)
main()
