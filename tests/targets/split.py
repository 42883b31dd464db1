# SPDX-License-Identifier: BSD-2-Clause
"""Three quarters of its time in hot(), one in warm(), both called by work(); says READY and works until its
input ends. With a second argument, a thread that sleeps beside."""
import sys
import threading
import time


def hot(n):
    for _ in range(3 * n):
        pass


def warm(n):
    for _ in range(n):
        pass


def work(n):
    hot(n)
    warm(n)


def doze():
    while True:
        time.sleep(0.05)


def main():
    end = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), end.set()), daemon=True).start()
    if len(sys.argv) > 1:
        threading.Thread(target=doze, daemon=True).start()
    print("READY", flush=True)
    while not end.is_set():
        work(5000)


if __name__ == "__main__":
    main()
