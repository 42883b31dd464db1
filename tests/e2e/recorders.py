# SPDX-License-Identifier: BSD-2-Clause
"""Detects other krait recordings at the same time. On a shared machine, a system-wide one writes anchors into a
test's targets. krait notices and leaves the thread alone for seconds."""
import os
import threading

INTERVAL_SECS = 0.2


def contents(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, 65536)
    finally:
        os.close(fd)


def recorder(pid):
    """Returns the parent's pid; None: this is no recording krait."""
    try:
        # The kernel keeps this one at hand; most processes have another name, and nobody asks more of them.
        if not contents("/proc/%d/comm" % pid).startswith(b"krait"):
            return None
        if b"record" not in contents("/proc/%d/cmdline" % pid).split(b"\0"):
            return None
        comm, _, rest = contents("/proc/%d/stat" % pid).partition(b"(")[2].rpartition(b")")
    except OSError:
        return None
    return int(rest.split()[1]) if comm.startswith(b"krait") else None


def recorders():
    """Returns the pids of recording kraits, without their children that are about to exec something else."""
    parents = {int(pid): recorder(int(pid)) for pid in filter(str.isdigit, os.listdir("/proc"))}
    found = {pid for pid, parent in parents.items() if parent is not None}
    return {pid for pid in found if parents[pid] not in found}


class Others:
    """with Others(1) as others: one krait in here is ours. Afterwards others.cnt is the largest number of further
    ones at one time."""

    def __init__(self, ours):
        self.ours, self.cnt, self.over = ours, 0, threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def watch(self):
        while True:
            self.cnt = max(self.cnt, len(recorders()) - self.ours)
            if self.over.wait(INTERVAL_SECS):
                break

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
