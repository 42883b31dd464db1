# SPDX-License-Identifier: BSD-2-Clause
"""python -m krait: becomes the program."""
import os
import sys

from . import program

if __name__ == "__main__":
    try:
        path = program()
    except FileNotFoundError as missing:
        sys.exit("krait: %s" % missing)
    os.execv(path, ["krait"] + sys.argv[1:])
