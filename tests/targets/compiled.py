# SPDX-License-Identifier: BSD-2-Clause
"""Compiled by Nuitka (scripts/wheels), for tests/e2e/test_nuitka.py: functions, a generator, a method, and a library that is not
compiled, which calls back. Each function says in its name what calls it."""
import json


class Thing:
    def method(self, n):
        return leaf(n)


def leaf(n):
    x = 0
    for i in range(n):
        x = (x * 7 + i) % 1000003
    return x


def middle(n):
    return leaf(n)


def generator(n):
    for _ in range(n):
        yield middle(1000)


def hook(pairs):
    return leaf(1000 * len(pairs))


def main():
    text = json.dumps([{"a": 1}] * 3)
    while True:
        sum(generator(3))
        Thing().method(2000)
        json.loads(text, object_pairs_hook=hook)


print("READY", flush=True)
main()
