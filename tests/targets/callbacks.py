# SPDX-License-Identifier: BSD-2-Clause
"""C that calls Python back, of all kinds that the standard library has. What C runs between do_X and
leaf_X is in a library of its own, or in the interpreter."""
import ctypes
import json
import re
import sqlite3
import sys

compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
libc = ctypes.CDLL(None)
numbers = (ctypes.c_int * 100)()


def burn():
    x = 0
    for i in range(200):
        x += i * i
    return x


def leaf_qsort(a, b):
    burn()
    return a[0] - b[0]


callback = compare(leaf_qsort)


def do_qsort():
    for i in range(100):
        numbers[i] = i * 7919 % 100
    libc.qsort(numbers, 100, 4, callback)


def leaf_sqlite(x):
    burn()
    return x


db = sqlite3.connect(":memory:")
db.create_function("f", 1, leaf_sqlite)


def do_sqlite():
    db.execute("with recursive c(x) as (select 1 union all select x+1 from c where x<300) "
               "select sum(f(x)) from c").fetchall()


def leaf_sort(x):
    return burn()


def do_sort():
    sorted(range(400), key=leaf_sort)


def leaf_re(match):
    return str(burn())


def do_re():
    re.sub("a", leaf_re, "a" * 400)


def leaf_json(d):
    return burn()


def do_json():
    json.loads("[" + ",".join(['{"a":1}'] * 400) + "]", object_hook=leaf_json)


def turn():
    do_qsort()
    do_sqlite()
    do_sort()
    do_re()
    do_json()


def work():
    print("READY", flush=True)
    while True:
        turn()


def down(depth):
    for _ in map(down, (depth - 1,) if depth else ()):
        pass
    if not depth:
        work()


turn()
sys.setrecursionlimit(10000)
# Below that many calls from C to Python.
down(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
