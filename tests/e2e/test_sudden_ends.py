#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Sudden deaths of targets and of krait, crowds of threads, recycled workers, stopped targets: krait keeps its
accounts and leaves nothing behind. KRAIT_FULL=1 runs the long forms."""
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

import bpf_objects
import harness as h
from background import Krait, scale


def check_crowd(tap, python):
    name = python.name + ": 500 threads, 50 of them busy"
    with h.start(python, "crowd.py", "500", "50") as target:
        r = h.record_work(target.pid, 0.7, "-F", "3999", lines=False)
    h.check_accounts(tap, name, r, complete=0.98)
    tap.equal(r.stats.get("unknown_samples"), 0, name + ": all have names", r.err)
    busy = {m.group(1) for s, _ in r.stacks
            for m in [re.search(r"busy_\d+ \(crowd_(\d+)\.py\)", s[-1])] if m}
    tap.ok(len(busy) >= 45, name + ": the busy ones were seen", sorted(busy))
    mixed = [s for s in r.stacks
             if len({m for f in s[0] for m in re.findall(r"busy_(\d+)|crowd_(\d+)", f)}) > 2]
    tap.ok(not mixed, name + ": no stack is of two threads", h.show(mixed))


def check_prefork(tap, python):
    """A child is sampled from its first interrupt on, with its parent's identity."""
    seconds = scale(1, 10)
    name = python.name + ": a server that recycles its workers"
    r = h.record("-F", "4000", lines=False,
                 command=python.command(python.target("prefork.py"), "4", str(seconds)))
    tap.equal(r.code, 0, name + ": exit code", r.err)
    h.check_accounts(tap, name, r, complete=0.98)
    at_work = [s for s in r.stacks if s[0][-1].startswith("handle ")]
    wrong = [s for s in at_work if [f.split(" ")[0] for f in s[0][1:]] !=
             ["<module>", "serve", "worker", "handle"]]
    tap.ok(at_work and not wrong, name + ": the stacks of the workers are right", h.show(wrong))
    tap.ok(r.stats["unknown_samples"] <= 0.02 * r.stats["interrupts"],
           name + ": functions have names", r.err)


def check_kill_target(tap, python):
    """Death at any moment, including start-up."""
    bad = []
    for i in range(scale(5, 60, 8)):
        target = subprocess.Popen(python.command(python.target("flash.py"), "2000"))
        time.sleep(0.01 + 0.02 * (i % 4))
        krait = subprocess.Popen([h.KRAIT, "record", *h.PYTHON_ONLY, "-q", "--stats", "-F", "2000", "-o",
                                  "/dev/null", "-f", "folded", "-p", str(target.pid)],
                                 stderr=subprocess.PIPE, encoding="utf-8")
        time.sleep(0.1 + random.random() * 0.5)
        h.end_child(target)
        _, err = krait.communicate(timeout=h.PATIENCE_SECS)
        # 3 and 6: it was not Python yet, or had already ended, when krait looked.
        if krait.returncode not in (0, 3, 6) or h.parse_stats(err).get("balance", 0):
            bad.append((krait.returncode, err))
    tap.ok(not bad, python.name + ": killed at random: krait ends in order", *bad[:3])


def check_kill_krait(tap, python):
    """SIGKILL at any moment: the target notices nothing, the kernel keeps nothing."""
    name = python.name + ": krait killed"
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    h.folders.append(folder)
    held, before = set(), set(os.listdir("/tmp"))
    with h.start(python, "crowd.py", "8", "4") as target:
        with h.part_time(target):
            for i in range(scale(7, 100, 12)):
                krait = subprocess.Popen([h.KRAIT, "record", *h.PYTHON_ONLY, "-q", "-F", "5000", "--anchors", "on",
                                          "-o", os.path.join(folder, "sudden.folded"),
                                          *(["-a"] if i % 2 else ["-p", str(target.pid)])],
                                         stderr=subprocess.DEVNULL)
                time.sleep(random.random() * 0.6)
                held |= bpf_objects.held_by(krait.pid)
                h.end_child(krait)
        tap.ok(target.alive(), name + ": the target lives")
        after = h.record("-p", str(target.pid), "-d", "300ms", lines=False)
        h.check_accounts(tap, name + ", then another one", after, complete=0.98)
        tap.ok(any(s[-1].startswith("busy_") for s, _ in after.stacks),
               name + ": the target works", after.err)
        target.process.stdin.close()
        tap.equal(target.process.wait(h.PATIENCE_SECS), 0, name + ": the target ends in order")
        target.process.stdin = open(os.devnull, encoding="utf-8")
    left = bpf_objects.left_of(held)
    tap.ok(held and not left, name + ": no BPF object is left", left)
    files = {f for f in set(os.listdir("/tmp")) - before if f.startswith("krait-") and
             "e2e" not in f and "sudden.folded" in f}
    tap.ok(not files, name + ": no file is left", files)


def check_stopped(tap, python):
    """A target that is stopped, by a signal or a tracer, does not stop krait."""
    name = python.name + ": a stopped target"
    with h.start(python, "crowd.py", "2", "1") as target:
        os.kill(target.pid, signal.SIGSTOP)
        began = time.monotonic()
        # Not by record(), in which the target would work.
        krait = Krait("-p", str(target.pid), "-d", "500ms")
        krait.process.wait(h.PATIENCE_SECS)
        took = time.monotonic() - began
        r = krait.end()
        tap.ok(r.code == 6 and took < 10, name + ": krait ends in time, without samples",
               r.code, took, r.err)
        krait = Krait("-p", str(target.pid))
        os.kill(target.pid, signal.SIGCONT)
        time.sleep(0.5)
        r = krait.end()
        tap.ok(r.samples() > 0, name + ": sampled when it goes on", r.err)


def main():
    h.need_bpf()
    tap = h.Tap()
    pythons = h.interpreters(tap)
    if pythons:
        for check in (check_crowd, check_prefork, check_kill_target, check_kill_krait, check_stopped):
            check(tap, h.newest(pythons))
        h.cleanup()
    tap.done()


if __name__ == "__main__":
    sys.exit(main())
