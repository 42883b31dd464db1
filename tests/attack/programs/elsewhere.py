# SPDX-License-Identifier: BSD-2-Clause
"""Works in a function that it says is in the file PATH, at a line of its beginning: elsewhere.py PATH"""
import sys

SOURCE = """
def elsewhere():
    total = 0
    while True:
        total += 1
        total -= 1
"""
scope = {}
exec(compile(SOURCE, sys.argv[1], "exec"), scope)
print("READY", flush=True)
scope["elsewhere"]()
