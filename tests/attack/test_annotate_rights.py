#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""D1: a program claims that its function is in a file of its choice. annotate as root must not print what that
program's user could not read, must not hang and must not read without end; nor may a page contain such text."""
# run-tests: beside others
import base64
import gzip
import os
import re

import attack

SECRET = "root:$6$of-roots-alone"


def page(path):
    """Returns a page with its packed data unpacked."""
    with open(path, encoding="utf-8", errors="replace") as f:
        text = f.read(1 << 22)
    packed = [gzip.decompress(base64.b64decode(m)) for m in re.findall(r'"data":"([A-Za-z0-9+/=]+)"', text)]
    return text + "".join(p.decode("latin-1") for p in packed), len(packed)


def play(tap, python, name, path, prepare, hidden=True):
    with attack.Scene(tap, "D1: " + name, python) as scene:
        folder = scene.folder_of_host()
        path = path or folder.outside("file")
        prepare(path)
        hostile = scene.attacker("elsewhere.py", path, rests=True)
        with attack.h.working():
            k = attack.krait("record", "-p", str(hostile.pid), "-d", "300ms", "-o", "x.data", "-o", "live.html",
                             timeout=30)
        scene.ok(k.code == 0 and not k.hung, "it is recorded", k.code, k.words)
        text, packed = page(k.path("live.html"))
        scene.ok(packed == 2 and "elsewhere" in text, "a page is made of it, too", packed)
        if hidden:
            scene.ok(SECRET not in text, "which has none of it")
        for command in ["annotate", "-i", "x.data"], ["annotate", "-i", "x.data", "elsewhere"], \
                ["annotate", "-i", "x.data", "-o", "x.html"]:
            done = attack.krait(*command, folder=k.folder, timeout=10)
            text = done.said
            if os.path.exists(k.path("x.html")):
                text += page(k.path("x.html"))[0]
            scene.ok(not done.hung and done.code in (0, 6, 7), "%s ends" % " ".join(command[:1] + command[3:]),
                     done.code, done.seconds, done.words[:500])
            if hidden:
                scene.ok(SECRET not in text, "%s does not print it" % " ".join(command[:1] + command[3:]))
            peak = done.watch.peaks.get("krait", 0)
            scene.ok(peak < 256 * attack.MIB, "and needs little memory", "%d KiB" % peak)


def secret(path):
    with open(path, "w", encoding="ascii") as f:
        f.write((SECRET + "\n") * 40)
    os.chmod(path, 0o600)


def link_to_secret(path):
    secret(path + ".secret")
    os.symlink(path + ".secret", path)


def sparse(path):
    with open(path, "wb") as f:
        f.truncate(8 << 30)


def main():
    tap = attack.begin()
    # One that sees the same files as root does.
    python = attack.python_of(tap, "D1", "3.11")
    if python:
        play(tap, python, "a file of root's", None, secret)
        play(tap, python, "a link to one", None, link_to_secret)
        play(tap, python, "a device without end", "/dev/zero", lambda path: None, hidden=False)
        play(tap, python, "a FIFO", None, os.mkfifo, hidden=False)
        play(tap, python, "a file of 8 GiB without lines", None, sparse, hidden=False)
    attack.end(tap)


if __name__ == "__main__":
    main()
