# SPDX-License-Identifier: BSD-2-Clause
"""Two sub-interpreters in threads of their own; the main interpreter works too, and enters a third
again and again in its own thread. Each has functions that the others do not have."""
import gc
import json
import os
import sys
import threading

import oracle

import _interpreters

# Runs in the sub-interpreter: says its oracle through a pipe, then works for ever.
PERMANENT = """
import sys
sys.path.insert(0, %(folder)r)
import json, os
import oracle

def sub%(i)d_leaf(n):
    for _ in range(n):
        pass

def sub%(i)d_middle(n):
    sub%(i)d_leaf(n)

def sub%(i)d_ready():
    os.write(%(fd)d, (json.dumps(own.as_json()) + chr(10)).encode())

own = oracle.Oracle()
own.hot = ["sub%(i)d_leaf"]
for n in own.rounds(3, 1000, sub%(i)d_ready):
    sub%(i)d_middle(n)
"""
# Runs once in the interpreter that is entered again and again.
SETUP = """
def visited_leaf(n):
    for _ in range(n):
        pass

def visited(n):
    visited_leaf(n)
"""


def main_leaf(n):
    for _ in range(n):
        pass


def start_sub(i, fd):
    values = {"i": i, "fd": fd, "folder": os.path.dirname(os.path.abspath(__file__))}
    interpreter = _interpreters.create()
    script = PERMANENT % values
    threading.Thread(
        target=_interpreters.exec, args=(interpreter, script), daemon=True
    ).start()


def main():
    gc.disable()
    read_fd, write_fd = os.pipe()
    own = oracle.Oracle()
    own.hot = ["main_leaf"]
    visited = _interpreters.create()
    _interpreters.exec(visited, SETUP)

    def ready():
        for i in range(2):
            start_sub(i, write_fd)
        with open(read_fd, encoding="utf-8") as pipe:
            others = [json.loads(pipe.readline()) for _ in range(2)]
        oracle.say(own, *others)

    for n in own.rounds(2, 20000, ready):
        main_leaf(n)
        _interpreters.exec(visited, "visited(%d)" % n)


if __name__ == "__main__":
    main()
