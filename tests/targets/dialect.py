# SPDX-License-Identifier: BSD-2-Clause
"""Frames of every kind for SECONDS of CPU time: Python, a library with and one without symbols (LIBRARY), and
the kernel. usage: dialect.py LIBRARY SECONDS"""
import ctypes
import os
import sys
import tempfile
import time
import zlib

nested = ctypes.PyDLL(sys.argv[1]).nested


def native():
    nested(2000000)
    zlib.compress(b"x" * 100000)


def kernel(path):
    for _ in range(10):
        with open(path, "wb") as f:
            f.write(b"x" * 100000)
        os.listdir("/proc")


def main(path):
    end = time.process_time() + float(sys.argv[2])
    while time.process_time() < end:
        native()
        kernel(path)


with tempfile.NamedTemporaryFile() as scratch:
    main(scratch.name)
