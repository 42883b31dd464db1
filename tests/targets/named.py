# SPDX-License-Identifier: BSD-2-Clause
"""Threads that have names, each with a function of its own: what a program can do to name a thread. They take turns while
the main thread waits in C.

A line "change" on standard input renames those that are renamed late; the answer is "changed"."""
import _thread
import concurrent.futures
import os
import sys
import threading
import time

LONG = "a-name-that-is-longer-than-what-the-kernel-keeps"
ODD = "odd; [name] \n\t\u00fc"
change, changed = threading.Event(), threading.Barrier(3)


def spin():
    for _ in range(20000):
        pass


def pooled():
    while True:
        spin()


def long_name():
    while True:
        spin()


def odd_name():
    while True:
        spin()


def unnamed():
    while True:
        spin()


def named_by_itself():
    threading.current_thread().name = "by-itself"
    while True:
        spin()


def renamed_by_itself():
    while not change.is_set():
        spin()
    threading.current_thread().name = "itself-2"
    changed.wait()
    while True:
        spin()


def renamed_by_others():
    while True:
        spin()


def start(function, name):
    thread = threading.Thread(target=function, name=name, daemon=True)
    thread.start()
    return thread


def main():
    sys.setswitchinterval(0.001)
    pool = concurrent.futures.ThreadPoolExecutor(2, "pool")
    for _ in range(2):
        pool.submit(pooled)
    start(long_name, LONG)
    start(odd_name, ODD)
    start(named_by_itself, "before")
    start(renamed_by_itself, "itself-1")
    other = start(renamed_by_others, "others-1")
    threading.Thread(target=changed.wait, daemon=True).start()
    _thread.start_new_thread(unnamed, ())
    time.sleep(0.05)
    os.write(1, b"READY\n")
    if sys.stdin.readline():
        other.name = "others-2"
        change.set()
        changed.wait()
        os.write(1, b"changed\n")
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
