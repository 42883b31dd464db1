# SPDX-License-Identifier: BSD-2-Clause
"""Its first thread ends (pthread_exit), as in programs that start Python in a thread: /proc shows a zombie that works. Another
thread goes on, and prints READY when that is so (on a very busy machine a little earlier)."""
import ctypes
import threading
import time


def goes_on():
    time.sleep(0.3)
    print("READY", flush=True)
    while True:
        sum(range(1000))


threading.Thread(target=goes_on, name="goes-on").start()
ctypes.CDLL(None).pthread_exit(None)
