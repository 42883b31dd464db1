#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Code that the interpreter generates counts as its own, in a stack as well as in a function's self: that of its JIT
(3.14, 3.15) and the trampolines of -X perf (3.12 and later)."""
import glob
import os
import re

import harness as h

LEAST = 0.97
# Debian's builds have it.
JIT = ("3.14", "3.15")
STACKS = {("<module>",), ("<module>", "hot"), ("<module>", "in_sort"), ("<module>", "in_sort", "key")}


def plain(frame):
    return re.sub(r" \([^()]*\)$", "", frame)


def is_own(stack):
    """Only Python, and the C library that the interpreter calls; perhaps a mark if the JIT's code hides C."""
    names = tuple(plain(f) for f in stack if f != "[truncated]" and not re.search(r"[\[(](libc\.so|ld-|vdso)", f))
    return names in STACKS and stack[-1] != "[truncated]"


def check(tap, python, name, target, least):
    with target:
        r = h.record_work(target.pid, 0.7, "--native", lines=False)
    total, odd = r.samples(), [(s[1:], n) for s, n in r.stacks if not is_own(s[1:])]
    tap.ok(total > 200 and sum(n for _, n in odd) <= (1 - least) * total, "%s: what it makes is its own: %d samples" % (name, total),
           h.show(odd))
    complete, samples = r.stats.get("native.complete", 0), r.stats.get("native.samples", 0)
    tap.ok(complete >= 0.99 * samples, "%s: native stacks are whole: %d of %d" % (name, complete, samples))


def with_options(python, options, env=()):
    """Like h.start(), with interpreter options and variables."""
    command = python.command(*options, python.target("jitted.py"))
    at = command.index(python.path)
    return h.Target(command[:at] + ["/usr/bin/env", *env] + command[at:])


def main():
    h.need_bpf()
    tap = h.Tap()
    for python in h.all_interpreters():
        if python.minor in JIT and python.kind == "exe" and python.path.startswith("/usr/bin/"):
            # It keeps a frame pointer from 3.15 on; for 3.14 krait reads its code.
            check(tap, python, python.name + ": JIT", with_options(python, (), ("PYTHON_JIT=1",)), LEAST)
    for python in h.interpreters(tap):
        if int(python.minor.split(".")[1]) < 12:
            continue
        target = with_options(python, ("-X", "perf"))
        check(tap, python, python.name + ": -X perf", target, LEAST)
        for path in glob.glob("%s/tmp/perf-%d.map" % (python.root.rstrip("/"), target.pid)):
            os.remove(path)
    tap.done()
    h.cleanup()


if __name__ == "__main__":
    main()
