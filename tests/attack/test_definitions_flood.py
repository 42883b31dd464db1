#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""B8: ever new code objects with long tables fill the ring buffer; short-lived threads fill it with events. Only the
attacker may pay for that."""
import attack


def main():
    tap = attack.begin()
    python = attack.python_of(tap, "B8", "3.15")
    if python and attack.compiler():
        for what, rate in ("codes", 2000), ("names", 2000), ("threads", 997):
            with attack.Scene(tap, "B8: %s that are always new" % what, python,
                              memory=500 * attack.MIB) as scene:
                program = scene.folder_of_host().build("flood.c", "-lpthread")
                scene.native(program, what)
                scene.record("-a", rate=rate)
    attack.end(tap)


if __name__ == "__main__":
    main()
