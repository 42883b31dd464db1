# SPDX-License-Identifier: BSD-2-Clause
"""Extension modules that work in CPython's API, and call Python back. argv: the folder that they are in, and
their names; each has crunch(n), which calls nothing of Python's, and call_back(function)."""
import sys

sys.path.insert(0, sys.argv[1])


def spin():
    for _ in range(100):
        pass


def named(function, name):
    """Returns the same function under another name."""
    names = {"co_name": name}
    if hasattr(function.__code__, "co_qualname"):
        names["co_qualname"] = name
    copy = type(function)(function.__code__.replace(**names), function.__globals__)
    copy.__defaults__ = function.__defaults__
    return copy


def crunch(function):
    function(20000)


def call(function, leaf):
    for _ in range(60):
        function(leaf)


work = []
for module in sys.argv[2:]:
    native = __import__(module)
    work.append((named(crunch, "crunch_" + module), native.crunch))
    work.append((named(call, "call_" + module), native.call_back, named(spin, "leaf_" + module)))


def turn():
    for function, *args in work:
        function(*args)


turn()
print("READY", flush=True)
while True:
    turn()
