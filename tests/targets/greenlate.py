#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""usage: greenlate.py late|none SECONDS: imports greenlet, prints READY and works for so many seconds of CPU time without it. late:
then in a greenlet. none: in a thread that does not begin as those of threading do, all the time; nobody uses greenlet."""
import _thread
import sys
import time

import greenlet


def work():
    for _ in range(1000):
        pass


def task():
    while True:
        work()


def serve():
    greenlet.greenlet(task).switch()


print("READY", flush=True)
if sys.argv[1] == "none":
    _thread.start_new_thread(task, ())
    time.sleep(float(sys.argv[2]) * 100)
else:
    while time.process_time() < float(sys.argv[2]):
        work()
    serve()
