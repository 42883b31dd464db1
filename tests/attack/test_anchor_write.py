#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""A2: krait's only write goes to the identified process or nowhere. It must not go to a program that a hostile
process has turned into meanwhile, least of all a setuid one."""
import os
import signal
import time

import attack
import harness as h

# Each attempt has to hit a short moment.
TRIES = 6 if attack.FULL else 3


def line_of(target, secs):
    return h.read_line(target.process.stdout, time.monotonic() + secs)


def check_exec(tap, python, what, why_not, fuse):
    """A page of the thread state arrives late: the reader waits while the process becomes a setuid program, and the
    page is there when krait writes."""
    name = "A2: exec of a setuid program, by " + what
    if why_not:
        tap.skip(name, why_not)
        return
    with attack.Scene(tap, name, python) as scene:
        program = scene.folder_of_host().build("late_page.c", "-lpthread")
        victim = scene.folder_of_host().build("setuid_victim.c", "-static")
        os.chmod(victim, 0o4755)
        said = []

        def attack_it(k):
            # One waiting process may delay krait's look at the next, so they also come one after another.
            hostile = [scene.native(program, "exec", victim, *([scene.mount_point()] if fuse else []),
                                    uid=0) for _ in range(TRIES)]
            said.extend(line_of(t, 20) for t in hostile)

        scene.record("-a", "--anchors", "on", during=attack_it)
        scene.ok(len(said) == TRIES and all(line.startswith("VICTIM") for line in said),
                 "the programs run to their end", said)
        scene.ok(not any("WRITTEN" in line for line in said), "nobody writes into the setuid program",
                 said)


def check_rights(tap, python):
    """krait writes only to processes that are still as they were when identified: not to one that is no longer
    dumpable or has changed its user."""
    with attack.Scene(tap, "A2: who is written to", python) as scene:
        begun = {}

        def begin(k):
            workers = []
            for what in "none", "undumpable", "setuid", "seteuid":
                begun[what] = scene.attacker("slot.py", what, uid=0 if "set" in what else attack.NOBODY)
                workers += attack.children(begun[what].pid)
                h.signal_all(workers, signal.SIGSTOP)
            # They stand still until all are old enough to be written to.
            time.sleep(1)
            h.signal_all(workers, signal.SIGCONT)
            time.sleep(1)

        k = scene.record("-a", "--anchors", "on", during=begin)
        for program in begun.values():
            program.process.stdin.close()
        said = {what: line_of(program, 10) for what, program in begun.items()}
        scene.ok(said["none"] == "WRITTEN\n", "an ordinary process is", said, k.words)
        for what in "undumpable", "setuid", "seteuid":
            scene.ok(said[what] == "untouched\n", "not one that is %s" % what, said)


def main():
    tap = attack.begin()
    python = attack.python_of(tap, "A2", "3.15")
    if python and attack.compiler():
        check_exec(tap, python, "userfaultfd", attack.why_no_userfaultfd(), False)
        check_exec(tap, python, "FUSE", attack.why_no_fuse(), True)
        check_rights(tap, python)
    attack.end(tap)


if __name__ == "__main__":
    main()
