# SPDX-License-Identifier: BSD-2-Clause
"""COUNT processes of a service: each answers requests of 20 kinds, whose stacks are DEPTH frames deep and part where a
request goes its own way; between two it waits. Together they keep about one CPU busy, or PART of it. With STARTS the
oldest is killed and one started so often an hour: by turns a fork and a new interpreter.
usage: fleet.py COUNT DEPTH [STARTS [PART]]"""
import itertools
import os
import random
import select
import signal
import sys
import time

COUNT, DEPTH = int(sys.argv[1]), int(sys.argv[2])
STARTS = int(sys.argv[3]) if len(sys.argv) > 3 else 0
PART = float(sys.argv[4]) if len(sys.argv) > 4 else 1.0
ONE = "one"
KINDS, LAYERS, WORK = 20, 60, 20000
SOURCE = "def layer_%d(path, n):\n    if n:\n        return path[n %% len(path)](path, n - 1)\n    return work()\n"


def work():
    total = 0
    for i in range(WORK):
        total += i
    return total


def layers():
    found = {"work": work}
    for i in range(LAYERS):
        exec(compile(SOURCE % i, "service/layer_%d.py" % (i // 5), "exec"), found)
    return [found["layer_%d" % i] for i in range(LAYERS)]


def serve(seed):
    chance = random.Random(seed)
    functions = layers()
    requests = [chance.sample(functions, 12) for _ in range(KINDS)]
    while os.getppid() != 1:
        path = chance.choice(requests)
        began = time.process_time()
        path[0](path, DEPTH)
        time.sleep((time.process_time() - began) * (COUNT / PART - 1) * chance.uniform(0.5, 1.5))


def fork(seed):
    pid = os.fork()
    if not pid:
        serve(seed)
        os._exit(0)
    return pid


def start(number):
    """A process that takes the place of another."""
    if number % 2:
        return fork(number % 7)
    command = [sys.executable, __file__, str(COUNT), str(DEPTH), "0", str(PART), ONE, str(number % 7)]
    # Reaped with the forks.
    return os.posix_spawn(command[0], command, os.environ)


def churn(children):
    """Until stdin ends."""
    due = time.monotonic()
    for number in itertools.count():
        due += 3600 / STARTS
        if select.select([sys.stdin], [], [], max(0, due - time.monotonic()))[0]:
            return
        oldest = children.pop(0)
        os.kill(oldest, signal.SIGKILL)
        os.waitpid(oldest, 0)
        children.append(start(number))


def main():
    sys.setrecursionlimit(10000)
    if ONE in sys.argv:
        serve(int(sys.argv[-1]))
        return
    children = [fork(i % 7) for i in range(COUNT)]
    print("ready", flush=True)
    if STARTS:
        churn(children)
    else:
        sys.stdin.read()
    for pid in children:
        os.kill(pid, signal.SIGKILL)


main()
