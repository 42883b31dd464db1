#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Equal instructions on different lines, and in different columns of one line: each must have its own time, and no
sample may be where there is no instruction. The capture is read by perf and by LLVM's reader of debug information,
so that neither is krait's own."""
import collections
import re
import subprocess

import pauses
import stats
import truth as t


# perf 6.1 prints an address as it is in the DSO, 6.12 as it is in the process.
DSO_BASE = 0x100000000000


def leaves(path):
    """Returns [(seconds, dso, address)] of a capture's samples, from perf script."""
    done = subprocess.run(["perf", "script", "-i", path, "--ns", "-F", "time,ip,dso"],
                          capture_output=True, encoding="utf-8", errors="replace",
                          timeout=t.h.PATIENCE_SECS)
    found = []
    for block in done.stdout.split("\n\n"):
        match = re.match(r"\s*([\d.]+):[^\n]*\n\s*([0-9a-f]+) \(([^\n]*)\)", block)
        if match:
            found.append((float(match[1]), match[3], int(match[2], 16) % DSO_BASE))
    return found


def places_of(dso, addresses):
    """Returns {address: (function, line, column from 1, 0 for none)}, from llvm-symbolizer."""
    done = subprocess.run(["llvm-symbolizer", "--no-inlines", "-e", dso],
                          input="".join("0x%x\n" % a for a in addresses), capture_output=True,
                          encoding="utf-8", timeout=t.h.PATIENCE_SECS)
    found = {}
    for address, answer in zip(addresses, done.stdout.split("\n\n")):
        function, place = answer.split("\n")
        found[address] = (function, *map(int, place.split(":")[-2:]))
    return found


def held_up(truth):
    """Returns the indices of the calls during which the machine stood still."""
    return pauses.stretched([(function, planned, sum(ns)) for function, ns, planned, _, _ in truth["calls"]])


def times_of(truth, function, places, slow):
    """Returns {place: [seconds of each visit]}."""
    kept = [ns for i, (which, ns, _, _, _) in enumerate(truth["calls"]) if which == function and i not in slow]
    return {place: [ns[i] / 1e9 for ns in kept] for i, place in enumerate(places)}


def count(path, truth, slow):
    """Returns {(function, line, column)} of the samples while the target worked."""
    while_at_work = [(dso, seconds * 1e9, address) for seconds, dso, address in leaves(path)
                     if truth["began"] <= seconds * 1e9 < truth["ended"]]
    seen = [(dso, address) for dso, _, address in
            pauses.outside(while_at_work, [truth["calls"][i][3:] for i in slow])]
    counts = collections.Counter()
    for dso in {d for d, _ in seen}:
        addresses = collections.Counter(a for d, a in seen if d == dso)
        for address, place in places_of(dso, sorted(addresses)).items():
            counts[place] += addresses[address]
    return counts


def verdicts_of(truth, times, counts, period):
    cost = truth["clock_ns"] / 1e9
    return stats.judge_shares(counts, {n: (sum(v) - len(v) * cost, sum(v)) for n, v in times.items()},
                              times, truth["switches"], period)


def of_function(counts, name):
    """Of a function's samples: {(line, column)}."""
    found = collections.Counter()
    for (function, line, column), n in counts.items():
        if function.startswith("py::%s:" % name):
            found[line, column] += n
    return found


def check(tap, python, rate, milliseconds):
    name = "%s at %d Hz" % (python.name, rate)
    recording = t.h.record("-F", str(rate), outputs=("x.data",), lines=False, timeout=240,
                           command=python.command(python.target("places.py"), str(t.SEED),
                                                  str(milliseconds)))
    truth = t.parse_truth(recording.out)[0]
    slow = held_up(truth)
    counts = count(recording.path("x.data"), truth, slow)
    lines, columns = of_function(counts, "on_lines"), collections.Counter()
    by_line = collections.Counter()
    for (line, _), n in lines.items():
        by_line[str(line)] += n
    t.report(tap, sum(by_line[x] for x in truth["lines"]) > 100,
             name + ": each line has the samples of its time",
             verdicts_of(truth, times_of(truth, 0, truth["lines"], slow), by_line, 1 / rate))
    if not truth["columns"]:
        return
    for (line, column), n in of_function(counts, "side_by_side").items():
        columns["%d:%d" % (line, column - 1)] += n
    t.report(tap, sum(columns[x] for x in truth["columns"]) > 100,
             name + ": each column of one line has the samples of its time",
             verdicts_of(truth, times_of(truth, 1, truth["columns"], slow), columns, 1 / rate))
    line = {x.split(":")[0] for x in truth["columns"]}
    astray = {x: n for x, n in columns.items()
              if x.split(":")[0] in line and not 0 <= int(x.split(":")[1]) < 80}
    tap.ok(not astray, name + ": no sample of that line is without a column", astray)


def main():
    tap = t.begin()
    for python in t.pythons(tap):
        check(tap, python, t.HIGH_RATE, 4000 if t.LONG else 1500)
    t.h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
