#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""A program that loads libpython long after its start, and threads not made by Python. krait learns from the first
process that uses a library, so the next one is known from its first call."""
# run-tests: beside others
# run-tests: second try: krait looks late at what has just begun or changed where a host takes the CPU away
import glob
import os
import shutil
import subprocess
import sys

import harness as h

STACKS = {("<module>", "main_top", "work"): "its own", ("<module>", "foreign_top", "work"): "foreign"}


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
    r = h.record("-F", "2000", "--threads", lines=False, command=["sh", "-c", one * 2])
    tap.equal(r.code, 0, name + ": exit code", r.err)
    h.check_accounts(tap, name, r, complete=0.98)
    seen = {kind: 0 for kind in STACKS.values()}
    for stack, count in r.stacks:
        names = tuple(f.split(" ")[0] for f in stack[2:])
        if names in STACKS:
            seen[STACKS[names]] += count
    # About 600 ms of the first and 1,800 ms of the second on an idle machine.
    tap.ok(min(seen.values()) > 50, name + ": both kinds of threads were seen", seen, r.err,
           h.show(r.stacks))
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
