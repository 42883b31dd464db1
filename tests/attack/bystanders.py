# SPDX-License-Identifier: BSD-2-Clause
"""Checks a bystander's samples: whatever else happens, they must match its CPU time and its names."""
import re

import stats

RATE = 997
# Allowed difference between samples times the period and the kernel's account: a share, plus chance.
SHARE = 0.01
HEAD = re.compile(r".*? +(\d+)/(\d+) +\[\d+\] +([\d.]+): +(\d+) ")


def samples_of(path, pids):
    """Returns {pid: [(ns, period in ns, [(name, file), leaf first])]} from a file in the script format."""
    found = {pid: [] for pid in pids}
    sample = None
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            if line.startswith("\t"):
                if sample:
                    name, _, file = line[18:].rstrip("\n").rpartition("+0x0 (")
                    sample[2].append((name, file[:-1]))
            elif line[0] not in "#\n ":
                head = HEAD.match(line)
                sample = None
                if head and int(head[1]) in found:
                    sample = (int(float(head[3]) * 1e9), int(head[4]), [])
                    found[int(head[1])].append(sample)
    return found


def judge_time(tap, name, samples, truth):
    """Compares samples times the period with the kernel's account, by the formula above, except for rounds of work in
    which the machine stood still."""
    pauses = truth["pauses"]
    inside = [s for s in samples if truth["began"] <= s[0] < truth["ended"] and
              not any(begin <= s[0] < end for _, begin, end in pauses)]
    period = inside[0][1] if inside else 1e9 / RATE
    got, want = sum(s[1] for s in inside), truth["ns"] - sum(p[0] for p in pauses)
    chance = stats.bound(stats.thread_variance(want, truth["switches"] + len(pauses), period)) * period
    return tap.ok(abs(got - want) <= want * SHARE + chance, name + ": its samples are its time",
                  "%d samples, %.1f ms of %.1f ms, chance +-%.1f ms" % (
                      len(inside), got / 1e6, want / 1e6, chance / 1e6))


def judge_names(tap, name, samples, file):
    """Every Python frame must be a function of the bystander's file. The mark for a stack that is cut while a call
    returns stands for its callers. No native frame may come from an attacker's file."""
    foreign = {}
    for _, _, stack in samples:
        for function, path in stack:
            if path == file and (function.startswith("bystander_") or function == "<module>"):
                continue
            if path.endswith(".py") or path.startswith("<") or "attack-" in path or \
                    function in ("<unknown function>", "[interpreter not running]"):
                foreign[(function, path)] = foreign.get((function, path), 0) + 1
    return tap.ok(samples and not foreign, name + ": its functions have its names",
                  "%d samples" % len(samples), sorted(foreign.items(), key=lambda x: -x[1])[:10])
