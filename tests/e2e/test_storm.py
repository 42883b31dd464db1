#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Many processes, many threads, short lives, sudden deaths: krait keeps its books, its memory and
the names apart. KRAIT_FULL=1 runs the long forms."""
# run-tests: second try: processes that live for 30 ms need a CPU at once to be seen at work
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

FULL = os.environ.get("KRAIT_FULL") == "1"
MIB = 1024  # kB, as /proc has it


def scale(short, full):
    return full if FULL else short


class Krait:
    """krait record in the background."""

    def __init__(self, *args):
        self.folder = tempfile.mkdtemp(prefix="krait-e2e-")
        h.folders.append(self.folder)
        self.err = open(os.path.join(self.folder, "err"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [h.KRAIT, "record", *h.PYTHON_ONLY, "-q", "--stats", "--max-loss", "100", "-o",
             os.path.join(self.folder, "x.folded"), *args],
            stdout=subprocess.DEVNULL, stderr=self.err)
        self.pid = self.process.pid
        time.sleep(0.7)

    def status(self, key):
        """A line of /proc/PID/status, kB."""
        with open("/proc/%d/status" % self.pid, encoding="utf-8") as f:
            return int(re.search(r"^%s:\s+(\d+)" % key, f.read(), re.M).group(1))

    def end(self, number=signal.SIGINT):
        code = h.end_child(self.process, number)
        self.err.seek(0)
        return h.Recording(code, "", self.err.read(), self.folder)


def run_storm(commands, at_once):
    """Starts them all, so many at a time."""
    running = []
    for command in commands:
        while len(running) >= at_once:
            running = [p for p in running if p.poll() is None]
            time.sleep(0.001)
        running.append(subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL))
    for p in running:
        p.wait()


def share(part, whole):
    return part / whole if whole else 0


def check_storm(tap, python):
    """Each lives for 30 to 100 ms: they are sampled, complete and with names."""
    count = scale(120, 2000)
    name = "%s: %d short processes" % (python.name, count)
    commands = [python.command("-S", python.target("flash.py"), str(10 + i % 8 * 8))
                for i in range(count + 2)]
    krait = Krait("-a", "-F", "997")
    run_storm(commands[:2], 1)
    run_storm(commands[2:], 8)
    peak = krait.status("VmHWM")
    r = krait.end()
    tap.equal(r.code, 0, name + ": exit code", r.err)
    h.check_accounts(tap, name, r, complete=0.95)
    named = [s for s in r.stacks if not any(f.startswith("<unknown") for f in s[0])]
    total = sum(n for _, n in named)
    tap.ok(share(total, r.stats["interrupts"]) >= 0.95, name + ": 95 % have their names",
           total, r.err)
    tap.equal(sum(n for s, n in r.stacks if any(f.startswith("<unknown") for f in s)),
              r.stats["unknown_samples"], name + ": unknown functions are counted")
    seen = sum(n for s, n in r.stacks if s[-1].startswith("flash_leaf "))
    tap.ok(seen > count, name + ": they were seen at work", seen, r.err)
    wrong = [s for s in r.stacks if s[0][-1].startswith("flash_leaf ") and
             [f.split(" ")[0] for f in s[0][-3:]] != ["flash_top", "flash_middle", "flash_leaf"]]
    tap.ok(not wrong, name + ": the stacks are right", h.show(wrong))
    tap.ok(peak < 192 * MIB, name + ": krait's memory is bounded", "%d kB" % peak)


def check_many(tap, python):
    """Processes that live all the time and work now and then."""
    count = scale(60, 300)
    name = "%s: %d live processes" % (python.name, count)
    script = "import time\ndef tick():\n    t = time.monotonic() + 0.002\n" \
             "    while time.monotonic() < t: pass\nwhile True:\n    tick()\n    time.sleep(1)\n"
    running = [subprocess.Popen(python.command("-S", "-c", script)) for _ in range(count)]
    try:
        time.sleep(2)
        krait = Krait("-a", "-F", "99")
        time.sleep(scale(3, 20))
        peak, descriptors = krait.status("VmHWM"), len(os.listdir("/proc/%d/fd" % krait.pid))
        r = krait.end()
    finally:
        for p in running:
            h.end_child(p)
    h.check_accounts(tap, name, r, complete=0.95)
    tap.ok(r.stats["processes"] >= count, name + ": all are known", r.err)
    tap.ok(peak < 64 * MIB, name + ": krait takes less than 64 MiB", "%d kB" % peak)
    # Of each its folder in /proc, its memory and the file of its interpreter; of those of others, too.
    tap.ok(descriptors < 3 * r.stats["processes"] + 200, name + ": descriptors", descriptors)


def check_crowd(tap, python):
    name = python.name + ": 500 threads, 50 of them busy"
    with h.start(python, "crowd.py", "500", "50") as target:
        r = h.record("-p", str(target.pid), "-d", "3s", lines=False)
    h.check_accounts(tap, name, r, complete=0.98)
    tap.equal(r.stats.get("unknown_samples"), 0, name + ": all have names", r.err)
    busy = {m.group(1) for s, _ in r.stacks
            for m in [re.search(r"busy_\d+ \(crowd_(\d+)\.py\)", s[-1])] if m}
    tap.ok(len(busy) >= 45, name + ": the busy ones were seen", sorted(busy))
    mixed = [s for s in r.stacks
             if len({m for f in s[0] for m in re.findall(r"busy_(\d+)|crowd_(\d+)", f)}) > 2]
    tap.ok(not mixed, name + ": no stack is of two threads", h.show(mixed))


def check_prefork(tap, python):
    """A child is sampled from its first interrupt, as what its parent was."""
    seconds = scale(2, 10)
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
    """Death at any moment, start-up included."""
    bad = []
    for i in range(scale(8, 60)):
        target = subprocess.Popen(python.command(python.target("flash.py"), "2000"))
        time.sleep(0.01 + 0.02 * (i % 4))
        krait = subprocess.Popen([h.KRAIT, "record", *h.PYTHON_ONLY, "-q", "--stats", "-F", "2000", "-o",
                                  "/dev/null", "-f", "folded", "-p", str(target.pid)],
                                 stderr=subprocess.PIPE, encoding="utf-8")
        time.sleep(0.1 + random.random() * 0.5)
        h.end_child(target)
        _, err = krait.communicate(timeout=h.PATIENCE_SECS)
        # 3 and 6: it was not Python yet, or had gone, when krait came.
        if krait.returncode not in (0, 3, 6) or h.parse_stats(err).get("balance", 0):
            bad.append((krait.returncode, err))
    tap.ok(not bad, python.name + ": killed at random: krait ends in order", *bad[:3])


def next_pid(pid):
    """The next fork of this machine gets that pid, if it is free."""
    with open("/proc/sys/kernel/ns_last_pid", "w", encoding="utf-8") as f:
        f.write(str(pid - 1))


def check_reuse(tap, python):
    """Two programs by turns under the same pids: their names never mix."""
    name = python.name + ": pids that are used again"
    names, base, used = ("alpha", "beta"), 0, {}
    krait = Krait("-a", "-F", "997")
    try:
        for i in range(scale(60, 400)):
            if base:
                next_pid(base)
            which = names[i % 2]
            p = subprocess.Popen(python.command("-S", python.target("flash.py"), "25", which))
            base = base or p.pid
            used.setdefault(p.pid, set()).add(which)
            p.wait()
    finally:
        r = krait.end()
    twice = sum(len(kinds) == 2 for kinds in used.values())
    tap.ok(twice > 0, name + ": it happened", len(used))
    h.check_accounts(tap, name, r, complete=0.9)
    mixed = [s for s in r.stacks if "alpha" in " ".join(s[0]) and "beta" in " ".join(s[0])]
    tap.ok(not mixed, name + ": names do not mix", h.show(mixed))
    for which in names:
        tap.ok(sum(n for s, n in r.stacks if s[-1].startswith(which + "_leaf ")) > 100,
               "%s: %s was seen" % (name, which), r.err)


def check_reborn(tap, python):
    """One pid for all children of a process, many in each tick of the clock that /proc has. None is
    taken for another: all their CPU time is sampled, and named."""
    for mode, count, milliseconds in ("fork", 200, 2), ("exec", 60, 30):
        name = "%s: children under one pid (%s)" % (python.name, mode)
        r = h.record("-F", "10000", lines=False, timeout=scale(60, 600), command=python.command(
            python.target("reborn.py"), mode, str(scale(count, 10 * count)), str(milliseconds)))
        tap.equal(r.code, 0, name + ": exit code", r.err)
        h.check_accounts(tap, name, r, complete=0.95)
        seconds = sum(map(float, r.out.split()))
        seen = sum(n for s, n in r.stacks if any(f.startswith("reborn_top ") for f in s))
        tap.ok(seen > 0.8 * 10000 * seconds, name + ": all their work is sampled",
               "%d samples of %.3f seconds" % (seen, seconds), r.err)
        tap.ok(share(r.stats["unknown_samples"], r.stats["interrupts"]) < 0.02,
               name + ": functions have names", r.err)


def check_kill_krait(tap, python):
    """SIGKILL at any moment: the target notices nothing, the kernel keeps nothing."""
    name = python.name + ": krait killed"
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    h.folders.append(folder)
    held, before = set(), set(os.listdir("/tmp"))
    with h.start(python, "crowd.py", "8", "4") as target:
        for i in range(scale(20, 100)):
            krait = subprocess.Popen([h.KRAIT, "record", *h.PYTHON_ONLY, "-q", "-F", "5000", "--anchors", "on",
                                      "-o", os.path.join(folder, "x.folded"),
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
             "e2e" not in f and "x.folded" in f}
    tap.ok(not files, name + ": no file is left", files)


def check_stopped(tap, python):
    """A target that is stopped, by a signal and by a tracer, does not stop krait."""
    name = python.name + ": a stopped target"
    with h.start(python, "crowd.py", "2", "1") as target:
        os.kill(target.pid, signal.SIGSTOP)
        began = time.monotonic()
        r = h.record("-p", str(target.pid), "-d", "500ms", lines=False)
        took = time.monotonic() - began
        tap.ok(r.code == 6 and took < 10, name + ": krait ends in time, without samples",
               r.code, took, r.err)
        krait = Krait("-p", str(target.pid))
        os.kill(target.pid, signal.SIGCONT)
        time.sleep(0.5)
        r = krait.end()
        tap.ok(r.samples() > 0, name + ": sampled when it goes on", r.err)


def check_soak(tap, python):
    """Code and processes that come and go: krait's memory does not grow with them."""
    seconds = scale(9, 300)
    name = python.name + ": churn of code and processes"
    krait = Krait("-a", "-F", "997")
    churn = subprocess.Popen(python.command("-S", python.target("churn.py"), str(seconds)))
    time.sleep(seconds * 0.4)
    warm = krait.status("VmRSS")
    time.sleep(seconds * 0.5)
    late = krait.status("VmRSS")
    churn.wait()
    r = krait.end()
    h.check_accounts(tap, name, r, complete=0.9)
    tap.ok(late - warm < 4 * MIB, name + ": memory is flat", "%d kB, then %d kB" % (warm, late))


def main():
    h.need_bpf()
    tap = h.Tap()
    pythons = h.interpreters(tap)
    if not pythons:
        tap.done()
        return
    first = h.newest(pythons)
    for kind in ("exe", "shared"):
        check_storm(tap, next((p for p in pythons if p.kind == kind), first))
    for check in (check_many, check_crowd, check_prefork, check_kill_target, check_reuse,
                  check_reborn, check_kill_krait, check_stopped, check_soak):
        check(tap, first)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    sys.exit(main())
