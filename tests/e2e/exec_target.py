# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the tests of krait exec: a program that is asked to run code (targets/asked.py), and checks of its
health."""
import hashlib
import os
import re
import signal
import time

import harness as h

# Offset of the request (debugger support) in PyThreadState, for builds with a GIL.
MAILBOX = {"3.14": 304, "3.15": 344}


class Said:
    def __init__(self):
        self.facts = {}

    def add(self, document):
        self.facts = document


def start(python, *args, options=(), env=None, before=()):
    command = python.command(*options, python.target("asked.py"), *args)
    return h.Target([*before, *command], oracle=Said(), env=env and dict(os.environ, **env))


def line_of(target):
    return h.read_line(target.process.stdout, time.monotonic() + h.PATIENCE_SECS).strip()


def run(target, *args, code=None):
    return h.run_krait("exec", str(target.pid), *args, *(("-c", code) if code else ()))


def left_behind(python):
    folder = os.path.join(python.root, "tmp")
    return [n for n in os.listdir(folder) if n.startswith("krait-exec-")]


def states_of(pid):
    """Returns the state and tracer of each thread."""
    found = set()
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/status" % (pid, tid), encoding="utf-8") as f:
            text = f.read()
        found.add((re.search(r"^State:\t(.)", text, re.M).group(1),
                   int(re.search(r"^TracerPid:\t(\d+)", text, re.M).group(1))))
    return found


def is_well(target):
    return target.alive() and all(s in "RSD" and not t for s, t in states_of(target.pid))


def mailbox(python, target):
    """Returns the bytes that a request consists of; None if unknown."""
    state = target.oracle.facts.get("state")
    if not state or python.free_threaded or python.minor not in MAILBOX:
        return None
    with open("/proc/%d/mem" % target.pid, "rb") as f:
        f.seek(state + MAILBOX[python.minor])
        return f.read(516)


def memory_of(pid):
    """Returns a digest of all writable memory of the process."""
    digest = hashlib.sha256()
    with open("/proc/%d/maps" % pid, encoding="utf-8", errors="replace") as maps, open("/proc/%d/mem" % pid, "rb") as mem:
        for line in maps:
            addresses, rights = line.split()[:2]
            start, end = (int(a, 16) for a in addresses.split("-"))
            if "w" not in rights:
                continue
            mem.seek(start)
            digest.update(line.encode())
            for at in range(start, end, 1 << 20):
                try:
                    digest.update(mem.read(min(1 << 20, end - at)))
                except OSError:
                    break
    return digest.hexdigest()


class Untouched:
    """Checks that a refusal writes nothing: the process is stopped, so nobody else changes its memory."""

    def __init__(self, tap, name, pid):
        self.tap, self.name, self.pid = tap, name, pid

    def __enter__(self):
        self.traced = h.proc_state(self.pid) == "t"
        if not self.traced:
            os.kill(self.pid, signal.SIGSTOP)
            while h.proc_state(self.pid) != "T":
                time.sleep(0.01)
            time.sleep(0.05)
        self.before = memory_of(self.pid)
        return self

    def __exit__(self, *_):
        self.tap.equal(memory_of(self.pid), self.before, self.name + ": not a byte of its memory is another one")
        if not self.traced:
            os.kill(self.pid, signal.SIGCONT)
