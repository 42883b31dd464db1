# SPDX-License-Identifier: BSD-2-Clause
"""Calls stubs.c all the time. argv: the library."""
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
print("READY", flush=True)
while True:
    library.calls(10000000)
