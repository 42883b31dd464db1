# SPDX-License-Identifier: BSD-2-Clause
"""A process with a child, forked, and a grandchild that a shell has started, all at work when it says
READY; when a line is read, one more child begins, and the shell starts one more. They end with the
first of them."""
import os
import sys
import time


def work(first):
    """Works while the first of the family lives."""
    while True:
        try:
            os.kill(first, 0)
        except ProcessLookupError:
            os._exit(0)
        for _ in range(10000):
            pass
        time.sleep(0.001)  # leaves CPUs for all of them


def parent_leaf(first):
    work(first)


def forked_leaf(first):
    work(first)


def grandchild_leaf(first):
    work(first)


def later_leaf(first):
    work(first)


def from_shell_leaf(first):
    work(first)


def fork(leaf):
    first = os.getpid()
    if not os.fork():
        leaf(first)


def main():
    if len(sys.argv) > 1:
        try:
            print("STARTED", flush=True)
        except BrokenPipeError:
            os._exit(0)  # the first one has ended before
        globals()[sys.argv[1]](int(sys.argv[2]))
    import subprocess  # imported here so that the others start sooner
    fork(forked_leaf)
    shell = subprocess.Popen(["sh", "-c", '"$0" "$1" grandchild_leaf $2 & read line; '
                              '"$0" "$1" from_shell_leaf $2; exit $?', sys.executable, __file__,
                              str(os.getpid())], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    shell.stdout.readline()
    print("READY", flush=True)
    sys.stdin.readline()
    shell.stdin.write(b"\n")
    shell.stdin.close()
    fork(later_leaf)
    parent_leaf(os.getpid())


main()
