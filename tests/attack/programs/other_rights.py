# SPDX-License-Identifier: BSD-2-Clause
"""Works in a function that it says is in the file PATH, but with other rights than before or after:

other_rights.py exec PATH PROGRAM SECONDS: children without rights work there, then execute a set-id program
other_rights.py drop PATH UID SECONDS: works elsewhere as root, then gives up its rights and works there
"""
import os
import sys
import time

SOURCE = """
def elsewhere(until):
    while clock() < until:
        pass
"""


def ordinary(until):
    while time.perf_counter() < until:
        pass


def main():
    what, path, other, seconds = sys.argv[1:]
    scope = {"clock": time.perf_counter}
    exec(compile(SOURCE, path, "exec"), scope)
    print("READY", flush=True)
    end = time.perf_counter() + float(seconds)
    if what == "drop":
        sys.stdin.readline()
        ordinary(time.perf_counter() + 0.2)
        os.setgroups([])
        os.setresgid(int(other), int(other), int(other))
        os.setresuid(int(other), int(other), int(other))
        scope["elsewhere"](time.perf_counter() + float(seconds))
        time.sleep(60)
    while time.perf_counter() < end:
        if not os.fork():
            scope["elsewhere"](time.perf_counter() + 0.003)
            os.execv(other, [other])
        time.sleep(0.008)
    time.sleep(60)


main()
