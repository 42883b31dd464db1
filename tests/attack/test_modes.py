#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""C2: a recording as root contains names of all users' functions and kernel addresses: only its owner may read it,
whatever the umask."""
import os
import stat

import attack

OUTPUTS = ("x.data", "x.folded", "x.html", "x.pb.gz", "x.speedscope.json", "x.firefox.json", "x.script",
           "x.callgrind")


def main():
    tap = attack.begin()
    python = attack.python_of(tap, "C2", "3.15", "3.11") if attack.pythons("3.15") else \
        attack.python_of(tap, "C2", "3.11")
    if python:
        with attack.Scene(tap, "C2: modes", python) as scene:
            target = scene.bystander()
            target.work(60000)
            args = [a for name in OUTPUTS for a in ("-o", name)]
            home = attack.Folder()
            k = attack.krait("record", "-p", str(target.pid), "-d", "300ms", *args,
                             launch=["sh", "-c", 'umask 0; exec "$@"', "sh"],
                             env=dict(os.environ, HOME=home.path))
            scene.ok(k.code == 0, "it records", k.code, k.words)
            open_to_all = {}
            for folder in k.folder, home.path:
                for at, folders, files in os.walk(folder):
                    for name in files + [f for f in folders if ".krait" in f]:
                        mode = stat.S_IMODE(os.lstat(os.path.join(at, name)).st_mode)
                        if name not in ("out", "err") and mode & 0o077 and \
                                not os.path.islink(os.path.join(at, name)):
                            open_to_all[os.path.join(at, name)[len(folder):]] = oct(mode)
            scene.ok(not open_to_all, "nobody else may read them", open_to_all)
    attack.end(tap)


if __name__ == "__main__":
    main()
