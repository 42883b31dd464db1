#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Greenlets that wait in all sorts of places, below a hub, and in a second thread. For each line on standard input it says
what greenlet itself knows of them ("look": gr_frame of each; that changes how their frames are linked), or begins to
switch between them all the time ("churn"). With a number: so many more."""
import json
import sys
import threading
import time

import greenlet


class Hub(greenlet.greenlet):
    pass


def leaf(n):
    if n:
        return leaf(n - 1)
    hub.switch()


def straight():
    leaf(0)


def deep():
    leaf(40)


def callback():
    sorted([1], key=lambda x: sorted([x], key=lambda y: leaf(2)))


def generator():
    yield leaf(1)


def by_generator():
    for _ in generator():
        pass


class Class:
    def __init__(self):
        leaf(1)


def by_class():
    Class()


def raising():
    try:
        raise ValueError
    except ValueError:
        leaf(1)


def nested():
    inner = greenlet.greenlet(straight)
    inner.switch()


def endless_a():
    while True:
        endless_a2()


def endless_a2():
    hub.switch()


def endless_b():
    while True:
        [endless_b2() for _ in range(2)]


def endless_b2():
    sorted([1], key=endless_b3)


def endless_b3(_):
    hub.switch()


def flat(g):
    """As in gr_frame, root first."""
    frames, f = [], g.gr_frame
    while f:
        frames.append([f.f_code.co_name, f.f_lineno])
        f = f.f_back
    return frames[::-1]


def loop():
    for g in begun:
        g.switch()
    serve()


def serve():
    print("READY", flush=True)
    for line in sys.stdin:
        if line == "look\n":
            print(json.dumps([flat(g) for g in [main, *begun]]), flush=True)
        if line == "churn\n":
            churn()


def churn():
    pair = [greenlet.greenlet(f, hub) for f in (endless_a, endless_b)] * 2
    print("CHURN", flush=True)
    while True:
        for g in pair:
            g.switch()


def other():
    me = greenlet.getcurrent()
    waits = greenlet.greenlet(me.switch)
    waits.switch()
    time.sleep(1000)


main = greenlet.getcurrent()
hub = Hub(loop)
kinds = [straight, deep, callback, by_generator, by_class, raising, nested]
begun = [greenlet.greenlet(f, hub) for f in kinds + [straight] * int(sys.argv[1] if len(sys.argv) > 1 else 0)]
new = greenlet.greenlet(straight, hub)
dead = greenlet.greenlet(int)
dead.switch()
threading.Thread(target=other, daemon=True).start()
while "waits" not in str([list(f.f_locals) for f in sys._current_frames().values()]):
    time.sleep(0.01)
hub.switch()
