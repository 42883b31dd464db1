# SPDX-License-Identifier: BSD-2-Clause
"""A short life: works MILLISECONDS long in functions whose names begin with NAME."""
import sys
import time


def make(name):
    source = "def {0}_leaf(end):\n    while clock() < end:\n        sum(range(200))\n" \
             "def {0}_middle(end):\n    {0}_leaf(end)\n" \
             "def {0}_top(end):\n    {0}_middle(end)\n".format(name)
    scope = {"clock": time.monotonic}
    exec(compile(source, name + ".py", "exec"), scope)
    return scope[name + "_top"]


if __name__ == "__main__":
    make(sys.argv[2] if len(sys.argv) > 2 else "flash")(
        time.monotonic() + float(sys.argv[1]) / 1000)
