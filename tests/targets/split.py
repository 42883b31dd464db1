# SPDX-License-Identifier: BSD-2-Clause
"""Three quarters of its time in hot(), one in warm(), both called by work(); says READY and works until its
input ends. With "doze", a thread that sleeps beside; with "rest" it rests three times as long as it works, with "nap" ten
times, in no step with any clock."""
import random
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
    if "doze" in sys.argv:
        threading.Thread(target=doze, daemon=True).start()
    print("READY", flush=True)
    rests = 10 if "nap" in sys.argv else 3 if "rest" in sys.argv else 0
    while not end.is_set():
        began = time.thread_time()
        work(5000)
        if rests:
            time.sleep((time.thread_time() - began) * random.uniform(1, 2 * rests - 1))


if __name__ == "__main__":
    main()
