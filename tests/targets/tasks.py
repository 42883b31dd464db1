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
def leaf_eager_create(): burn(1)
def leaf_eager_option(): burn(1)
def leaf_eager_group(): burn(1)
def leaf_eager_gather(): burn(1)
def leaf_eager_wait(): burn(1)
def leaf_eager_shield(): burn(1)
def leaf_eager_timeout(): burn(1)
def leaf_eager_agen(): burn(1)
def leaf_eager_shared(): burn(1)
def leaf_eager_watched(): burn(1)
def leaf_eager_quick(): burn(0.05)
def leaf_eager_callback(): burn(1)
def leaf_callback(): burn(3)
def leaf_storm(): burn(1)
def leaf_many(): burn(3)
def leaf_nested(): burn(3)
def leaf_within(): burn(2)
def leaf_within_setup(): burn(1)
def leaf_within_callback(): burn(1)
def leaf_within_twice(): burn(2)
def leaf_within_eager(): burn(1)
def leaf_within_back(): burn(1)

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

# Tasks whose first step runs in their creator: from here on `boss` has been resumed by the loop, and creates them so.

async def eager_work(leaf):
    await asyncio.create_task(eager_first(leaf))

async def eager_first(leaf):
    leaf()
    await asyncio.sleep(0)

async def boss(start):
    await asyncio.sleep(0)
    loop = asyncio.get_running_loop()
    loop.set_task_factory(asyncio.eager_task_factory)
    try:
        await start()
    finally:
        loop.set_task_factory(None)

async def start_create():
    await asyncio.create_task(eager_work(leaf_eager_create))

async def start_option():
    asyncio.get_running_loop().set_task_factory(None)
    await asyncio.Task(eager_first(leaf_eager_option), loop=asyncio.get_running_loop(), eager_start=True)
    await asyncio.create_task(eager_first(leaf_eager_option), eager_start=True)

async def start_group():
    async with asyncio.TaskGroup() as tg:
        tg.create_task(eager_work(leaf_eager_group))

async def start_gather():
    await asyncio.gather(eager_work(leaf_eager_gather), eager_work(leaf_eager_gather))

async def start_wait():
    await asyncio.wait([asyncio.create_task(eager_work(leaf_eager_wait))])

async def start_shield():
    await asyncio.shield(eager_work(leaf_eager_shield))

async def start_timeout():
    await asyncio.wait_for(asyncio.ensure_future(eager_work(leaf_eager_timeout)), 60)

async def eager_numbers():
    await asyncio.create_task(eager_first(leaf_eager_agen))
    yield 1

async def start_agen():
    async for _ in eager_numbers():
        pass

async def watch(task):
    await asyncio.wait([task])

async def eager_watched():
    """Somebody awaits it while it starts."""
    asyncio.create_task(watch(asyncio.current_task()))
    leaf_eager_watched()

async def start_watched():
    await asyncio.create_task(eager_watched())

async def eager_quick_step():
    leaf_eager_quick()

async def start_quick():
    for _ in range(50):
        asyncio.create_task(eager_quick_step())

async def eager_create(): await asyncio.create_task(boss(start_create))
async def eager_option(): await asyncio.create_task(boss(start_option))
async def eager_group(): await asyncio.create_task(boss(start_group))
async def eager_gather(): await asyncio.create_task(boss(start_gather))
async def eager_wait(): await asyncio.create_task(boss(start_wait))
async def eager_shield(): await asyncio.create_task(boss(start_shield))
async def eager_timeout(): await asyncio.create_task(boss(start_timeout))
async def eager_agen(): await asyncio.create_task(boss(start_agen))
async def eager_watch(): await asyncio.create_task(boss(start_watched))
async def eager_quick(): await asyncio.create_task(boss(start_quick))

async def start_shared():
    await asyncio.create_task(eager_first(leaf_eager_shared))

async def eager_shared():
    task = asyncio.create_task(boss(start_shared))
    await asyncio.gather(*(shared_by(task) for _ in range(3)))

async def eager_callback():
    """No task creates it."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    def call_eager():
        asyncio.Task(eager_first(leaf_eager_callback), loop=loop, eager_start=True).add_done_callback(lambda _: done.set())
    loop.call_soon(call_eager)
    await done.wait()

EAGER = [eager_create, eager_option, eager_group, eager_gather, eager_wait, eager_shield, eager_timeout, eager_agen, eager_shared,
         eager_watch, eager_quick, eager_callback]

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

# A task that others await runs the other loop: they belong to its stack, too.

async def inner_setup():
    """The loop runs no task while it calls back."""
    leaf_within_setup()
    done = asyncio.Event()
    def call():
        leaf_within_callback()
        done.set()
    asyncio.get_running_loop().call_soon(call)
    await done.wait()

async def twice():
    await asyncio.sleep(0)
    run_within(work(leaf_within_twice))

async def inner_eager():
    await asyncio.sleep(0)
    await asyncio.create_task(eager_first(leaf_within_eager), eager_start=True)

async def host(start):
    await asyncio.sleep(0)
    run_within(start())
    leaf_within_back()

async def within_work(): await work(leaf_within)
async def within_twice(): await asyncio.create_task(twice())

async def within(): await asyncio.create_task(host(within_work))
async def within_setup(): await asyncio.create_task(host(inner_setup))
async def within_two(): await asyncio.create_task(host(within_twice))
async def within_eager(): await asyncio.create_task(host(inner_eager))

CASES = [plain, group, gather, wait, shield, timeout, agen, shared, eager, callback, storm, many, nested, within, within_setup, within_two, within_eager] + EAGER

async def main(seconds, cases):
    end = time.thread_time() + seconds  # others may use the machine
    while time.thread_time() < end:
        for case in cases:
            await case()

def serve():
    names = sys.argv[2:]
    print("READY", flush=True)
    asyncio.run(main(float(sys.argv[1]), [c for c in CASES if not names or c.__name__ in names]))

serve()
