#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""B9: a process with very many mappings that changes one again and again tries to fill the disk with descriptions of
all of them."""
import os

import attack

# The limit for a capture of so long of a few processes.
WORK_MS = 2000 if attack.h.is_all() else 250
CAPTURE_MIB = 24 * WORK_MS // 1000


def main():
    tap = attack.begin()
    python = attack.python_of(tap, "B9", "3.15")
    if python and attack.compiler():
        with attack.Scene(tap, "B9: 16,000 mappings", python) as scene:
            folder = scene.folder_of_host()
            program = folder.build("maps.c", "-lpthread")
            name = folder.outside("/".join(["long" * 50] * 4))
            os.makedirs(name)
            with open(name + "/file", "wb") as f:
                f.write(bytes(1 << 14))
            scene.native(program, "change", name + "/file", "16000", rests=True)
            k = scene.record("-a", outputs=("x.script", "x.data"), native=True, work=WORK_MS)
            size = os.path.getsize(k.path("x.data")) if os.path.exists(k.path("x.data")) else -1
            scene.ok(0 < size < CAPTURE_MIB << 20, "the capture has less than %d MiB" % CAPTURE_MIB,
                     "%d MiB" % (size >> 20))
    attack.end(tap)


if __name__ == "__main__":
    main()
