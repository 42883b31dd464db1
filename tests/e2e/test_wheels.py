#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Libraries as PyPI ships them, and interpreters as uv installs them: native stacks are whole and contain the
library. Only in make check-all, which fetches them (scripts/wheels, 1.5 GB). A library with a lower limit says
why."""
import collections
import contextlib
import os
import re
import subprocess
import tempfile

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


# All libraries in one process, to which krait attaches: the shortest part of a recording in which it must have all rows; on a
# busy machine it may take so long.
ALL, ATTACHED_SECS, BUSY_SECS = Case("all", r"", folder="venv"), 12, 6
SPINNERS, LATE_SECS, BUSY_WHOLE = 11, 2, 0.95


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


def attach(folder, seconds):
    """Records a process that uses all libraries. Returns (seconds since the first, library, whole?) of each sample in one."""
    data = os.path.join(folder, "all.data")
    command = [os.path.join(WHEELS, ALL.folder, "bin", "python3"), "-B", os.path.join(h.TARGETS, ALL.script), "all"]
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
    with h.Target(command, dict(os.environ, **threads)) as target:
        # Not h.run_krait(): the program works while krait begins.
        subprocess.run([h.KRAIT, "record", "-q", "-p", str(target.pid), "-d", "%gs" % seconds, "-o", data], check=True)
    samples, first = [], None
    for block in h.run_krait("script", "-i", data).stdout.split("\n\n"):
        time_ = re.search(r"\s(\d+\.\d+):", block)
        if time_:
            first = first or float(time_[1])
            inside = re.search(r"\b(%s)_\b.*wheels\.py" % "|".join(c.name for c in CASES), block)
            samples += [(float(time_[1]) - first, inside[1], "[truncated]" not in block)] if inside else []
    return samples


def check_all(tap):
    """krait has the rows of all libraries when the recording begins, or, on a busy machine, soon after that."""
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    h.folders.append(folder)
    count = collections.Counter((library, whole) for _, library, whole in attach(folder, ATTACHED_SECS))
    for library in sorted({library for library, _ in count}):
        whole, samples = count[library, True], count[library, True] + count[library, False]
        tap.ok(whole >= WHOLE * samples > 0, "all at once: %s: %d of %d are whole" % (library, whole, samples))
    spinners = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(SPINNERS)]
    try:
        late = [whole for at, _, whole in attach(folder, BUSY_SECS) if at > LATE_SECS]
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()
    tap.ok(sum(late) >= BUSY_WHOLE * len(late) > 0,
           "all at once, beside %d busy processes: %d of %d are whole after %d s" % (SPINNERS, sum(late), len(late), LATE_SECS))


def main():
    h.need_bpf()
    tap = h.Tap()
    for case in CASES:
        why = why_missing(case) if h.is_all() else "only in make check-all"
        if why:
            tap.skip(case.name, why)
        else:
            check(tap, case)
    why = why_missing(ALL) if h.is_all() else "only in make check-all"
    if why:
        tap.skip("all at once", why)
    else:
        check_all(tap)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
