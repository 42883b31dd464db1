#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""B5: ever new stacks fill the profile. What finds no room is lost, counted and reported with exit code 1, and only
the attacker's. A krait whose profile has a thousandth of the room (make builds it as krait-small) shows in a
second what takes the normal one minutes."""
import os
import re

import attack
import harness as h

# Of a range of subordinate user ids.
FIRST = 100000
SMALL = os.path.join(h.BUILD, "krait-small")


def check_accounts(scene, k):
    stats = k.stats
    interrupts = stats.get("interrupts", -1)
    reasons = sum(v for name, v in stats.items() if name.startswith((h.COMPLETE, h.TRUNCATED, h.LOST)))
    kept = sum(v for name, v in stats.items() if name.startswith((h.COMPLETE, h.TRUNCATED)))
    written = sum(count for _, count in h.parse_folded(k.path("x.folded")))
    scene.ok(interrupts == reasons, "every interrupt has a reason", "%d, %d" % (interrupts, reasons))
    scene.ok(written == kept, "what is not lost is in the output",
             "%d in the file, %d in the accounts" % (written, kept), k.words)
    return interrupts - kept


def play(tap, python, name, attackers, options=("--max-loss", "1"), bystander_uid=None):
    with attack.Scene(tap, "B5: " + name, python) as scene:
        if bystander_uid is not None:
            scene.uid = bystander_uid
        program = scene.folder_of_host().build("flood.c", "-lpthread")
        for what, uid in attackers:
            scene.native(program, what, uid=uid, rests=True)
        k = scene.record("-a", *options, codes=(1,), outputs=("x.script", "x.folded"))
        lost = check_accounts(scene, k)
        scene.ok(lost > 0, "something was lost", k.words)
        scene.says(k, r"lost|no room", "that")


def place_of(uid, probe):
    """The place of a user among owners as krait computed it up to c727340f."""
    return ((uid * 2654435761 & 0xffffffff) >> 24) + probe & 255


def play_places(tap, python, name, owner):
    """A user with many uids takes every place that his victim may have, then floods in the first of them. owner: who
    made the user namespace that they are in; 0: none."""
    with attack.Scene(tap, "B5: " + name, python) as scene:
        program = scene.folder_of_host().build("flood.c", "-lpthread")
        script = scene.folder_of_host().add("many_uids.py")
        uids = [next(u for u in range(FIRST + 1, FIRST + 65536) if place_of(u, 0) == place_of(scene.uid, probe))
                for probe in range(16)]
        line = ["/usr/bin/python3", "-B", script, owner, FIRST, ",".join(map(str, uids)), program, "stacks"]
        hostile = scene.run(line)
        try:
            k = scene.record("-a", codes=(0,), outputs=("x.script",), both=False)
        finally:
            hostile.process.kill()
        scene.says(k, r"no room", "that something was lost")
        payer = "user %d" % (owner or uids[0])
        said = re.findall(r"(user \d+[a-z ]*?) holds", k.words)
        scene.ok(said and set(said) == {payer}, "who pays is " + payer, said, k.words)


def main():
    tap = attack.begin()
    python = attack.python_of(tap, "B5", "3.15")
    if not os.path.exists(SMALL):
        tap.skip("B5", "no krait-small (make build-attack)")
    elif python and attack.compiler():
        h.KRAIT = os.path.abspath(SMALL)
        play(tap, python, "stacks of one user", [("stacks", attack.NOBODY)])
        play(tap, python, "names of one user", [("names", attack.NOBODY)])
        crowd = 30 if attack.FULL else 8
        play(tap, python, "%d users against root" % crowd,
             [("stacks", attack.SPARE_UID + i) for i in range(crowd)], bystander_uid=0)
        play_places(tap, python, "16 users where a chosen one would be", 0)
        play_places(tap, python, "16 users of a user namespace", attack.SPARE_UID)
    attack.end(tap)


if __name__ == "__main__":
    main()
