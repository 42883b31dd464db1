#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Time off the CPU matches a program's own clocks: for each waiting function, for each thread's whole time, and by
reason. Both sides see the same waits, so it does not matter how busy the machine is."""
import re

import stats
import truth as t

# Relative error, or at least so many ns: Python reads the clocks and may lose its CPU while doing so.
SHARE, LEAST_NS = 0.02, 3e6
# On plus off equals the elapsed time. Sampling of short waits is right to within a period of about 1 ms, or a few
# on a machine so busy that stacks are expensive; in a short run that exceeds 1 %.
CONSERVED, CONSERVED_LEAST_NS = 0.01, 8e6
GIL_SHARE, GIL_LEAST_NS = 0.05, 10e6

HEAD = re.compile(r".*? +(\d+)/(\d+) +\[\d+\] +(\d+)\.(\d+): +(\d+) offcpu-time")


def waits(path):
    """Yields (thread, end in ns of CLOCK_MONOTONIC, ns, functions, leaf first)."""
    head, stack = None, []
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            if line.startswith("\t"):
                stack.append(line[18:].rpartition("+0x0 (")[0])
            elif line == "\n" and head:
                yield (*head, stack)
                head, stack = None, []
            elif line != "\n" and not line.startswith("  "):
                found = HEAD.match(line)
                head = found and (int(found[2]), int(found[3]) * 10**9 + int(found[4]) * 1000, int(found[5]))
                stack = []


def between(low, want, high, share, least):
    slack = max(share * want, least)
    return low - slack <= want <= high + slack


def by_leaf(mine):
    """For messages."""
    return {leaf: "%.3f ms in %d" % (sum(ns for ns, x in mine if x == leaf) / 1e6,
                                     sum(x == leaf for _, x in mine)) for leaf in {x for _, x in mine}}


def check_functions(tap, name, found, truth, lost):
    errors = {}
    for function, want in sorted(truth["off"].items()):
        # What it forks is in that function, too, until it execs something else.
        mine = [(ns, stack[0]) for tid, _, ns, stack in found if tid == truth["tid"] and function in stack]
        said = sum(ns for ns, _ in mine)
        errors[function] = (said - want) / want
        tap.ok(between(said, want, said, SHARE, LEAST_NS), "%s: %s" % (name, function),
               "its clocks %.3f ms, krait %s" % (want / 1e6, by_leaf(mine)), lost)
    short = errors.pop("in_short_sleeps")
    worst = max(errors, key=lambda f: abs(errors[f]))
    return "%s %+.2f %% | %+.2f %%" % (worst, 100 * errors[worst], 100 * short)


def losses(err):
    """Returns what a missing wait may have become, for messages."""
    return re.findall(r"^offcpu-time\.(?:lost|truncated)\..* [1-9]\d*$|^waits\S* [1-9]\d*$", err, re.M)


def stands_for_others(ns):
    """Tells whether a stack stands for short waits: then its weight is one period, a power of two, or two periods; at
    least 8192 ns."""
    return ns > 0 and ns % 8192 == 0 and bin(ns).count("1") <= 2


def shared(found):
    """Returns [(thread, ns)] of stacks that stand for short waits. If the thread was ready to run for part of such a
    wait, it becomes two consecutive samples."""
    stacks, before = [], {}
    for tid, _, ns, stack in found:
        is_rest = stack[0] == "[runnable]"
        whole = ns + before.get(tid, 0) if is_rest and not stands_for_others(ns) else ns
        before[tid] = 0 if is_rest else ns
        if stands_for_others(whole):
            stacks.append((tid, whole))
    return stacks


def coarsest(found):
    """Returns the longest period used for short waits: a thread's sum is right to within it."""
    return max((ns for _, ns in shared(found)), default=0)


def chance(found, tid):
    """Returns the allowed difference from the kernel's account of that thread's short waits (ready to run). Their
    total is right to within a period, but each CPU has its own period (bpf/wait/switch.h), and the split of a wait into
    kinds is right only on average."""
    mine, least = [ns for who, ns in shared(found) if who == tid], 2 * coarsest(found)
    longest = max(mine, default=0)
    # A wait that contains two sampling points stands for two periods.
    if longest <= 2 * min(mine, default=0):
        return least
    return max(least, longest * stats.bound(sum((ns / longest) ** 2 for ns in mine)))


def check_threads(tap, name, found, threads, lost):
    wrong, gil, worst = [], [], [0, 0, 0]
    for thread in threads:
        least = max(CONSERVED_LEAST_NS, chance(found, thread["tid"]))
        mine = [(ns, stack[0]) for tid, when, ns, stack in found
                if tid == thread["tid"] and thread["began"] < when <= thread["ended"]]
        passed = thread["ended"] - thread["began"]
        off = sum(ns for ns, _ in mine)
        ready = sum(ns for ns, leaf in mine if leaf == "[runnable]")
        if not between(off + thread["on"] - ready, passed, off + thread["on"] + thread["stolen"], CONSERVED,
                       least):
            wrong.append("%s: on %.3f + off %.3f is not %.3f ms: %s" % (
                thread["crowd"], thread["on"] / 1e6, off / 1e6, passed / 1e6, by_leaf(mine)))
        worst[0] = max(worst[0], abs(off + thread["on"] - passed) / passed)
        waited = sum(ns for ns, leaf in mine if leaf == "[gil]")
        alone = thread["crowd"] == "spin 1" or thread["crowd"].startswith("without_gil")
        want = 0 if alone else passed - thread["on"] - thread["ready"]
        which = 1 if want else 2
        worst[which] = max(worst[which], abs(waited - want) / passed)
        if not between(waited, want, waited + (0 if alone else ready), GIL_SHARE, GIL_LEAST_NS):
            gil.append("%s: waited %.3f ms for the GIL, not %.3f: ready %.3f, %s" % (
                thread["crowd"], waited / 1e6, want / 1e6, thread["ready"] / 1e6, by_leaf(mine)))
    tap.ok(not wrong, name + ": time on and off the CPU is the time that passed", *wrong, lost,
           "sampled every %.1f ms" % (coarsest(found) / 1e6))
    return gil, "%.2f %% | %.2f %% | %.2f %%" % tuple(100 * w for w in worst)


def check(tap, python, milliseconds, short, crowds):
    recording = t.h.record("--off-cpu", outputs=("x.script",), timeout=240, lines=False,
                           command=t.command_with_proc(python, "waits.py", milliseconds, short, *crowds))
    truth = t.parse_truth(recording.out)[0]
    found = list(waits(recording.path("x.script")))
    tap.equal(len(truth["threads"]), sum(crowds) + 1, python.name + ": every thread has accounted for itself")
    tap.ok(recording.code == 0, python.name + ": recorded", recording.err)
    functions = check_functions(tap, python.name, found, truth, losses(recording.err))
    gil, threads = check_threads(tap, python.name, found, truth["threads"], losses(recording.err))
    if python.kind.startswith("nogil"):
        gil = [ns for _, _, ns, stack in found if stack[0] == "[gil]"]
    tap.ok(not gil, python.name + ": who waits for the GIL, and how long", *gil)
    all_ns = sum(ns for _, _, ns, _ in found)
    unknown = sum(ns for _, _, ns, stack in found if stack[0].startswith("[waiting"))
    tap.ok(unknown <= all_ns / 100, python.name + ": what it waited for is known",
           "%.1f of %.1f ms are not" % (unknown / 1e6, all_ns / 1e6))
    # For whoever compares versions: the worst function; short sleeps; relative to the elapsed time, the worst thread's
    # on and off, waits for the GIL, and those of a single thread; the unknown part.
    print("# | %s | %s | %s | %.2f %% |" % (python.name, functions, threads, 100 * unknown / all_ns))


def main():
    if not t.LONG:
        print("1..0 # SKIP its times want a quiet machine: make check-truth")
        return
    tap = t.begin()
    for python in t.pythons(tap):
        check(tap, python, 1000, 10000, [1, 2, 8])
    t.h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
