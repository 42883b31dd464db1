# SPDX-License-Identifier: BSD-2-Clause
"""BPF programs, maps and links: those that a process holds, and those that are loaded. Other processes have theirs,
so we follow only the former."""
import ctypes
import json
import os
import platform
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


def fill_table(pid, name):
    """Fills the process's hash table of that name; keys are numbers of 4 bytes that no process has as its pid."""
    out = subprocess.run(["bpftool", "-j", "map"], capture_output=True, encoding="utf-8",
                         env=dict(os.environ, PATH=os.environ["PATH"] + ":/usr/sbin"))
    table = next(m for m in json.loads(out.stdout) if m.get("name") == name and ("map", str(m["id"])) in held_by(pid))
    cnt = table["max_entries"] + 1
    keys = (ctypes.c_uint32 * cnt)(*range(1 << 30, (1 << 30) + cnt))
    values = ctypes.create_string_buffer(cnt * table["bytes_value"])
    syscall, number = ctypes.CDLL(None, use_errno=True).syscall, {"x86_64": 321, "aarch64": 280}[platform.machine()]
    # include/uapi/linux/bpf.h: BPF_MAP_GET_FD_BY_ID, BPF_MAP_UPDATE_BATCH
    fd = syscall(number, 14, (ctypes.c_uint32 * 3)(table["id"], 0, 0), 12)
    batch = (ctypes.c_uint64 * 7)(0, 0, ctypes.addressof(keys), ctypes.addressof(values), cnt | fd << 32, 0, 0)
    done = syscall(number, 26, batch, ctypes.sizeof(batch))
    os.close(fd)
    if done != -1:
        raise OSError("the table %s is not full" % name)


def left_of(held):
    """Returns those that still exist after the kernel has had time to free them."""
    deadline = time.monotonic() + FREED_SECS
    while held & loaded() and time.monotonic() < deadline:
        time.sleep(0.1)
    return held & loaded()
