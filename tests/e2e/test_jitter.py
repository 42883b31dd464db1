#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""record --budget: samples of a process with deep stacks take that much of its time, stand for all of it, and krait says
what they would take without. record --jitter: the capture says that its rate varied, and on average the rate is the requested one.
tests/truth/test_periodic.py checks that a program in step with the timer is shown correctly with it, and wrongly
without."""
import json
import re
import shutil
import subprocess
import tempfile

import harness as h

SPIN = "import time\nend = time.process_time() + 1\nwhile time.process_time() < end: pass"


# 900 frames deep; then 1.6 s of CPU time, and it says how much that was.
DEEP = """import sys, threading, time
sys.setrecursionlimit(10 ** 6)
threading.stack_size(512 << 20)
def spin():
    begin = end = time.thread_time()
    while end < begin + 1.6:
        for i in range(2000): pass
        end = time.thread_time()
    print(end - begin, flush=True)
def down(n): return down(n - 1) if n else spin()
t = threading.Thread(target=down, args=(900,))
t.start()
t.join()
"""


def check_budget(tap, python, folder):
    cnt = {}
    for args in ((), ("--budget", "5%")):
        name = "deep stacks, " + (" ".join(args) or "no budget")
        capture = folder + "/x.data"
        done = h.run_krait("record", "-F", "4999", "--no-native", "--no-kernel", *args, "-o", capture, "--",
                           *python.command("-c", DEEP))
        tap.equal(done.returncode, 0, name + ": is recorded", done.stderr)
        spun = float(done.stdout.split()[0])
        event = json.loads(h.run_krait("report", "--json", capture).stdout)["events"][0]
        cnt[args] = event["samples"]
        shown = sum(row["self"] for row in event["rows"] if row["function"] == "spin")
        shown *= event["time_ns"] / event["all"] / 1e9
        tap.ok(0.93 < shown / spun < 1.05, name + ": all of the time is there", "%s of %s" % (shown, spun))
        for what, says, wanted in (("at once", "--budget 5% takes fewer samples of such processes only", not args),
                                   ("at the end, with the rate that would do", r"took \d+% .*: -F \d+ would", not args),
                                   ("what it has done", "--budget: every sample would have taken", bool(args))):
            tap.equal(bool(re.search(says, done.stderr)), wanted, name + ": it says " + what, done.stderr)
    tap.ok(cnt[("--budget", "5%")] < cnt[()] / 2, "there are fewer samples with a budget", cnt)
    for args in (("-e", "page-faults"), ("-e", "cpu-clock,task-clock")):
        done = h.run_krait("record", "--budget", "5%", *args, "-d", "1ms", "-p", "1")
        tap.equal(done.returncode, 2, "no budget with " + args[1], done.stderr)


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
    with tempfile.TemporaryDirectory() as folder:
        # 3.15 walks no deep stack twice.
        python = next((p for p in h.all_interpreters() if p.minor in h.MINORS and p.minor != "3.15"), None)
        if python:
            python.refresh_targets()
            check_budget(tap, python, folder)
        else:
            tap.skip("--budget", "no interpreter before 3.15")
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
