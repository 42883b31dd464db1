#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Exact stacks of one thread, on every interpreter: unusual names, every kind of call, very short calls. The oracle
is the target's own trace (tests/targets/oracle.py). `make check` runs all targets on the newest interpreter and
one on each other."""
import harness as h

# Each with a rate at which every hot function gets at least some twenty samples.
TARGETS = {"names.py": 4999, "flow.py": 4999, "pairs.py": 19997}
SECONDS = 0.35


def check_target(tap, python, script, rate):
    name = "%s: %s" % (python.name, script)
    # 3.13's free-threaded build does not specialise, so some rounds take longer.
    seconds = SECONDS * (2 if python.free_threaded else 1)
    with h.start(python, script) as target:
        recording = h.record_work(target.pid, seconds, "-F", str(rate), *h.OWN_STACKS)
        tap.equal(recording.code, 0, name + ": exit code", recording.err)
        tap.ok(target.alive(), name + ": the target runs on")
    h.check_accounts(tap, name, recording, complete=h.complete_part(python))
    h.check_stacks(tap, name, recording, target.oracle)


def main():
    h.need_bpf()
    tap = h.Tap()
    for python, (script, rate) in h.covering(h.interpreters(tap, each_class=True), list(TARGETS.items())):
        check_target(tap, python, script, rate)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
