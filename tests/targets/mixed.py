# SPDX-License-Identifier: BSD-2-Clause
"""Five times C calls Python and Python calls C. argv: the folder of mixed_native."""
import sys

sys.path.insert(0, sys.argv[1])
import mixed_native as native  # noqa: E402


def spin():
    for _ in range(400):
        pass


def python1():
    spin()
    native.native2(python2)


def python2():
    spin()
    native.native3(python3)


def python3():
    spin()
    native.native4(python4)


def python4():
    spin()
    native.native5(python5)


def python5():
    spin()


def main():
    while True:
        native.native1(python1)


print("READY", flush=True)
main()
