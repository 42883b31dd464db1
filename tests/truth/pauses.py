# SPDX-License-Identifier: BSD-2-Clause
"""Moments in which the machine stood still.

A host may take a CPU away, or fetch memory for it, while the clock of the running thread goes on (such time does
not count as stolen) and no timer interrupt can come: the thread has used that time, but nobody can have a sample
of it. So comparisons leave out what a target did then, and its samples.

Must hold: only the target's clocks decide which moments these are. Samples have no say in it, so nothing that a
sampler loses is excused.

"""
import bisect
import collections
import math

# As in tests/targets/ownclock.py; BESIDE: so many of the most similar ones on each side define what is usual.
SLOWER, LEAST_NS, BESIDE = 1.25, 300e3, 5


def stretched(done):
    """done: [(kind, ns that it should take, CPU ns that it took)]. Returns the indices of those that took longer than
    similar ones: those of the same kind that should take about as long."""
    kinds, found = collections.defaultdict(list), set()
    for i, (kind, planned, ns) in enumerate(done):
        kinds[kind].append((planned, ns / planned, i))
    for alike in kinds.values():
        alike.sort()
        for at, (planned, ratio, i) in enumerate(alike):
            beside = sorted([x[1] for x in alike[max(0, at - BESIDE):at + BESIDE + 1]])
            usual = (beside[(len(beside) - 1) // 2] + beside[len(beside) // 2]) / 2
            if planned * ratio > SLOWER * planned * usual + LEAST_NS:
                found.add(i)
    return found


def outside(samples, spans):
    """Returns the samples, (thread, ns, ...), outside all these spans of (begin, end) in ns."""
    begins, ends = [-math.inf], [-math.inf]
    for begin, end in sorted(map(tuple, spans)):
        if begin <= ends[-1]:
            ends[-1] = max(ends[-1], end)
        else:
            begins.append(begin)
            ends.append(end)
    return [s for s in samples if s[1] >= ends[bisect.bisect_right(begins, s[1]) - 1]]


def of_visits(doc):
    """Returns the indices of the visits of tests/targets/visits.py that were held up, and of those that were held up
    before they began."""
    visits = doc["visits"]
    within = stretched([(v[0], ns, v[2] - v[1]) for v, ns in zip(visits, doc["planned"])])
    before = stretched([(None, 1, b[1] - a[2]) for a, b in zip(visits, visits[1:])])
    return within, {i + 1 for i in before}


def without(doc, within, before):
    """Returns (the account without these visits, the spans that they took)."""
    visits = doc["visits"]
    between = [(visits[i - 1], visits[i]) for i in before]
    spans = [visits[i][3:5] for i in within] + [(a[4], b[3]) for a, b in between]
    used = sum(visits[i][2] - visits[i][1] for i in within) + sum(b[1] - a[2] for a, b in between)
    kept = [v for i, v in enumerate(visits) if i not in within]
    return dict(doc, visits=kept, cpu=doc["cpu"] - used), spans


def of_documents(documents):
    """Returns [(account, excluded spans)]: if visits are repeated, one that was held up once is excluded from all
    runs, so that the accounts are comparable. Other targets report themselves what is not in their account."""
    if not all("planned" in doc for doc in documents):
        return [(doc, [p[1:] for p in doc.get("pauses", ())]) for doc in documents]
    found = [of_visits(doc) for doc in documents]
    within = set().union(*(w for w, _ in found))
    return [without(doc, within, before) for doc, (_, before) in zip(documents, found)]
