# SPDX-License-Identifier: BSD-2-Clause
"""Traps for whoever remembers frames by their address: pairs of callers and callees of which only some
go together, at the same depths and so at the same addresses, in calls of less than a microsecond.
Below them a recursion that stays.

usage: traps.py SCENARIO [DEPTH]
"""
import asyncio
import functools
import re
import sys

import oracle

try:
    import greenlet
except ImportError:
    greenlet = None

REPEAT = 40


# ---- direct --------------------------------------------------------------------------------------


def callee_a():
    return 1


def callee_b():
    return 2


def shared():
    return 3


def caller_a():
    callee_a()
    shared()
    return callee_a()


def caller_b():
    callee_b()
    shared()
    return callee_b()


def direct(n):
    for _ in range(REPEAT):
        caller_a()
        caller_b()
    work(n)


def work(n):
    for _ in range(n):
        pass


# ---- through C -----------------------------------------------------------------------------------


def key_a(x):
    return callee_a() + x


def key_b(x):
    return callee_b() + x


def reduce_a(x, y):
    return callee_a()


def reduce_b(x, y):
    return callee_b()


def sub_a(match):
    return shared_text()


def sub_b(match):
    callee_b()
    return shared_text()


def shared_text():
    return "x"


def through_c_a(n):
    max((1, 2), key=key_a)
    sorted((2, 1), key=key_a)
    list(map(key_a, (1, 2)))
    functools.reduce(reduce_a, (1, 2, 3))
    re.sub("a", sub_a, "aa")


def through_c_b(n):
    max((1, 2), key=key_b)
    sorted((2, 1), key=key_b)
    list(map(key_b, (1, 2)))
    functools.reduce(reduce_b, (1, 2, 3))
    re.sub("a", sub_b, "aa")


def callbacks(n):
    for _ in range(REPEAT // 4):
        through_c_a(n)
        through_c_b(n)
    work(n)


# ---- generators ----------------------------------------------------------------------------------


def nested_a(depth, n):
    """Chained 20 deep; the innermost one receives values and exceptions."""
    if depth:
        return (yield from nested_a(depth - 1, n))
    while True:
        try:
            got = yield callee_a()
        except KeyError:
            caller_a()
        else:
            if got is None:
                return


def nested_b(depth, n):
    if depth:
        return (yield from nested_b(depth - 1, n))
    while True:
        try:
            got = yield callee_b()
        except KeyError:
            caller_b()
        else:
            if got is None:
                return


def drive_a(n):
    generator = nested_a(20, n)
    next(generator)
    generator.send(1)
    generator.throw(KeyError())
    generator.send(2)
    next(generator, None)


def drive_b(n):
    generator = nested_b(20, n)
    next(generator)
    generator.send(1)
    generator.throw(KeyError())
    generator.send(2)
    next(generator, None)


def generators(n):
    for _ in range(REPEAT // 4):
        drive_a(n)
        drive_b(n)
    work(n)


# ---- coroutines ----------------------------------------------------------------------------------


async def awaited_a(depth, n):
    if depth:
        return await awaited_a(depth - 1, n)
    caller_a()
    await asyncio.sleep(0)
    return callee_a()


async def awaited_b(depth, n):
    if depth:
        return await awaited_b(depth - 1, n)
    caller_b()
    await asyncio.sleep(0)
    return callee_b()


@functools.cache
def event_loop():
    return asyncio.new_event_loop()


async def both(n):
    await awaited_a(12, n)
    await awaited_b(12, n)
    await awaited_a(12, n)


def coroutines(n):
    for _ in range(REPEAT // 10):
        event_loop().run_until_complete(both(n))
    work(n)


# ---- exceptions ----------------------------------------------------------------------------------


def raising_a(depth):
    if depth:
        return raising_a(depth - 1)
    callee_a()
    raise KeyError


def raising_b(depth):
    if depth:
        return raising_b(depth - 1)
    callee_b()
    raise KeyError


def caught_a(depth):
    try:
        raising_a(depth)
    except KeyError:
        callee_a()


def caught_b(depth):
    try:
        raising_b(depth)
    except KeyError:
        callee_b()


def exceptions(n):
    for depth in (3, 40, 5, 80, 1):
        caught_a(depth)
        caught_b(depth)
    work(n)


# ---- greenlets -----------------------------------------------------------------------------------


def green_a(n):
    while True:
        caller_a()
        greenlet.getcurrent().parent.switch()
        callee_a()


def green_b(n):
    while True:
        caller_b()
        greenlet.getcurrent().parent.switch()
        callee_b()


def greenlets(n):
    one, other = greenlet.greenlet(green_a), greenlet.greenlet(green_b)
    for _ in range(REPEAT):
        one.switch(n)
        other.switch(n)
    work(n)


# ---- all of it on a recursion that stays ---------------------------------------------------------

SCENARIOS = {
    "direct": direct, "callbacks": callbacks, "generators": generators, "coroutines": coroutines,
    "exceptions": exceptions, "greenlets": greenlets,
}


def recursion(depth, scenario, n):
    if depth:
        return recursion(depth - 1, scenario, n)
    for _ in range(2 if n == 1 else 2000):
        scenario(n)
    return n


def main():
    scenario, depth = SCENARIOS[sys.argv[1]], int(sys.argv[2]) if len(sys.argv) > 2 else 150

    def on_recursion(n):
        recursion(depth, scenario, n)

    sys.setrecursionlimit(10000)
    oracle.run([on_recursion], ["work"], 1, 2000)


if __name__ == "__main__":
    main()
