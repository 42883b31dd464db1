# SPDX-License-Identifier: BSD-2-Clause
"""COUNT processes of a service: each answers requests of 20 kinds, whose stacks are DEPTH frames deep and part where a
request goes its own way; between two it waits. Together they keep about one CPU busy.
usage: fleet.py COUNT DEPTH"""
import os
import random
import signal
import sys
import time

COUNT, DEPTH = int(sys.argv[1]), int(sys.argv[2])
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
        time.sleep((time.process_time() - began) * (COUNT - 1) * chance.uniform(0.5, 1.5))


def main():
    sys.setrecursionlimit(10000)
    children = []
    for i in range(COUNT):
        pid = os.fork()
        if not pid:
            serve(i % 7)
            os._exit(0)
        children.append(pid)
    print("ready", flush=True)
    sys.stdin.read()
    for pid in children:
        os.kill(pid, signal.SIGKILL)


main()
