# SPDX-License-Identifier: BSD-2-Clause
"""Endlessly new code objects and processes, for SECONDS: nothing may pile up."""
import os
import sys
import time

end = time.monotonic() + float(sys.argv[1])
turn = 0
while time.monotonic() < end:
    scope = {}
    exec(compile("def fresh(n):\n    return sum(range(n))\n", "fresh.py", "exec"), scope)
    for _ in range(50):
        scope["fresh"](300)
    turn += 1
    if turn % 100 == 0:
        if os.fork() == 0:
            scope["fresh"](30000)
            os._exit(0)
        os.wait()
