# SPDX-License-Identifier: BSD-2-Clause
"""Two threads that compute for so many seconds of CPU time each, shallow and deep; with a second argument, from the first
line of input on."""
import sys, threading, time
def leaf(n):
    s = 0
    for i in range(n):
        s += i * i
    return s
def mid(n):
    return leaf(n) + leaf(n // 2)
def deep(n):
    return deep(n - 1) if n else leaf(20000)
def worker(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        mid(3000)
        deep(200)
seconds = float(sys.argv[1])
thread = threading.Thread(target=worker, args=(seconds,))
print("READY", flush=True)
if len(sys.argv) > 2:
    sys.stdin.readline()
thread.start()
worker(seconds)
thread.join()
