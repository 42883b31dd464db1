#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""B15: somebody works in more files than there is room for their rows (native/rows/tables.c). Only his own stacks may
end early for that."""
import glob

import attack
from bystanders import samples_of

COPIES, ROOM = 40, "4M"
CUT = "[truncated]", "[unknown native frames]"
# Of a bystander's stacks, one in so many may come before rows that nobody has missed yet. Open: most have none, some up to 3 in 100.
LATE = 25
# Files that several users map are root's, unless a file is one of theirs.
USERS = ("", [attack.NOBODY]), (", mapped by two users", [attack.NOBODY, attack.NOBODY - 1])


def cut(samples):
    """Returns how many of these stacks lack native frames."""
    return sum(any(name in CUT for name, _ in stack) for _, _, stack in samples)


def at_work(samples, bystander):
    truth = bystander.truths[-1]
    return [s for s in samples if truth["began"] <= s[0] < truth["ended"]]


def play(scene, library, users):
    flood, crowd = [scene.attacker("libraries.py", library, COPIES, uid=uid) for uid in users], []
    k = scene.record("-a", "--unwind-memory", ROOM, native=True, during=lambda _: crowd.extend(
        p for p in scene.programs if isinstance(p, attack.Bystander)))
    found = samples_of(k.path("x.script"), [*(p.pid for p in flood), *(b.pid for b in crowd)])
    own = [s for p in flood for s in found[p.pid]]
    scene.ok(cut(own) > len(own) / 10, "its own rows do not fit", "%d of %d stacks lack native frames" % (cut(own), len(own)))
    # The one that started later works while krait still reads the flood's files, and gets its list of mappings late.
    theirs = at_work(found[crowd[0].pid], crowd[0])
    scene.ok(len(theirs) > LATE and cut(theirs) <= len(theirs) / LATE, "the bystander has all its native frames",
             "%d of %d stacks lack some" % (cut(theirs), len(theirs)))


def main():
    tap = attack.begin()
    python = attack.python_of(tap, "B15", "3.15")
    name = "B15: rows of %d libraries" % COPIES
    root = python.root.rstrip("/") if python else ""
    library = glob.glob(root + "/usr/lib/*/libcrypto.so.3")
    if python and not library:
        tap.skip(name, "no libcrypto")
    elif python:
        for who, users in USERS:
            with attack.Scene(tap, name + who, python) as scene:
                play(scene, library[0][len(root):], users)
    attack.end(tap)


if __name__ == "__main__":
    main()
