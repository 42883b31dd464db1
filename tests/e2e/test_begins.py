#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Threads and processes that begin: native stacks are whole in the midst of clone3() and vfork(), too, where the C
library's tables have nothing for a new thread and who began it, and the return address in a register."""
# run-tests: beside others
import os
import re

import harness as h

SECONDS = 1
# As C libraries call them, where they have names, and the kernel: in the call, and in what has just begun.
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
    # Since 3.10 it has children by vfork(). A root folder has a C library of its own, a newer one.
    here = next((p for p in every if p.minor in ("3.11", "3.12") and p.root == "/"), None)
    there = next((p for p in every if p.minor in ("3.13", "3.14") and p.root != "/"), None)
    # posix_spawn(), which newer ones have processes by, gives the child a stack of its own: nothing leads from there to the
    # frames of who has begun it, and a mark says so.
    for python, what, args in ((here, "this system's C library", []), (there, "the C library of Debian sid", ["threads"])):
        if python:
            check(tap, python, *args)
        else:
            tap.skip(what, "no Python with it on this machine")
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
