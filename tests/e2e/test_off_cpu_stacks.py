#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Exact stacks while off-CPU time is recorded, too: interrupts and switches alternate on a thread that has to share
its CPU, so it can leave at any instruction; the target's own trace knows every possible stack. Also: features not
requested are not loaded. `make check` runs all targets on the newest interpreter and one on each other."""
import os
import subprocess
import sys
import time

import bpf_objects
import harness as h

TARGETS = {"names.py": 4999, "flow.py": 4999, "pairs.py": 9973}
SECONDS = 0.5 if h.is_all() else 0.25
BURN = "while True: pass"


class Competitor:
    """A process that constantly competes for another one's CPU."""

    def __init__(self, pid):
        cpu = {min(os.sched_getaffinity(0))}
        os.sched_setaffinity(pid, cpu)
        self.process = subprocess.Popen([sys.executable, "-S", "-c", BURN])
        os.sched_setaffinity(self.process.pid, cpu)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        h.end_child(self.process)


def off_stacks(path):
    """Returns [(frames without the state, ns)] for an event that has the state at its leaf."""
    done = subprocess.run([h.KRAIT, "convert", "-q", "-f", "folded", "--event", "offcpu-time", "--lines", "-o", "-", "-i",
                           path], capture_output=True, encoding="utf-8", timeout=h.PATIENCE_SECS)
    found = []
    for line in done.stdout.splitlines():
        stack, _, ns = line.rpartition(" ")
        frames = stack.split(";")
        found.append((frames[:-1] if frames[-1].startswith("[") else frames, int(ns)))
    return found


def check_target(tap, python, script, rate):
    name = "%s: %s" % (python.name, script)
    with h.start(python, script) as target, Competitor(target.pid) as other:
        r = h.record_work(target.pid, SECONDS, "-F", str(rate), "--off-cpu=10us", *h.OWN_STACKS, beside=[other.process.pid],
                          outputs=("x.folded", "x.data"))
        tap.equal(r.code, 0, name + ": exit code", r.err)
    for event in ("cpu-clock", "offcpu-time"):
        tap.ok("\n%s.balance 0\n" % event in r.err, "%s: the accounts of %s balance" % (name, event), r.err)
    illegal, seen = target.oracle.judge(r.stacks)
    tap.ok(seen and not illegal, name + ": every stack on the CPU is one that the target can have", h.show(illegal))
    off = off_stacks(r.path("x.data"))
    illegal, seen = target.oracle.judge(off)
    tap.ok(len(off) > 5 and seen and not illegal, name + ": every stack off it, too", len(off), h.show(illegal))


def programs_of(python, *args):
    """Returns the names of a recording's BPF programs."""
    with h.start(python, "asleep.py") as target:
        with subprocess.Popen([h.KRAIT, "record", "-q", *args, "-p", str(target.pid), "-f", "folded", "-o", os.devnull],
                              stderr=subprocess.DEVNULL) as krait:
            h.wait_until(lambda: h.is_sampling(krait), krait)
            time.sleep(0.1)
            held = {number for kind, number in bpf_objects.held_by(krait.pid) if kind == "prog"}
            names = bpf_objects.names_of(held)
            h.end_child(krait, 2)
    return names


def main():
    h.need_bpf()
    tap = h.Tap()
    found = h.interpreters(tap, each_class=True)
    for python, (script, rate) in h.covering(found, list(TARGETS.items())):
        check_target(tap, python, script, rate)
    plain, both = programs_of(found[0]), programs_of(found[0], "--off-cpu")
    tap.ok(any(name.startswith("sample_") for name in plain) and
           not any(name.startswith(("switch_", "arrival_", "look_at_")) for name in plain),
           "without --off-cpu nothing is at the scheduler's switch", plain)
    tap.ok("switch_threads" in both and any(name.startswith("arrival_") for name in both), "with it there is", both)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
