#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""C that calls Python back, with interpreters and libraries as distributed: native stacks are whole, the C is between
caller and callee, Python's own calls have nothing between, and each way of calling is shown in one way: a flame
graph has a single tower for it, without siblings that begin in its middle."""
import collections
import re

import harness as h

# The file of the C code that runs between. For "sort" and "re" it is in the interpreter, which is hidden; for
# "json" it may be.
BETWEEN = {
    "qsort": r"libc\.so|libc-",
    "sqlite": r"libsqlite3|_sqlite3",
    "json": r"_json",
    "sort": None,
    "re": None,
}
BUILT_IN = ("json",)
LEAST = 0.99
# Calls from C to Python below the work: more C frames than krait walks. Each version needs at least two for one.
DEEP, DEEP_MARK = 700, "[truncated: native depth]"
NATIVE = re.compile(r" \(.*\.so.*\)$|^\[.*\]$")


def plain(frame):
    return re.sub(r" \([^()]*\)$", "", frame)


def between(stack, kind):
    """Returns the frames between do_X and leaf_X; None if one of them is missing."""
    names = [plain(f) for f in stack]
    try:
        begin, end = names.index("do_" + kind), names.index("leaf_" + kind)
    except ValueError:
        return None
    return stack[begin + 1:end]


def once(frames):
    """Drops repeats of a frame that calls itself: sorting does, by halves."""
    return tuple(f for i, f in enumerate(frames) if not i or f != frames[i - 1])


def towers(stacks, kind):
    """Returns {function: {path from the root to it: samples}}; the target calls each in one way only."""
    found = {f: collections.Counter() for f in ("do_" + kind, "leaf_" + kind, "burn")}
    for stack, n in stacks:
        names, at = [plain(f) for f in stack], 0
        for function, ways in found.items():
            if function not in names[at:]:
                break
            at = names.index(function, at)
            ways[once(stack[:at + 1])] += n
    return found


def check_towers(tap, python, stacks, kind):
    """The same path has [truncated] and C frames at the same places in all samples."""
    for function, ways in towers(stacks, kind).items():
        total, largest = sum(ways.values()), max(ways.values(), default=0)
        tap.ok(total > 10 and share(largest, total) >= LEAST,
               "%s: %s: %d of %d samples of %s are in one tower" % (python.name, kind, largest, total, function),
               h.show(ways.items()))


def share(good, all_of_them):
    return good / all_of_them if all_of_them else 0


def check_kind(tap, python, stacks, kind):
    total = shown = 0
    odd = []
    for stack, n in stacks:
        frames = between(stack, kind)
        if frames is None:
            continue
        total += n
        native = [f for f in frames if NATIVE.search(f)]
        good = "[truncated]" not in frames and (
            any(re.search(BETWEEN[kind], f) for f in native) if BETWEEN[kind] and
            (native or kind not in BUILT_IN) else not native)
        shown += n if good else 0
        if not good:
            odd.append((stack, n))
    tap.ok(total > 10 and share(shown, total) >= LEAST,
           "%s: %s: C is between in %d of %d" % (python.name, kind, shown, total), h.show(odd))


def check(tap, python):
    with h.start(python, "callbacks.py") as target:
        rec = h.record_work(target.pid, 0.4, "--native", "-F", "2503", lines=False)
    samples, whole = rec.stats.get("native.samples", 0), rec.stats.get("native.complete", 0)
    tap.ok(samples > 300 and share(whole, samples) >= LEAST,
           "%s: native stacks are whole: %d of %d" % (python.name, whole, samples),
           "\n".join("%s %s" % (k, v) for k, v in rec.stats.items() if k.startswith("native.")))
    for kind in BETWEEN:
        check_kind(tap, python, rec.stacks, kind)
        check_towers(tap, python, rec.stacks, kind)


def is_as_deep(frames):
    """All of Python's frames are there: map() calls down() at each level."""
    return sum(plain(f) == "down" for f in frames) == DEEP + 1


def check_deep(tap, python):
    """More C frames than krait walks: Python is whole, the leaf and the C above the mark are right, and the mark says why the
    rest is missing. With an evaluation for each frame (up to 3.10) the mark may be above the C."""
    name = python.name + ": deep"
    with h.start(python, "callbacks.py", str(DEEP)) as target:
        rec = h.record_work(target.pid, 0.25, "--native", "-F", "2503", lines=False)
    cut, samples = rec.stats.get("native.truncated.depth", 0), rec.stats.get("native.samples", 0)
    tap.ok(samples > 200 and share(cut, samples) >= LEAST, "%s: %d of %d are cut" % (name, cut, samples))
    odd = [(s, n) for s, n in rec.stacks if not is_as_deep(s) or s.count(DEEP_MARK) > 1]
    tap.ok(not odd, name + ": Python's frames are complete, below and above one mark", h.show(odd))
    on_top = sum(n for s, n in rec.stacks if s[-1] == DEEP_MARK)
    tap.ok(share(on_top, samples) <= 1 - LEAST, name + ": the leaf is known", on_top, samples)
    shown = collections.Counter()
    odd = []
    for stack, n in rec.stacks:
        for kind in BETWEEN:
            frames = between(stack, kind)
            if frames is None:
                continue
            native = [f for f in frames if NATIVE.search(f) and f != DEEP_MARK]
            above = stack[-stack[::-1].index(DEEP_MARK):] if DEEP_MARK in stack[:-1] else ()
            whole = between(above, kind) is not None
            if native or (whole and kind not in BUILT_IN):
                good = any(re.search(BETWEEN[kind], f) for f in native) if BETWEEN[kind] else not native
                odd += [] if good else [(stack, n)]
            shown[kind, whole] += n
    tap.ok(not odd, name + ": C is between where it belongs, or the mark is above it", h.show(odd))
    for kind in BETWEEN:
        total = shown[kind, True] + shown[kind, False]
        least = LEAST if python.minor not in ("3.8", "3.9", "3.10") else 0.1
        tap.ok(total > 10 and share(shown[kind, True], total) >= least,
               "%s: %s: %d of %d are above the mark" % (name, kind, shown[kind, True], total))


def main():
    h.need_bpf()
    tap = h.Tap()
    for python in h.interpreters(tap):
        check(tap, python)
        check_deep(tap, python)
    tap.done()
    h.cleanup()


if __name__ == "__main__":
    main()
