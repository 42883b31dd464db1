#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""One dialect of frames: the capture reproduces what a recording writes, byte for byte, for every kind of frame:
Python, native and kernel, with and without symbols."""
import collections
import difflib
import json
import os
import re
import shutil
import subprocess
import tempfile

import harness as h

SECONDS = "1.5"
LIBRARY = "nested.so"
# In this file, every recorded kernel has only some of its symbols.
KALLSYMS = "/proc/kallsyms"


def build(folder):
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")
    if not compiler:
        return None
    path = os.path.join(folder, LIBRARY)
    subprocess.check_call([compiler, "-O1", "-fPIC", "-shared", "-s", "-fno-omit-frame-pointer",
                           "-fno-optimize-sibling-calls", os.path.join(h.TARGETS, "nested.c"), "-o",
                           path])
    return path


def cut_symbols(folder):
    """Makes a kallsyms without the lower half of the kernel's functions: addresses there have no name."""
    with open(KALLSYMS, encoding="ascii") as f:
        lines = f.readlines()
    functions = sorted(int(line.split()[0], 16) for line in lines
                       if line.split()[1] in "tT" and "[" not in line)
    if not functions or not functions[-1]:
        return None
    half = functions[len(functions) // 2]
    path = os.path.join(folder, "kallsyms")
    with open(path, "w", encoding="ascii") as f:
        f.writelines(line for line in lines if int(line.split()[0], 16) >= half)
    return path


def krait(symbols, *args):
    """Runs krait with that file as /proc/kallsyms, or with the kernel's own."""
    command = [h.KRAIT, *args]
    if symbols:
        script = 'mount --bind "$1" %s && shift && exec "$@"' % KALLSYMS
        command = ["unshare", "-m", "sh", "-c", script, "sh", symbols, *command]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                          check=False, timeout=h.PATIENCE_SECS)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def page_frames(path):
    """Returns the page's distinct [(kind, name, file)], since only their order may differ."""
    text = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', read(path), re.S)
    data = json.loads(text.group(1))
    flat, strings = data["frames"], data["strings"]
    return collections.Counter((flat[i], strings[flat[i + 1]], strings[flat[i + 2]])
                               for i in range(0, len(flat), 7))


def check(tap, python, library, symbols, name):
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    path = lambda n: os.path.join(folder, n)
    try:
        outputs = [a for n in ("x.data", "x.folded", "x.html") for a in ("-o", path(n))]
        done = krait(symbols, "record", "-q", "--native", "--kernel", *outputs, "--",
                     *python.command(python.target("dialect.py"), library, SECONDS))
        tap.equal(done.returncode, 0, name + ": recorded", done.stderr)
        live = read(path("x.folded"))
        tap.ok("[%s];[%s]" % (LIBRARY, LIBRARY) in live,
               name + ": a library without symbols, function by function", live[:2000])
        tap.ok(re.search(r"_\[k\] \d+$", live, re.M), name + ": frames of the kernel")
        if symbols:
            tap.ok("[kernel]_[k]" in live, name + ": frames of the kernel without a name")
        done = krait(symbols, "convert", "-q", "-i", path("x.data"), "-o", path("y.folded"), "-o",
                     path("y.html"))
        tap.equal(done.returncode, 0, name + ": converted", done.stderr)
        again, was, now = read(path("y.folded")), page_frames(path("x.html")), page_frames(path("y.html"))
        tap.ok(again == live, name + ": the folded stacks are the same, byte for byte",
               *["%.20s … %s" % (line, line[-160:]) for line in
                 difflib.unified_diff(live.splitlines(), again.splitlines(), n=0)][:12])
        tap.ok(now == was, name + ": the page's frames are the same", was - now, now - was)
    finally:
        shutil.rmtree(folder)


# Mostly in _json and what it calls in the interpreter: many leaves are just after a call.
ENCODES = """
import json, time
document = [{"id": i, "name": "name %d" % i, "list": list(range(20)), "value": i / 3} for i in range(300)]
end = time.process_time() + 2
while time.process_time() < end:
    json.dumps(document)
"""


def check_lines(tap, python):
    """Source lines of native code: a leaf at a return address has its own line."""
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    path = lambda n: os.path.join(folder, n)
    try:
        done = krait(None, "record", "-q", "--native", "--lines", "-F", "7999", "-o", path("x.data"), "-o",
                     path("x.folded"), "--", *python.command("-c", ENCODES))
        tap.equal(done.returncode, 0, "source lines: recorded", done.stderr)
        live = read(path("x.folded"))
        if not re.search(r"_json\.c:\d+\)", live):
            tap.skip("source lines", "_json has no debug information")
            return
        done = krait(None, "convert", "-q", "--lines", "-i", path("x.data"), "-o", path("y.folded"))
        tap.equal(done.returncode, 0, "source lines: converted", done.stderr)
        tap.ok(read(path("y.folded")) == live, "source lines: the folded stacks are the same, byte for byte",
               *["… %s" % line[-160:] for line in
                 difflib.unified_diff(live.splitlines(), read(path("y.folded")).splitlines(), n=0)][:12])
    finally:
        shutil.rmtree(folder)


def main():
    tap = h.Tap()
    h.need_bpf()
    python = h.newest([p for p in h.interpreters(tap) if p.root == "/"])
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    library = build(folder)
    if not python or not library:
        tap.skip("frames", "no interpreter, or no compiler")
    else:
        symbols = cut_symbols(folder)
        check(tap, python, library, None, "all symbols")
        check_lines(tap, python)
        if symbols:
            check(tap, python, library, symbols, "half of the kernel's symbols")
        else:
            tap.skip("half of the kernel's symbols", "/proc/kallsyms has no addresses")
    shutil.rmtree(folder)
    tap.done()


if __name__ == "__main__":
    main()
