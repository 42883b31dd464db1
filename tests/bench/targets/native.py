# SPDX-License-Identifier: BSD-2-Clause
"""Two threads that work in C without the GIL, one hashes, one compresses."""
import functools
import gc
import hashlib
import sys
import threading
import time
import zlib

import oracle
import work

DATA = bytes(range(256)) * 256  # 64 KiB


def hash_blocks(n):
    for _ in range(n):
        hashlib.sha256(DATA).digest()


def deflate_blocks(n):
    for _ in range(n):
        zlib.compress(DATA, 1)


def worker(function, rounds, done, place):
    for n in rounds:
        function(n)
        done[place] += n


def main():
    gc.disable()
    jobs, primed, done = [hash_blocks, deflate_blocks], [], work.pairs()
    for i, job in enumerate(jobs):
        own = oracle.Oracle()
        # The callback is a C function: the stacks of a thread are those that it noted.
        rounds = own.rounds(1, 4, functools.partial(primed.append, own))
        threading.Thread(target=worker, args=(job, rounds, done, 2 * i), daemon=True).start()
    while len(primed) < len(jobs):
        time.sleep(0.01)
    oracle.tell(oracle.of_frame(sys._getframe()), *primed)
    oracle.say_ready()
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
