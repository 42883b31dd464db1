# SPDX-License-Identifier: BSD-2-Clause
"""An asyncio server under load: its clients are tasks of the same loop, each asks again as soon as it
has its answer."""
import asyncio
import gc
import json
import sys
import tempfile

import oracle
import work

CLIENTS = 8
PRIMING_REQUESTS = 400
QUESTION = (json.dumps({"items": list(range(20)), "name": "load"}) + "\n").encode()


def answer(line):
    question = json.loads(line)
    return {"sum": total(question["items"]), "name": question["name"].upper()}


def total(items):
    result = 0
    for item in items:
        result += item * item
    return result


async def serve(reader, writer):
    while line := await reader.readline():
        writer.write((json.dumps(answer(line)) + "\n").encode())
        await writer.drain()


class Load:
    """The clients, and when all has been seen that happens."""

    def __init__(self):
        self.own, self.done, self.asked = oracle.Oracle(), work.pairs(), 0

    async def client(self, path):
        reader, writer = await asyncio.open_unix_connection(path)
        while True:
            writer.write(QUESTION)
            await writer.drain()
            await reader.readline()
            self.done[0] += 1
            self.asked += 1
            if self.asked == PRIMING_REQUESTS:
                sys.setprofile(None)
                oracle.say(self.own)

    async def run(self):
        path = tempfile.mktemp(prefix="krait-bench-")
        server = await asyncio.start_unix_server(serve, path)
        async with server:
            await asyncio.gather(*(self.client(path) for _ in range(CLIENTS)))


def main():
    gc.disable()
    load = Load()
    sys.setprofile(load.own.trace)
    asyncio.run(load.run())


if __name__ == "__main__":
    main()
