# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the tests of truth: records a target that accounts for itself, and reads its samples.

Imported by the test_* files beside it; tests/e2e/harness.py has the rest.

"""
import json
import os
import random
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))

import harness as h  # noqa: E402
import pauses  # noqa: E402
import stats  # noqa: E402

# make check-truth: every interpreter, and longer; otherwise a minute's worth for make check.
LONG = os.environ.get("KRAIT_TRUTH") == "long"
# krait's default rate, and ten times that, which reveals small errors.
RATE, HIGH_RATE = 997, 9973
# One for the whole run, so that it can be repeated.
SEED = int(os.environ.get("KRAIT_SEED") or random.SystemRandom().randrange(1 << 30))


def begin():
    """Returns the TAP of a test file, and prints the seed."""
    h.need_bpf()
    tap = h.Tap()
    print("# KRAIT_SEED=%d, false alarms below %g in a run" % (SEED, stats.FALSE_ALARM))
    return tap


def pythons(tap):
    """Returns all interpreters, or the newest one with a layout of its own and one without."""
    found = h.interpreters(tap) if LONG else quiet_interpreters()
    if LONG:
        return found
    old = [p for p in found if p.minor < "3.13"]
    return found[:1] + old[:1]


def quiet_interpreters():
    """Without a skip for each missing one: the end-to-end tests report them."""
    found = [p for p in h.all_interpreters() if p.minor in h.MINORS and p.kind != "debug"]
    for python in found:
        python.refresh_targets()
    return found


def command_with_proc(python, script, *args):
    """Returns a command line for a target that finds /proc in its root folder, which lacks it: in its own
    mounts."""
    inner = [python.path, "-B", python.target(script), *map(str, args)]
    if python.root == "/":
        return inner
    return ["unshare", "-m", "sh", "-c", 'mount --bind /proc "$0/proc" && exec chroot "$0" "$@"', python.root, *inner]


def parse_truth(text):
    """Returns the documents of the lines TRUTH in a target's output."""
    found = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("TRUTH ")]
    if not found:
        raise RuntimeError("the target said no TRUTH: %r" % text[-500:])
    return found


def stamped(path):
    """Yields (thread, seconds of CLOCK_MONOTONIC, ns of the period, stack of (name, line), leaf first) for each
    sample in the output of krait script --lines."""
    head, stack = None, []
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            if line.startswith("\t"):
                stack.append([line[18:].rpartition("+0x0 (")[0], 0])
            elif line.startswith("  "):
                stack[-1][1] = int(line.rpartition(":")[2])
            elif line == "\n" and head:
                yield (*head, stack)
                head, stack = None, []
            elif not line.startswith("#") and line != "\n":
                found = re.match(r".*? +(\d+)/(\d+) +\[\d+\] +([\d.]+): +(\d+) ", line)
                head, stack = (int(found[2]), float(found[3]), int(found[4])), []


class Run:
    """A recording of a target that accounts for itself, or of a part of its work.

    samples: of that part except for the spans: (thread, ns, period in ns, stack)."""

    def __init__(self, recording, truth, samples, spans=()):
        self.recording, self.truth = recording, truth
        self.samples = [s for s in samples if truth["began"] <= s[1] < truth["ended"]]
        self.period = self.samples[0][2] / 1e9 if self.samples else 1 / RATE
        self.leave_out(spans)

    def leave_out(self, spans):
        """Excludes moments in which the machine stood still; they are not in the account either."""
        if spans:
            print("#   held up %d times: %.1f ms are left out" % (len(spans), sum(b - a for a, b in spans) / 1e6))
            self.samples = pauses.outside(self.samples, spans)


def run_parts(python, script, *args, rate=RATE, options=()):
    """Records a command from start to end; rate None: options say it. Returns a Run for each TRUTH that it prints."""
    recording = h.record(*(("-F", str(rate)) if rate else ()), *options, outputs=("x.script", "x.folded"), timeout=240,
                         command=python.command(python.target(script), *map(str, args)))
    samples = [(tid, int(seconds * 1e9), period, stack)
               for tid, seconds, period, stack in stamped(recording.path("x.script"))]
    return [Run(recording, truth, samples, spans)
            for truth, spans in pauses.of_documents(parse_truth(recording.out))]


def run(*args, **options):
    return run_parts(*args, **options)[0]


def visited(stack, truth):
    """Returns the target's innermost function in the sample. While a generator yields, its caller may be unknown:
    krait marks that, and the sample belongs to the generator."""
    for name, _ in stack:
        if name in truth["names"]:
            return name
    cut = stack[-1][0] == "[truncated: no base]"
    return truth["inner"].get(stack[0][0]) if cut else None


def python_leaf(stack):
    """Returns the innermost function that has a line: a Python function, not the native code it called."""
    return next((name for name, line in stack if line > 0), None)


def report(tap, good, name, verdicts):
    """Prints one result for several comparisons; always shows the worst."""
    worst = max(verdicts, key=stats.Verdict.excess)
    tap.ok(good and all(v.good for v in verdicts), name, *verdicts)
    if worst.good:
        print("#   %d compared, the worst at %.0f %% of what chance may add (%s)" % (
            len(verdicts), 100 * worst.excess(), worst.name))
