# SPDX-License-Identifier: BSD-2-Clause
"""main awaits boss, which awaits child, which computes; usage: tasks.py SECONDS"""
import asyncio
import sys
import time


def work(end):
    while time.monotonic() < end:
        sum(range(1000))


async def child(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        work(time.monotonic() + 0.01)
        await asyncio.sleep(0.001)


async def boss(seconds):
    await asyncio.create_task(child(seconds), name="child")


async def main():
    await asyncio.create_task(boss(float(sys.argv[1])), name="boss")


asyncio.run(main())
