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

krait's clock has several timers on each CPU (user/base/system/grids.h), each with the same number of times the
period. Their counts are independent, so the 1/4 becomes timers() / 4. Their rates wander, by WANDER
(one standard deviation) for KEPT_SECS; then what a timer has ticked too often or too rarely is made up
for, so a long visit adds no more than one such time. A sampler with a single timer is within these
bounds, too.

What a clock cannot tell (where in its own call it read; where between two instructions a call
begins) makes the truth an interval rather than a number; it never goes into the bound.
"""
import math

FALSE_ALARM = 1e-4
COMPARISONS = 2000
TERM = math.log(2 * COMPARISONS / FALSE_ALARM)


def bound(variance):
    """Returns the b of above: counts further than that from their mean are no chance."""
    return TERM / 3 + math.sqrt(TERM * TERM / 9 + 2 * TERM * variance)


def timers(period):
    """Of a CPU for a clock with that period in seconds: cnt_of() in user/base/system/grids.c."""
    return 1 if period < 50e-6 else 4


# GRIDS_WANDER, evenly spread; KEEP_TICKS, or what follows the rates is not called more often.
WANDER = 0.06 / math.sqrt(12)
KEPT_TICKS, KEPT_SECS = 128, 0.3


def wander_variance(duration, period):
    each = timers(period) * period
    kept = max(KEPT_TICKS, KEPT_SECS / each)
    return timers(period) * (WANDER * min(duration / each, kept)) ** 2


def visit_variance(duration, period):
    return min(duration / period, timers(period) / 4 + wander_variance(duration, period))


def thread_variance(seconds, switches, period):
    """Of all samples of a thread with that CPU time, which has lost its CPU so often."""
    return min(seconds / period, (switches + 1) * timers(period) / 4 + 2 * wander_variance(seconds, period))


def share_variance(shares, variances, index):
    """Returns the variance of a count minus its share of all counts."""
    p, total = shares[index], sum(variances)
    return (1 - p) ** 2 * variances[index] + p * p * (total - variances[index])


class Verdict:
    """One comparison: a count, the interval that the truth allows, and the allowance for chance."""

    def __init__(self, name, got, low, high, variance):
        self.name, self.got, self.low, self.high = name, got, low, high
        self.slack = bound(variance)
        self.good = low - self.slack <= got <= high + self.slack

    def excess(self):
        """Returns how far the count is outside the truth, relative to the allowance for chance: from 1 on it
        fails."""
        return max(self.low - self.got, self.got - self.high, 0) / self.slack

    def __str__(self):
        return "%-14s %8d samples, truth %9.1f to %9.1f, chance +-%.1f%s" % (
            self.name, self.got, self.low, self.high, self.slack, "" if self.good else "  WRONG")


def judge_shares(counts, times, visits, switches, period):
    """Compares each function's count of samples with its share of the CPU time.

    counts: {name: samples}; times: {name: (least, most) seconds of CPU}; visits: {name: [seconds of each visit]};
    switches: how often the thread lost its CPU, anywhere; period in seconds."""
    names = sorted(times)
    samples = sum(counts.get(n, 0) for n in names)
    middle = [sum(times[n]) / 2 for n in names]
    total = sum(middle)
    shares = [m / total for m in middle]
    # Each loss of the CPU cuts a visit in two; it hits functions in proportion to their time.
    variances = [sum(visit_variance(d, period) for d in visits[n]) +
                 shares[i] * switches * timers(period) / 4
                 for i, n in enumerate(names)]
    return [Verdict(n, counts.get(n, 0), samples * times[n][0] / total,
                    samples * times[n][1] / total, share_variance(shares, variances, i))
            for i, n in enumerate(names)]


# ---- a sampler that is only computed, and ways to be wrong -------------------------------------------


def simulate(visits, period, phase):
    """Returns an exact sampler's samples of visits [(name, seconds)], starting at that phase of its period: [(name,
    seconds since the visit began)]."""
    found, clock = [], phase * period
    for name, duration in visits:
        while clock < duration:
            found.append((name, clock))
            clock += period
        clock -= duration
    return found


def thinned(samples, name, part, numbers):
    """Loses that part of one function's samples."""
    return [s for s in samples if s[0] != name or numbers.random() >= part]


def shifted(samples, name, caller, part, numbers):
    """Attributes that part of one function's samples to its caller: the safepoint bias."""
    return [(caller, s[1]) if s[0] == name and numbers.random() < part else s for s in samples]


def skidded(samples, caller, seconds):
    """Shows what ran so long before: the beginning of each visit counts as its caller's."""
    return [(caller, s[1]) if s[1] < seconds else s for s in samples]
