#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""B4: small files that become large when read: packed symbols, endless tables, names that double. A recording ends in
time with little memory, and the bystanders keep their names."""
import os

import attack
import elf_tools

# Of zeroes before compression.
PACKED_MIB = 3000 if attack.FULL else 900
SPARSE_GIB = 1.5


def doubling(levels):
    """Returns the mangled name of a function with so many classes, each containing the one before twice."""
    def seq(n):
        digits, n = "", n - 1
        while n >= 0:
            digits, n = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[n % 36] + digits, n // 36 - 1
        return "S%s_" % digits
    name = "_Z1f1AIccE"
    for level in range(levels):
        last = seq(level + 1)
        name += "S_I%s%sE" % (last, last)
    return name


def play(tap, python, name, make, symbol="library_spin"):
    with attack.Scene(tap, "B4: " + name, python) as scene:
        folder = scene.folder
        path = make(folder)
        scene.attacker("caller.py", symbol, folder.inside(os.path.basename(path)), rests=True)
        scene.record("-a", native=True)


def plain(folder, *options):
    return folder.build("library.c", "-shared", "-fPIC", *options, name="libbomb.so")


def packed(folder):
    path = plain(folder, "-s")
    elf_tools.mini_debug(path, path, elf_tools.packed_zeroes(PACKED_MIB))
    return path


def sparse(folder):
    path = plain(folder, "-s")
    elf_tools.sparse_symbols(path, path, SPARSE_GIB)
    return path


def main():
    tap = attack.begin()
    python = attack.python_of(tap, "B4", "3.15")
    if python and attack.compiler():
        play(tap, python, "packed symbols of %d MiB" % PACKED_MIB, packed)
        play(tap, python, "a table of symbols of %g GiB" % SPARSE_GIB, sparse)
        # Two GiB when demangled; takes 7 s.
        name = doubling(26)
        play(tap, python, "a name that doubles 26 times",
             lambda folder: plain(folder, '-DSYMBOL="%s"' % name), name)
    attack.end(tap)


if __name__ == "__main__":
    main()
