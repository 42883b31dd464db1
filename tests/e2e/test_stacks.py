#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Exact stacks of one thread, on every interpreter: unusual names, every kind of call, very short
calls. The oracle is the target's own trace (tests/targets/oracle.py)."""
import harness as h

# Target and seconds: enough that each hot function of it runs in many interrupts.
# And for how long, in ms.
TARGETS = [("names.py", 1500), ("flow.py", 1500), ("pairs.py", 1000)]


def check_target(tap, python, script, duration):
    name = "%s: %s" % (python.name, script)
    if python.free_threaded:
        duration *= 2  # 3.13's does not specialise: some rounds take longer than that
    with h.start(python, script) as target:
        recording = h.record("-p", str(target.pid), "-d", "%dms" % duration)
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
        for script, duration in TARGETS:
            check_target(tap, python, script, duration)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
