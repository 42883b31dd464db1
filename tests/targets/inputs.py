# SPDX-License-Identifier: BSD-2-Clause
"""A little of everything that a replay has to name and join (scripts/record-inputs): a deep stack that gets an
anchor, callbacks through C, the kernel, threads, a fork, a program that is not Python, and an exec by a thread
that is not the leader."""
import ctypes
import os
import subprocess
import sys
import threading
import time

COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
NUMBERS = 2000


def compare(a, b):
    return a[0] - b[0] + 0 * sum(range(200))


def by_callback(seconds):
    end = time.thread_time() + seconds
    numbers = (ctypes.c_int * NUMBERS)(*(i * 7919 % NUMBERS for i in range(NUMBERS)))
    while time.thread_time() < end:
        ctypes.CDLL(None).qsort(numbers, NUMBERS, ctypes.sizeof(ctypes.c_int), COMPARE(compare))


def in_kernel(seconds):
    end = time.thread_time() + seconds
    with open("/dev/zero", "rb", buffering=0) as f:
        while time.thread_time() < end:
            f.read(1 << 20)


def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))


def descend(depth, seconds):
    return descend(depth - 1, seconds) if depth else spin(seconds)


def in_thread():
    spin(0.3)


def in_child():
    by_callback(0.5)


def after_exec():
    spin(0.2)
    in_kernel(0.3)


def exec_by_thread():
    os.execv(sys.executable, [sys.executable, __file__, "again"])


def main():
    if len(sys.argv) > 1:
        after_exec()
        return
    by_callback(0.1)
    descend(250, 1.6)
    child = os.fork()
    if not child:
        in_child()
        os._exit(0)
    thread = threading.Thread(target=in_thread)
    thread.start()
    in_kernel(0.3)
    thread.join()
    os.waitpid(child, 0)
    subprocess.run(["true"], check=True)
    threading.Thread(target=exec_by_thread).start()
    time.sleep(10)


main()
