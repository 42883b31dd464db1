#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Exact stacks although krait walks only the new part of a stack (CPython 3.15 and later): densely sampled, on
targets that do everything to make a remembered frame wrong."""
import harness as h
import recorders

FIRST_MINOR = 15
# For each target: rates, and whether its stacks stay stable enough that anchors must pay off.
CASES = {
    "towers.py": [("997", False), ("7000", True)],
    "flow.py": [("7000", True)],
    "threads.py": [("7000", True)],
    "pairs.py": [("7000", False)],
}


SECS = "1s" if h.is_all() else "400ms"
# Another krait on a shared machine may be gone at the next attempt; and fifty threads share one GIL, which whoever is quickest
# takes at each of its turns of 1 ms, so in 400 of them one thread may have none.
TRIES = 3


def anchors_of(stats):
    """Returns the relevant counters in one line."""
    return " ".join("%s %s" % (name, stats.get(name)) for name in
                    ("full", "delta", "confirmed", "unconfirmed", "foreign", "writes", "writes_refused",
                     "audited", "mismatched"))


def is_undisturbed(stats, used):
    return not stats.get("foreign") and \
        (not used or (stats.get("delta", 0) > 0 and stats.get("writes", 0) > 0))


def check_counters(tap, name, recording, used, others):
    stats = recording.stats
    tap.equal(stats.get("mismatched"), 0, name + ": audits find no difference", anchors_of(stats))
    tap.equal(stats.get("full", 0) + stats.get("delta", 0),
              stats.get("complete.python", 0) + recording.total(h.TRUNCATED),
              name + ": every stack is a full one or a delta", recording.err)
    if others and not is_undisturbed(stats, used):
        tap.skip(name + ": nobody else writes", "%d other krait at once: %s" % (others, anchors_of(stats)))
        return
    tap.equal(stats.get("foreign"), 0, name + ": nobody else writes", anchors_of(stats))
    if used:
        tap.ok(stats.get("delta", 0) > 0 and stats.get("writes", 0) > 0,
               name + ": anchors were used", anchors_of(stats))


def check_case(tap, name, target, rate, used):
    for _ in range(TRIES):
        with recorders.Others(1) as others:
            r = h.record("-p", str(target.pid), "-d", SECS, "-F", rate, "--anchors", "on", *h.OWN_STACKS)
            alive = target.alive()
        illegal, leaves = target.oracle.judge(r.stacks)
        good = (not others.cnt or is_undisturbed(r.stats, used)) and set(target.oracle.hot) <= set(leaves)
        if good or illegal or r.stats.get("mismatched"):
            break
    tap.ok(alive, name + ": the target runs on")
    tap.equal(r.code, 0, name + ": exit code", r.err)
    h.check_accounts(tap, name, r, complete=0.99)
    h.check_stacks(tap, name, r, target.oracle)
    check_counters(tap, name, r, used, others.cnt)


def check_on(tap, python):
    for script, cases in CASES.items():
        with h.start(python, script) as target:
            # krait leaves a thread alone until it is a second old.
            h.age(target, 1)
            for rate, used in cases:
                check_case(tap, "%s: %s at %s Hz with anchors" % (python.name, script, rate), target, rate, used)


def check_two(tap, python):
    """Two kraits on one process: each detects the other's writes, and neither shows a wrong stack."""
    name = python.name + ": two recordings at once"
    with h.start(python, "towers.py") as target:
        h.age(target, 1)
        folder = h.tempfile.mkdtemp(prefix="krait-e2e-")
        h.folders.append(folder)
        path = h.os.path.join(folder, "x.folded")
        other = h.subprocess.Popen(
            [h.KRAIT, "record", *h.PYTHON_ONLY, *h.OWN_STACKS, "-q", "--stats", "--lines", "-p", str(target.pid), "-d", SECS,
             "-F", "3000", "--anchors", "on", "--max-loss", "100", "-o", path],
            stderr=h.subprocess.PIPE, encoding="utf-8")
        r = h.record("-p", str(target.pid), "-d", SECS, "-F", "3000", "--anchors", "on")
        _, err = other.communicate(timeout=h.PATIENCE_SECS)
        recordings = [r, h.Recording(other.returncode, "", err, folder)]
    for i, one in enumerate(recordings):
        part = "%s, number %d" % (name, i + 1)
        tap.equal(one.code, 0, part + ": exit code", one.err)
        h.check_accounts(tap, part, one)
        illegal, _ = target.oracle.judge(one.stacks)
        tap.ok(one.stacks and not illegal, part + ": every stack is one the target can have",
               h.show(illegal), one.err)


def check_too_deep(tap, python):
    """If no full walk reaches the root, no anchor would ever be trusted: krait writes none."""
    name = python.name + ": deep.py with anchors"
    with h.start(python, "deep.py") as target:
        h.age(target, 1)
        r = h.record("-p", str(target.pid), "-d", h.moment(0.5), "-F", "2000", "--anchors", "on")
    h.check_accounts(tap, name, r)
    tap.ok(r.stats.get("truncated.depth") and r.stats.get("writes") == 0,
           name + ": nothing is written", r.err)


def check_off(tap, python):
    """krait writes nothing unless asked to, and nothing before 3.15."""
    name = python.name + ": anchors off"
    with h.start(python, "flow.py") as target:
        r = h.record("-p", str(target.pid), "-d", "300ms", "--anchors",
                     "off" if int(python.minor.split(".")[1]) >= FIRST_MINOR else "on")
    tap.equal((r.code, r.stats.get("writes"), r.stats.get("delta")), (0, 0, 0),
              name + ": nothing is written", r.err)


def main():
    h.need_bpf()
    tap = h.Tap()
    for python in h.interpreters(tap):
        check_off(tap, python)
        if int(python.minor.split(".")[1]) >= FIRST_MINOR:
            check_on(tap, python)
            check_two(tap, python)
            check_too_deep(tap, python)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
