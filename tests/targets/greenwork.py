#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Greenlets in all sorts of trees that use the CPU, each at the end of one chain: the frames of its parents, then its own. What
that is greenlet and the interpreter say themselves (gr_frame, sys._getframe()): READY, a line of JSON for each function that burns,
ALL."""
import json
import sys
import threading

import greenlet

said = set()


class Hub(greenlet.greenlet):
    pass


def names(f):
    found = []
    while f:
        if f.f_code.co_filename == __file__:
            found.append(f.f_code.co_name)
        f = f.f_back
    return found[::-1]


def say(leaf):
    """Once, before it burns CPU: the running one has its own frames, the others those at which they wait."""
    chain = names(sys._getframe(2))
    g = greenlet.getcurrent().parent
    while g is not None:
        chain = names(g.gr_frame) + chain
        g = g.parent
    sys.stdout.write(json.dumps([leaf, chain]) + "\n")
    sys.stdout.flush()
    said.add(leaf)


def leaf_plain():
    "plain" in said or say("plain")
    for _ in range(1000):
        pass


def leaf_callback():
    "callback" in said or say("callback")
    for _ in range(1000):
        pass


def leaf_deep():
    "deep" in said or say("deep")
    for _ in range(1000):
        pass


def leaf_nested():
    "nested" in said or say("nested")
    for _ in range(1000):
        pass


def leaf_of_generator():
    "of_generator" in said or say("of_generator")
    for _ in range(1000):
        pass


def leaf_of_callback():
    "of_callback" in said or say("of_callback")
    for _ in range(1000):
        pass


def leaf_short():
    "short" in said or say("short")
    for _ in range(300):
        pass


def leaf_raising():
    "raising" in said or say("raising")
    for _ in range(300):
        pass


def leaf_sideways():
    "sideways" in said or say("sideways")
    for _ in range(300):
        pass


def leaf_beside():
    "beside" in said or say("beside")
    for _ in range(300):
        pass


def leaf_unbegun():
    "unbegun" in said or say("unbegun")
    for _ in range(1000):
        pass


def leaf_other():
    "other" in said or say("other")
    for _ in range(1000):
        pass


def leaf_main():
    "main" in said or say("main")
    for _ in range(1000):
        pass


def leaf_hub():
    "hub" in said or say("hub")
    for _ in range(300):
        pass


def plain():
    while True:
        leaf_plain()
        hub.switch()


def callback():
    while True:
        sorted([1], key=lambda _: leaf_callback())
        hub.switch()


def deep():
    down(40)


def down(n):
    if n:
        return down(n - 1)
    while True:
        leaf_deep()
        hub.switch()


def nested():
    one = greenlet.greenlet(nested_one)
    while True:
        one.switch()
        hub.switch()


def nested_one():
    two = greenlet.greenlet(nested_two)
    while True:
        two.switch()
        greenlet.getcurrent().parent.switch()


def nested_two():
    while True:
        leaf_nested()
        greenlet.getcurrent().parent.switch()


def generator(g):
    while True:
        yield g.switch()


def by_generator():
    for _ in generator(greenlet.greenlet(of_generator)):
        hub.switch()


def of_generator():
    while True:
        leaf_of_generator()
        greenlet.getcurrent().parent.switch()


def by_callback():
    g = greenlet.greenlet(of_callback)
    while True:
        sorted([1], key=lambda _: [g.switch()])
        hub.switch()


def of_callback():
    while True:
        leaf_of_callback()
        greenlet.getcurrent().parent.switch()


def shorts():
    """Each begins and ends, one of them with an exception."""
    while True:
        greenlet.greenlet(short).switch()
        try:
            greenlet.greenlet(raising).switch()
        except ValueError:
            pass
        hub.switch()


def short():
    leaf_short()


def raising():
    leaf_raising()
    raise ValueError


def sideways():
    """Starts one that is another's child, and ends there."""
    while True:
        leaf_beside()
        greenlet.greenlet(by_sideways, holder).switch()


def by_sideways():
    leaf_sideways()


def hold():
    while True:
        hub.switch()


def unbegun():
    while True:
        leaf_unbegun()
        hub.switch()


def loop(kinds):
    while True:
        for g in kinds:
            g.switch()
        leaf_hub()
        hub.parent.switch()


def serve(*first):
    while True:
        hub.switch(*first)
        first = ()
        leaf_main()
        if len(said) == 14 and not ready:
            ready.append(print("ALL", flush=True))


def other():
    """Another thread with a tree of its own."""
    ours = greenlet.greenlet(other_loop)
    ours.switch()


def other_loop():
    g = greenlet.greenlet(other_work)
    while True:
        g.switch()


def other_work():
    while True:
        leaf_other()
        greenlet.getcurrent().parent.switch()


ready = []
print("READY", flush=True)
hub = Hub(loop)
begun = [greenlet.greenlet(f, hub) for f in (plain, callback, deep, nested, by_generator, by_callback, shorts, sideways)]
holder = greenlet.greenlet(hold, hub)
begun.insert(0, holder)
begun.append(greenlet.greenlet(unbegun, greenlet.greenlet(plain, hub)))
threading.Thread(target=other, daemon=True).start()
serve(begun)
