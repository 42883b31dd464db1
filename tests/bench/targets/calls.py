# SPDX-License-Identifier: BSD-2-Clause
"""Calls and little else: two walks through a tree, by functions that call each other all the time.
The two never mix, so that a stack with functions of both has never existed."""
import gc

import oracle
import work

SOURCE = """
def fib_{0}(n):
    return n if n < 2 else fib_{0}(n - 1) + fib_{0}(n - 2)

def number_{0}(value):
    return value + 1

def text_{0}(value):
    return len(value)

def items_{0}(values):
    total = 0
    for value in values:
        total += walk_{0}(value)
    return total

def pairs_{0}(values):
    total = 0
    for key, value in values.items():
        total += text_{0}(key)
        total += walk_{0}(value)
    return total

def walk_{0}(value):
    kind = type(value)
    if kind is dict:
        return pairs_{0}(value)
    if kind is list:
        return items_{0}(value)
    if kind is str:
        return text_{0}(value)
    return number_{0}(value)
"""
for letter in "ab":
    exec(compile(SOURCE.format(letter), "calls_%s.py" % letter, "exec"))


def tree(depth):
    if depth == 0:
        return [1, "two", 3]
    return {"left": tree(depth - 1), "right": [tree(depth - 1), "text"], "number": depth}


def both(n, document):
    for _ in range(n):
        walk_a(document)  # noqa: F821
        fib_a(9)  # noqa: F821
        walk_b(document)  # noqa: F821
        fib_b(9)  # noqa: F821


def main():
    gc.disable()
    done, document, own = work.pairs(), tree(4), oracle.Oracle()
    for n in own.rounds(1, 4, lambda: oracle.say(own)):
        both(n, document)
        done[0] += n


if __name__ == "__main__":
    main()
