# SPDX-License-Identifier: BSD-2-Clause
"""Threads that run long C functions which release the GIL: the Python caller must appear."""
import functools
import gc
import hashlib
import sys
import threading
import time
import zlib

import oracle

DATA = bytes(range(256)) * 8192  # 2 MiB


def hash_blocks(n):
    for _ in range(n):
        hashlib.sha256(DATA).digest()


def checksum_blocks(n):
    for _ in range(n):
        zlib.crc32(DATA)


def deflate_blocks(n):
    for _ in range(n):
        zlib.compress(DATA, 1)


def worker(function, rounds):
    for n in rounds:
        function(n)


def main():
    gc.disable()
    jobs = [hash_blocks, checksum_blocks, deflate_blocks]
    primed = []
    for job in jobs:
        own = oracle.Oracle()
        own.hot = [job.__name__]
        # The callback is a C function: a thread's stacks are those that it recorded.
        rounds = own.rounds(1, 5, functools.partial(primed.append, own))
        threading.Thread(target=worker, args=(job, rounds), daemon=True).start()
    while len(primed) < len(jobs):
        time.sleep(0.01)
    oracle.tell(oracle.of_frame(sys._getframe()), *primed)
    oracle.say_ready()
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
