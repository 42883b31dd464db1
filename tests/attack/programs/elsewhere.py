# SPDX-License-Identifier: BSD-2-Clause
"""Works in a function that it says is in the file PATH, at a line of its beginning: elsewhere.py PATH [WORD]. With WORD,
linecache has its text, with that in it."""
import linecache
import sys

SOURCE = """
def elsewhere():
    total = 0
    while True:
        total += 1
        total -= 1
"""
if len(sys.argv) > 2:
    SOURCE = SOURCE.replace("total = 0", "total = 0  # " + sys.argv[2])
    linecache.cache[sys.argv[1]] = (len(SOURCE), None, SOURCE.splitlines(True), sys.argv[1])
scope = {}
exec(compile(SOURCE, sys.argv[1], "exec"), scope)
print("READY", flush=True)
scope["elsewhere"]()
