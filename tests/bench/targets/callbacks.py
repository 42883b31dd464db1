# SPDX-License-Identifier: BSD-2-Clause
"""C that calls Python back, and C that does not: sqlite3, sort keys, re.sub, zlib, and numpy where it is
installed."""
import gc
import re
import sqlite3
import zlib

import oracle
import work

try:
    import numpy
except ImportError:
    numpy = None

QUERY = "with recursive c(x) as (select 1 union all select x+1 from c where x<%d) select sum(f(x)) from c"
TEXT = "the quick brown fox " * 50


def burn():
    x = 0
    for i in range(50):
        x += i
    return x


def row(x):
    burn()
    return x


def key(x):
    return -burn() - x


def substitute(match):
    burn()
    return "b"


def query(database, n):
    database.execute(QUERY % n).fetchall()


def arrange(n):
    sorted(range(n), key=key)


def replace(n):
    re.sub("a", substitute, "a" * n)


def deflate(n):
    for _ in range(n):
        zlib.compress(TEXT.encode(), 6)


def matrices(array, n):
    for _ in range(n // 20 if array is not None else 0):
        numpy.sort(array @ array, axis=0)


def turn(database, array, n):
    query(database, n)
    arrange(n)
    replace(n)
    deflate(n // 4)
    matrices(array, n)


def main():
    gc.disable()
    database = sqlite3.connect(":memory:")
    database.create_function("f", 1, row)
    array = numpy.random.default_rng(1).random((60, 60)) if numpy else None
    own, done = oracle.Oracle(), work.pairs()
    # The first calls import and compile what later ones do not.
    turn(database, array, 20)
    for n in own.rounds(20, 200, lambda: oracle.say(own)):
        turn(database, array, n)
        done[0] += n


if __name__ == "__main__":
    main()
