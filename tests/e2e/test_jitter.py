#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""record --jitter: the capture says that its rate varied, and on average the rate is the requested one.
tests/truth/test_periodic.py checks that a program in step with the timer is shown correctly with it, and wrongly
without."""
import shutil
import subprocess

import harness as h

SPIN = "import time\nend = time.process_time() + 1\nwhile time.process_time() < end: pass"


def record(python, *args):
    r = h.record("-F", "997", *args, outputs=("x.data",), lines=False, command=python.command("-c", SPIN))
    return r, h.run_krait("record", "--stats", "-F", "997", *args, "-o", "/dev/null", "-f", "folded", "--",
                          *python.command("-c", "sum(range(10**7))")).stderr


def main():
    h.need_bpf()
    tap = h.Tap()
    python = h.interpreters(tap)[0]
    for args in ((), ("--jitter",)):
        name = " ".join(args) or "without"
        r, said = record(python, *args)
        tap.equal(r.code, 0, name + ": is recorded", r.err)
        tap.equal("at 997 Hz on average" in said, bool(args), name + ": it says so", said)
        if shutil.which("perf"):
            header = subprocess.run(["perf", "report", "--header-only", "-i", r.path("x.data")], capture_output=True,
                                    encoding="utf-8", errors="replace", timeout=h.PATIENCE_SECS).stdout
            tap.equal("--jitter" in header, bool(args), name + ": so does the capture", header)
        seconds = r.stats["interrupts"] / 997
        tap.ok(0.8 < seconds < 1.4, name + ": a second of CPU time", r.err)
    for args in (("-c", "1000000"), ("-e", "page-faults")):
        done = h.run_krait("record", "--jitter", *args, "-d", "1ms", "-p", "1")
        tap.equal(done.returncode, 2, "not with " + args[0], done.stderr)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
