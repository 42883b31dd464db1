# SPDX-License-Identifier: BSD-2-Clause
"""Looks whether anybody writes its thread state's last_profiled_frame (CPython 3.15), at work deep
down a stack that grows and shrinks; says so when stdin ends.

    slot.py none|undumpable|setuid|seteuid    what it does to its rights a third of a second later,
                                              before its thread is old enough to be written to

READY is said then. On a busy machine it may have been too late, and another process has a try."""
import ctypes
import os
import select
import sys
import time

LAST_PROFILED_FRAME = 88
PR_SET_DUMPABLE = 4
TOO_LATE = 9


def change(what):
    libc = ctypes.CDLL(None)
    if what == "undumpable":
        libc.prctl(PR_SET_DUMPABLE, 0)
    elif what == "setuid":  # this makes it undumpable
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
    elif what == "seteuid":
        os.seteuid(65534)
        libc.prctl(PR_SET_DUMPABLE, 1)


def leaf(slot):
    until = time.perf_counter() + 0.02
    seen = 0
    while time.perf_counter() < until:
        seen |= slot.value
    return seen


def down(depth, slot):
    return down(depth - 1, slot) if depth else leaf(slot)


def work(what, began):
    get = ctypes.pythonapi.PyThreadState_Get
    get.restype = ctypes.c_void_p
    slot = ctypes.c_uint64.from_address(get() + LAST_PROFILED_FRAME)
    seen, at = 0, time.monotonic() + 0.35
    while at or not select.select([sys.stdin], [], [], 0)[0]:
        for depth in 380, 390, 400:
            seen |= down(depth, slot)
        if at and time.monotonic() > at:
            change(what)
            if seen or time.monotonic() - began > 0.98:
                os._exit(TOO_LATE)
            print("READY", flush=True)
            at = 0
    print("WRITTEN" if seen else "untouched", flush=True)


def main():
    for _ in range(50):
        began = time.monotonic()
        pid = os.fork()
        if not pid:
            work(sys.argv[1], began)
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != TOO_LATE:
            break


sys.setrecursionlimit(2000)
main()
