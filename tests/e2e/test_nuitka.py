#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Programs compiled by Nuitka: each interrupt is complete, and each stack is one that the program can have. Their
frames are linked into the current chain without an activation of their own; tests/unit/test_walk_old.c and
test_walk_ends.c have look-alikes. Only in make check-all (scripts/wheels compiles tests/targets/compiled.py)."""
import os

import harness as h
import test_wheels

SECONDS = 2
MAIN = ("<module> (compiled.py)", "main (compiled.py)")
DECODER = ("loads (json/__init__.py)", "JSONDecoder.decode (json/decoder.py)", "JSONDecoder.raw_decode (json/decoder.py)")
# Ways from main() to leaf(): compiled only, through a generator, and compiled code called by interpreted code.
WAYS = (
    ("Thing.method (compiled.py)", "leaf (compiled.py)"),
    ("generator (compiled.py)", "middle (compiled.py)", "leaf (compiled.py)"),
    DECODER + ("hook (compiled.py)", "leaf (compiled.py)"),
)
# Of json's internal frames we only require that they are json's.
JSON = "(json/"


def is_possible(stack):
    """frames: of Python, root first."""
    if stack[:2] != MAIN[:len(stack)]:
        return False
    rest = stack[2:]
    if any(rest == way[:len(rest)] for way in WAYS):
        return True
    return rest[:1] == DECODER[:1] and all(JSON in frame for frame in rest)


def check(tap, minor, folder):
    with h.Target([os.path.join(test_wheels.WHEELS, folder, "compiled")]) as target:
        rec = h.record_work(target.pid, SECONDS, "--no-process", lines=False)
    name = "Nuitka on " + minor
    stacks = [(tuple(frames), count) for frames, count in rec.stacks]
    interrupts, complete = rec.stats.get("interrupts", 0), rec.stats.get("complete.python", 0)
    tap.ok(interrupts > 100 and complete == interrupts, "%s: %d of %d interrupts are complete" % (name, complete, interrupts),
           rec.err[-2000:])
    wrong = [(frames, count) for frames, count in stacks if not is_possible(frames)]
    tap.ok(stacks and not wrong, "%s: every stack is one that the program can have" % name, h.show(wrong[:10]))
    for way in WAYS:
        met = sum(count for frames, count in stacks if frames == MAIN + way)
        tap.ok(met > 0, "%s: %s is in %d samples" % (name, " > ".join(way), met), h.show(stacks[:10]))


def main():
    h.need_bpf()
    tap = h.Tap()
    for minor in ("3.11", "3.13"):
        folder = "nuitka-" + minor
        case = test_wheels.Case(folder, "", folder=folder)
        why = test_wheels.why_missing(case) if h.is_all() else "only in make check-all"
        if why:
            tap.skip("Nuitka on " + minor, why)
        else:
            check(tap, minor, folder)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
