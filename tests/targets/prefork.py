# SPDX-License-Identifier: BSD-2-Clause
"""A pre-fork server: WORKERS at a time, each replaced after serving for a moment, for SECONDS."""
import os
import sys
import time


def handle(end):
    while time.monotonic() < end:
        sum(range(300))


def worker(seconds):
    handle(time.monotonic() + seconds)


def serve(workers, seconds):
    end, alive, started = time.monotonic() + seconds, 0, 0
    while time.monotonic() < end or alive:
        if alive < workers and time.monotonic() < end:
            started += 1
            alive += 1
            if os.fork() == 0:
                worker(0.01 + 0.03 * (started % 4) / 4)
                os._exit(0)
        else:
            os.wait()
            alive -= 1
    return started


print(serve(int(sys.argv[1]), float(sys.argv[2])))
