#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""usage: asyncs.py uvloop|uvloop-eager|anyio|anyio-trio|trio|gevent SECONDS: the same chain, main > boss > work > leaf, by
what the library has for it, with others that wait; leaf burns CPU. Prints READY when all run, and gevent LOOK, where it
rests then."""
import sys
import time


def leaf():
    end = time.perf_counter() + 0.002
    while time.perf_counter() < end:
        pass


def by_asyncio(runner, eager=False):
    import asyncio

    async def wait():
        await asyncio.Event().wait()

    async def work():
        leaf()
        await asyncio.sleep(0)

    async def boss(end):
        # With eager tasks: from here on it runs in the loop, and creates them there.
        await asyncio.sleep(0)
        while time.monotonic() < end:
            await asyncio.create_task(work())

    async def main():
        if eager:
            asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        idle = [asyncio.create_task(wait()) for _ in range(5)]
        await asyncio.sleep(0)
        print("READY", flush=True)
        await asyncio.create_task(boss(time.monotonic() + SECONDS))
        for task in idle:
            task.cancel()

    runner(main())


def by_anyio(backend):
    import anyio

    async def work():
        leaf()
        await anyio.sleep(0)

    async def boss(end):
        while time.monotonic() < end:
            async with anyio.create_task_group() as group:
                group.start_soon(work)

    async def main():
        print("READY", flush=True)
        async with anyio.create_task_group() as group:
            group.start_soon(boss, time.monotonic() + SECONDS)

    anyio.run(main, backend=backend)


def by_trio():
    import trio

    async def work():
        leaf()
        await trio.sleep(0)

    async def boss(end):
        while time.monotonic() < end:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(work)

    async def main():
        print("READY", flush=True)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(boss, time.monotonic() + SECONDS)

    trio.run(main)


def by_gevent():
    import gevent
    import gevent.event

    never = gevent.event.Event()

    def wait():
        never.wait()

    def work():
        leaf()
        gevent.sleep(0)

    def boss(end):
        while time.monotonic() < end:
            gevent.spawn(work).join()

    def main():
        idle = [gevent.spawn(wait) for _ in range(5)]
        gevent.sleep(0)
        print("READY", flush=True)
        gevent.spawn(boss, time.monotonic() + SECONDS).join()
        print("LOOK", flush=True)
        gevent.joinall(idle, timeout=60)

    main()


SECONDS = float(sys.argv[2])
if sys.argv[1] in ("uvloop", "uvloop-eager"):
    import uvloop
    by_asyncio(uvloop.run, sys.argv[1] == "uvloop-eager")
elif sys.argv[1].startswith("anyio"):
    by_anyio("trio" if sys.argv[1].endswith("trio") else "asyncio")
else:
    {"trio": by_trio, "gevent": by_gevent}[sys.argv[1]]()
