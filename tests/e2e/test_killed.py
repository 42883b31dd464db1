#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""A krait killed at any moment leaves a capture that opens in krait and perf and in which every sample has its names.
A long one uses several libraries, all of which perf archive takes along."""
import collections
import glob
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import consumers  # noqa: E402
import harness as h  # noqa: E402

# Endlessly new functions, 60 deep: thousands per second get into samples.
SOURCE = """
import sys
print("READY", flush=True)
turn = 0
while True:
    source = "def f%d_0(n):\\n    for i in range(n): pass\\n" % turn
    for i in range(1, 60):
        source += "def f%d_%d(n):\\n    f%d_%d(n)\\n" % (turn, i, turn, i - 1)
    space = {}
    exec(compile(source, "/srv/made.py", "exec"), space)
    space["f%d_59" % turn](40000)
    turn += 1
"""


def run(*args, **options):
    return subprocess.run(args, capture_output=True, encoding="utf-8", timeout=h.PATIENCE_SECS,
                          errors="surrogateescape", **options)


def perf_samples(path, *options):
    """Returns {leaf symbol: samples}, and all symbols, as perf has them."""
    done = run("perf", "script", *options, "-F", "comm,ip,sym,dso", "-i", path)
    counts, symbols, fresh = collections.Counter(), set(), False
    for line in done.stdout.splitlines():
        match = re.match(r"\s+[0-9a-f]+ (.*) \((.*)\)$", line)
        if match:
            symbols.add(match.group(1))
            counts[match.group(1)] += fresh
        fresh = bool(line) and not line[0].isspace()
    return counts, symbols, done.stderr


def record_until(target, path, number, enough, turns=1, options=()):
    """Records, and kills krait with that signal once enough() holds, after the first flush. turns: how many times the
    usual patience."""
    krait = subprocess.Popen([h.KRAIT, "record", "-q", *h.PYTHON_ONLY, *options, "-p", str(target.pid), "-o", path],
                             stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8")
    # What a killed krait has not written is lost.
    h.wait_until(lambda: os.path.exists(path) and os.path.getsize(path) >= 500, krait)
    for _ in range(turns):
        h.wait_until(enough, krait)
    code = h.end_child(krait, number)
    err = krait.stderr.read()
    krait.stderr.close()
    return code, err


def check_kill(tap, target, folder, number, options):
    path = os.path.join(folder, "killed%d.data" % number)
    seconds = random.uniform(0.0, 3.0 if h.is_all() else 1.5)
    name = "killed after %.2f s%s: " % (seconds, ", compressed" if options else "")
    end = time.monotonic() + seconds
    code, err = record_until(target, path, signal.SIGKILL, lambda: time.monotonic() >= end, options=options)
    tap.ok(code == -signal.SIGKILL and target.alive(), name + "the target goes on", code, err)
    report = h.run_krait("report", "-i", path)
    tap.ok(report.returncode == 0 and "was cut off" in report.stderr and
           "no name" not in report.stderr and "are missing" not in report.stderr,
           name + "krait reports what there is, and says so", report.stdout[-500:], report.stderr)
    folded = h.run_krait("convert", "-q", "-i", path, "-f", "folded", "-o", "-").stdout
    leaves = collections.Counter()
    for line in folded.splitlines():
        stack, _, count = line.rpartition(" ")
        leaves[stack.split(";")[-1].split(" (")[0]] += int(count)
    total = sum(leaves.values())
    tap.ok(total > 0 and "[python 0x" not in folded, name + "each frame has its name",
           folded[:1000])
    if shutil.which("perf"):
        counts, symbols, err = perf_samples(path, "--max-stack", "200")
        got = collections.Counter()
        for symbol, count in counts.items():
            got[consumers.function_of(symbol)] += count
        tap.equal(got, leaves, name + "perf has the same samples of the same functions", err)
        tap.ok("[unknown]" not in symbols, name + "perf knows all names", sorted(symbols)[:20])
    else:
        tap.skip(name + "perf", "no perf (Debian package linux-perf)")


def leaf_libraries(path):
    """Returns the libraries with innermost frames, and those with any frames, as perf has them."""
    leaves, every, fresh = set(), set(), False
    for line in run("perf", "script", "-F", "comm,ip,sym,dso", "-i", path).stdout.splitlines():
        match = re.match(r"\s+[0-9a-f]+ .* \((.*/python-[0-9a-f]+\.so)\)$", line)
        if match:
            every.add(match.group(1))
            if fresh:
                leaves.add(match.group(1))
        fresh = bool(line) and not line[0].isspace()
    return leaves, every


def check_generations(tap, target, folder):
    """With a normal end: several libraries, the older ones as small as possible."""
    path = os.path.join(folder, "long.data")
    for _ in range(4):
        # So many functions take seconds of CPU time: on a busy machine that is longer than the usual patience.
        code, err = record_until(target, path, signal.SIGTERM,
                                 lambda: len(glob.glob(path + ".krait/python-*.so")) > 1, 5)
        libraries = glob.glob(path + ".krait/python-*.so")
        # perf 6.1 archives only those that contain a sample's innermost frame (builtin-buildid-list.c,
        # --with-hits). One begun just before the end may contain only callers.
        leaves, every = leaf_libraries(path) if shutil.which("perf") else (0, 0)
        if code or leaves == every:
            break
    tap.ok(code == 0 and len(libraries) > 1, "a recording with many functions is in several libraries",
           code, err, libraries)
    largest = max(os.path.getsize(p) for p in libraries)
    tap.ok(largest < 16 << 20, "none of them is large", largest)
    return path


def check_archive(tap, path, folder):
    """perf archive takes them to another home, where they provide all names again."""
    if not shutil.which("perf") or not shutil.which("bzip2"):
        return tap.skip("perf archive", "no perf or no bzip2 (Debian packages linux-perf, bzip2)")
    here, symbols, _ = perf_samples(path)
    done = run("perf", "archive", path, cwd=folder)
    archive = next(iter(glob.glob(path + ".tar.*")), None)
    if not tap.ok(archive, "perf archive packs the libraries", done.stdout, done.stderr):
        return None
    shutil.rmtree(path + ".krait")
    shutil.rmtree(os.path.join(folder, ".debug"))
    _, nothing, _ = perf_samples(path)
    there = os.path.join(folder, "there")
    os.makedirs(os.path.join(there, ".debug"))
    os.environ["HOME"] = there
    run("tar", "xf", archive, "-C", os.path.join(there, ".debug"))
    elsewhere, again, err = perf_samples(path)
    tap.ok(elsewhere == here and again == symbols and nothing != symbols,
           "perf has all names from the archive alone", err, sorted(symbols - again)[:10])
    done = h.run_krait("report", "-i", path)
    tap.ok(done.returncode == 0 and "name" not in done.stderr, "and so has krait", done.stderr)
    return None


def main():
    h.need_bpf()
    tap = h.Tap()
    pythons = h.interpreters(tap)
    python = h.newest([p for p in pythons if p.root == "/"] or pythons)
    if not python:
        tap.skip("killed", "no interpreter")
        tap.done()
        return
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    h.folders.append(folder)
    # perf and krait have their build-id cache there.
    os.environ["HOME"] = folder
    os.environ.pop("PERF_BUILDID_DIR", None)
    scratch = python.scratch()
    h.folders.append(scratch)
    with open(os.path.join(scratch, "made.py"), "w", encoding="utf-8") as f:
        f.write(SOURCE)
    script = python.inside(os.path.join(scratch, "made.py"))
    with h.Target(python.command(script)) as target:
        for number, options in enumerate(((), ("-z",), ("-z",))):
            check_kill(tap, target, folder, number, options)
        path = check_generations(tap, target, folder)
    check_archive(tap, path, folder)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
