#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Names of native code in a capture: of a file that has been removed since, one with packed symbols, one that
replaced another in the process, and a process that repeatedly execs its own program."""
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile

import harness as h
import test_dwarf

SPIN = """
unsigned long NAME(unsigned long n) { volatile unsigned long s = 0; while (n--) s += n; return s; }
"""
# The second library is mapped where the first one was.
IN_TURN = """
import _ctypes, ctypes, sys, time
for path, name in zip(sys.argv[1::2], sys.argv[2::2]):
    library = ctypes.CDLL(path)
    end = time.thread_time() + .2
    while time.thread_time() < end:
        library[name](1000000)
    _ctypes.dlclose(library._handle)
"""
AGAIN = """
import os, sys, time
end = time.thread_time() + .1
while time.thread_time() < end:
    sorted(range(2000), key=lambda x: -x)
if int(sys.argv[1]):
    os.execv(sys.executable, [sys.executable, __file__, str(int(sys.argv[1]) - 1)])
"""
IMAGES = 12
# The C library asks the kernel's own code in the process, which is in no file (vdso(7)).
CLOCK = """
import time
end = time.thread_time() + .2
while time.thread_time() < end:
    for _ in range(1000):
        time.clock_gettime(1)
"""


def build(folder, name):
    path = os.path.join(folder, "lib%s.so" % name)
    try:
        subprocess.run(["cc", "-O1", "-fno-omit-frame-pointer", "-shared", "-fPIC", "-x", "c",
                        "-DNAME=" + name, "-o", path, "-"], input=SPIN, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return path


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def record(folder, *command):
    data = os.path.join(folder, "x.data")
    done = h.run_krait("record", "-q", "--stats", "-o", data, *([] if "--" in command else ["--"]), *command)
    return data, done


def samples(data, env=None):
    """Returns {function: samples} of the leaves."""
    done = h.run_krait("convert", "-q", "-f", "folded", "-o", "-", "-i", data,
                       env=env or test_dwarf.NO_SERVERS)
    return leaves(done.stdout)


def leaves(folded):
    """Likewise, from folded stacks."""
    found = {}
    for line in folded.splitlines():
        stack, count = line.rsplit(" ", 1)
        leaf = stack.split(";")[-1].split(" ")[0]
        found[leaf] = found.get(leaf, 0) + int(count)
    return found


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def check_files(tap, python, folder):
    script = write(folder, "in_turn.py", IN_TURN)
    libraries = {name: build(folder, name) for name in ("one_spins", "two_spins")}
    if not all(libraries.values()):
        tap.skip("libraries", "no C compiler")
        return
    arguments = [a for name, path in libraries.items() for a in (path, name)]
    data, done = record(folder, python.path, script, *arguments)
    tap.equal(done.returncode, 0, "two libraries, one in the other's place", done.stderr)
    before = samples(data)
    for path in libraries.values():
        os.unlink(path)
    after = samples(data)
    reported = "mappings.reported 0\n" not in done.stderr
    for name in libraries:
        if name == "two_spins" and not reported:
            tap.skip(name, "a kernel without kprobes: what took another's place is not noticed")
            continue
        tap.ok(before.get(name, 0) > 50, name + ": its time has its name", before)
        tap.equal(after.get(name), before.get(name), name + ": the same when the file has gone", after)


# A function that the dynamic symbols lack.
HIDDEN = """
static __attribute__((noinline)) unsigned long hidden(unsigned long n)
{ volatile unsigned long s = 0; while (n--) s += n; return s; }
unsigned long shown(unsigned long n) { return hidden(n) + 1; }
"""
CALL = """
import ctypes, sys, time
library = ctypes.CDLL(sys.argv[1])
end = time.thread_time() + .2
while time.thread_time() < end:
    library.shown(1000000)
"""


class Hidden:
    """A stripped library (path) and its symbols (debug): packed in it, or only in the separate file."""

    def __init__(self, folder, packed):
        self.folder = folder
        self.path = os.path.join(folder, "lib%s.so" % ("packed" if packed else "bare"))
        self.debug = self.path + ".debug"
        subprocess.run(["cc", "-O1", "-g", "-shared", "-fPIC", "-Wl,--build-id", "-x", "c", "-o", self.path,
                        "-"], input=HIDDEN, text=True, check=True)
        subprocess.run(["objcopy", "--only-keep-debug", self.path, self.debug], check=True)
        subprocess.run(["strip", "--strip-all", self.path], check=True)
        if packed:
            with open(self.debug, "rb") as plain, open(self.debug + ".xz", "wb") as out:
                out.write(lzma.compress(plain.read()))
            subprocess.run(["objcopy", "--add-section", ".gnu_debugdata=%s.xz" % self.debug, self.path],
                           check=True)


def served(server):
    """Returns how many answers it has given, each of which it counts a moment later than krait may end."""
    h.wait_until(lambda: server.served)
    return server.served


def check_fetched(tap, python, folder):
    """A command that reads the capture asks a server for missing symbols."""
    if not test_dwarf.has_client():
        tap.skip("debuginfod", "no libcurl.so.4")
        return
    files = Hidden(folder, False)
    data, done = record(folder, python.path, write(folder, "call.py", CALL), files.path)
    tap.equal(done.returncode, 0, "a library without symbols", done.stderr)
    bare = samples(data)
    with test_dwarf.Server(files, files.path) as server:
        # The clients' folders must be ours, and no server may be named outside this test.
        found = samples(data, env=server.env)
        tap.ok(found.get("hidden", 0) > .5 * sum(found.values()) and "hidden" not in bare,
               "debuginfod: they are fetched", found, bare)
        tap.equal(served(server), 1, "debuginfod: once")


def check_fetched_while_recording(tap, python, folder):
    """krait asks while it records, has the names in the capture and in its other outputs, and waits for a silent
    server no longer than it says."""
    if not test_dwarf.has_client():
        tap.skip("debuginfod while it records", "no libcurl.so.4")
        return
    files, script = Hidden(folder, False), write(folder, "call.py", CALL)
    data, folded = os.path.join(folder, "f.data"), os.path.join(folder, "f.folded")
    for outputs in ((data, folded), (folded,)):
        with test_dwarf.Server(files, files.path) as server:
            done = h.run_krait("record", "-q", *(w for o in outputs for w in ("-o", o)), "--", python.path, script, files.path,
                               env=server.env)
            tap.equal((done.returncode, served(server)), (0, 1), "%d outputs and debuginfod: asked once" % len(outputs),
                      done.stderr)
        for path in outputs:
            found = samples(path) if path == data else leaves(read(path))
            tap.ok(found.get("hidden", 0) > .5 * sum(found.values()), "debuginfod while it records: %d outputs, %s" % (
                len(outputs), path[-6:]), found, done.stderr)
    with test_dwarf.Server(files, files.path, patient=False) as server:
        done = h.run_krait("record", "-o", folded, "--", python.path, script, files.path, env=server.env)
        found = leaves(read(folded))
        tap.ok(done.returncode == 0 and "waiting for symbols of" in done.stderr and "in time" in done.stderr and
               "hidden" not in found and sum(found.values()) > 50, "a silent server: is said, and all else is there",
               done.returncode, done.stderr, found)


def check_split(tap, python, folder):
    """Split DWARF leaves source lines in the library."""
    path = os.path.join(folder, "libsplit.so")
    built = subprocess.run(["cc", "-O1", "-g", "-gsplit-dwarf", "-shared", "-fPIC", "-x", "c", "-o", path, "-"], input=HIDDEN,
                           text=True, cwd=folder)
    if built.returncode:
        tap.skip("split DWARF", "not by this compiler")
        return
    data, done = record(folder, python.path, write(folder, "call.py", CALL), path)
    tap.equal(done.returncode, 0, "a library with split DWARF", done.stderr)
    found = h.run_krait("report", "--lines", data).stdout
    tap.ok(re.search(r"^ *\d+\.\d%.* hidden +<stdin>:[23]$", found, re.M), "its functions have source lines", found[:500])


def check_packed(tap, python, folder):
    data, done = record(folder, python.path, write(folder, "call.py", CALL), Hidden(folder, True).path)
    tap.equal(done.returncode, 0, "a library with packed symbols", done.stderr)
    found = samples(data)
    tap.ok(found.get("hidden", 0) > .5 * sum(found.values()), "they are read", found)


def check_exec(tap, python, folder):
    script = write(folder, "again.py", AGAIN)
    data, done = record(folder, python.path, script, str(IMAGES - 1))
    tap.equal(done.returncode, 0, "a program that executes itself", done.stderr)
    found = samples(data)
    unknown = sum(n for name, n in found.items() if name == "[unknown]")
    tap.ok(unknown <= sum(found.values()) / 100, "no image's native code is unknown", found)
    if not shutil.which("perf"):
        tap.skip("each image is announced", "no perf")
        return
    shown = subprocess.run(["perf", "script", "--show-task-events", "-i", data], check=False,
                           capture_output=True, text=True).stdout
    images = len(re.findall(r"PERF_RECORD_COMM exec", shown))
    # An image without samples does not appear.
    tap.ok(IMAGES - 3 <= images <= IMAGES - 1, "each image is announced", images)


def check_vdso(tap, python, folder):
    folded = os.path.join(folder, "x.folded")
    data, done = record(folder, "-o", folded, "--", python.path, write(folder, "clock.py", CLOCK))
    tap.equal(done.returncode, 0, "a program that asks for the time", done.stderr)
    for name, found in (("while recording", leaves(read(folded))), ("in the capture", samples(data))):
        named = sum(n for leaf, n in found.items() if leaf.endswith("_clock_gettime"))
        tap.ok(named > .05 * sum(found.values()) and found.get("[vdso]", 0) < .2 * named,
               "the kernel's functions in the process have names, " + name, found)


def main():
    h.need_bpf()
    tap = h.Tap()
    python = h.newest([p for p in h.interpreters(tap) if p.root == "/"])
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    try:
        if python:
            check_files(tap, python, folder)
            check_exec(tap, python, folder)
            check_vdso(tap, python, folder)
            if shutil.which("cc") and shutil.which("objcopy"):
                check_packed(tap, python, folder)
                check_split(tap, python, folder)
                check_fetched(tap, python, folder)
                check_fetched_while_recording(tap, python, folder)
            else:
                tap.skip("packed symbols", "no tools")
        else:
            tap.skip("names", "no interpreter")
    finally:
        shutil.rmtree(folder)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
