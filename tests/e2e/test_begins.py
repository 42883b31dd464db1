#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Threads and processes that begin: native stacks are whole in the midst of clone3() and vfork(), too, where the C
library's tables have nothing for a new thread and who began it, and the return address in a register."""
# run-tests: beside others
import os
import re

import harness as h

SECONDS = 1
# As the C library calls them.
BEGINS = re.compile(r"_*(clone3?|vfork)\b")
TRUNCATED = "[truncated]"


def main():
    h.need_bpf()
    tap = h.Tap()
    # Since 3.10 it has children by vfork().
    python = next((p for p in h.all_interpreters() if p.minor in ("3.11", "3.12") and p.root == "/"), None)
    if not python:
        print("1..0 # SKIP no Python 3.11 or 3.12 on this machine")
        return
    with h.Target([python.path, "-B", os.path.join(h.TARGETS, "begins.py")]) as target:
        r = h.record_work(target.pid, SECONDS, "--native", "--interpreter-frames", lines=False)
    there = [(s, n) for s, n in r.stacks if BEGINS.match(s[-1])]
    cut = [(s, n) for s, n in there if TRUNCATED in s]
    tap.ok(sum(n for _, n in there) > 20, "%s: threads and processes begin: %d of %d samples" % (
        python.name, sum(n for _, n in there), r.samples()), h.show(r.stacks[:20]), r.err[-500:])
    tap.equal(cut, [], "%s: their native stacks are whole" % python.name)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
