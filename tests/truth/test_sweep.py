#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Whether a function's length matters: from one microsecond to ten milliseconds each has its own part of the time,
and its caller no more than the call takes. The same comparison exposes a sampler that sees stacks only where the
interpreter lets it, by a signal."""
import collections

import pauses
import stats
import truth as t


def verdicts_of(doc, counts, period):
    """Compares each caller's own samples with those that the caller and its function have.

    counts: {name of the innermost function: samples}. A call's own time is too short to be hit twice, so its
    variance equals its expected count."""
    found = []
    for length in doc["lengths"]:
        if not length["calls"]:
            continue
        samples = counts[length["short"]] + counts[length["caller"]]
        least, most = [length["calls"] * length[k] / length["ns"] for k in ("least", "most")]
        found.append(stats.Verdict(
            "%d us" % length["us"], counts[length["caller"]], samples * least, samples * most,
            max(samples, length["ns"] / 1e9 / period) * most))
    return found


def share_verdicts(doc, counts, period):
    """Compares the samples of each length with those of all lengths. Each call is a visit."""
    times, visits, sums = {}, {}, {}
    for length in doc["lengths"]:
        name = "%d us in all" % length["us"]
        times[name] = (length["ns"] / 1e9,) * 2
        visits[name] = [length["ns"] / 1e9 / max(1, length["calls"])] * length["calls"]
        sums[name] = counts[length["short"]] + counts[length["caller"]]
    return stats.judge_shares(sums, times, visits, doc["switches"], period)


def leave_out(run):
    """Returns the batches during which the machine stood still."""
    batches = run.truth["batches"]
    slow = pauses.stretched([(us, us * calls, ns) for us, calls, ns, _, _ in batches])
    for length in run.truth["lengths"]:
        kept = [b for i, b in enumerate(batches) if i not in slow and b[0] == length["us"]]
        length.update(calls=sum(b[1] for b in kept), ns=sum(b[2] for b in kept))
    run.leave_out([batches[i][3:] for i in slow])


def check_krait(tap, python, rate, milliseconds):
    name = "%s at %d Hz" % (python.name, rate)
    run = t.run(python, "sweep.py", t.SEED, milliseconds, rate=rate)
    leave_out(run)
    names = {l[k] for l in run.truth["lengths"] for k in ("short", "caller")}
    counts = collections.Counter(s[3][0][0] for s in run.samples if s[3][0][0] in names)
    t.report(tap, run.samples, name + ": no length of function is seen more than another",
             share_verdicts(run.truth, counts, run.period))
    t.report(tap, run.samples, name + ": callers have no samples of what they call",
             verdicts_of(run.truth, counts, run.period))


def check_signal(tap, python):
    """The target samples itself by a signal: a test that accepts that is worthless."""
    name = python.name + ", sampled by a signal"
    done = t.h.subprocess.run(
        python.command(python.target("sweep.py"), str(t.SEED), "1500", "--self"),
        capture_output=True, encoding="utf-8", timeout=t.h.PATIENCE_SECS)
    doc = t.parse_truth(done.stdout)[0]
    counts = collections.Counter(stack[-1] for stack in doc["self"])
    bad = [v for v in verdicts_of(doc, counts, 1e-3) if not v.good]
    tap.ok(len(bad) >= 3, name + ": %d of %d lengths are found to be wrong" % (
        len(bad), len(doc["lengths"])), *verdicts_of(doc, counts, 1e-3))


def main():
    tap = t.begin()
    found = t.pythons(tap)
    for python in found if t.LONG else found[:1]:
        if t.LONG:
            check_krait(tap, python, t.RATE, 10000)
        check_krait(tap, python, t.HIGH_RATE, 8000 if t.LONG else 2000)
    check_signal(tap, found[0])
    t.h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
