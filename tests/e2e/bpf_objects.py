# SPDX-License-Identifier: BSD-2-Clause
"""BPF programs, maps and links: those that a process holds, and those that are loaded. Other processes have theirs,
so we follow only the former."""
import json
import os
import re
import subprocess
import time

# The kernel frees them later, in a worker.
FREED_SECS = 5


def held_by(pid):
    """Returns {("prog", "12"), ...}; empty if the process has ended."""
    found, folder = set(), "/proc/%d/fdinfo" % pid
    try:
        for fd in os.listdir(folder):
            with open(os.path.join(folder, fd), encoding="utf-8") as f:
                found |= set(re.findall(r"^(prog|map|link)_id:\s+(\d+)", f.read(), re.M))
    except OSError:
        pass
    return found


def names_of(programs):
    """Returns the names of those of these programs (numbers as text) that are loaded."""
    out = subprocess.run(["bpftool", "-j", "prog"], capture_output=True, encoding="utf-8",
                         env=dict(os.environ, PATH=os.environ["PATH"] + ":/usr/sbin"))
    return {entry.get("name", "") for entry in json.loads(out.stdout or "[]") if str(entry.get("id")) in programs}


def loaded():
    """An object that goes while bpftool looks at it may have no id in its list: it counts as gone."""
    found = set()
    for kind in ("prog", "map", "link"):
        out = subprocess.run(["bpftool", "-j", kind], capture_output=True, encoding="utf-8",
                             env=dict(os.environ, PATH=os.environ["PATH"] + ":/usr/sbin"))
        found |= {(kind, str(entry["id"])) for entry in json.loads(out.stdout or "[]") if "id" in entry}
    return found


def left_of(held):
    """Returns those that still exist after the kernel has had time to free them."""
    deadline = time.monotonic() + FREED_SECS
    while held & loaded() and time.monotonic() < deadline:
        time.sleep(0.1)
    return held & loaded()
