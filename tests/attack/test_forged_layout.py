#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""A1: a process forges the data of its interpreter in its memory. What krait learns about a file comes from the file:
the forger's claims make it neither read nor write another user's process."""
import attack

# Offsets in 3.15's thread state at which a write of eight bytes has an effect.
WRITES = ("144", "152") if attack.FULL else ("144",)


def check(tap, what, *args, depth=400, options=(), minor="3.15", build="exe", said=None):
    name = "A1, %s %s: %s" % (minor, build, what)
    python = attack.python_of(tap, name, minor, build=build)
    if not python:
        return
    with attack.Scene(tap, name, python) as scene:
        scene.depth = depth
        pid = scene.attacker("poison.py", *args, rests=True).pid
        # krait writes to a thread only once it is a second old.
        k = scene.record("-a", *options, age_secs=1.1 if options else 0,
                         work=2 * attack.WORK_MS if options else attack.WORK_MS, both=False)
        if said:
            scene.says(k, said % pid, "that it did not believe the process")


def main():
    tap = attack.begin()
    refused = r"(?s)not sampled.*pid %d\b"
    for offset in WRITES:
        check(tap, "a write at %s" % offset, "lpf", offset, options=("--anchors", "on"), said=refused)
    check(tap, "file names as functions", "names", said=refused)
    check(tap, "another version", "version", said=refused)
    check(tap, "file names as functions", "names", build="shared", said=refused)
    check(tap, "another start of the program", "start", minor="3.11")
    attack.end(tap)


if __name__ == "__main__":
    main()
