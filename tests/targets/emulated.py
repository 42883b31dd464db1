# SPDX-License-Identifier: BSD-2-Clause
"""Works, and sleeps in a second thread, with thread pointers that belong to no thread state (emulated.c, whose library is the
first argument)."""
import ctypes
import os
import sys
import threading
import time

library = ctypes.CDLL(sys.argv[1])


def sleeps(begun):
    library.change_thread_pointer()
    begun.set()
    time.sleep(1000)


def works():
    while True:
        sum(range(1000))


begun = threading.Event()
threading.Thread(target=sleeps, args=(begun,), daemon=True).start()
begun.wait()
if library.change_thread_pointer():
    os._exit(1)
print("READY", flush=True)
works()
