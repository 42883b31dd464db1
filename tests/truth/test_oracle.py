#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Checks that the comparisons of the tests of truth are meaningful: an exact sampler must always pass them, one that
is slightly wrong never. Samplers are simulated here; test_sweep.py and test_periodic.py use real ones that are
wrong."""
import collections
import operator
import random

import pauses
import stats
import truth as t
from test_shares import BETWEEN, verdicts_of

# A bias that passes one simulated recording in ten passes at least twice in so many with a probability of 1 - 0.9 ** 115 -
# 11.5 * 0.9 ** 114 > 0.9999: so comparisons that detect it here but once have a power of 90 % or more. One that passes one in
# some thousand may do so here.
BIASED_RUNS, MISSED_MOST = 115, 1
EXACT_RUNS = 1000 if t.LONG else 200
NAMES = ["f%d" % i for i in range(9)]
PERIOD = 1 / t.HIGH_RATE
OVERHEAD = 1.2e-6
# For a machine that stands still for a moment: for how long, and in how many of the visits.
PAUSE, PAUSED = 0.062, 3


def plan(numbers, seconds=3.0):
    """Returns visits like those of tests/targets/visits.py, with what is between them. In 2 s a clock of four timers does not
    find a twentieth with a power of 90 %."""
    found = []
    while seconds > 0:
        duration = numbers.uniform(*((5e-6, 2e-4) if numbers.random() < 0.5 else (2e-4, 6e-3)))
        found += [(numbers.choice(NAMES), duration), (BETWEEN, numbers.expovariate(1 / OVERHEAD))]
        seconds -= duration
    return found


def document(visits):
    """Returns what the target would report about them."""
    return {
        "names": NAMES,
        "visits": [(NAMES.index(name), 0, d * 1e9, 0, 0) for name, d in visits if name != BETWEEN],
        "cpu": sum(d for _, d in visits) * 1e9, "clock_ns": OVERHEAD * 1e9, "switches": 0,
    }


def counts_of(samples):
    return collections.Counter(map(operator.itemgetter(0), samples))


def is_found(doc, counts):
    return not all(v.good for v in verdicts_of(doc, counts, PERIOD))


# In words, the function whose samples it changes (None: everyone's), and how.
BIASES = [
    ("a twentieth of one function's samples is missing", "f3",
     lambda samples, numbers: stats.thinned(samples, "f3", 0.05, numbers)),
    ("a twentieth of one function's samples is its caller's", "f3",
     lambda samples, numbers: stats.shifted(samples, "f3", BETWEEN, 0.05, numbers)),
    ("a twentieth of one function's samples is another's", "f3",
     lambda samples, numbers: stats.shifted(samples, "f3", "f4", 0.05, numbers)),
    ("the first 200 us of each visit are seen as its caller's", None,
     lambda samples, numbers: stats.skidded(samples, BETWEEN, 2e-4)),
]


def biased(samples, counts, victim, bias, numbers):
    """Returns the counts of the samples with that bias; counts: those without."""
    changed = [s for s in samples if s[0] == victim] if victim else samples
    counts = collections.Counter(counts)
    counts.subtract(counts_of(changed))
    counts.update(counts_of(bias(changed, numbers)))
    return counts


def check_power(tap, numbers):
    false, missed = 0, [0] * len(BIASES)
    for i in range(EXACT_RUNS):
        visits = plan(numbers)
        samples = stats.simulate(visits, PERIOD, numbers.random())
        doc, counts = document(visits), counts_of(samples)
        false += is_found(doc, counts)
        for j, (_, victim, bias) in enumerate(BIASES if i < BIASED_RUNS else ()):
            missed[j] += not is_found(doc, biased(samples, counts, victim, bias, numbers))
    tap.ok(not false, "an exact sampler passes each of %d simulated recordings" % EXACT_RUNS,
           "not in %d" % false)
    for (name, _, _), count in zip(BIASES, missed):
        tap.ok(count <= MISSED_MOST, "%s: found in all but %d of %d simulated recordings" % (name, MISSED_MOST, BIASED_RUNS),
               "not in %d" % count)


def stood_still(visits, numbers):
    """The same on a machine that stands still now and then: what the target reports, and what an exact sampler sees,
    (name, ns)."""
    places = [i for i, (name, _) in enumerate(visits) if name != BETWEEN]
    paused, clock, told, planned, stamps = set(numbers.sample(places, PAUSED)), 0, [], [], []
    for i, (name, seconds) in enumerate(visits):
        begin = clock
        clock += (seconds + PAUSE * (i in paused)) * 1e9
        stamps.append(begin)
        if name != BETWEEN:
            told.append((NAMES.index(name), begin, clock, begin, clock))
            planned.append(seconds * 1e9 * numbers.uniform(0.9, 1.1))
    doc = dict(document(visits), visits=told, planned=planned, cpu=clock)
    seen = stats.simulate([((i, name), d) for i, (name, d) in enumerate(visits)], PERIOD, numbers.random())
    # When it goes on, the rest of the visit follows.
    return doc, [(name, stamps[i] + at * 1e9) for (i, name), at in seen]


def check_pauses(tap, numbers):
    """Exclusion by the target's clocks excuses the machine and nothing else."""
    runs, false, blind, missed = BIASED_RUNS, 0, 0, [0] * len(BIASES)
    for _ in range(runs):
        doc, seen = stood_still(plan(numbers), numbers)
        blind += is_found(doc, counts_of(seen))
        kept, spans = pauses.of_documents([doc])[0]
        samples = pauses.outside(seen, spans)
        counts = counts_of(samples)
        false += is_found(kept, counts)
        for i, (_, victim, bias) in enumerate(BIASES[:3]):
            missed[i] += not is_found(kept, biased(samples, counts, victim, bias, numbers))
    tap.ok(blind > 0.9 * runs, "a machine that stands still %d times looks like lost samples" % PAUSED, blind)
    tap.ok(not false, "and does not where the target's clocks tell those times", "in %d of %d" % (false, runs))
    for (name, _, _), count in zip(BIASES[:3], missed):
        tap.ok(count <= MISSED_MOST, "there, too, %s: found" % name, "not in %d of %d" % (count, runs))


def check_bound(tap):
    """Compares the bound with the known one for coins: it must be above, but not far."""
    for n in (20, 1000, 100000):
        variance = n / 4
        normal = 5.2 * variance ** 0.5
        tap.ok(normal <= stats.bound(variance) < 1.6 * normal + stats.TERM,
               "the bound for %d coins is a little above the normal one" % n,
               stats.bound(variance), normal)


def main():
    tap = t.h.Tap()
    print("# KRAIT_SEED=%d" % t.SEED)
    numbers = random.Random(t.SEED)
    check_bound(tap)
    check_power(tap, numbers)
    check_pauses(tap, numbers)
    tap.done()


if __name__ == "__main__":
    main()
