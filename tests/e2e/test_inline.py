#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Native code as written: inlined functions, source lines, C++, Rust and Cython names, and the origin of code; live,
from the capture, and after the library has been removed."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

import consumers
import harness as h

SOURCE = """
namespace work {
struct Mixer {
	template <typename T> static inline __attribute__((always_inline)) T twist(T x)
	{
		for (int i = 0; i < 64; i++)
			x = x * 2862933555777941757UL + 3037000493UL + (x >> 7);  // HOT
		return x;
	}
};
}
extern "C" unsigned long spin(unsigned long n)
{
	unsigned long x = 1;

	while (n--)
		x = work::Mixer::twist(x);  // CALL
	return x;
}
extern "C" __attribute__((noinline)) unsigned long churn(unsigned long n)
{
	unsigned long x = n;

	for (n *= 64; n; n--)
		x = x * 2862933555777941757UL + 3037000493UL;
	return x;
}
static __attribute__((noinline)) unsigned long do_mix(unsigned long n) __asm__("__pyx_pf_3mod_mix");
static unsigned long do_mix(unsigned long n)
{
	unsigned long x = n;

	for (n *= 64; n; n--)
		x = x * 2862933555777941757UL + 3037000493UL;
	return x;
}
extern "C" unsigned long __pyx_pw_3mod_1mix(unsigned long n)
{
	return do_mix(n) + 1;
}
"""
RUST = "_RNvNtCs1_6mixing4core5churn"
PROGRAM = """
import ctypes, sys, time
library = ctypes.CDLL(sys.argv[1])
calls = [library[name] for name in ("spin", "%s", "__pyx_pw_3mod_1mix")]
for call in calls:
    call.argtypes, call.restype = [ctypes.c_ulong], ctypes.c_ulong
begin = time.thread_time()
for i, call in enumerate(calls):
    while time.thread_time() - begin < .4 * (i + 1):
        call(5000)
""" % RUST
TWIST = "work::Mixer::twist<unsigned long> (inlined)"


def build(folder):
    """Returns the library and its source, or None."""
    source, path = os.path.join(folder, "mixer.cpp"), os.path.join(folder, "libmixer.so")
    with open(source, "w", encoding="utf-8") as f:
        f.write(SOURCE)
    try:
        subprocess.run(["g++", "-g", "-O2", "-c", "-fPIC", "-o", path + ".o", source], check=True)
        subprocess.run(["objcopy", "--redefine-sym", "churn=" + RUST, path + ".o"], check=True)
        subprocess.run(["g++", "-shared", "-o", path, path + ".o"], check=True)
    except (OSError, subprocess.CalledProcessError):
        return None, None
    return path, source


def folded(data, *options):
    """Returns {stack: samples} from convert's output."""
    done = h.run_krait("convert", "-q", "-f", "folded", "-o", "-", "-i", data, *options)
    return dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())


def count(stacks, *functions):
    """Counts samples of stacks that contain these frames consecutively; names without files."""
    found = 0
    for stack, n in stacks.items():
        names = [frame.split(" (lib")[0] for frame in stack.split(";")]
        found += int(n) * any(tuple(names[i:i + len(functions)]) == functions
                              for i in range(len(names)))
    return found


def line_of(mark):
    return next(i for i, text in enumerate(SOURCE.splitlines(), 1) if mark in text)


def check_names(tap, data, live):
    inlined, plain = folded(data, "--inline"), folded(data)
    total = sum(int(n) for n in plain.values())
    spin = count(plain, "spin")
    tap.ok(spin > total / 8, "spin() has its time", (spin, total))
    tap.ok(count(inlined, "spin", TWIST) >= .9 * spin,
           "what was inlined in it is a frame below it", inlined)
    tap.equal(count(plain, TWIST), 0, "only where that is asked for")
    tap.equal(live, inlined, "the recording's own output says the same as its capture")
    tap.ok(count(plain, "mixing::core::churn") > total / 8, "a name of Rust is a path", plain)
    tap.ok(count(plain, "mod.mix") > total / 8, "a name of Cython is that of Python", plain)
    tap.equal(count(plain, "mod.mix", "mod.mix"), 0, "its wrapper is one with it")


def check_lines(tap, data, source):
    hot, call = ("mixer.cpp:%d" % line_of(mark) for mark in ("HOT", "CALL"))
    done = h.run_krait("report", "--lines", "-n", "0", "-i", data)
    rows = [r.split() for r in done.stdout.splitlines() if hot in r]
    tap.ok(rows and float(rows[0][0].rstrip("%")) > 5, "report --lines has the line of C", done.stdout)
    done = h.run_krait("report", "--lines", "--inline", "-n", "0", "-i", data)
    tap.ok(call in done.stdout, "with --inline also the line that calls", done.stdout)
    done = h.run_krait("annotate", "--native", "spin", "-i", data)
    marked = [r for r in done.stdout.splitlines() if "// HOT" in r]
    tap.ok(marked and "%" in marked[0], "annotate --native shows the source", done.stdout)
    done = h.run_krait("annotate", "--inline", "twist", "-i", data)
    tap.ok(source in done.stdout, "an inlined function by its name", done.stdout)
    done = h.run_krait("script", "--lines", "-i", data)
    tap.ok(hot in done.stdout, "script --lines", done.stdout[:1000])
    done = h.run_krait("report", "--by", "origin", "-i", data)
    rows = [r for r in done.stdout.splitlines() if r.endswith("libmixer")]
    tap.ok(rows and float(rows[0].split()[0].rstrip("%")) > 25, "report --by origin", done.stdout)


def check_formats(tap, data, folder):
    hot = "mixer.cpp:%d" % line_of("HOT")
    for name, mark in (("x.callgrind", "mixer.cpp"), ("x.speedscope.json", "Mixer::twist"),
                       ("x.firefox.json", "Mixer::twist")):
        path = os.path.join(folder, name)
        h.run_krait("convert", "-q", "--inline", "--lines", "-i", data, "-o", path)
        with open(path, encoding="utf-8") as f:
            tap.ok(mark in f.read(), name + " has it")
    program = consumers.pprof()
    if not program:
        tap.skip("pprof", "not here")
        return
    path = os.path.join(folder, "x.pb.gz")
    h.run_krait("convert", "-q", "-i", data, "-o", path)
    done = subprocess.run([program, "-lines", "-top", path], check=False, capture_output=True, text=True)
    tap.ok(hot in done.stdout, "pprof shows the line", done.stdout + done.stderr)


SPIN = """
import ctypes, sys, time
spin = ctypes.CDLL(sys.argv[1]).spin
spin.argtypes, spin.restype = [ctypes.c_ulong], ctypes.c_ulong
while time.thread_time() < .4:
    spin(5000)
"""


def check_split(tap, python, folder):
    """With split DWARF the library has lines, and inlined functions are described in .dwo files, which krait does not read."""
    source, path = os.path.join(folder, "mixer.cpp"), os.path.join(folder, "libsplit.so")
    data, live = os.path.join(folder, "s.data"), os.path.join(folder, "s.folded")
    environ = dict(os.environ, CCACHE_DISABLE="1")
    for command in (["-c", "-o", path[:-3] + ".o", source], ["-shared", "-o", path, path[:-3] + ".o"]):
        subprocess.run(["g++", "-g", "-gsplit-dwarf", "-O2", "-fPIC", *command], check=True, env=environ)
    done = h.run_krait("record", "--inline", "-o", live, "-o", data, "--", python.path, "-c", SPIN, path)
    tap.equal(done.returncode, 0, "split DWARF: record", done.stderr)
    with open(live, encoding="utf-8") as f:
        stacks = dict(line.rsplit(" ", 1) for line in f.read().splitlines())
    tap.ok(count(stacks, "spin") and not count(stacks, "spin", TWIST), "split DWARF: the library's own function, nothing inlined",
           stacks)
    tap.ok(re.search(r"inlined at [1-9]\d* places .* are not shown: .*-gsplit-dwarf", done.stderr),
           "split DWARF: that functions are missing is said", done.stderr)
    done = h.run_krait("report", "--lines", "--inline", "-n", "0", "-i", data)
    tap.ok("mixer.cpp:%d" % line_of("HOT") in done.stdout, "split DWARF: lines are in the library", done.stdout, done.stderr)


def main():
    h.need_bpf()
    tap = h.Tap()
    python = h.newest([p for p in h.interpreters(tap) if p.root == "/"])
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    library, source = build(folder)
    try:
        if not python or not library:
            tap.skip("inlined functions", "no interpreter, or no C++ compiler")
            return tap.done()
        data, live = os.path.join(folder, "x.data"), os.path.join(folder, "x.folded")
        done = h.run_krait("record", "-q", "--inline", "-o", data, "-o", live, "--", python.path,
                           "-c", PROGRAM, library)
        tap.equal(done.returncode, 0, "record --inline", done.stderr)
        with open(live, encoding="utf-8") as f:
            stacks = dict(line.rsplit(" ", 1) for line in f.read().splitlines())
        check_names(tap, data, stacks)
        check_lines(tap, data, source)
        check_formats(tap, data, folder)
        before = folded(data, "--inline")
        os.unlink(library)
        tap.equal(folded(data, "--inline"), before, "the same when the library has gone")
        check_split(tap, python, folder)
    finally:
        shutil.rmtree(folder)
    return tap.done()


if __name__ == "__main__":
    sys.exit(main())
