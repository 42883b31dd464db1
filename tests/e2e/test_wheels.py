#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Libraries as PyPI ships them, and interpreters as uv installs them: native stacks are whole and contain the
library. Only in make check-all, which fetches them (scripts/wheels, 1.5 GB). A library with a lower limit says
why."""
# run-tests: beside own recordings
# run-tests: second try: krait looks late at what has just begun or changed where a host takes the CPU away
import contextlib
import os
import re

import harness as h

WHEELS = os.path.join(h.CACHE, "wheels")
SECONDS = 3
WHOLE = 0.995
# Samples whose unwind rows the helper has not read yet: on an overloaded machine it gets to that late.
NOT_READ, NOT_READ_MOST = "native.truncated.rows not read yet", 0.01


class Case:
    """A target: the folder in WHEELS of its interpreter; a pattern for the library's frames, and the least share of
    samples with one; the least share of whole native stacks, with the reason if that is below WHOLE."""

    def __init__(self, name, frame, most=0.5, whole=WHOLE, why="", folder="venv", script="wheels.py"):
        self.name, self.frame, self.most, self.whole, self.why = name, frame, most, whole, why
        self.folder, self.script = folder, script


CASES = [
    Case("numpy", r"openblas|_multiarray_umath|_umath_linalg|_pocketfft"),
    Case("pandas", r"pandas/|[a-z]+\.cpython-312|_multiarray_umath|sort|group", 0.3),
    Case("lxml", r"etree|\(src/lxml|lxml"),
    Case("cryptography", r"_rust"),
    Case("polars", r"polars"),
    Case("duckdb", r"duckdb"),
    Case("pyarrow", r"libarrow|libparquet"),
    Case("orjson", r"orjson"),
    Case("pydantic_core", r"pydantic_core"),
    Case("sklearn", r"sklearn|libgomp|_tree|_criterion|_splitter|openblas|cpython-312", 0.3),
    Case("pillow", r"_imaging"),
    Case("numba", r"anonymous|numba"),
    Case("greenlet", r"greenlet"),
    Case("uvloop", r"uvloop|loop\."),
] + [Case("callbacks on uv's " + v, r"leaf_", folder="uv-" + v, script="callbacks.py")
     for v in ("3.10.16", "3.11.11", "3.13.1", "3.14.6")]


def why_missing(case):
    """Returns why a case cannot run, or None."""
    if os.path.exists(os.path.join(WHEELS, case.folder, "recipe")):
        return ""
    with contextlib.suppress(OSError), open(os.path.join(WHEELS, case.folder + ".why"), encoding="utf-8") as f:
        return f.read().strip()
    return "not there (scripts/wheels)"


def record(case):
    python = os.path.join(WHEELS, case.folder, "bin", "python3")
    command = [python, "-B", os.path.join(h.TARGETS, case.script)] + \
        ([case.name] if case.script == "wheels.py" else [])
    with h.Target(command) as target:
        return h.record_work(target.pid, SECONDS, "--native", lines=False)


def check(tap, case):
    busy = os.getloadavg()[0] > os.cpu_count()
    rec = record(case)
    whole, late = rec.stats.get("native.complete", 0), rec.stats.get(NOT_READ, 0)
    samples = rec.stats.get("native.samples", 0)
    counters = "\n".join("%s %s" % (k, v) for k, v in rec.stats.items() if k.startswith("native."))
    known = " (known: %s)" % case.why if case.why else ""
    tap.ok(samples > 200 and whole >= case.whole * (samples - late),
           "%s: native stacks are whole: %d of %d, %.2f %%, at least %.1f %%%s" % (
               case.name, whole, samples - late, 100 * whole / max(1, samples - late), 100 * case.whole, known),
           counters, rec.err[-500:])
    tap.ok(busy or late <= NOT_READ_MOST * samples, "%s: %d of %d samples had to do without rows%s" % (
        case.name, late, samples, ", on a busy machine" if busy else ""), counters)
    inside = sum(n for frames, n in rec.stacks if any(re.search(case.frame, f) for f in frames))
    tap.ok(inside >= case.most * rec.samples() > 0,
           "%s: the library is in %d of %d samples" % (case.name, inside, rec.samples()), h.show(rec.stacks[:10]))


def main():
    h.need_bpf()
    tap = h.Tap()
    for case in CASES:
        why = why_missing(case) if h.is_all() else "only in make check-all"
        if why:
            tap.skip(case.name, why)
        else:
            check(tap, case)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
