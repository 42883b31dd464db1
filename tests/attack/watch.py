# SPDX-License-Identifier: BSD-2-Clause
"""Watches processes from outside while they run: what /proc says of them, their children, their memory peaks."""
import os
import threading

import harness as h


def proc_text(pid, name):
    try:
        with open("/proc/%s/%s" % (pid, name), encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def status(pid):
    """Returns /proc/PID/status as {name: value}."""
    return dict(line.split(":\t", 1) for line in proc_text(pid, "status").splitlines() if ":\t" in line)


def children(pid):
    """Returns all descendants of a process."""
    found = []
    try:
        tids = os.listdir("/proc/%d/task" % pid)
    except OSError:  # it has ended
        tids = []
    for tid in tids:
        for child in proc_text(pid, "task/%s/children" % tid).split():
            found += [int(child)] + children(int(child))
    return found


class Watch(threading.Thread):
    """Looks at krait and its children until they end: peaks in KiB by name, and each child's rights and descriptors.
    A peak's name is "krait", "krait-parser" and so on."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.peaks, self.seen, self.ended = pid, {}, {}, threading.Event()
        self.start()

    def look(self, pid):
        said = status(pid)
        name = os.path.basename(proc_text(pid, "cmdline").split("\0")[0]) or said.get("Name", "?")
        if pid != self.pid and name == "krait":
            name = "krait (child)"
        peak = said.get("VmHWM", "0 kB").split()
        if peak and peak[0].isdigit():
            self.peaks[name] = max(self.peaks.get(name, 0), int(peak[0]))
        return name, said

    def run(self):
        while not self.ended.wait(0.03) and os.path.exists("/proc/%d/status" % self.pid):
            for pid in [self.pid] + children(self.pid):
                name, said = self.look(pid)
                if pid not in self.seen and said and name != "krait":
                    self.seen[pid] = (name, said, list(h.descriptors(pid).values()))

    def stop(self):
        self.ended.set()
        self.join()
