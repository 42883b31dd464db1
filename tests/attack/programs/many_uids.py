# SPDX-License-Identifier: BSD-2-Clause
"""Whoever has many uids lets each of them run something, then floods as the first of them:

many_uids.py OWNER FIRST UID,UID,... PROGRAM ARGUMENTS...   (started by root)

OWNER: the user who has the uids from FIRST on, in a user namespace that he makes; 0: they are ordinary users'.
"""
import ctypes
import os
import signal
import sys

CLONE_NEWUSER = 0x10000000
PR_SET_PDEATHSIG = 1


def map_ids(pid, first):
    for name in "uid_map", "gid_map":
        with open("/proc/%d/%s" % (pid, name), "w", encoding="ascii") as f:
            f.write("0 %d 65536" % first)


def enter(owner, first):
    """Becomes root of a user namespace that the owner made; what newuidmap does, root does here."""
    to_parent, to_child = os.pipe(), os.pipe()
    pid = os.fork()
    if pid:
        os.read(to_parent[0], 1)
        map_ids(pid, first)
        os.write(to_child[1], b"x")
        os.waitpid(pid, 0)
        os._exit(0)
    os.setgroups([])
    os.setresgid(owner, owner, owner)
    os.setresuid(owner, owner, owner)
    if ctypes.CDLL(None).unshare(CLONE_NEWUSER):
        os._exit(1)
    os.write(to_parent[1], b"x")
    os.read(to_child[0], 1)
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def start(uid, command):
    pid = os.fork()
    if pid:
        return pid
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.execv(command[0], command)


def main():
    owner, first = int(sys.argv[1]), int(sys.argv[2])
    uids = [int(u) - (first if owner else 0) for u in sys.argv[3].split(",")]
    if owner:
        enter(owner, first)
    for uid in uids:
        start(uid, ["/bin/sleep", "300"])
    os.waitpid(start(uids[0], sys.argv[4:]), 0)


main()
