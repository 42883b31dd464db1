# SPDX-License-Identifier: BSD-2-Clause
"""How far counts of samples may be from the truth, and how sure that is.

A target clocks each visit to each of its functions: d seconds of the thread's CPU time. A sampler
that interrupts the thread every t seconds of CPU time, at whatever phase, meets that visit

    floor(d / t + u) times, u uniform in [0, 1): d / t on average, with a variance of f (1 - f),
    f the fraction of d / t: never above 1/4, and never above d / t,

so a function whose visits are independent of the sampler has a count n with

    E n = sum d / t        V n <= sum min(d / t, 1/4)

That is never more than what independent (Poisson) samples would have, so samples that follow each
other in one long visit are not taken for independent ones: such a visit adds 1/4, however many
samples it has. A visit that other threads interrupt is as many visits. Bernstein's inequality
for sums of independent terms of at most 1 then bounds the tail for finite samples, with no appeal to
a normal distribution:

    P(|n - E n| > b) <= 2 exp(-b^2 / (2 (V + b / 3)))

A run makes at most COMPARISONS of these, each at FALSE_ALARM / COMPARISONS (Bonferroni: they need
not be independent). So a run in which nothing is wrong fails with less than FALSE_ALARM.

What a clock cannot tell (where in its own call it read; where between two instructions a call
begins) makes the truth an interval rather than a number; it never goes into the bound.
"""
import math

FALSE_ALARM = 1e-4
COMPARISONS = 2000
TERM = math.log(2 * COMPARISONS / FALSE_ALARM)


def bound(variance):
    """Counts further from their mean than this are no chance: b of the above."""
    return TERM / 3 + math.sqrt(TERM * TERM / 9 + 2 * TERM * variance)


def visit_variance(duration, period):
    return min(duration / period, 0.25)


def share_variance(shares, variances, index):
    """Of a count less its share of all counts."""
    p, total = shares[index], sum(variances)
    return (1 - p) ** 2 * variances[index] + p * p * (total - variances[index])


class Verdict:
    """One comparison: a count, the interval that the truth allows, what chance may add."""

    def __init__(self, name, got, low, high, variance):
        self.name, self.got, self.low, self.high = name, got, low, high
        self.slack = bound(variance)
        self.good = low - self.slack <= got <= high + self.slack

    def excess(self):
        """How far outside the truth, as a part of what chance may add: 1 fails."""
        return max(self.low - self.got, self.got - self.high, 0) / self.slack

    def __str__(self):
        return "%-14s %8d samples, truth %9.1f to %9.1f, chance +-%.1f%s" % (
            self.name, self.got, self.low, self.high, self.slack, "" if self.good else "  WRONG")


def judge_shares(counts, times, visits, switches, period):
    """Counts of samples for each function against its share of the CPU time.

    counts: {name: samples}; times: {name: (least, most) seconds of CPU}; visits: {name: [seconds
    of each visit]}; switches: how often the thread lost its CPU, anywhere; period in seconds."""
    names = sorted(times)
    samples = sum(counts.get(n, 0) for n in names)
    middle = [sum(times[n]) / 2 for n in names]
    total = sum(middle)
    shares = [m / total for m in middle]
    # Each loss of the CPU cuts a visit in two; it strikes functions by the time they take.
    variances = [sum(visit_variance(d, period) for d in visits[n]) + shares[i] * switches / 4
                 for i, n in enumerate(names)]
    return [Verdict(n, counts.get(n, 0), samples * times[n][0] / total,
                    samples * times[n][1] / total, share_variance(shares, variances, i))
            for i, n in enumerate(names)]


# ---- a sampler that is only computed, and ways to be wrong -------------------------------------------


def simulate(visits, period, phase):
    """What an exact sampler has of visits [(name, seconds)], begun at that phase of its period:
    [(name, seconds since the visit began)]."""
    found, clock = [], phase * period
    for name, duration in visits:
        while clock < duration:
            found.append((name, clock))
            clock += period
        clock -= duration
    return found


def thinned(samples, name, part, numbers):
    """Of one function, that part is never seen."""
    return [s for s in samples if s[0] != name or numbers.random() >= part]


def shifted(samples, name, caller, part, numbers):
    """Of one function, that part is seen as its caller's: the safepoint's bias."""
    return [(caller, s[1]) if s[0] == name and numbers.random() < part else s for s in samples]


def skidded(samples, caller, seconds):
    """What is seen is what ran so long ago: the begin of each visit is its caller's."""
    return [(caller, s[1]) if s[1] < seconds else s for s in samples]
