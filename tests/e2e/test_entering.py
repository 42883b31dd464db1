#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""An interrupt in the first instructions of the interpreter's loop, when CPython 3.11 and 3.12 have published an
activation but not yet filled it (bpf/activation.h): the stack is complete and is one that the target can have."""
# run-tests: beside others
import collections
import re

import harness as h

CHAIN = ["<module>", "main", "outer", "middle", "inner", "leaf"]
# Nothing can be done while a library's unwind rows are not known yet or memory is missing.
LOST_MAX = 0.001


def check(tap, python):
    with h.start(python, "entering.py") as target:
        rec = h.record_work(target.pid, 0.6, "--native", "-F", "7993", lines=False)
    lost, total = rec.stats.get("lost.bad frame", 0), rec.stats.get("interrupts", 0)
    tap.ok(total > 1000 and lost <= LOST_MAX * total,
           "%s: of %d interrupts %d are lost at the interpreter's entry" % (python.name, total, lost))
    wrong, seen = [], collections.Counter()
    for stack, n in rec.stacks:
        names = [f for f in (re.sub(r" \(.*", "", f) for f in stack) if f in CHAIN]
        seen[tuple(names)] += n
        if names and names != CHAIN[:len(names)]:
            wrong.append((stack, n))
    tap.ok(not wrong, "%s: each stack is one that the target can have" % python.name, h.show(wrong))
    tap.ok(seen[tuple(CHAIN)] and seen[tuple(CHAIN[:4])],
           "%s: some are in the innermost function, some in C that calls it" % python.name, h.show(seen.items()))


def main():
    h.need_bpf()
    tap = h.Tap()
    for python in h.interpreters(tap, each_class=True):
        if python.minor in ("3.11", "3.12"):
            check(tap, python)
    tap.done()
    h.cleanup()


if __name__ == "__main__":
    main()
