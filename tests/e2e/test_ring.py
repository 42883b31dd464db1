#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""A recording that goes on: --switch-output begins a new capture now and then, --overwrite keeps only what was last, until a
signal, a trigger or the end asks for it. Each capture is complete in itself, no sample is in two, and none is missing.

"""
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from tap import Tap  # noqa: E402

SOURCE = """
import subprocess, sys, time
def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(2000))
def before(seconds):
    work(seconds)
def after(seconds):
    work(seconds)
for part in sys.argv[1:]:
    name, value = part.split("=")
    if name == "sleep":
        time.sleep(float(value))
    elif name == "children":
        # Each is another program, with functions of its own.
        for n in range(int(value)):
            code = "def f%d_%%d(n):\\n  return sum(range(n))\\nfor _ in range(60): f%d_%%d(3000)\\n" % (n, n)
            subprocess.run([sys.executable, "-S", "-c", "".join(code % (k, k) for k in range(20))])
    elif name == "exit":
        sys.exit(int(value))
    else:
        globals()[name](float(value))
"""
HZ = 499


class Run:
    """krait record with a ring, of the program above."""

    def __init__(self, folder, options, parts, meanwhile=None):
        self.data = os.path.join(folder, "r.data")
        for path in glob.glob(self.data + "*"):
            if os.path.isdir(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)
        script = os.path.join(folder, "parts.py")
        with open(script, "w", encoding="utf-8") as f:
            f.write(SOURCE)
        with subprocess.Popen([harness.KRAIT, "record", *options, "-F", str(HZ), "-o", self.data, "--", sys.executable, "-B", script,
                               *parts], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
                              encoding="utf-8") as krait:
            if meanwhile:
                meanwhile(krait, self.data)
            self.out, self.err = krait.communicate(timeout=harness.PATIENCE_SECS)
        self.code = krait.returncode

    def captures(self):
        return sorted(path for path in glob.glob(self.data + ".*") if re.search(r"\.\d{16}$", path))

    def others(self):
        """What is neither a capture nor the folder of one."""
        return [path for path in glob.glob(self.data + "*") if path not in self.captures()
                and path.removesuffix(".krait") not in self.captures()]


def folded(path):
    """Returns {function: samples of the program's below it}."""
    out = path + ".folded"
    harness.run_krait("convert", "-q", "-i", path, "-o", out)
    counts = {"all": 0, "before": 0, "after": 0}
    for frames, count in harness.parse_folded(out):
        names = [frame.split(" ")[0] for frame in frames]
        counts["all"] += count
        for name in "before", "after":
            counts[name] += count if name in names else 0
    os.unlink(out)
    return counts


def said(run):
    """Samples of each capture, by what krait says of it."""
    return [int(count) for count in re.findall(r"; ([\d,]+) samples, 0 of \1 interrupts lost: krait report", run.err)]


def test_switch(tap, folder):
    run = Run(folder, ["--switch-output=1s", "--switch-max-files=2"], ["before=2.6"])
    files, counts = run.captures(), said(run)
    tap.ok(run.code == 0 and len(counts) >= 3 and len(files) == 2 and not run.others(), "--switch-output=1s, --switch-max-files=2: "
           "the newest two captures, and nothing else", files, run.others(), run.err)
    tap.equal([folded(path)["all"] for path in files], counts[-2:], "each has what krait says, and its names", run.err)
    tap.ok(0.9 * 2.6 * HZ < sum(counts) < 1.2 * 2.7 * HZ, "together they had all samples", counts)
    # Complete in itself: away from all others.
    away = os.path.join(folder, "away.data")
    shutil.move(files[0], away)
    shutil.move(files[0] + ".krait", away + ".krait")
    tap.ok(folded(away)["before"] > 0.9 * counts[-2], "each can be taken away with its folder", folded(away), counts)


def test_signal(tap, folder):
    def ask(krait, data):
        harness.wait_until(lambda: glob.glob(data + ".ring/*.data"), krait)
        time.sleep(1.2)
        krait.send_signal(signal.SIGUSR2)

    run = Run(folder, ["--overwrite=30s"], ["before=1.6", "after=0.5"], ask)
    counts = [folded(path) for path in run.captures()]
    tap.ok(run.code == 0 and len(counts) == 2 and not run.others(), "--overwrite: one capture for a signal, one at the end",
           run.captures(), run.others(), run.err)
    tap.ok(counts and counts[0]["before"] > 0.1 * HZ and counts[-1]["after"] > 0.3 * HZ, "with what was last", counts)
    tap.ok(sum(c["after"] for c in counts) < 1.3 * 0.5 * HZ + 20, "and no sample is in both", counts)

    run = Run(folder, ["--overwrite=1s"], ["before=4", "after=0.4"])
    counts = [folded(path) for path in run.captures()]
    tap.ok(len(counts) == 1 and 0 < counts[0]["all"] < 0.85 * 4.4 * HZ and counts[0]["after"] > 0.5 * 0.4 * HZ,
           "--overwrite=1s: what is older is forgotten", counts, run.err)


def test_triggers(tap, folder):
    run = Run(folder, ["--trigger", "offcpu>300ms"], ["before=0.5", "sleep=0.5", "after=0.6"])
    counts = [folded(path) for path in run.captures()]
    tap.ok(run.code == 0 and len(counts) == 1 and "waited for 0.5" in run.err, "a wait of half a second asks for a capture", run.err)
    tap.ok(counts and counts[0]["before"] > 0.6 * 0.5 * HZ, "of what was before it", counts)
    run = Run(folder, ["--trigger", "offcpu>300ms"], ["before=0.2", "sleep=0.1"])
    tap.ok(run.code == 0 and not run.captures() and not run.others(), "none without such a wait", run.captures(), run.others(), run.err)
    run = Run(folder, ["--trigger", "exit!=0"], ["before=0.2", "exit=3"])
    tap.ok(run.code == 3 and len(run.captures()) == 1, "a command that fails asks for one", run.code, run.captures(), run.err)
    run = Run(folder, ["--trigger", "exit!=0"], ["before=0.2"])
    tap.ok(run.code == 0 and not run.captures() and not run.others(), "one that does not fail does not", run.captures(), run.err)
    run = Run(folder, ["--trigger", "cpu>20%"], ["before=1.6"])
    tap.ok(len(run.captures()) == 1 and "% of a CPU" in run.err, "so does CPU time, once in ten seconds", run.captures(), run.err)


def test_killed(tap, folder):
    def kill(krait, data):
        size = lambda: sum(os.path.getsize(path) for path in glob.glob(data + ".ring/*.data"))
        harness.wait_until(size, krait)
        time.sleep(1)
        first = size()
        harness.wait_until(lambda: size() > first, krait)
        krait.kill()

    # What is in memory for some seconds is lost.
    run = Run(folder, ["--overwrite"], ["before=0.4", "sleep=6"], kill)
    slices = glob.glob(run.data + ".ring/*.data")
    tap.ok(slices and folded(slices[0])["before"] > 0.2 * 0.4 * HZ, "kill -9: what was last is in FILE.ring", slices,
           run.others())


def held(pid):
    """Bytes of a process's memory that no other has, and that are in no file."""
    with open("/proc/%d/smaps_rollup" % pid, encoding="ascii") as f:
        return sum(int(n) << 10 for n in re.findall(r"^Private_Dirty: +(\d+)", f.read(), re.M))


def test_memory(tap, folder):
    """An hour, in seconds: captures follow each other, and what they were made of is forgotten."""
    sizes = []

    def watch(krait, data):
        while krait.poll() is None and len(sizes) < 200:
            captures = len([path for path in glob.glob(data + ".*") if re.search(r"\.\d{16}$", path)])
            try:
                sizes.append((captures, held(krait.pid)))
            except OSError:
                break
            time.sleep(0.1)

    run = Run(folder, ["--switch-output=1s", "--switch-max-files=20", "--unwind-memory=8M"], ["children=120"], watch)
    first = max([size for captures, size in sizes if captures <= 1], default=0)
    last = max([size for captures, size in sizes if captures >= 3], default=0)
    tap.ok(run.code == 0 and len(said(run)) >= 4 and 0 < last < first + (6 << 20), "krait's own memory does not grow from capture to capture",
           first, last, sizes[::10], run.err)


def run_in(folder, *args):
    return subprocess.run([os.path.abspath(harness.KRAIT), *args], capture_output=True, encoding="utf-8", cwd=folder,
                          timeout=harness.PATIENCE_SECS)


def test_refused(tap, folder):
    for options, why in ((["--switch-output=1x"], "--switch-output takes"), (["--switch-output=10ms"], "--switch-output takes"),
                         (["--switch-max-files=2"], "goes with"), (["--overwrite=0"], "--overwrite takes"),
                         (["--overwrite", "--switch-output=10s"], "with --overwrite"), (["--trigger", "x>1"], "--trigger takes"),
                         (["--trigger", "cpu>x%"], "--trigger takes"), (["--overwrite", "-f", "folded"], "name one -o"),
                         (["--overwrite", "-o", "x.data", "-o", "y.data"], "name one -o")):
        done = run_in(folder, "record", *options, "--", "true")
        tap.ok(done.returncode == 2 and why in done.stderr, "refused: " + " ".join(options), done.returncode, done.stderr)
    done = run_in(folder, "record", "--trigger", "exit!=0", "-a")
    tap.ok(done.returncode == 2 and "is about a command" in done.stderr, "refused: exit!=0 without a command", done.stderr)


def main():
    tap = Tap()
    harness.need_bpf()
    with tempfile.TemporaryDirectory(prefix="krait-ring-") as folder:
        test_switch(tap, folder)
        test_signal(tap, folder)
        test_triggers(tap, folder)
        test_killed(tap, folder)
        test_memory(tap, folder)
        test_refused(tap, folder)
    tap.done()


if __name__ == "__main__":
    main()
