# SPDX-License-Identifier: BSD-2-Clause
"""Every way in which control reaches a function: generators, coroutines, asyncio, deep recursion,
C functions that call back, exceptions that unwind."""
import asyncio
import functools
import re

import oracle

try:
    import ctypes
except ImportError:
    ctypes = None


def spin(n):
    for _ in range(n):
        pass


# ---- generators ----------------------------------------------------------------------------------


def chain(depth, n):
    """Makes depth generators, each delegating to the next."""
    if depth:
        yield from chain(depth - 1, n)
    else:
        for _ in range(3):
            generator_leaf(n)
            yield


def generator_leaf(n):
    for _ in range(n):
        pass


def receiver():
    while True:
        n = yield
        try:
            received(n)
            yield
        except ValueError:
            thrown(n)
            yield


def received(n):
    for _ in range(n):
        pass


def thrown(n):
    for _ in range(n):
        pass


def generators(n):
    for _ in chain(20, n):
        spin(100)
    g = receiver()
    next(g)
    g.send(n)
    g.throw(ValueError)
    next(g)
    g.send(n)
    g.close()


# ---- coroutines ----------------------------------------------------------------------------------


async def coroutine_leaf(n):
    for _ in range(n):
        pass


async def coroutine_chain(depth, n):
    if depth:
        await coroutine_chain(depth - 1, n)
    else:
        await coroutine_leaf(n)


def coroutines(n):
    try:
        coroutine_chain(10, n).send(None)
    except StopIteration:
        pass


async def source(n):
    for _ in range(3):
        await asyncio.sleep(0)
        source_leaf(n)
        yield


def source_leaf(n):
    for _ in range(n):
        pass


class Manager:
    def __init__(self, n):
        self.n = n

    async def __aenter__(self):
        entered(self.n)

    async def __aexit__(self, *exc):
        left(self.n)


def entered(n):
    for _ in range(n):
        pass


def left(n):
    for _ in range(n):
        pass


async def task_one(n):
    async for _ in source(n):
        await coroutine_leaf(n)


async def task_two(n):
    async with Manager(n):
        await coroutine_chain(3, n)


async def async_main(n):
    await asyncio.gather(task_one(n), task_two(n))


LOOP = asyncio.new_event_loop()


def event_loop(n):
    LOOP.run_until_complete(async_main(n))


# ---- recursion -----------------------------------------------------------------------------------


def recursive(depth, n):
    if depth:
        return recursive(depth - 1, n)
    return recursion_leaf(n)


def recursion_leaf(n):
    for _ in range(n):
        pass


def recursion(n):
    recursive(900, n)


# ---- called by C ---------------------------------------------------------------------------------


def sort_key(x):
    spin(100)
    return -x


def mapped(x):
    spin(100)
    return x


def reduced(a, b):
    spin(100)
    return a + b


def substituted(match):
    spin(100)
    return match.group().upper()


class Ordered:
    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        spin(100)
        return self.value < other.value

    def __repr__(self):
        spin(100)
        return "Ordered"

    def __hash__(self):
        spin(100)
        return 1

    def __iter__(self):
        spin(100)
        return iter(())


WORDS = " ".join("word%d" % i for i in range(20))


def callbacks(n):
    size = range(min(n, 20))
    sorted(size, key=sort_key)
    list(map(mapped, map(mapped, size)))
    functools.reduce(reduced, size)
    re.sub(r"\w+", substituted, WORDS)
    ordered = [Ordered(i) for i in size]
    sorted(ordered)
    max(ordered)
    repr(ordered)
    list(ordered[0])
    _ = {ordered[0]: 1}
    list(filter(mapped, size))


if ctypes:

    # About 17 comparisons: together as long as another working function.
    COMPARED = [0]

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    def compare(a, b):
        compared(COMPARED[0])
        return a[0] - b[0]


def compared(n):
    for _ in range(n):
        pass


def foreign(n):
    """The C library's qsort() calls a Python function."""
    if ctypes:
        COMPARED[0] = n // 16
        numbers = (ctypes.c_int * 8)(*range(8, 0, -1))
        ctypes.CDLL(None).qsort(numbers, 8, ctypes.sizeof(ctypes.c_int), compare)


# ---- exceptions ----------------------------------------------------------------------------------


def raising(depth, n):
    try:
        if depth:
            raising(depth - 1, n)
        else:
            raise_leaf(n)
    finally:
        unwinding(n // 20)


def raise_leaf(n):
    for _ in range(n):
        pass
    raise KeyError(n)


def unwinding(n):
    for _ in range(n):
        pass


def handler(n):
    for _ in range(n):
        pass


def exceptions(n):
    try:
        raising(30, n)
    except KeyError:
        handler(n)
    for _ in range(10):
        try:
            [].missing
        except AttributeError:
            pass


SCENARIOS = [generators, coroutines, event_loop, recursion, callbacks, foreign, exceptions]
HOT = [
    "generator_leaf", "received", "thrown", "coroutine_leaf", "source_leaf", "entered", "left",
    "recursion_leaf", "spin", "raise_leaf", "unwinding", "handler",
] + (["compared"] if ctypes else [])

if __name__ == "__main__":
    oracle.run(SCENARIOS, HOT, 40, 20000)
