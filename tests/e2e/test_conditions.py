#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""What a thread is doing besides its state, shown at its place in the stack: handling an exception, also within
generators, or collecting garbage. Checked in each function of a program that knows, in the capture as well as in
the recording. Also which threads and states are recorded at all."""
import re
import subprocess

import harness as h

SECONDS = 0.1
HANDLES = {"handler", "below_generator", "in_generator", "finally_unwinding"}
PLAIN = {"plain", "after"}


def krait(*args):
    return subprocess.run([h.KRAIT, *args], capture_output=True, encoding="utf-8", timeout=h.PATIENCE_SECS)


def stacks(path, *args):
    """Returns [(functions root first, samples)]."""
    text = krait("convert", "-f", "folded", "-o", "-", *args, "-i", path).stdout
    found = []
    for line in text.splitlines():
        stack, _, cnt = line.rpartition(" ")
        found.append(([re.sub(r" \(.*", "", f) for f in stack.split(";")], int(cnt)))
    return found


def by_function(found):
    """Returns {function called by main(): samples}."""
    cnt = {}
    for names, samples in found:
        if "main" in names:
            name = names[names.index("main") + 1:][:1]
            cnt[name[0] if name else ""] = cnt.get(name[0] if name else "", 0) + samples
    return cnt


def check_exceptions(tap, name, path, all_):
    handles = by_function(stacks(path, "--state", "exception"))
    few = {f: (handles.get(f, 0), all_.get(f, 0)) for f in HANDLES if handles.get(f, 0) < 0.9 * all_.get(f, 1)}
    tap.ok(not few, name + ": exceptions are seen where they are handled", few, handles, all_)
    # Of a few samples, one may hit the moment in which the exception is raised.
    many = {f: handles.get(f, 0) for f in PLAIN if handles.get(f, 0) > 2}
    tap.ok(not many and all(all_.get(f, 0) > 5 for f in PLAIN), name + ": and not where none is", many, all_)


def check_gc(tap, python, path, all_):
    name = python.name
    gc = stacks(path, "--state", "gc")
    cnt = by_function(gc)
    tap.ok(cnt.get("collecting", 0) > 0.5 * all_.get("collecting", 1), name + ": collecting garbage is seen", cnt, all_)
    tap.ok(not set(cnt) & (HANDLES | PLAIN), name + ": and only there", cnt)
    wrong = [names for names, _ in gc if names.count("[GC]") != 1]
    tap.ok(not wrong, name + ": each has its mark", wrong[:2])
    marked = [names for names, _ in stacks(path) if "[GC]" in names]
    tap.equal(len(marked), len(gc), name + ": and nothing else has one")
    spinning = [names for names, _ in gc if "finaliser" in names]
    before = {names[names.index("[GC]") - 1] for names in spinning}
    want = "finalised" if tuple(map(int, python.minor.split("."))) >= (3, 15) else None
    if want:
        tap.equal(before, {want}, name + ": the mark is where the collection began")
    else:
        tap.ok(spinning and before <= {"spin", "finaliser", "Loud.__del__", "__del__"}, name + ": or on top", before)


def check(tap, python):
    r = h.record("--gil", "--thread", "main", outputs=("x.data",), lines=False,
                 command=python.command(python.target("at.py"), str(SECONDS)))
    tap.equal(r.code, 0, python.name + ": exit code", r.err)
    tap.ok("\nbalance 0\n" in "\n" + r.err, python.name + ": the accounts balance", r.err)
    path = r.path("x.data")
    all_ = by_function(stacks(path))
    check_exceptions(tap, python.name, path, all_)
    check_gc(tap, python, path, all_)
    return path


def check_threads(tap, python):
    with h.start(python, "asleep.py") as target:
        def tids(*args):
            r = h.record("--idle", "-p", str(target.pid), "-d", "200ms", *args, outputs=("t.data",), lines=False)
            text = krait("report", "--wall", "--by", "thread", "-i", r.path("t.data")).stdout
            return r, {int(t) for t in re.findall(r" \d+/(\d+) ", text)}
        r, every = tids()
        tap.ok(len(every) >= 5, "every thread", every, r.err)
        tap.equal(tids("--thread", "main")[1], {target.pid}, "the main thread alone")
        other = max(every)
        r, only = tids("--thread", str(other))
        tap.equal(only, {other}, "one by its id")
        tap.ok("offcpu-time.balance 0" in r.err and "\nbalance" not in r.err, "what is not wanted is in the books", r.err)
        tap.equal(tids("--thread", "no-such-*")[0].code, 6, "nobody of that name")
        locks = tids("--state", "lock")[1]
        tap.ok(len(locks) == 1 and locks < every, "only who waits for a lock", locks)


def main():
    h.need_bpf()
    tap = h.Tap()
    found = [p for p in h.interpreters(tap) if not p.kind.startswith("nogil")]
    # One of each layout: executable or library makes no difference here.
    for python in {p.minor: p for p in found}.values():
        check(tap, python)
    check_threads(tap, found[0])
    tap.equal(krait("record", "--thread", "0", "true").returncode, 2, "a thread that nobody is")
    tap.equal(krait("record", "--state", "asleep", "true").returncode, 2, "a state that there is not")
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
