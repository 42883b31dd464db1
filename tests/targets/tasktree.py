"""
asyncio tasks that wait in every way that `krait dump --tasks` draws: groups, async generators, a task with several
awaiters, a thread with a loop of its own, and the task of a thread that has ended. With "circle", two that await each
other. Prints READY and waits.

usage: tasktree.py TASKS [circle]
"""
import asyncio
import sys
import threading


async def leaf():
    await asyncio.sleep(100)


async def numbers():
    while True:
        await leaf()
        yield 1


async def worker():
    async for _ in numbers():
        pass


async def boss():
    async with asyncio.TaskGroup() as tg:
        for i in range(int(sys.argv[1])):
            tg.create_task(worker(), name="w%d" % i)


CIRCLE = []


async def circle(event, other):
    await event.wait()
    await CIRCLE[other]


async def shared_by(task):
    await task


async def main():
    event = asyncio.Event()
    if "circle" in sys.argv:
        CIRCLE.extend(asyncio.create_task(circle(event, 1 - i), name="circle%d" % i) for i in range(2))
    shared = asyncio.create_task(leaf(), name="shared")
    others = [asyncio.create_task(shared_by(shared)) for _ in range(3)]
    group = asyncio.create_task(boss())
    await asyncio.sleep(0.1)
    event.set()
    await asyncio.sleep(0.2)
    print("READY", flush=True)
    await asyncio.gather(group, *others)


KEPT = []


def ended():
    loop = asyncio.new_event_loop()
    KEPT.extend((loop, loop.create_task(leaf(), name="orphan")))
    loop.run_until_complete(asyncio.sleep(0))


threading.Thread(target=lambda: asyncio.run(leaf()), daemon=True, name="other").start()
thread = threading.Thread(target=ended)
thread.start()
thread.join()
asyncio.run(main())
