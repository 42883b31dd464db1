#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the same program twice, with one function slower by a known amount the second time: its share of the samples
must change as much as its time, and the samples of the others must not change at all."""
import stats
import truth as t

FACTOR = 1.5
# Other load changes how much a program does, which may hide the slowdown.
TRIES = 4


def times_of(run, name):
    """Returns the seconds of each visit to that function by its own clock."""
    doc = run.truth
    return [(v[2] - v[1]) / 1e9 for v in doc["visits"] if doc["names"][v[0]] == name]


def change_of(name, before, after):
    """Returns by how many samples a function has changed, and by how many according to its time."""
    counts, variance, unsure, seconds = [], 0, 0, []
    for run in (before, after):
        visits = times_of(run, name)
        counts.append(sum(t.visited(s[3], run.truth) == name for s in run.samples))
        seconds.append(sum(visits))
        unsure += len(visits) * 2 * run.truth["clock_ns"] / 1e9 / run.period
        variance += sum(stats.visit_variance(v, run.period) for v in visits) + \
            run.truth["switches"] * stats.timers(run.period) / 4 * counts[-1] / len(run.samples)
    expected = (seconds[1] - seconds[0]) / before.period
    return stats.Verdict(name, counts[1] - counts[0], expected - unsure, expected + unsure, variance)


def check(tap, python, rate, milliseconds, slow):
    name = "%s at %d Hz, %s %g times slower" % (python.name, rate, slow, FACTOR)
    for _ in range(TRIES):
        before, after = t.run_parts(python, "visits.py", t.SEED, milliseconds,
                                    "%s=%g" % (slow, FACTOR), rate=rate)
        verdicts = [change_of(n, before, after) for n in before.truth["names"]]
        moved = verdicts[before.truth["names"].index(slow)]
        # By the target's own clock, since the samples are under test.
        if moved.low > 2 * moved.slack:
            break
    t.report(tap, True, name + ": each function's samples change as its time does", verdicts)
    tap.ok(moved.got > moved.slack, name + ": that is no chance (%+d samples)" % moved.got, moved)


def main():
    tap = t.begin()
    for python in t.pythons(tap)[:None if t.LONG else 1]:
        for slow in ("looping", "checksumming") if t.LONG else ("looping",):
            check(tap, python, t.HIGH_RATE, 4000 if t.LONG else 1500, slow)
    t.h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
