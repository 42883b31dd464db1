#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Exact stacks on every interpreter: of many threads, of threads without the GIL, of sub-interpreters, of stacks
deeper than krait follows, and at an interpreter's end. `make check` runs all of that on the newest interpreter,
and a part of it on each other."""
import os
import platform
import re
import shutil
import subprocess

import harness as h


def check_threads(tap, python):
    """Each of fifty threads has functions that no other has: a mixed stack is not in the oracle."""
    name = python.name + ": threads.py"
    with h.start(python, "threads.py") as target:
        recording = h.record_turns(target, 0.25, "-F", "9973")
    tap.equal(recording.code, 0, name + ": exit code", recording.err)
    h.check_accounts(tap, name, recording, complete=0.99)
    h.check_stacks(tap, name, recording, target.oracle)


def check_frames(tap, python):
    """-t: each thread has its own frame, although all have the same name (3.13 and earlier do not name
    threads)."""
    name = python.name + ": -t"
    with h.start(python, "threads.py", "6") as target:
        recording = h.record_work(target.pid, 0.25, "-t", "-F", "997", lines=False)
    workers = {}
    for stack, _ in recording.stacks:
        found = [f for f in stack if f.startswith("worker_")]
        workers.setdefault(stack[1], set()).update(found[:1])
    owners = [next(iter(w)) for w in workers.values() if w]
    tap.ok(len(owners) > 2 and len(set(owners)) == len(owners) and all(len(w) <= 1 for w in workers.values()),
           name + ": one worker in each thread's frame, and none in two", workers)


def check_release(tap, python):
    """While a thread has released the GIL, the interpreter has no current thread state."""
    name = python.name + ": release.py"
    with h.start(python, "release.py") as target:
        recording = h.record_turns(target, 0.25, "-F", "4999")
    h.check_accounts(tap, name, recording, complete=0.99)
    h.check_stacks(tap, name, recording, target.oracle)


UNKNOWN = "<unknown function>"


def is_visit(frames):
    """A stack in the third interpreter of interps.py. The string executed there is dropped after each run."""
    names = [re.sub(r" \(<(script|string)>:\d+\)$", "", f) for f in frames]
    visit = ["<module>", "visited", "visited_leaf"]
    if frames[:1] == [h.VISITING]:
        names = names[1:]
    return names == ["[no Python frame]"] or \
        len(names) <= 3 and all(n in (UNKNOWN, v) for n, v in zip(names, visit))


def check_interpreters(tap, python):
    """The stack is that of the thread's present interpreter and no other. Code objects die there all the time, and
    nothing proves at first sight that another one is still alive: a few frames may be unknown, but none may have a
    wrong name."""
    name = python.name + ": interps.py"
    with h.start(python, "interps.py") as target:
        # The first milliseconds are from before krait has looked.
        recording = h.record_turns(target, 0.45, "-F", "3999")
    h.check_accounts(tap, name, recording)
    illegal, leaves = target.oracle.judge(recording.stacks)
    visits = [s for s in illegal if is_visit(s[0][1:])]
    unknown = [s for s in illegal if s not in visits and UNKNOWN in s[0]]
    illegal = [s for s in illegal if s not in visits and s not in unknown]
    tap.ok(not illegal, name + ": every stack is one the target can have", h.show(illegal))
    tap.ok(sum(n for _, n in unknown) <= 0.02 * recording.samples(),
           name + ": few frames are unknown", h.show(unknown))
    missing = [hot for hot in target.oracle.hot if hot not in leaves]
    tap.ok(not missing, name + ": every interpreter was seen at work", missing)
    inside = [(s, n) for s, n in recording.stacks if s[-1].startswith(("visited_leaf ", "sub"))]
    cut = sum(n for s, n in inside if s[1] == h.VISITING)
    tap.ok(cut >= 0.98 * sum(n for _, n in inside) > 0,
           name + ": callers in another interpreter are said to be missing", h.show(inside))
    outside = [(s, n) for s, n in recording.stacks if s[-1].startswith("main_leaf ") and h.VISITING in s]
    tap.ok(not outside, name + ": and no others", h.show(outside))
    seen = sum(n for s, n in visits if s[-1].startswith("visited_leaf "))
    unseen = sum(n for s, n in visits if s[-1] == UNKNOWN)
    tap.ok(seen > unseen, name + ": an interpreter entered for moments has its names",
           h.show(visits))


def check_deep(tap, python):
    """Frames beyond krait's limit are missing at the root, with a mark."""
    name = python.name + ": deep.py"
    with h.start(python, "deep.py") as target:
        recording = h.record_work(target.pid, 0.3, lines=False)
    h.check_accounts(tap, name, recording)
    tap.ok(recording.stats.get("truncated.depth") == recording.samples() > 0,
           name + ": every sample is truncated", recording.err)
    wrong = [s for s, _ in recording.stacks
             if s[1] != "[truncated: depth]" or s[-1] != "bottom (deep.py)" or len(s) < 1024 or
             set(s[2:-1]) != {"descend (deep.py)"}]
    tap.ok(not wrong, name + ": the leaf side is there, and the mark", h.show([(w, 1) for w in wrong]))


def check_ending(tap, python):
    """Freeing everything at the end is not Python code, and has a name."""
    name = python.name + ": ending.py"
    recording = h.record("-F", "1999", command=python.command(python.target("ending.py")))
    h.check_accounts(tap, name, recording)
    ends = sum(n for s, n in recording.stacks if s[-1] == "[finalizing]")
    none = sum(n for s, n in recording.stacks if s[-1] == "[no Python frame]")
    tap.ok(ends > 20 and ends == recording.stats.get("complete.finalizing"),
           name + ": the end is told as such", h.show(recording.stacks[-9:]))
    tap.ok(none <= ends / 4, name + ": next to nothing has no name", "%d of %d" % (none, none + ends))


def check_cost(tap, python):
    """krait reports a rate at which its walks take much of the program's time."""
    said = []
    with h.start(python, "deep.py") as target:
        for rate in ("10k", "99"):
            done = h.run_krait("record", "-p", str(target.pid), "-d", h.moment(0.3), "-F", rate,
                               "-f", "folded", "-o", "/dev/null")
            said.append("samples took " in done.stderr)
    tap.equal(said, [True, False], python.name + ": a rate that costs much is told")


def check_emulated(tap, python):
    """The thread pointer that the kernel knows is no thread state's, as under valgrind and qemu-user."""
    name = python.name + ", other thread pointers"
    if platform.machine() != "x86_64" or python.free_threaded:
        tap.skip(name, "x86-64 with a GIL only")
        return
    folder = python.scratch()
    library = os.path.join(folder, "emulated.so")
    try:
        built = subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", os.path.join(h.TARGETS, "emulated.c"),
                                "-o", library], capture_output=True, encoding="utf-8", check=False)
        if built.returncode:
            tap.skip(name, "cannot be built")
            return
        with h.start(python, "emulated.py", python.inside(library)) as target:
            recording = h.record("-p", str(target.pid), "-d", h.moment(0.4), "--wall", lines=False)
    finally:
        shutil.rmtree(folder)
    time_of = {function: sum(n for stack, n in recording.stacks if any(frame.startswith(function) for frame in stack))
               for function in ("works (", "sleeps (", "[native thread]")}
    tap.ok(time_of["works ("] and time_of["sleeps ("] and not time_of["[native thread]"],
           name + ": each thread has its own functions", time_of)


def main():
    h.need_bpf()
    tap = h.Tap()
    pythons = h.interpreters(tap)
    if pythons:
        check_cost(tap, h.newest(pythons))
    for python in h.few(pythons):
        check_emulated(tap, python)
    parts = [check_threads, check_frames, check_release, check_interpreters, check_deep, check_ending]
    for python, check in h.covering(pythons, parts):
        check(tap, python)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
