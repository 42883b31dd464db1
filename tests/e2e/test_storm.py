#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Many short-lived processes: krait keeps accounts, memory and names straight (test_sudden_ends.py covers sudden
ends). KRAIT_FULL=1 runs the long forms."""
import os
import subprocess
import sys
import threading
import time

import harness as h
from background import Krait, scale

MIB = 1024  # kB, as in /proc
# How much later many processes may make a recording end.
ENDS_SECS = 2


def run_storm(commands, at_once, seconds=0):
    """Starts them all, at most so many at a time, spread over at least so many seconds."""
    running, begin = [], time.monotonic()
    for i, command in enumerate(commands):
        time.sleep(max(0, begin + seconds * i / len(commands) - time.monotonic()))
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
    """Each lives for 30 to 100 ms: all are sampled, complete and named."""
    count = scale(26, 2000, 80)
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


def record_storm(seconds, commands):
    """Records for so many seconds while these are started. Returns also how long krait ran. Includes names of native
    functions, the last of which are found after the recording."""
    began = time.monotonic()
    krait = Krait("-a", "-F", "997", "--native", "--kernel", "-d", "%ds" % seconds)
    h.wait_until(lambda: h.is_sampling(krait), krait.process)
    storm = threading.Thread(target=run_storm, args=(commands, 8, 0.8 * seconds))
    storm.start()
    h.wait_until(lambda: False, krait.process)
    took = time.monotonic() - began
    storm.join()
    return krait.end(), took


def check_ends(tap, python):
    """krait ends in time however many processes start: at most ENDS_SECS later than without any. Other load on the
    machine delays both."""
    seconds, count = scale(2, 20), scale(120, 300, 300)
    name = "%s: -d %ds while %d processes start" % (python.name, seconds, count)
    short = python.command("-I", "-S", python.target("flash.py"), "2")
    # The time to begin and end does not depend on the recording's length.
    quiet, quiet_took = record_storm(1, [])
    quiet_took += seconds - 1
    r, took = record_storm(seconds, [short, ["true"]] * (count // 2))
    tap.equal(r.code, 0, name + ": exit code", r.err)
    tap.ok(took <= quiet_took + ENDS_SECS, name + ": it ends when it should",
           "%.2f s, and %.2f s when nothing starts" % (took, quiet_took), r.err)
    tap.ok(abs(r.stats["seconds"] - seconds) < 0.1 * seconds, name + ": it records for so long",
           r.stats["seconds"])
    h.check_accounts(tap, name, r)
    more = r.stats["processes"] - quiet.stats.get("processes", 0)
    tap.ok(more > count // 8, name + ": they were sampled", "%d more processes" % more, r.err)


def check_many(tap, python):
    """Processes that live all the time and work now and then."""
    count = scale(30, 300, 60)
    name = "%s: %d live processes" % (python.name, count)
    script = "import time\ndef tick():\n    t = time.monotonic() + 0.002\n" \
             "    while time.monotonic() < t: pass\nwhile True:\n    tick()\n    time.sleep(1)\n"
    running = [subprocess.Popen(python.command("-S", "-c", script)) for _ in range(count)]
    try:
        time.sleep(1)
        krait = Krait("-a", "-F", "499")
        time.sleep(scale(1, 20))
        peak, descriptors = krait.status("VmHWM"), len(os.listdir("/proc/%d/fd" % krait.pid))
        r = krait.end()
    finally:
        for p in running:
            h.end_child(p)
    h.check_accounts(tap, name, r, complete=0.95)
    tap.ok(r.stats["processes"] >= count, name + ": all are known", r.err)
    tap.ok(peak < 64 * MIB, name + ": krait takes less than 64 MiB", "%d kB" % peak)
    # For each process its folder in /proc, its memory and its interpreter's file; other users' processes count as
    # well.
    tap.ok(descriptors < 3 * r.stats["processes"] + 200, name + ": descriptors", descriptors)


def next_pid(pid):
    """Makes the next fork on this machine get that pid if it is free."""
    with open("/proc/sys/kernel/ns_last_pid", "w", encoding="utf-8") as f:
        f.write(str(pid - 1))


def check_reuse(tap, python):
    """Two programs alternate under the same pids: their names never mix."""
    name = python.name + ": pids that are used again"
    names, base, used = ("alpha", "beta"), 0, {}
    krait = Krait("-a", "-F", "997")
    try:
        for i in range(scale(26, 400)):
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
    """One pid for all children of a process, many within one tick of /proc's clock. None is taken for another: all
    their CPU time is sampled and named."""
    for mode, count, milliseconds in ("fork", scale(100, 200, 200), 2), ("exec", scale(30, 60, 60), 30):
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


def check_soak(tap, python):
    """Code and processes come and go: krait's memory does not grow."""
    seconds = scale(3, 300, 6)
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
    for kind in ("exe", "shared") if h.is_all() else ("exe",):
        check_storm(tap, next((p for p in pythons if p.kind == kind), first))
    for check in (check_ends, check_many, check_reuse, check_reborn, check_soak):
        check(tap, first)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    sys.exit(main())
