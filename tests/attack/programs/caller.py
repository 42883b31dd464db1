# SPDX-License-Identifier: BSD-2-Clause
"""Calls the functions of libraries, and does something to their files meanwhile.

    caller.py SYMBOL LIBRARY...         only calls
    caller.py cut SIZE LIBRARY...       cuts each file to that size at a line on stdin
    caller.py fifo LIBRARY...           puts a FIFO in the place of each file's name"""
import ctypes
import os
import select
import sys


def attack_library(function, ms):
    function(ctypes.c_long(ms))


def functions(library):
    return [library["spin_%d" % i] for i in range(1, 9)]


what, paths = sys.argv[1], sys.argv[2:]
if what == "cut":
    size = int(paths.pop(0))
libraries = [ctypes.CDLL(path) for path in paths]
if what == "fifo":
    for path in paths:
        os.unlink(path)
        os.mkfifo(path)
print("READY", flush=True)
if what == "cut":
    cut = False
    while True:
        for library in libraries:
            for function in functions(library)[4 * cut:4 * cut + 4]:
                attack_library(function, 20)
        if not cut and select.select([sys.stdin], [], [], 0)[0]:
            cut = True
            for path in paths:
                with open(path, "r+b") as f:
                    f.truncate(size)
while True:
    for library in libraries:
        for function in functions(library) if what == "fifo" else [library[what]]:
            attack_library(function, 20)
