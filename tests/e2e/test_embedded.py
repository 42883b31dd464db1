#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Interpreters inside other programs: linked as python3-config --embed says, statically, stripped, without PIE, and
run from a virtual environment. The stacks must be right each time."""
# run-tests: beside others
# run-tests: second try: krait looks late at what has just begun or changed where a host takes the CPU away
import glob
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile

import harness as h

SOURCE = os.path.join(h.TARGETS, "embed.c")


def static_library(ending):
    """Returns libpython3.X of the interpreter that runs this, and what must be linked with it."""
    folder = sysconfig.get_config_var("LIBPL") or ""
    found = glob.glob(os.path.join(folder, "libpython3*[0-9]" + ending))
    libraries = [word for name in ("LIBS", "SYSLIBS", "MODLIBS")
                 for word in (sysconfig.get_config_var(name) or "").split()]
    return found[:1] and [found[0], *libraries, "-Wl,--export-dynamic"]


def variants():
    """Yields name, compiler flags, and whether to strip."""
    config = shutil.which("python%d.%d-config" % sys.version_info[:2])
    if config:
        flags = subprocess.run([config, "--embed", "--ldflags"], capture_output=True,
                               encoding="utf-8", check=True).stdout.split()
        yield "shared library", flags, False
    # Debian has one archive for each kind of program.
    for name, flag, ending in (("PIE", "-pie", "-pic.a"), ("no PIE", "-no-pie", ".a")):
        static = static_library(ending)
        if static:
            yield "static, " + name, [flag, *static], False
            yield "static, %s, stripped" % name, [flag, *static], True


def check(tap, name, command):
    with h.Target([*command, "-B", os.path.join(h.TARGETS, "pairs.py")]) as target:
        recording = h.record_work(target.pid, 0.25, "-F", "4999")
        tap.equal(recording.code, 0, name + ": exit code", recording.err)
    h.check_accounts(tap, name, recording, complete=0.98)
    h.check_stacks(tap, name, recording, target.oracle)


def check_built(tap, folder, name, flags, stripped):
    program = os.path.join(folder, "app")
    built = subprocess.run([os.environ.get("CC", "cc"), "-O2", SOURCE, "-o", program, *flags],
                           capture_output=True, encoding="utf-8", check=False)
    if built.returncode:
        tap.skip(name, "cannot be linked: " + built.stderr.strip().splitlines()[-1])
        return
    if stripped:
        subprocess.run(["strip", "-s", program], check=True)
    check(tap, name, [program])


def check_venv(tap, folder, python):
    """Its python is a link: another file contains the interpreter."""
    name = python.name + " in a virtual environment"
    made = subprocess.run([python.path, "-m", "venv", "--without-pip", folder],
                          capture_output=True, check=False)
    if made.returncode:
        tap.skip(name, "venv cannot be made")
    else:
        check(tap, name, [os.path.join(folder, "bin", "python3")])


def main():
    h.need_bpf()
    tap = h.Tap()
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    for name, flags, stripped in variants():
        check_built(tap, folder, "embedded %d.%d, %s" % (*sys.version_info[:2], name), flags,
                    stripped)
    for python in h.few([p for p in h.interpreters(tap) if p.root == "/"]):
        check_venv(tap, os.path.join(folder, "venv-" + python.version), python)
    shutil.rmtree(folder)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
