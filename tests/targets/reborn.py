# SPDX-License-Identifier: BSD-2-Clause
"""COUNT processes, one after the other and all under one pid, each at work for MILLISECONDS.

reborn.py fork COUNT MILLISECONDS      children that are copies of this process
reborn.py exec COUNT MILLISECONDS      new interpreters, and /bin/true between them

Each says how many seconds of CPU its work took, one line each.
"""
import ctypes
import errno
import os
import signal
import struct
import sys
import time

CLONE3 = 435
libc = ctypes.CDLL(None, use_errno=True)


def fork_as(pid):
    """Like os.fork(), but the child gets that pid; returns the negative error number on failure."""
    tids = (ctypes.c_int * 1)(pid)
    arguments = struct.pack("11Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0,
                            ctypes.addressof(tids), 1, 0)
    child = libc.syscall(CLONE3, arguments, len(arguments))
    return child if child >= 0 else -ctypes.get_errno()


def reborn_leaf(end):
    while time.monotonic() < end:
        sum(range(100))


def reborn_top(seconds):
    began = time.process_time()
    reborn_leaf(time.monotonic() + seconds)
    os.write(1, b"%.6f\n" % (time.process_time() - began))


def child(mode, turn, milliseconds):
    if mode == "fork":
        reborn_top(float(milliseconds) / 1000)
    elif turn % 2:
        os.execv("/bin/true", ["true"])
    else:
        os.execv(sys.executable, [sys.executable, "-S", "-B", __file__, "work", milliseconds])
    os._exit(0)


def main(mode, count, milliseconds):
    turn, pid = 0, os.getpid() + 200
    while turn < count:
        got = fork_as(pid)
        if got == 0:
            child(mode, turn, milliseconds)
        elif got > 0:
            os.waitpid(got, 0)
            turn += 1
        elif got == -errno.EEXIST:
            pid += 1
        else:
            sys.exit("clone3: " + os.strerror(-got))


if __name__ == "__main__":
    if sys.argv[1] == "work":
        reborn_top(float(sys.argv[2]) / 1000)
    else:
        main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
