#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait report --by gil: which function waited for the interpreter's lock while which other one held it, and which
thread handed it to which, for a program that knows: a single thread waits for nobody; two wait for each other. However
many threads there are and however short their turns, the parts are not more than the whole."""
import json
import re
import subprocess
import sys

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
               re.finditer(r"^ +([\d.]+)% +([\d.]+)% +[\d.]+% +[\d.]+% +(\d+)  ", text, re.M)}
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


HEAD = re.compile(r"^# .*, interpreter lock (\d+): held in ([\d.]+)% of ([\d.]+) (m?)s,", re.M)
ROW = re.compile(r"^ +([\d.]+)% +([\d.]+)% +([\d.]+)% +([\d.]+)% +(\d+)  ", re.M)
# Shares are printed with one digit.
ROUNDED = 0.05


def seconds_of(path, *args):
    """Returns how much time the samples of one event stand for, of those that the arguments select."""
    match = re.search(r" samples[^:]*: ([\d.]+) (m?)s o", krait("report", *args, "-i", path).stdout)
    return float(match[1]) / (1000 if match[2] else 1) if match else 0


def length_of(heads):
    return float(heads[0][2]) / (1000 if heads[0][3] else 1) if heads else 0


def check_parts(tap, name, path, *args):
    """No part exceeds the whole: not the holds of one lock, not what a thread did, not a function's waits."""
    text = krait("report", "--by", "gil", "-n", "0", *args, "-i", path).stdout
    heads, rows = HEAD.findall(text), [tuple(map(float, row)) for row in ROW.findall(text)]
    tap.ok(heads and rows, name + ": is reported", text)
    for _, held, *_ in heads:
        tap.ok(float(held) <= 100, name + ": the lock is held for no longer than there was", text)
    worst = max((sum(row[:4]) for row in rows), default=0)
    tap.ok(worst <= 100 + 4 * ROUNDED, name + ": a thread has no more time than there was", worst, text)
    sums = sum(row[1] for row in rows)
    tap.ok(abs(sums - sum(float(head[1]) for head in heads)) <= ROUNDED * (len(rows) + len(heads)),
           name + ": threads' holds add up to the lock's", sums, text)
    waits = sum(float(ms) for ms in re.findall(r"^ +[\d.]+% +([\d.]+) +[\d.]+  .*  ←  ", text, re.M))
    all_ms = sum(row[0] for row in rows) / 100 * 1000 * length_of(heads)
    tap.ok(abs(waits - all_ms) <= 0.01 * all_ms + len(rows) * ROUNDED * 10 + 10,
           name + ": all holders of waits, the unknown one included, add up to the waits", waits, all_ms, text)
    return heads, rows, text


def check_turns(tap, python, kind, count, *before):
    """Turns are far shorter than ticks are apart, so that nothing shows them all."""
    name = "%s: %s %d%s" % (python.name, kind, count, " on one CPU" if before else "")
    r = h.record("--off-cpu", outputs=("x.data",), lines=False,
                 command=[*before, *python.command(python.target("turns.py"), kind, str(count), "0.3")])
    path = r.path("x.data")
    heads, _, text = check_parts(tap, name, path)
    length = length_of(heads)
    # What holds it by a tick is surest; what holds it off the CPU may stand for more than there was.
    ticks, all_ = seconds_of(path, "--event", "cpu-clock", "--gil"), seconds_of(path, "--wall", "--gil")
    missed, came = (int(re.search(r"^cpu-clock\.%s (\d+)$" % word, r.err, re.M)[1]) for word in ("ticks_missed", "interrupts"))
    stretch = 1 + missed / max(1, came)
    # multiprocessing has helpers, which are programs of their own.
    held = sum(float(head[1]) for head in heads) / 100 * length
    tap.ok(min(0.97 * ticks, 0.97 * length) - 0.02 <= held <= stretch * all_ + 0.01 * length, name +
           ": the lock was held as often as samples say", held, ticks, all_, stretch, text)
    check_parts(tap, name + ", a part", path, "--time", "0.1,0.25")
    return path


def check_own_locks(tap, python):
    """Interpreters with locks of their own wait for nobody's, and each lock is held for as long as its loop ran."""
    heads, _, text = check_parts(tap, python.name + ": own locks", check_turns(tap, python, "own", 3))
    held = sorted(float(head[1]) for head in heads)[-3:]
    tap.ok(len(heads) >= 3 and held[0] > 30, python.name + ": each lock is held", held, text)
    # The first one is the main interpreter's, whose threads begin the others.
    own = text.split("\n# ")[1:]
    tap.equal([part for part in own if "nobody waited" not in part], [],
              python.name + ": nobody waits for another interpreter's", text)


def check_one_cpu(tap, python):
    """Who gets the lock has to wait for a CPU, too."""
    pin = "import os,sys; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); os.execvp(sys.argv[1], sys.argv[1:])"
    pin = [sys.executable, "-S", "-c", pin]
    with subprocess.Popen([*pin, "/bin/sh", "-c", "while :; do :; done"]) as busy:
        try:
            check_turns(tap, python, "spin", 8, *pin)
        finally:
            busy.kill()


def main():
    h.need_bpf()
    tap = h.Tap()
    found = [p for p in h.interpreters(tap) if not p.kind.startswith("nogil")]
    old = [p for p in found if p.minor in ("3.8", "3.9", "3.10", "3.11")]
    for python in found[:1] + old[:1]:
        path = check(tap, python)
    for python in h.few(found):
        for kind, count in (("lockers", 24), ("pool", 100), ("queue", 8)):
            check_turns(tap, python, kind, count)
    for python in [p for p in found if p.minor not in ("3.12", *(o.minor for o in old))][:1]:
        check_own_locks(tap, python)
    check_one_cpu(tap, found[0])
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
