#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""B7: a copy of an interpreter with different data but the same build ID: krait must not confuse the two."""
import os

import attack
import elf_tools


def main():
    tap = attack.begin()
    for minor in "3.15", "3.11":
        python = attack.python_of(tap, "B7 with " + minor, minor)
        if not python:
            continue
        with attack.Scene(tap, "B7: a copy of %s whose runtime is elsewhere" % minor, python) as scene:
            elf = elf_tools.Elf(python.root.rstrip("/") + os.path.realpath(python.path)
                                if python.root == "/" else python.root + python.path)
            elf.sections[elf.section(".PyRuntime")][3] += 4096
            copy = scene.folder.outside("python" + minor)
            elf.rewrite(copy)
            os.chmod(copy, 0o755)
            script = scene.folder.add("bystander.py")
            scene.run([*attack.as_user(attack.NOBODY, python.root), scene.folder.inside("python" + minor),
                       "-B", script, "1"], env=dict(os.environ, PYTHONHOME="/usr"))
            k = scene.record("-a")
            b = scene.bystander()
            said = attack.krait("list")
            line = [x for x in said.said.splitlines() if x.split()[:1] == [str(b.pid)]]
            scene.ok(line and minor in line[0] and " no " not in line[0],
                     "krait list knows the genuine one", said.said, k.words)
    attack.end(tap)


if __name__ == "__main__":
    main()
