#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Calls between libraries go through stubs without symbols: krait names them after the called function, below the
calling one, however the library was linked."""
import os
import shutil
import subprocess

import harness as h

FUNCTIONS = ("labs", "abs", "llabs")
LINKED = {
    "lazily": ["-Wl,-z,lazy"],
    "at once": ["-Wl,-z,now"],
    "with marks for indirect branches": ["-fcf-protection=full", "-Wl,-z,ibtplt"],
}


def build(compiler, folder, options):
    """Builds the library in folder. Returns its path."""
    path = os.path.join(folder, "libstubs.so")
    done = subprocess.run([compiler, "-O1", "-fno-builtin", "-fplt", "-fPIC", "-shared",
                           "-fno-omit-frame-pointer", *options,
                           os.path.join(h.TARGETS, "stubs.c"), "-o", path],
                          stderr=subprocess.PIPE, text=True, check=False)
    return path if done.returncode == 0 else None


def check_stubs(tap, python, compiler, linked, options):
    name = "linked " + linked
    folder = python.scratch()
    try:
        if not build(compiler, folder, options):
            tap.skip(name, "this compiler cannot")
            return
        library = os.path.join(python.inside(folder), "libstubs.so")
        with h.start(python, "stubs.py", library) as target:
            r = h.record_work(target.pid, 0.5, "-n", "-F", "19997", lines=False)
    finally:
        shutil.rmtree(folder)
    h.check_accounts(tap, name, r, complete=0.99)
    # Other libraries of the interpreter have stubs, too.
    stubs = [(s, n) for s, n in r.stacks if s[-1].endswith("@plt (libstubs.so)")]
    # At most one instruction in a hundred: 20 to 70 of 10,000 samples.
    tap.ok(sum(n for _, n in stubs) >= 3, name + ": stubs were seen",
           h.show(r.stacks))
    tap.ok({s[-1] for s, _ in stubs} <= {f + "@plt (libstubs.so)" for f in FUNCTIONS},
           name + ": they have the name of what they call", h.show(stubs))
    tap.equal({s[-2] for s, _ in stubs}, {"calls (libstubs.so)"}, name + ": below who calls")
    unnamed = [(s, n) for s, n in r.stacks if "[libstubs.so]" in s]
    tap.ok(not unnamed, name + ": nothing of the library is without a name", h.show(unnamed))


def main():
    h.need_bpf()
    tap = h.Tap()
    python = next((p for p in h.interpreters(tap) if int(p.minor.split(".")[1]) >= 13), None)
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")
    if not python or not compiler:
        tap.skip("stubs", "no C compiler, or no interpreter from 3.13 on")
    else:
        for linked, options in LINKED.items():
            check_stubs(tap, python, compiler, linked, options)
    tap.done()
    h.cleanup()


if __name__ == "__main__":
    main()
