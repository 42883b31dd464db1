# SPDX-License-Identifier: BSD-2-Clause
"""Processes that start processes. usage: children.py WHAT FOLDER; every process writes the stacks
that it can have to a file of its own in FOLDER.

    work      no child: works, ends with code 7
    fork      os.fork(): parent and child work at the same time
    mp-fork   multiprocessing by fork, two children
    mp-spawn  multiprocessing by spawn: new interpreters
    exec      works, then replaces itself by another interpreter that works
    kill      works, then kills itself by SIGKILL
    exit      a process of many short-lived threads, and children that end at once
"""
import json
import os
import signal
import sys
import threading
import time

import oracle

# Long enough to be found by the first look and to be sampled often.
ROUNDS = 20


def work(folder, hot, *functions):
    """Works for a while, after printing the stacks that this can have."""
    own = oracle.Oracle()
    own.hot = hot

    def tell():
        part = os.path.join(folder, "part-%d-%d" % (os.getpid(), time.monotonic_ns()))
        with open(part, "w", encoding="utf-8") as f:
            json.dump(own.as_json(), f)
        os.rename(part, part.replace("part-", "oracle-"))

    for i, n in enumerate(own.rounds(2, 200000, tell)):
        for function in functions:
            function(n)
        if i == ROUNDS:
            break


def parent_leaf(n):
    for _ in range(n):
        pass


def child_leaf(n):
    for _ in range(n):
        pass


def successor_leaf(n):
    for _ in range(n):
        pass


def child_main(folder):
    work(folder, ["child_leaf"], child_leaf)


def fork(folder):
    pid = os.fork()
    if pid == 0:
        child_main(folder)
        os._exit(3)
    work(folder, ["parent_leaf"], parent_leaf)
    return os.WEXITSTATUS(os.waitpid(pid, 0)[1])


def multiprocess(folder, method):
    import multiprocessing

    context = multiprocessing.get_context(method)
    children = [context.Process(target=child_main, args=(folder,)) for _ in range(2)]
    for child in children:
        child.start()
    work(folder, ["parent_leaf"], parent_leaf)
    for child in children:
        child.join()
    return sum(child.exitcode for child in children)


def replace(folder):
    work(folder, ["parent_leaf"], parent_leaf)
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-B", __file__, "successor", folder])


def come_and_go():
    for _ in range(30):
        if os.fork() == 0:
            child_leaf(1000)
            os._exit(0)
        thread = threading.Thread(target=child_leaf, args=(20000,))
        thread.start()
        thread.join()
        os.wait()
    return 0


def main():
    what, folder = sys.argv[1:]
    if what == "work":
        work(folder, ["parent_leaf"], parent_leaf)
        return 7
    if what == "fork":
        return fork(folder)
    if what.startswith("mp-"):
        return multiprocess(folder, what[3:])
    if what == "exec":
        replace(folder)
    if what == "successor":
        work(folder, ["successor_leaf"], successor_leaf)
        return 9
    if what == "kill":
        work(folder, ["parent_leaf"], parent_leaf)
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "exit":
        return come_and_go()
    raise SystemExit("no such thing: " + what)


if __name__ == "__main__":
    sys.exit(main())
