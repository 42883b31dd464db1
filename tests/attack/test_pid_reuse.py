#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""A bystander gets a process ID that was an attacker's a moment ago: krait must not use its knowledge or descriptors
of the one for the other."""
import time

import attack

LAST_PID = "/proc/sys/kernel/ns_last_pid"


def take(scene, pid):
    """Returns a bystander with that process ID, or None: other processes take IDs, too."""
    with open(LAST_PID, "w", encoding="ascii") as f:
        f.write("%d" % (pid - 1))
    b = scene.bystander()
    return b if b.pid == pid else None


def play(tap, python, what, *args):
    with attack.Scene(tap, "pid reuse: after " + what, python) as scene:
        got = []

        def swap(k):
            for _ in range(8):
                hostile = scene.attacker(*args)
                time.sleep(0.2)
                hostile.stop()
                b = take(scene, hostile.pid)
                if b:
                    got.append(b)
                    b.work(attack.WORK_MS)
                    got.append(b.tell())
                    return

        k = scene.record("-a", "--anchors", "on", during=swap, both=False)
        if not got:
            tap.skip(scene.name, "others were quicker")
            return
        b, truth = got
        scene.ok(b.finish() == 0, "the bystander lives")
        samples = [s for s in attack.samples_of(k.path("x.script"), [b.pid])[b.pid]
                   if truth["began"] <= s[0] < truth["ended"]]
        attack.judge_time(tap, scene.name + ": the bystander", samples, truth)
        attack.judge_names(tap, scene.name + ": the bystander", samples, b.file)


def main():
    tap = attack.begin()
    python = attack.python_of(tap, "pid reuse", "3.15")
    if python:
        play(tap, python, "one that forged names", "poison.py", "names")
        play(tap, python, "one that forged where krait writes", "poison.py", "lpf", "144")
        if attack.FULL:
            play(tap, python, "an ordinary one", "poison.py", "nothing")
    attack.end(tap)


if __name__ == "__main__":
    main()
