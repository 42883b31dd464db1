# SPDX-License-Identifier: BSD-2-Clause
"""Threads that are in C nearly all the time, each below a Python function named after what it does; argv chooses
them."""
import hashlib
import os
import sqlite3
import sys
import threading
import time
import zlib

DATA = bytes(range(256)) * 4096


def in_hashlib():
    while True:
        hashlib.sha256(DATA)


def in_zlib():
    while True:
        zlib.compress(DATA, 6)


# Opening it calls Python: functools.lru_cache().
CONNECTION = sqlite3.connect(":memory:", check_same_thread=False)


def in_sqlite():
    query = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) " \
        "SELECT sum(i) FROM n"
    while True:
        CONNECTION.execute(query)


def in_sleep():
    while True:
        time.sleep(0.00001)


def in_read():
    fd = os.open("/dev/zero", os.O_RDONLY)
    while True:
        os.read(fd, 1 << 20)


def in_getppid():
    while True:
        os.getppid()


for name in sys.argv[1:]:
    threading.Thread(target=globals()[name], name=name, daemon=True).start()
print("READY", flush=True)
threading.Event().wait()
