"""Climbs to a known height over and over: of each stack it can be told whether it is possible.

usage: recurse.py SECONDS [THREADS]
"""

import sys
import time

HEIGHT = 30


def top():
    total = 0
    for i in range(100):
        total += i
    return total


def climb(left):
    if left:
        return climb(left - 1)
    return top()


def fetch(file):
    file.read(1 << 20)  # a while in the kernel


def main():
    end = time.monotonic() + float(sys.argv[1])
    with open("/dev/zero", "rb", 0) as file:
        while time.monotonic() < end:
            for _ in range(20):
                climb(HEIGHT - 1)
            fetch(file)


def thread():
    main()


for _ in range(int(sys.argv[2]) - 1 if len(sys.argv) > 2 else 0):
    __import__("_thread").start_new_thread(thread, ())
main()
