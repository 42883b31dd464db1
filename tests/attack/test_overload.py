#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""F1: more threads want a CPU than there are. krait begins at once, records for the requested time and ends; and it
reports what it waits for."""
import os
import time

import attack

THREADS = 1200 if attack.FULL else 300
SECS = 8 if attack.FULL else 1
# Beyond the recording itself: for beginning and ending.
MORE_SECS = 3


def main():
    tap = attack.begin()
    python = attack.python_of(tap, "F1", "3.15")
    if python and attack.compiler():
        name = "F1: %d threads on %d CPUs" % (THREADS, os.cpu_count())
        with attack.Scene(tap, name, python) as scene:
            target = scene.bystander()
            target.work(1000000)
            scene.native(scene.folder_of_host().build("spin.c", "-lpthread"), str(THREADS))
            with attack.h.Ahead():
                k = attack.Krait("record", "-a", "--stats", "--max-loss", "100", "-d", "%ds" % SECS, "-o",
                                 "x.folded")
                began = attack.h.when_first(k.process)
                k.wait(120)
            took = k.ended - began
            recorded = k.stats.get("seconds", 0)
            scene.ok(k.code in (0, 6) and took < SECS + MORE_SECS,
                     "-d %d takes less than %d s" % (SECS, SECS + MORE_SECS),
                     "%s after %.1f s" % (k.code, took), k.words)
            scene.ok(abs(recorded - SECS) < 0.1 * SECS, "and records for that long", recorded)
            scene.ok(target.alive(), "the bystander lives")
    attack.end(tap)


if __name__ == "__main__":
    main()
