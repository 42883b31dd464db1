#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""A target clocks each visit to its functions: their shares of the samples must equal their shares of its CPU time,
and each single sample must show the function that was being visited at its moment."""
import bisect
import collections

import stats
import truth as t

BETWEEN = "(between)"


def counts_of(run):
    """Counts the samples of each function, and of what is between the visits."""
    return collections.Counter(t.visited(s[3], run.truth) or BETWEEN for s in run.samples)


def verdicts_of(doc, counts, period):
    """Reading the clock takes a moment. Part of it counts for the visit although it is outside the function: about as
    much as is outside the visit, which is known; we allow twice that."""
    visits = {name: [] for name in doc["names"]}
    for index, begin, end, _, _ in doc["visits"]:
        visits[doc["names"][index]].append((end - begin) / 1e9)
    cost = 2 * doc["clock_ns"] / 1e9
    times = {n: (max(0, sum(v) - len(v) * cost), sum(v)) for n, v in visits.items()}
    rest = doc["cpu"] / 1e9 - sum(most for _, most in times.values())
    times[BETWEEN] = (max(0, rest), rest + len(doc["visits"]) * cost)
    visits[BETWEEN] = [times[BETWEEN][1] / len(doc["visits"])] * len(doc["visits"])
    return stats.judge_shares(counts, times, visits, doc["switches"], period)


def check_moments(tap, name, run):
    """No statistics: a sample's stamp is taken while its thread stands still, by the same clock that the target reads
    at the beginning and end of each visit."""
    doc, wrong, checked = run.truth, [], 0
    begins = [v[3] for v in doc["visits"]]
    for _, moment, _, stack in run.samples:
        i = bisect.bisect_right(begins, moment) - 1
        # The stamp is cut to a microsecond.
        if i < 0 or not doc["visits"][i][3] < moment or moment + 1000 >= doc["visits"][i][4]:
            continue
        checked += 1
        want, got = doc["names"][doc["visits"][i][0]], t.visited(stack, doc)
        # Between the two stamps the caller still reads the other clock.
        if got != want and (got or t.python_leaf(stack) not in ("visit", "cpu")):
            wrong.append("%d ns into %s: %s" % (moment - doc["visits"][i][3], want, stack[:5]))
    tap.ok(checked > 0.9 * len(run.samples) and not wrong,
           "%s: each of %d samples is of the visit at its moment" % (name, checked), *wrong[:20])


def check_biased(tap, name, run):
    """The same samples with a tenth of one function's lost, or given to its caller: that must be detected."""
    for victim in ("looping", "checksumming"):
        counts = counts_of(run)
        part = round(0.1 * counts[victim])
        lost = dict(counts, **{victim: counts[victim] - part})
        moved = dict(lost, **{BETWEEN: counts[BETWEEN] + part})
        for what, biased in (("lost", lost), ("its caller's", moved)):
            verdicts = verdicts_of(run.truth, biased, run.period)
            tap.ok(not all(v.good for v in verdicts),
                   "%s: it is found when a tenth of %s is %s" % (name, victim, what), *verdicts)


def check(tap, python, rate, milliseconds, *options):
    name = " ".join(["%s at %d Hz" % (python.name, rate), *options])
    run = t.run(python, "visits.py", t.SEED, milliseconds, rate=rate, options=options)
    t.report(tap, run.samples, "%s: %d samples have the shares of the CPU time" % (
        name, len(run.samples)), verdicts_of(run.truth, counts_of(run), run.period))
    check_moments(tap, name, run)
    if rate == t.HIGH_RATE:
        check_biased(tap, name, run)


def main():
    tap = t.begin()
    for i, python in enumerate(t.pythons(tap)):
        if t.LONG or i == 0:
            check(tap, python, t.RATE, 10000 if t.LONG else 3000, "--native", "--kernel")
        check(tap, python, t.HIGH_RATE, 5000 if t.LONG else 2000)
    t.h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
