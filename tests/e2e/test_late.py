#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""A program that loads libpython long after its start, and threads not made by Python. krait learns from the first
process that uses a library, so the next one is known from its first call."""
import glob
import os
import shutil
import subprocess
import sys

import harness as h

RATE, OWN_SECS = 2000, 0.3  # the latter of tests/targets/late.c
STACKS = {("<module>", "main_top", "work"): "its own", ("<module>", "foreign_top", "work"): "foreign"}


# Opens an event of the type in argv without a file: whoever may not set uprobes is told so before that is missed.
OPEN = """
import ctypes, errno, platform, struct, sys
call = {"x86_64": 298, "aarch64": 241}[platform.machine()]
attributes = ctypes.create_string_buffer(struct.pack("II", int(sys.argv[1]), 128), 128)
libc = ctypes.CDLL(None, use_errno=True)
sys.exit(libc.syscall(call, attributes, -1, 0, -1, 0) < 0 and ctypes.get_errno() == errno.EACCES)
"""


def may_probe():
    """Tells whether krait may set uprobes. Since 6.16, and in later releases of older kernels, that takes CAP_SYS_ADMIN
    (perf_uprobe_event_init() in kernel/events/core.c), which krait keeps only where all events do."""
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
        if int(f.read()) > 2:
            return True
    with open("/sys/bus/event_source/devices/uprobe/type", encoding="ascii") as f:
        kind = f.read().strip()
    return not subprocess.run(["setpriv", "--bounding-set", "-sys_admin", sys.executable, "-I", "-S", "-c", OPEN, kind],
                              check=False).returncode


def build(folder):
    """Returns the program, or None without a compiler."""
    path = os.path.join(folder, "late")
    try:
        subprocess.run(["cc", "-O1", "-o", path, os.path.join(h.TARGETS, "late.c"), "-ldl",
                        "-lpthread"], check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return path


def library_of(python):
    """Returns libpython of an interpreter of the shared kind, as seen from its root."""
    found = glob.glob("%s/usr/lib/*/libpython%s.so.1.0" % (python.root.rstrip("/"), python.minor))
    return python.inside(found[0]) if found else None


def check(tap, python, program, library):
    name = "%s, loaded late" % python.name
    # Twice: for the second one the library is known.
    one = 'chroot %s /usr/bin/env PYTHONHOME=/usr %s %s || exit 1; ' % (
        python.root, python.inside(program), library)
    r = h.record("-F", str(RATE), "--threads", lines=False, command=["sh", "-c", one * 2])
    tap.equal(r.code, 0, name + ": exit code", r.err)
    h.check_accounts(tap, name, r, complete=0.98)
    seen = {kind: {} for kind in STACKS.values()}
    for stack, count in r.stacks:
        names = tuple(f.split(" ")[0] for f in stack[2:])
        if names in STACKS:
            of_kind = seen[STACKS[names]]
            of_kind[stack[1]] = of_kind.get(stack[1], 0) + count
    # 300 ms of CPU time in each process, the first of which is found by looking at it again and again.
    tap.ok(all(sum(n.values()) > 50 for n in seen.values()), name + ": both kinds of threads were seen", seen, r.err,
           h.show(r.stacks))
    first_call = name + ": the second one from its first call"
    if may_probe():
        tap.ok(max(seen["its own"].values(), default=0) > 0.95 * RATE * OWN_SECS, first_call, seen, r.err)
    else:
        tap.skip(first_call, "without CAP_SYS_ADMIN the kernel sets no uprobes")
    # Looks like a working stack but is not: frames of different threads, or without their names.
    wrong = [s for s in r.stacks if s[0][-1].startswith("work ") and
             tuple(f.split(" ")[0] for f in s[0][2:]) not in STACKS]
    tap.ok(not wrong, name + ": the stacks are right", h.show(wrong))


def main():
    h.need_bpf()
    tap = h.Tap()
    for python in h.interpreters(tap, each_class=True):
        library = library_of(python)
        if python.kind != "shared" or python.root == "/" or not library:
            continue
        folder = python.scratch()
        program = build(folder)
        if program:
            check(tap, python, program, library)
        else:
            tap.skip(python.name + ", loaded late", "no C compiler")
        shutil.rmtree(folder)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    sys.exit(main())
