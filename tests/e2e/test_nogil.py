#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Features only of free-threaded interpreters: threads that run at the same time, and a copy of the bytecode per
thread (3.14t, 3.15t). The copies come from tests/targets/fake_nogil.c, laid out as in the headers; parallel
threads come from a real interpreter, if scripts/pythons-nogil has built one. (All other end-to-end tests run on
that one, too.)"""
import os
import re
import shutil
import subprocess
import tempfile

import harness as h

SOURCE = os.path.join(h.TARGETS, "fake_nogil.c")
VERSIONS = {"14": "3.14.10", "15": "3.15.2"}
TABLE_BYTES = {"14": 95 * 8, "15": 111 * 8}
LINES = {"first": 10, "second": 11, "third": 12}
# A thread counts as running without a pause while its interrupts are this close. Two of them must do so at the
# same time for a while: with a GIL, one would sleep.
RATE, PAUSE_SECS, AT_ONCE_SECS = 10000, 0.0003, 0.001


def build(folder, minor, *options):
    cc = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")
    if not cc:
        return None
    program = os.path.join(folder, "fake-nogil-" + minor)
    subprocess.run([cc, "-O1", "-w", "-rdynamic", "-DMINOR=" + minor, *options, "-o",
                    program, SOURCE, "-lpthread"], check=True)
    return program


def build_with_table(folder, minor, *options):
    """Like build(), with the table in the file: if it were only in memory, krait would write no anchors."""
    mark = b"in here!"
    program = build(folder, minor, "-DMARK=%d" % int.from_bytes(mark, "little"), *options)
    version = tuple(int(n) for n in VERSIONS[minor].split("."))
    head = b"xdebugpy" + bytes([0xf0, version[2], version[1], version[0], 0, 0, 0, 0])
    with open(program, "r+b") as f:
        data = f.read()
        table = data.index(head)
        f.seek(data.index(mark))
        f.write(data[table:table + TABLE_BYTES[minor]])
    return program


def expected(program, lines, depth=1):
    process = os.path.basename(program)[:15]
    work = {name: "work (fake.py%s)" % (":%d" % line if line else "") for name, line in lines.items()}
    roots = depth * ["root (fake.py:20)"]
    return sorted([process, name, *roots, leaf] for name, leaf in work.items())


def named(stacks):
    """Strips the thread's id, which is part of its frame. The main thread has no Python; it may not have begun to wait."""
    found = sorted([s[0], re.sub(r"/\d+$", "", s[1]), *s[2:]] for s, _ in stacks)
    return [s for s in found if s[1:] != [s[0], "[native thread]"]]


def check_copies(tap, program, minor):
    name = "a program like %st" % VERSIONS[minor]
    cases = (("sound", LINES), ("one-copy", LINES), ("no-copy", {**LINES, "second": 0, "third": 0}))
    # Copies are looked up in the same way in both.
    for argument, lines in cases if h.is_all() or minor == "15" else cases[:1]:
        with h.Target([program, argument]) as target:
            listed = h.run_krait("list", "-v", str(target.pid))
            r = h.record("-p", str(target.pid), "-t", "--label", "command", "-d", h.moment(0.25), *h.OWN_STACKS)
        tap.ok(VERSIONS[minor] + " exe,free-threaded published offsets " in
               " ".join(listed.stdout.split()), "%s, %s: list" % (name, argument), listed.stdout)
        h.check_accounts(tap, "%s, %s" % (name, argument), r, complete=1.0)
        tap.equal(named(r.stacks), expected(program, lines),
                  "%s, %s: each thread at its own line" % (name, argument), r.err)


def check_anchors(tap, folder):
    """3.15t has last_profiled_frame, too: krait walks only the new part of deep stacks."""
    name, depth = "a deep program like 3.15.2t", 100
    program = build_with_table(folder, "15", "-DDEPTH=%d" % depth)
    with h.Target([program, "sound"]) as target:
        # A thread must be a second old to get an anchor.
        h.age(target, 1.1)
        r = h.record("-p", str(target.pid), "-t", "--label", "command", "-d", h.moment(0.5), "--anchors", "on", *h.OWN_STACKS)
    h.check_accounts(tap, name, r, complete=1.0)
    tap.equal(named(r.stacks), expected(program, LINES, depth),
              name + ": each thread at its own line", r.err)
    tap.ok(r.stats.get("delta", 0) > 100 and r.stats.get("mismatched") == 0,
           name + ": anchors are met", r.err)


def interrupts(recording):
    """Returns [(seconds, CPU, tid)] of its script, in order."""
    line = re.compile(r"^\S.*\s\d+/(\d+)\s+\[(\d+)\]\s+(\d+\.\d+):", re.M)
    with open(recording.path("x.script"), encoding="utf-8") as f:
        found = line.findall(f.read())
    return sorted((float(seconds), int(cpu), int(tid)) for tid, cpu, seconds in found)


def runs(taken):
    """Returns {(CPU, tid): [[first, last]]}: when a thread ran on a CPU without a pause."""
    found = {}
    for seconds, cpu, tid in taken:
        own = found.setdefault((cpu, tid), [])
        if own and seconds - own[-1][1] < PAUSE_SECS:
            own[-1][1] = seconds
        else:
            own.append([seconds, seconds])
    return found


def longest_at_once(taken):
    """Returns the seconds for which two threads ran on two CPUs."""
    found, longest = runs(taken), 0
    for (cpu, tid), mine in found.items():
        for (other_cpu, other_tid), theirs in found.items():
            if cpu < other_cpu and tid != other_tid:
                longest = max([longest] + [min(a[1], b[1]) - max(a[0], b[0])
                                           for a in mine for b in theirs])
    return longest


def check_parallel(tap, python):
    """Two threads run in parallel on two CPUs, each with its own exact stacks."""
    name = python.name + ": two threads"
    with h.start(python, "threads.py", "2") as target:
        r = h.record("-p", str(target.pid), "-d", "2s", "-F", str(RATE),
                     outputs=("x.folded", "x.script"))
        seconds = longest_at_once(interrupts(r))
        # On a busy machine they may have taken turns.
        for _ in range(4):
            if seconds < AT_ONCE_SECS:
                again = h.record("-p", str(target.pid), "-d", "2s", "-F", str(RATE),
                                 outputs=("x.script",))
                seconds = longest_at_once(interrupts(again))
    h.check_accounts(tap, name, r, complete=0.98)
    h.check_stacks(tap, name, r, target.oracle)
    if len(os.sched_getaffinity(0)) < 2:
        tap.skip(name + ": both at once", "one CPU")
    else:
        tap.ok(seconds >= AT_ONCE_SECS, name + ": both at once", seconds, r.samples())


def main():
    h.need_bpf()
    tap = h.Tap()
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    for minor in VERSIONS:
        program = build(folder, minor)
        if program:
            check_copies(tap, program, minor)
        else:
            tap.skip("a program like %st" % VERSIONS[minor], "no C compiler")
    if program:
        check_anchors(tap, folder)
    for python in h.interpreters(tap, each_class=True):
        if python.free_threaded:
            check_parallel(tap, python)
    shutil.rmtree(folder)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
