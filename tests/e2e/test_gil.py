#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait report --by gil: which function waited for the interpreter's lock while which other one held it, and which
thread handed it to which, for a program that knows: a single thread waits for nobody; two wait for each other."""
# run-tests: beside others
# run-tests: second try: shares of a recording of a moment are judged, and a host that takes the CPU away moves them
import json
import re
import subprocess

import harness as h

SECONDS = 0.3
# The share of a function's waiting time that may have an unknown holder: on a busy machine the lock is free while
# the woken thread waits for a CPU (tests/truth/test_holders.py is stricter, on an idle one).
UNKNOWN = 0.6


def krait(*args):
    return subprocess.run([h.KRAIT, *args], capture_output=True, encoding="utf-8", timeout=h.PATIENCE_SECS)


def read(text):
    """Returns {tid: (waits, holds)}, {(waiter, holder): ms}, {(tid, tid): times}."""
    threads = {int(m[3]): (float(m[1]), float(m[2])) for m in
               re.finditer(r"^ +([\d.]+)% +([\d.]+)% +[\d.]+% +(\d+)  ", text, re.M)}
    pairs = {(re.sub(r" \(.*", "", m[2]), re.sub(r" \(.*", "", m[3])): float(m[1]) for m in
             re.finditer(r"^ +[\d.]+% +([\d.]+) +[\d.]+  (.*)  ←  (.*)$", text, re.M)}
    hands = {(int(m[2]), int(m[3])): int(m[1]) for m in
             re.finditer(r"^ +(\d+) +[\d.]+ +\d+  (\d+) .*  →  (\d+) ", text, re.M)}
    return threads, pairs, hands


def check(tap, python):
    name = python.name
    r = h.record("--off-cpu", outputs=("x.data",), lines=False,
                 command=python.command(python.target("convoy.py"), str(SECONDS)))
    tap.equal(r.code, 0, name + ": exit code", r.err)
    one, two = json.loads(r.out[r.out.index("TRUTH ") + 6:])
    done = krait("report", "--by", "gil", "-n", "0", "-i", r.path("x.data"))
    tap.equal(done.returncode, 0, name + ": is reported", done.stderr)
    threads, pairs, hands = read(done.stdout)
    alone = threads.get(one["alone"]["tid"], (100, 0))
    tap.ok(alone[0] <= 1, name + ": who is alone does not wait", alone, done.stdout)
    tap.ok(not {p for p in pairs if "alone" in p and p[0] == p[1]}, name + ": nor for itself", pairs)
    for waiter, holder in (("modest", "greedy"), ("greedy", "modest")):
        mine = {p[1]: ms for p, ms in pairs.items() if p[0] == waiter}
        all_ = sum(mine.values())
        tap.ok(all_ and waiter not in mine, "%s: %s waits, not for itself" % (name, waiter), pairs)
        tap.ok(mine.get("unknown", 0) <= UNKNOWN * all_ + 10 and
               mine.get(holder, 0) >= 0.9 * (all_ - mine.get("unknown", 0)) - 20,
               "%s: %s waits for %s" % (name, waiter, holder), mine, done.stdout)
    waits = {f: threads.get(two[f]["tid"], (0, 0))[0] for f in two}
    tap.ok(waits["modest"] > waits["greedy"], name + ": the modest one waits longer", waits)
    tids = two["modest"]["tid"], two["greedy"]["tid"]
    tap.ok(hands.get(tids, 0) > 2 and hands.get(tids[::-1], 0) > 2, name + ": they hand it to each other", hands)
    return r.path("x.data")


def main():
    h.need_bpf()
    tap = h.Tap()
    found = [p for p in h.interpreters(tap) if not p.kind.startswith("nogil")]
    old = [p for p in found if p.minor in ("3.8", "3.9", "3.10", "3.11")]
    for python in found[:1] + old[:1]:
        path = check(tap, python)
    done = krait("report", "--by", "gil", "--event", "cpu-clock", "--state", "native", "-i", path)
    tap.ok("nobody waited" in done.stdout or done.returncode == 6, "without waits there are none", done.stdout)
    r = h.record(outputs=("y.data",), lines=False,
                 command=found[0].command(found[0].target("convoy.py"), "0.1"))
    done = krait("report", "--by", "gil", "-i", r.path("y.data"))
    tap.ok(done.returncode == 6 and "--off-cpu" in done.stderr, "a capture without states says so", done.stderr)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
