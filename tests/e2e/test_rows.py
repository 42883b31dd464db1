#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Native stacks reach the thread's beginning, even through code that appeared during the recording: a loaded library,
machine code written by the process, CPython's trampolines (-X perf)."""
import glob
import os
import platform
import shutil
import subprocess
import sys
import tempfile

import harness as h

# For 0.4 s of CPU time or more at 997 Hz: some stacks come before the unwind rows exist, more if their reader
# waits for a CPU.
WHOLE = 0.8


def whole(recording):
    samples = recording.stats.get("native.samples", 0)
    return recording.stats.get("native.complete", 0) / max(1, samples)


def check(tap, name, python, *args, options=()):
    r = h.record("-F", "997", "--native", command=python.command(*options, python.target("rows.py"), *args))
    tap.ok(r.code == 0 and whole(r) >= WHOLE, "%s: native stacks are whole" % name,
           "exit code %d, %.3f" % (r.code, whole(r)), r.err)
    return r


def through(recording, text):
    """Returns samples with such a frame, and how many of them have a mark."""
    found = [(stack, count) for stack, count in recording.stacks if any(text in f for f in stack)]
    marked = sum(c for stack, c in found if any(f.startswith("[truncated") for f in stack))
    return sum(c for _, c in found), marked


def check_later(tap, python):
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")
    if not compiler:
        tap.skip("a library that is loaded later", "no compiler")
        return
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    library = os.path.join(folder, "librows.so")
    try:
        subprocess.check_call([compiler, "-O2", "-fomit-frame-pointer", "-fPIC", "-shared",
                               os.path.join(h.TARGETS, "rows.c"), "-o", library])
        r = check(tap, "a library that is loaded later", python, "later", library)
        tap.ok(r.stats.get("mappings.reported", 0) + r.stats.get("mappings.ahead", 0) >= 3, "each library is reported when it is mapped", r.err)
        found, marked = through(r, "work (librows")
        tap.ok(found > 100 and marked <= found / 4, "its functions are below their callers", found, marked)
    finally:
        shutil.rmtree(folder)


def check_made(tap, python):
    for kind, name in ("made", "machine code that nothing describes"), ("described", ".eh_frame in memory"):
        r = check(tap, name, python, kind)
        found, marked = through(r, "[anonymous]")
        tap.ok(found > 100 and marked <= found / 4, "%s: it is below its caller" % name, found, marked)


def check_trampolines(tap, python):
    name = "%s, -X perf" % python.name
    r = check(tap, name, python, "python", options=("-X", "perf"))
    found = through(r, "[anonymous]")[0]
    tap.ok(found <= r.samples() / 20, "%s: trampolines are the interpreter's own" % name, found, r.samples())


def main():
    h.need_bpf()
    tap = h.Tap()
    pythons = [p for p in h.interpreters(tap) if not p.free_threaded]
    before = set(glob.glob("/tmp/perf-*.map"))
    here = h.newest([p for p in pythons if p.root == "/"])
    if not here or platform.machine() != "x86_64":
        tap.skip("code that comes later", "no interpreter on this machine's own files, or not x86-64")
    else:
        check_later(tap, here)
        check_made(tap, here)
    able = [p for p in pythons if p.minor in ("3.12", "3.13", "3.14", "3.15") and p.root == "/"]
    for python in able if h.is_all() else able[-1:]:
        check_trampolines(tap, python)
    for path in set(glob.glob("/tmp/perf-*.map")) - before:
        os.unlink(path)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
