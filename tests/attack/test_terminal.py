#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""B10: names of files, commands and threads that would be escape sequences for root's terminal, or lines that krait
never printed."""
import os
import re
import shutil

import attack
import harness as h

NAME = "fk\x1b]0;owned\x07\x1b[31m\nkrait: all is well\nkrait: 0 lost \u202e\x9b31m"


def check_text(scene, what, k):
    wild = re.findall(r"[^\n\t\x20-\x7e\xa0-\u2027\u2030-\uffff\udc80-\udcff]|\u202e|[\u0080-\u009f]", k.said)
    scene.ok(not wild, what + ": nothing orders the terminal", sorted(set(wild)), k.words)
    forged = [line for line in k.said.splitlines() if line.startswith("krait: all is well") or
              line.startswith("krait: 0 lost")]
    scene.ok(not forged, what + ": no line is forged", forged)


def play(tap, python, what, options):
    with attack.Scene(tap, "B10: " + what, python) as scene:
        folder = scene.folder_of_host()
        program = folder.build(os.path.join(h.TARGETS, "fake_runtime.c"), "-lpthread", *options,
                               name="plain")
        odd = folder.outside(NAME)
        shutil.move(program, odd)
        hostile = scene.native(odd, "sound")
        check_text(scene, "record -a", scene.record("-a", "-v"))
        one = attack.krait("record", "-p", str(hostile.pid), "-d", "200ms", "-v", "-o", "y.folded", "-o",
                           "y.data")
        check_text(scene, "record -p", one)
        check_text(scene, "list", attack.krait("list"))
        for command in ("report", "y.data"), ("script", "y.data"), ("report", "--tree", "y.data"):
            check_text(scene, command[0], attack.krait(*command, folder=one.folder))


def main():
    tap = attack.begin()
    python = attack.python_of(tap, "B10", "3.15")
    if python and attack.compiler():
        play(tap, python, "a program that is refused", ["-DVERSION=0x031000f0"])
        play(tap, python, "one that is recorded", [])
    attack.end(tap)


if __name__ == "__main__":
    main()
