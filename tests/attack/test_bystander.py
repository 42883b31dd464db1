#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Bystanders without an attacker, on each layout that the attacks forge: proves that findings of the other files are
the attack's effect."""
import attack


def main():
    tap = attack.begin()
    for minor in ("3.15", "3.11"):
        python = attack.python_of(tap, "bystanders alone on " + minor, minor)
        if python:
            with attack.Scene(tap, "nobody attacks, %s" % python.name, python) as scene:
                scene.depth = 400
                scene.record("-a")
    attack.end(tap)


if __name__ == "__main__":
    main()
