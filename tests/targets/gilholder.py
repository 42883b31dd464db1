# SPDX-License-Identifier: BSD-2-Clause
"""A thread that sleeps in C while it holds the GIL, and two that wait for it: for krait dump."""
import ctypes
import threading


def waiter():
    while True:
        pass


def main():
    threading.Thread(target=waiter, daemon=True).start()
    print("READY", flush=True)
    # PyDLL, unlike CDLL, keeps the GIL.
    ctypes.PyDLL(None).sleep(100)


threading.Thread(target=waiter, daemon=True).start()
main()
