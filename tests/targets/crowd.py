# SPDX-License-Identifier: BSD-2-Clause
"""THREADS threads, of which BUSY work, each in a function of its own; the others wait."""
import sys
import threading
import time

threads, busy = int(sys.argv[1]), int(sys.argv[2])
begin, end = threading.Event(), threading.Event()


def wait():
    end.wait()


def worker(number):
    source = "def busy_%d():\n    while not end.is_set():\n        for i in range(500):\n" \
             "            pass\n        pause(0)\n" % number
    scope = {"end": end, "pause": time.sleep}
    exec(compile(source, "crowd_%d.py" % number, "exec"), scope)
    return scope["busy_%d" % number]


def after_all(work):
    """Thread.start() waits for the new thread, which takes long beside many that want the GIL."""
    begin.wait()
    work()


for n in range(threads):
    threading.Thread(target=after_all, args=(worker(n) if n < busy else wait,), daemon=True).start()
begin.set()
print("READY", flush=True)
sys.stdin.read()
end.set()
