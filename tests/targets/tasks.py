"""
asyncio tasks that await each other in every way that programs have, and burn CPU at the end of the chain. Each burning function
has the chain in its name: what a profiler shows above it must be that.

usage: tasks.py SECONDS [CASE ...]
"""
import asyncio
import contextlib
import sys
import time

def burn(ms):
    end = time.thread_time() + ms / 1000
    while time.thread_time() < end:
        sum(i * i for i in range(50))

def leaf_plain(): burn(3)
def leaf_group(): burn(3)
def leaf_gather(): burn(3)
def leaf_wait(): burn(3)
def leaf_shield(): burn(3)
def leaf_timeout(): burn(3)
def leaf_agen(): burn(3)
def leaf_shared(): burn(3)
def leaf_eager(): burn(3)
def leaf_callback(): burn(3)
def leaf_storm(): burn(1)
def leaf_many(): burn(3)
def leaf_nested(): burn(3)

async def step(leaf):
    await asyncio.sleep(0)
    leaf()

async def work(leaf):
    await asyncio.create_task(step(leaf))

async def plain():
    await asyncio.create_task(work(leaf_plain))

async def group():
    async with asyncio.TaskGroup() as tg:
        tg.create_task(work(leaf_group))

async def gather():
    await asyncio.gather(work(leaf_gather), asyncio.sleep(0))

async def wait():
    await asyncio.wait([asyncio.create_task(work(leaf_wait))])

async def shield():
    await asyncio.shield(asyncio.create_task(work(leaf_shield)))

async def timeout():
    async with asyncio.timeout(60):
        await work(leaf_timeout)

async def numbers():
    for i in range(2):
        await asyncio.create_task(step(leaf_agen))
        yield i

async def agen():
    async for _ in numbers():
        pass

async def shared_by(task):
    await task

async def shared():
    task = asyncio.create_task(step(leaf_shared))
    await asyncio.gather(*(shared_by(task) for _ in range(3)))

async def eager_step():
    leaf_eager()
    await asyncio.sleep(0)

async def eager():
    await asyncio.eager_task_factory(asyncio.get_running_loop(), eager_step())

async def callback():
    done = asyncio.Event()
    def call():
        leaf_callback()
        done.set()
    asyncio.get_running_loop().call_soon(call)
    await done.wait()

async def victim():
    try:
        await asyncio.create_task(asyncio.sleep(60))
    except asyncio.CancelledError:
        leaf_storm()
        raise

async def storm():
    """All are cancelled at once while those they await are, too."""
    victims = [asyncio.create_task(victim()) for _ in range(4)]
    await asyncio.sleep(0)
    for task in victims:
        task.cancel()
    await asyncio.gather(*victims, return_exceptions=True)

idle = []

async def many():
    """Among 10,000 waiting tasks."""
    if not idle:
        never = asyncio.Event()
        idle.extend(asyncio.create_task(never.wait()) for _ in range(10000))
        await asyncio.sleep(0)
    await asyncio.gather(work(leaf_many), asyncio.sleep(0))

def run_within(coroutine):
    """Runs a loop within a task of another one, like libraries that make asyncio re-entrant."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    asyncio.tasks._leave_task(loop, task)
    asyncio._set_running_loop(None)
    other = asyncio.new_event_loop()
    try:
        other.run_until_complete(coroutine)
    finally:
        other.close()
        asyncio._set_running_loop(loop)
        asyncio.tasks._enter_task(loop, task)

async def nested():
    run_within(work(leaf_nested))

CASES = [plain, group, gather, wait, shield, timeout, agen, shared, eager, callback, storm, many, nested]

async def main(seconds, cases):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for case in cases:
            await case()

def serve():
    names = sys.argv[2:]
    print("READY", flush=True)
    asyncio.run(main(float(sys.argv[1]), [c for c in CASES if not names or c.__name__ in names]))

serve()
