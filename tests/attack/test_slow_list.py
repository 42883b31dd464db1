#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""B11: processes that take long to inspect: very many mappings of one file; debug information that never
arrives."""
import os
import signal

import attack
import harness as h

LIST_SECS = 3
PROCESSES, MAPPINGS = 14, 64000


def check_mappings(tap, python):
    with attack.Scene(tap, "B11: %d processes of %d mappings" % (PROCESSES, MAPPINGS), python) as scene:
        folder = scene.folder_of_host()
        program = folder.build("maps.c", "-lpthread")
        with open(folder.outside("file"), "wb") as f:
            f.write(bytes(1 << 14))
        first = scene.native(program, "many", folder.outside("file"), str(MAPPINGS), str(PROCESSES))
        pids = [first.pid, *attack.children(first.pid)]
        mapped = [sum(1 for _ in open("/proc/%d/maps" % pid, "rb")) for pid in (pids[0], pids[-1])]
        scene.ok(len(pids) == PROCESSES and min(mapped) >= MAPPINGS, "they are there", pids, mapped)
        k = attack.krait("list", timeout=60)
        scene.ok(k.code == 0 and k.seconds < LIST_SECS, "krait list takes less than %d s" % LIST_SECS,
                 "%s after %.1f s" % (k.code, k.seconds), k.words)
        scene.record("-a", end_secs=5)


def check_fifos(tap, python):
    """Interpreters that only their debug information identifies, with a FIFO in its place."""
    with attack.Scene(tap, "B11: a FIFO as debug information", python) as scene:
        folder = scene.folder_of_host()
        source = os.path.join(h.TARGETS, "fake_unpublished.c")
        for i in range(3):
            program = folder.build(source, "-rdynamic", "-s", "-Wl,--build-id", "-lpthread",
                                   "-DPAD_%d" % i, name="fake%d" % i)
            with open(program, "ab") as f:
                f.write(b"%d" % i)
            os.mkfifo(program + ".debug", 0o666)
            os.kill(scene.native(program).pid, signal.SIGSTOP)
        k = attack.krait("list", timeout=30)
        scene.ok(k.code == 0 and k.seconds < 10, "krait list takes less than 10 s",
                 "%s after %.1f s" % (k.code, k.seconds), k.words)
        scene.record("-a")


def main():
    tap = attack.begin()
    python = attack.python_of(tap, "B11", "3.15")
    if python and attack.compiler():
        check_mappings(tap, python)
        check_fifos(tap, python)
    attack.end(tap)


if __name__ == "__main__":
    main()
