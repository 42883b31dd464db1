# SPDX-License-Identifier: BSD-2-Clause
"""BPF programs, maps and links: those that a process holds, and those that are loaded. Others on the machine
have theirs, so what matters is what becomes of the former."""
import json
import os
import re
import subprocess
import time

# The kernel frees them by a worker of its own.
FREED_SECS = 5


def held_by(pid):
    """{("prog", "12"), ...}; none where the process has ended."""
    found, folder = set(), "/proc/%d/fdinfo" % pid
    try:
        for fd in os.listdir(folder):
            with open(os.path.join(folder, fd), encoding="utf-8") as f:
                found |= set(re.findall(r"^(prog|map|link)_id:\s+(\d+)", f.read(), re.M))
    except OSError:
        pass
    return found


def names_of(programs):
    """Of these programs, by their numbers as text, as far as they are loaded."""
    out = subprocess.run(["bpftool", "-j", "prog"], capture_output=True, encoding="utf-8",
                         env=dict(os.environ, PATH=os.environ["PATH"] + ":/usr/sbin"))
    return {entry.get("name", "") for entry in json.loads(out.stdout or "[]") if str(entry["id"]) in programs}


def loaded():
    found = set()
    for kind in ("prog", "map", "link"):
        out = subprocess.run(["bpftool", "-j", kind], capture_output=True, encoding="utf-8",
                             env=dict(os.environ, PATH=os.environ["PATH"] + ":/usr/sbin"))
        found |= {(kind, str(entry["id"])) for entry in json.loads(out.stdout or "[]")}
    return found


def left_of(held):
    """Those of them that are there still when the kernel has had the time to free them."""
    deadline = time.monotonic() + FREED_SECS
    while held & loaded() and time.monotonic() < deadline:
        time.sleep(0.1)
    return held & loaded()
