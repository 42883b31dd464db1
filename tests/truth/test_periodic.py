#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Four functions in turn, as regular as a clock. A sampler with a fixed period (-c) of the same length always sees the
same one of the four, and the comparison must notice; at a rate (-F) the sampler must be right, whatever the rhythm."""
import collections

import stats
import truth as t

# Longest time for reading the clocks between two functions.
UNSURE_NS = 2000


def verdicts_of(doc, counts, period, beat_hz):
    """beat_hz: how many times a second the sampler's phase goes round relative to the target's. An incomplete round
    at the end is not proportional: allow a quarter of its samples."""
    names, total = doc["names"], sum(doc["parts"])
    samples = sum(counts.get(n, 0) for n in names)
    each, beat = doc["turns"] / len(names), min(samples, 1 / period / beat_hz if beat_hz else 0)
    found = []
    for name, ns in zip(names, doc["parts"]):
        p, unsure = ns / total, UNSURE_NS * each / total
        variance = each * stats.visit_variance(ns / 1e9 / each, period) + doc["switches"] * stats.timers(period) / 4 * p
        slack = samples * unsure + beat * p * (1 - p)
        found.append(stats.Verdict(name, counts.get(name, 0), samples * p - slack,
                                   samples * p + slack, variance))
    return found


def record(python, hz, rate, milliseconds, *options):
    """hz is the target's; the kernel's period is in whole nanoseconds."""
    run = t.run(python, "periodic.py", 10 ** 9 // hz, milliseconds, rate=rate, options=options)
    counts = collections.Counter(
        next((f for f, _ in s[3] if f in run.truth["names"]), None) for s in run.samples)
    return run, counts


def check(tap, python, hz, rate, milliseconds, *options):
    name = "%s: a target of %d Hz at %d Hz%s" % (python.name, hz, rate, "".join(
        ", " + o for o in options))
    run, counts = record(python, hz, rate, milliseconds, *options)
    beat = 0 if options else min(rate % hz, hz - rate % hz)
    t.report(tap, run.samples, name + ": the samples have the shares of the CPU time",
             verdicts_of(run.truth, counts, run.period, beat))


def check_alias(tap, python, milliseconds):
    """Both use CLOCK_MONOTONIC, so they do not even drift apart."""
    run, counts = record(python, t.RATE, None, milliseconds, "-c", str(10 ** 9 // t.RATE))
    verdicts = verdicts_of(run.truth, counts, run.period, 0)
    bad = [v for v in verdicts if not v.good]
    tap.ok(len(bad) >= 2, "%s: a target of exactly the sampler's fixed period is found to be seen wrong" %
           python.name, *verdicts)


def check_rate(tap, python, milliseconds, *options):
    """The rates of the clock's timers wander: each stretch ends with an incomplete round."""
    run, counts = record(python, t.RATE, t.RATE, milliseconds, *options)
    total, samples = sum(run.truth["parts"]), sum(counts.values())
    shares = {n: (ns / total, counts.get(n, 0) / samples) for n, ns in zip(run.truth["names"], run.truth["parts"])}
    tap.ok(all(abs(seen - true) < 0.1 for true, seen in shares.values()),
           "%s: and one of exactly the sampling rate is seen right%s" % (python.name, "".join(map(", {}".format, options))), shares)


def main():
    tap = t.begin()
    python = t.pythons(tap)[0]
    milliseconds = 4000 if t.LONG else 1000
    check_alias(tap, python, milliseconds)
    check(tap, python, t.RATE, 1009, milliseconds)
    check_rate(tap, python, 3000)
    check_rate(tap, python, 3000, "--jitter")
    if t.LONG:
        for hz in (1000, 500, 100, 50):
            check(tap, python, hz, t.RATE, milliseconds)
    t.h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
