#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""A capture of another machine: report, convert, annotate and perf say of arm64's what krait said there.

tests/golden/capture-arm64 was recorded in the machine of scripts/vm (kernel 6.12, CPython 3.15, g.py), with the stacks that
krait convert wrote there. What arm64's krait says of a capture of x86-64 is in tests/vm/init.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

GOLDEN = os.path.join(harness.ROOT, "tests/golden/capture-arm64")
tap = harness.Tap()


def krait(*arguments):
    done = subprocess.run([harness.KRAIT, *arguments], capture_output=True, text=True, timeout=60)
    return done.stdout if done.returncode == 0 else "exit code %d\n%s" % (done.returncode, done.stderr)


with tempfile.TemporaryDirectory() as folder:
    shutil.copytree(GOLDEN, folder, dirs_exist_ok=True)
    data = os.path.join(folder, "arm64.data")
    stacks = krait("convert", "-q", "-f", "folded", "-o", "-", "-i", data)
    with open(os.path.join(GOLDEN, "arm64.folded"), encoding="utf-8") as file:
        tap.equal(sorted(stacks.splitlines()), sorted(file.read().splitlines()), "convert: the same stacks as there")
    tap.ok("middle (g.py);leaf (g.py)" in stacks and "ptep_clear_flush" in stacks, "Python's and the kernel's frames are among them")
    table = krait("report", "-i", data)
    tap.ok(re.search(r"^ *46\.0% +46\.0% +1\.86 s +leaf +g\.py:3$", table, re.M) and "198 samples, none lost: 4.04 s" in table,
           "report: the same numbers as there", table)
    lines = krait("annotate", "-i", data)
    tap.ok(re.search(r"40\.91% +81 +40\.91% +g\.py:6", lines), "annotate: the hottest line", lines)
    if not shutil.which("perf"):
        tap.skip("perf script: Python's functions", "no perf")
    else:
        # The capture's file is not where it was there: it must be put where perf looks by build ID.
        perf = ["perf", "--buildid-dir", os.path.join(folder, "ids")]
        files = [os.path.join(data + ".krait", name) for name in os.listdir(data + ".krait")]
        subprocess.run([*perf, "buildid-cache", "-a", *files], capture_output=True, timeout=60)
        out = subprocess.run([*perf, "script", "-i", data], capture_output=True, text=True, timeout=60).stdout
        tap.ok("py::leaf:g.py" in out and "py::middle:g.py" in out, "perf script: Python's functions", out[:2000])


def check_pipe():
    """perf's pipes say in a record which machine it was; nothing here names addresses of another,
    unless a build ID tells that the file is the same, which newer perfs keep."""
    code = "import time\nend = time.process_time() + 0.4\nwhile time.process_time() < end: pass"
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "pipe.data")
        with open(data, "wb") as out:
            subprocess.run(["perf", "record", "-q", "--no-buildid-mmap", "-e", "cpu-clock:u", "-o", "-", "--", sys.executable, "-c", code], stdout=out,
                           stderr=subprocess.DEVNULL, timeout=60, check=True)
        here = krait("report", "-i", data)
        with open(data, "rb") as file:
            content = file.read()
        with open(data, "wb") as file:
            machine = os.uname().machine.encode()
            file.write(content.replace(machine + b"\0", machine[:-1] + b"?\0"))
        there = krait("report", "-i", data)
    # A static function of the tail-calling interpreter may be all of the evaluation, and what is hot differs.
    name = re.compile(r"\b_?Py[A-Z]\w+ ")
    tap.ok(name.search(here) and not name.search(there) and "samples" in there, "a pipe of another machine: no names from here", here + there)


if shutil.which("perf"):
    check_pipe()
else:
    tap.skip("a pipe of another machine", "no perf")
tap.done()
