# SPDX-License-Identifier: BSD-2-Clause
"""THREADS threads, of which BUSY work, each in a function of its own; the others wait."""
import sys
import threading
import time

threads, busy = int(sys.argv[1]), int(sys.argv[2])
end = threading.Event()


def wait():
    end.wait()


def worker(number):
    source = "def busy_%d():\n    while not end.is_set():\n        for i in range(500):\n" \
             "            pass\n        pause(0)\n" % number
    scope = {"end": end, "pause": time.sleep}
    exec(compile(source, "crowd_%d.py" % number, "exec"), scope)
    return scope["busy_%d" % number]


for n in range(threads):
    threading.Thread(target=worker(n) if n < busy else wait, daemon=True).start()
print("READY", flush=True)
sys.stdin.read()
end.set()
