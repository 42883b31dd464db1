#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Code objects that a program makes and drops, one after the other at the same address: each sample has the name, the
file and the line of the one that ran, by the target's own time stamps (tests/targets/renamed.py)."""
import re

import harness as h
from test_dump_greenlets import with_greenlet

RATE = 4999
# A sample's time is that of the interrupt, which may be this far from what the target read from its clock.
SLACK_NS = 50000
# Before 3.12 the contents of a caller are read again after this time (bpf/python/code_object.h); until then it may be another's.
AGAIN_NS = 70e6
# So many that some begin after that time.
COUNT, MILLISECONDS = 12, 10


def samples(script):
    """Yields (ns, [(name, file, line)], leaf first) of krait script --lines."""
    for block in script.split("\n\n"):
        head = re.match(r"\S[^\n]* (\d+)\.(\d{6}): ", block)
        if head:
            yield (int(head[1]) * 10 ** 9 + int(head[2]) * 1000,
                   re.findall(r"^\s+[0-9a-f]+ (.*)\+0x[0-9a-f]+ \((.*?)\)(?:\n\s+(\S+):(\d+))?", block, re.M))


def found_in(frames):
    """The function that is another one each time, as krait has it: its name, file and line; None."""
    for function, _, path, line in frames:
        if re.match(r"f(_\d+)?$", function):
            return function, path.rsplit("/", 1)[-1], int(line or 0)
        if function == "<unknown function>":
            return function, "", 0
    return None


def check_mode(tap, name, mode, truth, script, forgiven_ns):
    right, wrong, met, forgiven_until = 0, [], set(), 0
    for ns, frames in script:
        for i, (function, file, line, began, ended) in enumerate(truth):
            found = found_in(frames) if began + SLACK_NS < ns < ended - SLACK_NS else None
            if not found:
                continue
            # From the first sample on that has the function: krait may have learned late where greenlets are.
            forgiven_until = forgiven_until or max(ns, truth[0][4]) + forgiven_ns
            if ns < forgiven_until:
                continue
            called = mode in ("caller", "parent", "awaiter")
            named = found[:2] in ((function, file), (function, file.replace("<script>", "<string>")))
            # A thread that lost its CPU before it got there, at "def" or at "x = 0": neither.
            if named and found[2] == (1 if called else 2) and i not in met:
                continue
            if named and found[2] in ((line,) if called else (line, line + 1)):
                right += 1
                met.add(i)
            else:
                wrong.append((i, found, (function, file, line)))
    name += ": " + mode
    tap.equal(wrong[:3], [], name + ": no sample has the name, file or line of another one",
              "%d right, %d wrong" % (right, len(wrong)))
    # krait learns of greenlets and tasks only when they are first used.
    least = 1 if forgiven_ns else len(truth) // 4 if mode in ("parent", "awaiter") else len(truth) - 2
    tap.ok(len(met) > least and right > 5 * len(met), name + ": samples of each",
           "%d of them, %d samples" % (len(met), right))


def check(tap, python, *modes, greenlets=None):
    count = 3 * COUNT if greenlets else COUNT
    command = python.command("-S", python.target("renamed.py"), str(count), str(MILLISECONDS), *modes)
    if greenlets:
        at = 2 if command[0] == "chroot" else 0
        command[at:at] = ["/usr/bin/env", "PYTHONPATH=" + greenlets]
    recording = h.record("-F", str(RATE), outputs=("x.data",), lines=False, command=command)
    tap.equal(recording.code, 0, python.name + ": exit code", recording.err)
    script = list(samples(h.run_krait("script", "--lines", "-i", recording.path("x.data")).stdout))
    truth = {}
    for row in map(str.split, recording.out.splitlines()):
        if len(row) == 6:
            truth.setdefault(row[0], []).append((row[1], row[2].rsplit("/", 1)[-1], *map(int, row[3:])))
    tap.ok(len(truth) >= (len(modes) or 6) and all(len(t) == count for t in truth.values()), python.name + ": the target says what it did",
           recording.out)
    for mode in truth:
        forgiven = mode in ("caller", "parent") and int(python.minor.split(".")[1]) < 12
        check_mode(tap, python.name, mode, truth[mode], script, AGAIN_NS if forgiven else 0)


def main():
    h.need_bpf()
    tap = h.Tap()
    for python in h.interpreters(tap, each_class=True):
        check(tap, python)
        if int(python.minor.split(".")[1]) >= 14:
            check(tap, python, "awaiter")
    for python, folder in with_greenlet():
        # Nothing says which parents a greenlet 1.x has.
        if "greenlet1-" not in folder:
            check(tap, python, "parent", greenlets=folder)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
