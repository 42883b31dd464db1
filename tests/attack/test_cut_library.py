#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""B3: a mapped library is truncated behind the part that the process needs while krait reads its symbols."""
import os
import shutil

import attack
import elf_tools

COPIES = 4


def main():
    tap = attack.begin()
    python = attack.python_of(tap, "B3", "3.15")
    if python and attack.compiler():
        with attack.Scene(tap, "B3: libraries are cut while krait reads them", python) as scene:
            path = scene.folder.build("library.c", "-shared", "-fPIC", "-g3", name="lib0.so")
            size = elf_tools.Elf(path).loaded()
            # Enough padding that the section headers are on a page of their own.
            with open(path, "ab") as f:
                f.write(bytes(1 << 16))
            elf_tools.Elf(path).write(path)
            names = ["lib%d.so" % i for i in range(COPIES)]
            for name in names[1:]:
                shutil.copy(path, scene.folder.outside(name))
            for name in names:
                os.chown(scene.folder.outside(name), attack.NOBODY, attack.NOBODY)
            hostile = scene.attacker("caller.py", "cut", size, *[scene.folder.inside(n) for n in names], rests=True)
            # By then krait has the files open but has not yet asked for all names.
            scene.record("-a", native=True, during=lambda k: hostile.process.stdin.write(b"\n"))
            scene.ok(hostile.alive(), "the attacker has lost nothing")
    attack.end(tap)


if __name__ == "__main__":
    main()
