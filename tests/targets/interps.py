# SPDX-License-Identifier: BSD-2-Clause
"""Two sub-interpreters in threads of their own; the main interpreter works too, and enters a third
again and again in its own thread. Each has functions that the others do not have."""
import gc
import json
import os
import sys
import threading
import time

import oracle

try:
    import _interpreters
except ImportError:  # before 3.13
    import _xxsubinterpreters

    class _interpreters:
        create = staticmethod(_xxsubinterpreters.create)
        exec = staticmethod(_xxsubinterpreters.run_string)

# Runs in the sub-interpreter: prints its oracle through a pipe, then works for ever.
PERMANENT = """
import sys
sys.path.insert(0, %(folder)r)
import json, os, time
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
    time.sleep(0)
"""
# Runs once in the interpreter that is entered repeatedly.
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
    script = PERMANENT % values

    def run():
        # Before 3.13 an interpreter has a single thread state, that of the thread that created it.
        _interpreters.exec(_interpreters.create(), script)

    threading.Thread(target=run, daemon=True).start()


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
        time.sleep(0.1)  # they have finished writing and work
        oracle.say(own, *others)

    for n in own.rounds(2, 20000, ready):
        main_leaf(n)
        _interpreters.exec(visited, "visited(%d)" % n)
        # Before 3.12 the threads of other interpreters never get the GIL otherwise, and after
        # a sleep of no length at all it is taken back before any of them has woken up.
        time.sleep(0.001)


if __name__ == "__main__":
    main()
