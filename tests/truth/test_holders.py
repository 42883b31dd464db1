#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Who waited for the interpreter's lock and who held it meanwhile, for threads that all want it all the time: a
thread waits whenever it is neither running nor runnable, and while one holds the lock, all others wait for it."""
import re

import truth as t

# Relative to each function's time as waiter and as holder; at least so many ms.
SHARE, LEAST_MS = 0.05, 20
UNKNOWN = 0.05
SECONDS = 2
ROW = re.compile(r"^ +[\d.]+% +([\d.]+) +[\d.]+  (\S+).*  ←  (\S+)", re.M)


def between(low, value, high):
    slack = max(SHARE * high, LEAST_MS)
    return low - slack <= value <= high + slack


def check(tap, python, count):
    name = "%s: %d threads" % (python.name, count)
    recording = t.h.record("--off-cpu", outputs=("x.data",), timeout=240, lines=False,
                           command=t.command_with_proc(python, "crowd_gil.py", SECONDS, count))
    truth = t.parse_truth(recording.out)[0]
    text = t.h.run_krait("report", "--by", "gil", "-n", "0", "-i", recording.path("x.data")).stdout
    rows = [(float(ms), waiter, holder) for ms, waiter, holder in ROW.findall(text)]
    tap.ok(rows, name + ": is reported", text, recording.err)
    wrong, worst = [], [0, 0]
    for function, mine in sorted(truth.items()):
        on, ready = mine["on"] / 1e6, mine["ready"] / 1e6
        passed = (mine["ended"] - mine["began"]) / 1e6
        waited = sum(ms for ms, waiter, _ in rows if waiter == function)
        worst[0] = max(worst[0], abs(waited - (passed - on - ready)) / passed)
        if not between(passed - on - ready, waited, passed - on):
            wrong.append("%s waited %.1f, not %.1f ms" % (function, waited, passed - on - ready))
    tap.ok(not wrong, name + ": who waits, and how long", *wrong, text)
    wrong = []
    unknown = sum(ms for ms, waiter, holder in rows if holder == "unknown" and waiter in truth)
    for function, mine in sorted(truth.items()):
        # It may be preempted while it holds the lock, and others may just be about to wait.
        on, ready = mine["on"] / 1e6, mine["ready"] / 1e6
        held = sum(ms for ms, waiter, holder in rows if holder == function and waiter in truth)
        others = sum(other["ready"] for other in truth.values()) / 1e6
        low, high = (count - 1) * on - others - unknown, (count - 1) * (on + ready)
        worst[1] = max(worst[1], (low - held) / high, (held - high) / high)
        if not between(low, held, high):
            wrong.append("%s held the lock for %.1f, not %.1f ms of others" % (function, held, (count - 1) * on))
        if any(waiter == holder == function for _, waiter, holder in rows):
            wrong.append("%s waits for itself" % function)
    tap.ok(not wrong, name + ": who holds it meanwhile", *wrong, text)
    # For whoever compares versions: the worst waiter's error, in parts of the elapsed time, and how far the worst
    # holder exceeds what it can have held.
    print("# | %s | %.2f %% | %.2f %% |" % (name, *(100 * w for w in worst)))
    all_ms = sum(ms for ms, waiter, _ in rows if waiter in truth)
    # Whoever was woken to take it, and waits for a CPU, does not hold it yet.
    free_ms = (count - 1) * sum(mine["ready"] for mine in truth.values()) / 1e6
    tap.ok(unknown <= UNKNOWN * all_ms + LEAST_MS + free_ms, name + ": somebody does", "%.1f of %.1f ms" % (unknown, all_ms), text)


def main():
    if not t.LONG:
        print("1..0 # SKIP its times want a quiet machine: make check-truth")
        return
    tap = t.begin()
    for python in t.pythons(tap):
        if python.kind.startswith("nogil"):
            continue
        for count in (2, 8):
            check(tap, python, count)
    t.h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
