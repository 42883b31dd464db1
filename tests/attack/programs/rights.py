# SPDX-License-Identifier: BSD-2-Clause
"""Works in own() while its user may trace it, and in hidden() while it may not:

rights.py spin: always in own()
rights.py exec PYTHON: own(), then hidden() in a set-uid interpreter; rights.py children PYTHON: in children, again and again
rights.py undumpable: in turns, with PR_SET_DUMPABLE
rights.py drop PYTHON: own(), then hidden() in a set-uid interpreter, before and after that gives up root's rights
rights.py namespace: own(), then hidden() in a user namespace of its own
rights.py hidden: for the second part of exec
"""
import ctypes
import os
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_DUMPABLE, CLONE_NEWUSER = 4, 0x10000000


def own(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def hidden(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def undumpable():
    while True:
        own(0.05)
        LIBC.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
        hidden(0.05)
        LIBC.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)


def drop():
    """Until it says that it may be traced, it may not be, whatever its ids are (commit_creds() in the kernel)."""
    hidden(0.3)
    uid = os.getuid()
    os.setresuid(uid, uid, uid)
    hidden(60)


def namespace():
    own(0.5)
    if LIBC.unshare(CLONE_NEWUSER):
        os._exit(3)
    hidden(60)


def children(python):
    while True:
        pid = os.fork()
        if not pid:
            own(0.02)
            os.execv(python, [python, "-E", "-S", os.path.abspath(__file__), "hidden", "0.08"])
        os.waitpid(pid, 0)


def main():
    what, args = sys.argv[1], sys.argv[2:]
    if what not in ("hidden", "dropped"):
        print("READY", flush=True)
        sys.stdin.readline()
    if what == "spin":
        own(60)
    elif what == "exec":
        own(0.5)
        os.execv(args[0], [args[0], "-E", "-S", os.path.abspath(__file__), "hidden", "60"])
    elif what == "children":
        children(args[0])
    elif what == "undumpable":
        undumpable()
    elif what == "drop":
        own(0.4)
        os.execv(args[0], [args[0], "-E", "-S", os.path.abspath(__file__), "dropped"])
    elif what == "dropped":
        drop()
    elif what == "namespace":
        namespace()
    elif what == "hidden":
        hidden(float(args[0]))


main()
