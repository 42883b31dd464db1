#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Exact stacks of one thread, on every interpreter: unusual names, every kind of call, very short
calls. The oracle is the target's own trace (tests/targets/oracle.py)."""
import harness as h

# Each at a rate at which every hot function of it is met some twenty times and more.
TARGETS = {"names.py": 997, "flow.py": 997, "pairs.py": 4999}
DURATION_MS = 1500


def check_target(tap, python, script, rate):
    name = "%s: %s" % (python.name, script)
    # 3.13's free-threaded one does not specialise: some rounds take longer than that.
    duration = DURATION_MS * (2 if python.free_threaded else 1)
    with h.start(python, script) as target:
        recording = h.record("-p", str(target.pid), "-F", str(rate), "-d", "%dms" % duration)
        tap.equal(recording.code, 0, name + ": exit code", recording.err)
        tap.ok(target.alive(), name + ": the target runs on")
    # Where C calls Python all the time, 3.11 and 3.12 leave a moment that cannot be read (bpf/walk.h).
    complete = 0.97 if python.minor in ("3.11", "3.12") else 0.99
    h.check_accounts(tap, name, recording, complete=complete)
    h.check_stacks(tap, name, recording, target.oracle)


def main():
    h.need_bpf()
    tap = h.Tap()
    for python in h.interpreters(tap):
        for script, rate in TARGETS.items():
            check_target(tap, python, script, rate)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
