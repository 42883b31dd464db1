#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""B6: sleeping programs that pretend to be CPython, each with another layout, file or version, use up krait's room.
Later processes, and root's, are recorded anyway."""
import os
import signal
import struct

import attack
import harness as h

COOKIE = b"xdebugpy"
VERSION, INTERP_SIZE, GENERATION = 8, 48, 160


def make(folder):
    """Makes the fake. Returns also where its table is in the file."""
    path = folder.build(os.path.join(h.TARGETS, "fake_runtime.c"), "-lpthread", name="fake")
    with open(path, "rb") as f:
        program = bytearray(f.read())
    at = program.index(COOKIE + struct.pack("<Q", 0x030f02f0))
    return program, at


def variant(folder, program, at, index, what):
    copy = bytearray(program)
    if what == "version":
        struct.pack_into("<Q", copy, at + VERSION, 0x030f00f0 | (index % 200 + 3) << 8)
    else:
        struct.pack_into("<Q", copy, at + INTERP_SIZE, 8192)
        struct.pack_into("<Q", copy, at + GENERATION, 24 + 8 * index)
    path = folder.outside("%s-%d" % (what, index))
    with open(path, "wb") as f:
        f.write(copy)
    os.chmod(path, 0o755)
    return path


def play(tap, python, what, cnt, uids):
    name = "B6: %d of another %s, of %d user%s" % (cnt, what, uids, "s" if uids > 1 else "")
    with attack.Scene(tap, name, python) as scene:
        folder = scene.folder_of_host()
        program, at = make(folder)
        for i in range(cnt):
            path = variant(folder, program, at, i, what)
            hostile = scene.native(path, "sound", uid=attack.SPARE_UID + i % uids)
            os.kill(hostile.pid, signal.SIGSTOP)
        k = scene.record("-a")
        early = [b for b in scene.programs if isinstance(b, attack.Bystander)]
        scene.ok(not any("pid %d)" % b.pid in k.said for b in early), "both bystanders are tracked",
                 k.words)


def main():
    tap = attack.begin()
    python = attack.python_of(tap, "B6", "3.15")
    if python and attack.compiler():
        play(tap, python, "version", 100, 1)
        play(tap, python, "layout", 100, 1)
        play(tap, python, "layout", 300, 30)
    attack.end(tap)


if __name__ == "__main__":
    main()
