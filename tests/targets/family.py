# SPDX-License-Identifier: BSD-2-Clause
"""A process with a child, forked, and a grandchild that a shell has started, all at work when it says
READY; one more child begins when a line is read. They end with the parent."""
import os
import subprocess
import sys


def work(first):
    """While the first of the family lives."""
    while True:
        try:
            os.kill(first, 0)
        except ProcessLookupError:
            os._exit(0)
        for _ in range(10000):
            pass


def parent_leaf(first):
    work(first)


def forked_leaf(first):
    work(first)


def grandchild_leaf(first):
    work(first)


def later_leaf(first):
    work(first)


def fork(leaf):
    first = os.getpid()
    if not os.fork():
        leaf(first)


def main():
    if len(sys.argv) > 1:
        print("STARTED", flush=True)
        grandchild_leaf(int(sys.argv[1]))
    fork(forked_leaf)
    # The shell waits for it; what is behind keeps it from becoming it.
    shell = subprocess.Popen(["sh", "-c", '"$@"; exit $?', "sh", sys.executable, __file__,
                              str(os.getpid())], stdout=subprocess.PIPE)
    shell.stdout.readline()
    print("READY", flush=True)
    sys.stdin.readline()
    fork(later_leaf)
    parent_leaf(os.getpid())


main()
