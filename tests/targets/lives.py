# SPDX-License-Identifier: BSD-2-Clause
"""Threads that live in different ways until the standard input ends. Prints "ORACLE" and a JSON document, {tid:
what it does}, and READY."""
import hashlib
import json
import os
import sys
import threading
import time

LIVES, GATE = {}, threading.Barrier(8)


def works_with_the_gil():
    while True:
        pass


def works_without_it():
    data = b"x" * (1 << 20)
    while True:
        hashlib.sha256(data).digest()


def sleeps_long():
    while True:
        time.sleep(0.02)


def sleeps_briefly():
    while True:
        time.sleep(0.00005)


def works_and_sleeps():
    while True:
        for _ in range(20000):
            pass
        time.sleep(0.002)


def passes_on(reader, writer):
    while True:
        os.write(writer, b"x")
        os.read(reader, 1)


def never_wakes(lock):
    lock.acquire()


def live(function, *args):
    LIVES[threading.get_native_id()] = function.__name__
    GATE.wait()
    function(*args)


def main():
    here, there = os.pipe(), os.pipe()
    lock = threading.Lock()
    lock.acquire()
    for job in ((works_with_the_gil,), (works_without_it,), (sleeps_long,), (sleeps_briefly,), (works_and_sleeps,),
                (passes_on, here[0], there[1]), (passes_on, there[0], here[1]), (never_wakes, lock)):
        threading.Thread(target=live, args=job, daemon=True).start()
    while len(LIVES) < GATE.parties:
        time.sleep(0.01)
    print("ORACLE", json.dumps(LIVES))
    print("READY", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
