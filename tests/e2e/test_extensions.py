#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Extensions that work inside CPython's own functions: their time never counts as that of the Python function that
called them, and if they call Python, they appear between caller and callee. Handwritten (on every interpreter),
and made by Cython; in a thorough run also by mypyc and pybind11."""
import os
import re
import shutil
import subprocess
import sys

import harness as h

LEAST = 0.99
# A call takes milliseconds, so the interpreter's own share in it is far below a thousandth; on a machine with
# eighty programs per CPU, 3 samples of 188 were its own. The defect that this test must detect was 41 % (trial.md,
# N1).
OWN_AT_MOST = 0.05
SYSTEM_PYTHON = "/usr/bin/python3"


def run(folder, *command):
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", errors="replace")


def include_of(python):
    """Returns the folder of this interpreter's headers; None without them."""
    if python.root != "/":
        return None
    code = "import sysconfig; print(sysconfig.get_path('include'))"
    folder = subprocess.run(python.command("-c", code), capture_output=True, encoding="utf-8").stdout.strip()
    return folder if os.path.exists(os.path.join(folder, "Python.h")) else None


def compiler():
    return shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")


def build_by_hand(python, folder):
    done = run(folder, compiler(), "-O2", "-fPIC", "-shared", "-fomit-frame-pointer",
               *(["-DFREE_THREADED"] if python.free_threaded else []), os.path.join(h.TARGETS, "crunch.c"),
               "-o", "crunch_c.so")
    return None if done.returncode == 0 else done.stderr


def build_cython(python, folder):
    cython, include = shutil.which("cython3") or shutil.which("cython"), include_of(python)
    if not cython or not include:
        return "no cython3, or no headers of this interpreter"
    run(folder, cython, "-3", os.path.join(h.TARGETS, "crunch_cython.pyx"), "-o", "crunch_cython.c")
    done = run(folder, compiler(), "-O2", "-w", "-fPIC", "-shared", "-I" + include, "crunch_cython.c", "-o",
               "crunch_cython.so")
    # The installed Cython may be older than this interpreter.
    return None if done.returncode == 0 else "this Cython does not know it"


def build_pybind11(python, folder):
    include = include_of(python)
    if not include or not os.path.exists("/usr/include/pybind11") or not shutil.which("g++"):
        return "no pybind11-dev, no C++ compiler, or no headers of this interpreter"
    done = run(folder, "g++", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-I" + include,
               os.path.join(h.TARGETS, "crunch_pybind11.cpp"), "-o", "crunch_pybind11.so")
    return None if done.returncode == 0 else "this pybind11 does not know it"


def build_mypyc(python, folder):
    if not shutil.which("mypyc") or os.path.realpath(python.path) != os.path.realpath(SYSTEM_PYTHON):
        return "no mypyc for it"
    shutil.copy(os.path.join(h.TARGETS, "crunch_mypyc.py"), folder)
    done = run(folder, "mypyc", "crunch_mypyc.py")
    os.remove(os.path.join(folder, "crunch_mypyc.py"))
    return None if done.returncode == 0 else done.stderr[-200:]


KINDS = {"crunch_c": build_by_hand, "crunch_cython": build_cython}
THOROUGH = {"crunch_mypyc": build_mypyc, "crunch_pybind11": build_pybind11}


def plain(frame):
    return re.sub(r" \([^()]*\)$", "", frame)


def below(stack, function):
    """Returns what is on the leaf's side of the Python function; None if the function is missing."""
    names = [plain(f) if f.endswith(".py)") else "" for f in stack]
    return stack[names.index(function) + 1:] if function in names else None


def judge(tap, name, stacks, function, is_good, least=LEAST):
    """Checks how many of the samples below the function are as they must be."""
    mine = [(below(s, function), n) for s, n in stacks if below(s, function) is not None]
    total, good = sum(n for _, n in mine), sum(n for s, n in mine if is_good(s))
    tap.ok(total > 20 and good >= least * total, "%s: %d of %d" % (name, good, total),
           h.show([(s, n) for s, n in mine if not is_good(s)]))


def check_module(tap, python, stacks, module):
    mine = re.compile(r"[\[(]%s\b[^()]*\.so[\])]$" % module)
    judge(tap, "%s: %s: no time of C is Python's" % (python.name, module), stacks, "crunch_" + module,
          lambda s: any(mine.search(f) for f in s) and "[truncated]" not in s, 1 - OWN_AT_MOST)
    leaf = "leaf_" + module

    def is_between(stack):
        names = [plain(f) for f in stack]
        between = stack[:names.index(leaf)]
        return "[truncated]" not in between and any(mine.search(f) for f in between)

    judge(tap, "%s: %s: C is between" % (python.name, module),
          [(s, n) for s, n in stacks if leaf in map(plain, s)], "call_" + module, is_between)


def check(tap, python):
    folder = python.scratch()
    kinds = dict(KINDS, **(THOROUGH if h.is_all() else {}))
    modules = []
    for module, build in kinds.items():
        why = build(python, folder) if compiler() else "no C compiler"
        if why:
            tap.skip("%s: %s" % (python.name, module), why)
        else:
            modules.append(module)
    try:
        with h.start(python, "extensions.py", python.inside(folder), *modules) as target:
            r = h.record_work(target.pid, 0.25 * len(modules), "--native", lines=False)
    finally:
        shutil.rmtree(folder)
    for module in modules:
        check_module(tap, python, r.stacks, module)


def main():
    h.need_bpf()
    tap = h.Tap()
    for python in h.interpreters(tap):
        check(tap, python)
    tap.done()
    h.cleanup()


if __name__ == "__main__":
    sys.exit(main())
