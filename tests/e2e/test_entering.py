#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""An interrupt where a word of the interpreter's is in a register only: in the first instructions of its loop, when CPython 3.11
and 3.12 have published an activation but not yet filled it, and where 3.12 enters or leaves a generator (bpf/python/activation.h).
The stack is complete and is one that the target can have."""
import collections
import re

import harness as h

CHAIN = ["<module>", "main", "outer", "middle", "inner", "leaf"]
# Nothing can be done while a library's unwind rows are not known yet or memory is missing.
LOST_MAX = 0.001


def stacks_of(rec):
    """The chain's part of each stack."""
    seen, wrong = collections.Counter(), []
    for stack, n in rec.stacks:
        names = [re.sub(r" \(.*", "", f).replace("yields_", "") for f in stack]
        names = [f for f in names if f in CHAIN]
        seen[tuple(names)] += n
        if names and names != CHAIN[:len(names)]:
            wrong.append((stack, n))
    return seen, wrong


def judge(tap, rec, name, reasons):
    bad, total = {reason: rec.stats.get(reason, 0) for reason in reasons}, rec.stats.get("interrupts", 0)
    tap.ok(total > 1000 and sum(bad.values()) <= LOST_MAX * total,
           "%s: of %d interrupts %d have no whole stack" % (name, total, sum(bad.values())), bad)
    seen, wrong = stacks_of(rec)
    tap.ok(not wrong, name + ": each stack is one that the target can have", h.show(wrong))
    return seen


def check(tap, python):
    with h.start(python, "entering.py") as target:
        rec = h.record_work(target.pid, 0.6, "--native", "-F", "7993", lines=False)
    seen = judge(tap, rec, python.name, ["lost.bad frame", "lost.cycle", "truncated.no base"])
    tap.ok(seen[tuple(CHAIN)] and seen[tuple(CHAIN[:4])],
           "%s: some are in the innermost function, some in C that calls it" % python.name, h.show(seen.items()))


def check_generators(tap, python):
    """Where C resumes one, the previous activation can be found only with native frames."""
    with h.start(python, "entering.py", "generators") as target:
        for args in (["--native"], []):
            rec = h.record_work(target.pid, 0.5, "-F", "7993", *args, lines=False)
            seen = judge(tap, rec, "%s, generators%s" % (python.name, "".join(" " + a for a in args)),
                         ["truncated.no base"] + (["lost.bad frame", "lost.cycle"] if args else []))
            tap.ok(seen[tuple(CHAIN)], "%s: some are in the innermost generator" % python.name, h.show(seen.items()))


def main():
    h.need_bpf()
    tap = h.Tap()
    for python in h.interpreters(tap, each_class=True):
        if python.minor in ("3.11", "3.12"):
            check(tap, python)
            check_generators(tap, python)
    tap.done()
    h.cleanup()


if __name__ == "__main__":
    main()
