#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Tests the benchmark itself: its statistics, how it reads profilers, and one short run, which must report everything
it promises. Asserts no times."""
import os
import shutil
import struct
import tempfile

import profilers  # makes the harness of the end-to-end tests known
import harness as h
import compare
import compare_agents
import compare_dump
import compare_starts
import compare_native
import compare_tasks
import measure
import plan
import results
import roots


def row(profiler="krait", cost=0.01, **changes):
    made = {"target": "calls", "rate": 997, "profiler": profiler, "python": "3.15.2", "error": None,
            "asked": 1000, "delivered": 990, "complete": 980, "judged": 970, "wrong": 0,
            "cpu_seconds": 0.05, "start_cpu": 0.04, "native": [99, 100], "bpf_seconds": 0.01, "active_seconds": 1.0, "bytes": 500000,
            "cpu_share": 0.02, "bpf_share": 0.01, "cost": cost, "drift": -0.01, "peak_kib": 2048}
    return dict(made, **changes)


def document(*rows, missing=()):
    conditions = {"processor": "P", "cpus": 2, "memory": "1 GiB", "kernel": "6.1", "start": "then",
                  "end": "later", "load_start": "0.1", "load_end": "0.2", "commit": "abc",
                  "versions": {"krait": "0.1"}, "command": "scripts/bench", "rounds": 3,
                  "seconds": 1.0}
    return {"conditions": conditions, "runs": list(rows), "missing": dict(missing)}


def check_statistics(tap):
    three = [row(cost=0.03), row(cost=0.01, wrong=2), row(cost=0.02)]
    entry = results.summaries(three + [row("perf record")])[0]
    tap.equal((entry["cost"], round(entry["cost_spread"], 6), entry["judged"], entry["wrong"]),
              (0.02, 0.01, 2910, 2), "medians, half ranges, and sums of what was judged")
    failed = results.summaries([row(error="gone", cost=None), row()])[0]
    tap.equal((failed["failed"], failed["error"], failed["cost"]), (1, "gone", 0.01),
              "a run that failed is told and not counted")
    tap.equal([results.percent(*p) for p in ((0, 9), (9999, 10000), (10, 10), (1, 3), (None, 1))],
              ["0.0 %", "99.9 %", "100 %", "33.3 %", "-"], "shares are not rounded up to all")


def check_tables(tap):
    bad = dict(target="deep", rate=50000, profiler="austin", python="3.13", error="no samples")
    both = document(row(), row("austin"), bad, missing={"py-spy": "not on PATH"})
    text = results.markdown(both)
    lines = text.splitlines()
    tap.ok(any("deep, 50000" in x and "austin" in x and "failed" in x for x in lines) and
           "austin on deep, 50000 Hz: 1 of 1 runs: no samples" in text,
           "a profiler that failed is a row that says so", text)
    tap.ok(any("py-spy" in x and "missing" in x for x in lines) and "missing: not on PATH" in text,
           "a profiler that is missing is a row that says so", text)
    tap.ok(all(x in text for x in ("kernel 6.1", "then to later", "load 0.1", "abc", "krait 0.1")),
           "results name their conditions", text)
    page = "before\n%s\nold\n%s\nafter" % (results.MARK, results.END_MARK)
    new = results.put_into(page, results.page(both))
    tap.ok(new.startswith("before\n") and new.endswith("\nafter") and "old" not in new and
           "calls, 997" in new and results.put_into(new, results.page(both)) == new,
           "the page's part is replaced between its marks, again and again", new)


def check_comparison(tap):
    old = document(row(), row("perf record"))
    tap.ok(all(c[-1] == 1 for c in results.compare(old, old)), "nothing is worse than itself")
    worse = document(row(bytes=1000000, peak_kib=1024), row("perf record", error="gone"))
    found = {(c[2], c[3]): c[-1] for c in results.compare(old, worse)}
    tap.ok(found["krait", "bytes a sample"] > 1.9 and found["krait", "peak MiB"] < 0.7 and
           found["perf record", "runs at all"] == float("inf") and
           found["krait", "target CPU"] == 1, "ratios tell what is worse and what better", found)
    text = results.comparison(old, worse)
    tap.ok("2 worse" in text and "bytes a sample" in text and "target CPU" not in text,
           "only what has changed by much is shown", text)


# A stack of two frames, a second stack with one unreadable frame, and a third that is cut off.
MOJO = (b"MOJ\3" b"\2\7\0t\0" b"\x0b\1/a/b.py\0" b"\x0b\2<module>\0" b"\x0b\3C.f\0"
        b"\3\4\1\2\1\1\0\0" b"\3\5\1\3\x0c\x0c\0\0" b"\5\4\5\5\x09\x8d\1"
        b"\2\7\0t\0" b"\5\4\4" b"\x09\1" b"\1duration\0001500000\0" b"\2\7\0t\0" b"\5")


def check_outputs(tap):
    """Reads each profiler's text into the common form."""
    path = os.path.join(tempfile.mkdtemp(prefix="krait-e2e-"), "out")
    h.folders.append(os.path.dirname(path))
    # The profiler, its text, its output; the expected stack.
    cases = [
        (profilers.Krait(), "<module> (a/b.py:1);C.f (b.py:12) 3\n",
         "complete.python 3\ntruncated.depth 0\nseconds 1.5\n",
         (["<module> (b.py:1)", "C.f (b.py:12)"], 3), (3, 3, 1.5)),
        (profilers.Sampling(), "tid:7;b.py:<module>:1;b.py:C.f:12 3\n",
         "Captured 1,003 samples in 1.50 seconds\n",
         (["<module> (b.py:1)", "C.f (b.py:12)"], 3), (3, 3, 1.5)),
        (profilers.Austin(), MOJO, "", (["<module> (b.py:1)", "C.f (b.py:12)"], 1), (2, 1, 1.5)),
        (profilers.PySpy(), "<module> (/a/b.py:1);f (/a/b.py:12) 3\n", "",
         (["<module> (b.py:1)", "f (b.py:12)"], 3), (3, 3, None)),
    ]
    for profiler, text, said, stack, numbers in cases:
        with open(path, "wb") as f:
            f.write(text if isinstance(text, bytes) else text.encode())
        got = profiler.parse(path, said)
        tap.equal((got.stacks, (got.delivered, got.complete, got.seconds)), ([stack], numbers),
                  "the output of %s is understood" % profiler.name)


def check_roots(tap, pythons):
    """The files' own rows tell where threads begin."""
    python = next((p for p in pythons if p.kind == "exe"), None)
    if not python or not shutil.which("readelf"):
        return tap.skip("where threads begin", "no interpreter or no readelf")
    path = python.root.rstrip("/") + python.path
    with open(path, "rb") as f:
        entry, = struct.unpack_from("<Q", f.read(64), 24)
    offset = next(o + entry - a for o, n, a in roots.segments(path) if a <= entry < a + n)
    tap.ok(roots.begins_thread(path, entry + 4) and roots.address_of(path, offset) == entry,
           "the entry of %s begins a thread" % path, hex(entry), roots.without_caller(path))
    tap.ok(not roots.begins_thread(path, entry + 4096), "and what is behind it does not")


def check_judges(tap):
    """Which results count as right in the other comparisons."""
    waiter = ["acquire", "wait_7"] + ["step_7"] * 9 + ["run"]
    text = ("# ====\n#\npython3.12 7/9 [001] 12.000500000: 1 cpu-clock:\n  1 f+0x0 (a)\n  2 _start+0x1 (b)\n\n"
            "python3.12 7 12.5: 1 cpu-clock:\n  1 [truncated]\n  2 _start+0x1 (b)\n")
    tap.equal(compare_starts.samples_of(text), [(7, 12000500000, True), (7, 12500000000, False)],
              "a sample's process, time, and whether its native stack is whole")
    tap.equal(compare_starts.row("x", "y", [(12 * 10**9, compare_starts.samples_of(text))]),
              ["x", "y", "0.5", "0.5", "0.5", "1 of 2"], "how long after its start")
    tap.equal([compare_dump.is_right(x) for x in (waiter, waiter[:-3], ["watch", "main"], ["run"], [])],
              [True, False, True, None, None], "a dumped thread has its whole stack, another one, or none")
    text = 'Stack dump, thread 7\n  File "a.py", line 3, in main\n  File "a.py", line 4, in watch\n'
    tap.equal(compare_dump.of_text("^Stack", r"line \d+, in (\S+)", -1)(text), [["watch", "main"]],
              "a text that begins with the outermost is turned")
    whole = ["python3", "main (tasks.py)", "serve_1 (kinds.py:20)", "boss_1 (kinds.py)", "work_1 (kinds.py)",
             "step_1 (kinds.py)", "leaf_1 (kinds.py)"]
    cases = [whole, ["kinds.py:%s:3" % f.split(" ")[0] for f in whole], whole[:2] + whole[4:],
             whole[:3] + ["boss_2 (kinds.py)"] + whole[4:], [whole[1], whole[4], whole[3]] + whole[5:], whole[:4]]
    tap.equal([compare_tasks.judge(x) for x in cases], ["right", "right", "missing", "wrong", "wrong", None],
              "a chain of tasks is whole, cut, or another one")
    ends, way = ["serve", "fork", "main", "<module>"], ["layer_%d" % (i % 12) for i in range(compare_agents.DEPTH + 1)]
    cases = [["work"] + way + ends, way[:4] + ends, ["work"] + way[1:] + ends, ["work"] + way + ends[:-1], way[:4], way + way + ends]
    tap.equal([compare_agents.is_whole(x) for x in cases], [True, True, False, False, False, False],
              "a request's stack is whole at its work and on the way there")
    between = ["do_qsort (a.py)", "qsort_r (msort.c:44)", "leaf_qsort (a.py)"]
    tap.equal([compare_native.judge_callbacks(x) for x in (between, between[::2], ["do_re (a.py)", "leaf_re (a.py)"])],
              [True, False, None], "C is between, is not, or cannot be told")
    for name in compare.PAGE:
        begin, end = compare.marks(name)
        tap.equal(results.put_into("a\n%s\nold\n%s\nb" % (begin, end), "new", begin, end),
                  "a\n%s\nnew\n%s\nb" % (begin, end), name + " has a place of its own")
    with open(os.path.join(h.ROOT, "docs", "MEASUREMENTS.md"), encoding="utf-8") as f:
        page = f.read()
    tap.ok(all(mark in page for mark in (results.MARK, results.END_MARK, *(m for name in compare.PAGE for m in compare.marks(name)))),
           "and the page has them all")
    words = sum(1 for word in page.split() if any(c.isalnum() for c in word))
    tap.ok(words <= 2000, "in at most 2,000 words", words)


def check_run(tap, pythons):
    """One complete short run of krait."""
    workload = plan.workload("calls")
    krait = profilers.Krait()
    python = krait.pick(pythons, "3.15") or krait.pick(pythons, "3.14", "3.13", "3.12", "3.11")
    if not python:
        return tap.skip("a short run", krait.why)
    for seconds in (0.5, 2, 8):
        got = measure.run(krait, python, workload, 997, seconds)
        # On a busy machine the target may do nothing in a moment, so its cost is unknown.
        if got["error"] or results.summaries([got])[0]["cost"] is not None:
            break
    tap.ok(not got["error"] and got["delivered"] and got["asked"] > 0, "a short run has samples", got)
    tap.ok(got.get("judged") and got.get("wrong") == 0, "and all are stacks that the target can have",
           got)
    entry = results.summaries([got])[0]
    tap.ok(not [k for k, v in entry.items() if v is None and k not in ("error", "cost_spread", "native")] and
           entry["peak_kib"] > 0 and entry["bytes"] > 0, "and all figures", entry)


def main():
    tap = h.Tap()
    check_statistics(tap)
    check_tables(tap)
    check_comparison(tap)
    check_outputs(tap)
    check_judges(tap)
    check_roots(tap, h.all_interpreters())
    if os.environ.get("KRAIT_CAN_BPF", "1" if os.geteuid() == 0 else "0") == "1":
        check_run(tap, h.all_interpreters())
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
