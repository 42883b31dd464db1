#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Starting threads and processes: native stacks are whole even within clone3() and vfork(), where the C library's
unwind tables have nothing for a new thread or its creator, and the return address is in a register."""
import os
import re

import harness as h

SECONDS = 1
# Names in C libraries (if they have any) and in the kernel: in the call, and in what has just begun.
BEGINS = re.compile(r"_*(clone3?|vfork)\b|__\w+_sys_(clone3?|vfork)_|ret_from_fork")
TRUNCATED = "[truncated]"


def check(tap, python, *args):
    python.refresh_targets()
    with h.Target(python.command(python.target("begins.py"), *args)) as target:
        r = h.record_work(target.pid, SECONDS, "--native", "--kernel", "--interpreter-frames", lines=False)
    there = [(s, n) for s, n in r.stacks if any(BEGINS.match(f) for f in s)]
    cut = [(s, n) for s, n in there if TRUNCATED in s]
    tap.ok(sum(n for _, n in there) > 20, "%s: threads and processes begin: %d of %d samples" % (
        python.name, sum(n for _, n in there), r.samples()), h.show(r.stacks[:20]), r.err[-500:])
    tap.equal(cut, [], "%s: their native stacks are whole" % python.name)


def main():
    h.need_bpf()
    tap = h.Tap()
    every = h.all_interpreters()
    # Since 3.10 it starts children by vfork(). A root folder has its own, newer C library.
    here = next((p for p in every if p.minor in ("3.11", "3.12") and p.root == "/"), None)
    there = next((p for p in every if p.minor in ("3.13", "3.14") and p.root != "/"), None)
    # posix_spawn(), which newer versions use, gives the child a stack of its own: nothing leads from there to the
    # parent's frames, and a mark says so.
    for python, what, args in ((here, "this system's C library", []), (there, "the C library of Debian sid", ["threads"])):
        if python:
            check(tap, python, *args)
        else:
            tap.skip(what, "no Python with it on this machine")
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
