# SPDX-License-Identifier: BSD-2-Clause
"""krait, a profiler for every CPython process of a Linux machine, as a package.

    krait record -p 1234            the program itself
    python -m krait record -p 1234  the same
    %load_ext krait                 in a notebook; then %%krait at the top of a cell
"""
import os
import sys
import sysconfig


def program():
    """Returns the path of the executable that was installed with this package."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folders = [
        sysconfig.get_path("scripts"),
        # pip install --user, --target, --prefix
        sysconfig.get_path("scripts", "posix_user"),
        os.path.join(here, "bin"),
        os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(here))), "bin"),
        os.path.dirname(sys.executable),
    ]
    for folder in folders:
        path = os.path.join(folder, "krait")
        # Not some other program of that name: this one is an ELF file.
        if os.access(path, os.X_OK):
            with open(path, "rb") as file:
                if file.read(4) == b"\x7fELF":
                    return path
    raise FileNotFoundError("the executable krait is not where pip installs it: " + ", ".join(folders))


def load_ipython_extension(shell):
    from .notebook import magic

    shell.register_magic_function(magic, "cell", "krait")
