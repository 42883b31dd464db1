# SPDX-License-Identifier: BSD-2-Clause
"""An asyncio server in itself: requests of KINDS kinds, each a chain of tasks that await each other, which works in
functions of its own: main, serve_K, boss_K, work_K, step_K, leaf_K. usage: tasks.py KINDS"""
import asyncio
import sys

import work

KINDS, TURNS = int(sys.argv[1]), 4000
SOURCE = """
def leaf_{0}(done):
    for _ in range({1}):
        pass
    done[2 * {0}] += 1

async def step_{0}(done):
    leaf_{0}(done)
    await asyncio.sleep(0)
    leaf_{0}(done)

async def work_{0}(done):
    for _ in range(3):
        await step_{0}(done)

async def boss_{0}(done):
    async with asyncio.TaskGroup() as group:
        group.create_task(work_{0}(done))

async def serve_{0}(done):
    while True:
        await asyncio.create_task(boss_{0}(done))
"""


async def main():
    done, scope = work.pairs(), {"asyncio": asyncio}
    for kind in range(KINDS):
        exec(compile(SOURCE.format(kind, TURNS), "kinds.py", "exec"), scope)
    print("READY", flush=True)
    await asyncio.gather(*(asyncio.create_task(scope["serve_%d" % kind](done)) for kind in range(KINDS)))


if __name__ == "__main__":
    asyncio.run(main())
