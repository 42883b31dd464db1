# SPDX-License-Identifier: BSD-2-Clause
"""Every profiler that can be compared: how it is started on a running process, and what its output
says, in one form for all.

A profiler is attached to a process by its id and runs for SECONDS, or until SIGINT if that is None.
What it wrote becomes a Profile: stacks, root first, without a frame for process or thread, each
frame "qualified.name (file.py:line)" with no more than the last part of the file's path, which all
of them know. That is the form in which labels of tests/e2e/harness.py are compared (short_oracle).

Some run inside the root folder of scripts/pythons, beside their target, and need /proc there: call
private_proc() once, before the targets are started.
"""
import ctypes
import glob
import math
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import harness as h  # noqa: E402

CLONE_NEWNS = 0x20000
# CPython's own frame that checks what __init__ returns; krait does not show it.
INIT_CHECK = "__init__:__init__:"
# Where scripts/pythons --rivals unpacks it.
AUSTIN_IN_ROOT = "/opt/krait/austin/usr/bin/austin"


class Profile:
    """What one run of a profiler brought.

    stacks    [(frames, count)]; None where it cannot show Python's
    delivered samples that have a stack, each thread of a look for itself
    complete  of them, those said to be whole, and None where it does not say
    seconds   it was sampling for so long by its own account, or None
    """

    def __init__(self, stacks, delivered, complete, seconds=None):
        self.stacks, self.delivered, self.complete = stacks, delivered, complete
        self.seconds = seconds


def private_proc(root):
    """From now on this process and its children have a mount namespace of their own, in which /proc
    is mounted in root; for the rest of the machine nothing changes."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "unshare")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    if root != "/":
        subprocess.run(["mount", "-t", "proc", "proc", root.rstrip("/") + "/proc"], check=True)


def first_line(*command):
    """The first line that a command prints, to either stream, or nothing."""
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace",
                              timeout=h.PATIENCE_SECS)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ((done.stdout.strip() or done.stderr.strip()).splitlines() or [""])[0]


def first_of(pids):
    """For those that find children themselves."""
    return str(pids).split(",", 1)[0]


def frame(name, path, line):
    return h.label(name, os.path.basename(path), int(line))


def short_oracle(document, qualified=True):
    """What a target says of itself (targets/oracle.py) in the form of a Profile's frames."""
    codes = [dict(code, file=os.path.basename(code["file"])) for code in document["codes"]]
    if not qualified:
        codes = [dict(code, name=code["short"]) for code in codes]
    return dict(document, codes=codes)


class Profiler:
    """One profiler. Subclasses say:

    name       as it is chosen and shown
    wall       it looks at every thread each time; if not, only at time on a CPU
    qualified  its names are qualified
    children   it follows the children of the process
    endless    it can be told to run until SIGINT
    children   it follows the children of a process
    """

    name, wall, qualified, endless, children = "", False, True, True, True

    def __init__(self):
        self.why = ""  # why it cannot run here
        self.version = ""

    def python(self, pythons):
        """The interpreter that it can look into, of harness.all_interpreters()."""
        return self.pick(pythons, "3.15")

    def pick(self, pythons, *minors):
        for minor in minors:
            for python in pythons:
                if (python.minor, python.kind) == (minor, "exe"):
                    return python
        self.why = self.why or "no Python %s (scripts/pythons)" % " or ".join(minors)
        return None

    def available(self, pythons):
        """Whether it can run here; if so the version is known, if not why."""
        raise NotImplementedError

    def command(self, python, pid, rate, seconds, out):
        """The command line that profiles pid, a target run by python, into the file out, which
        both sides can write (python.scratch()). Where that has children that live, pid is a text,
        "PARENT,CHILD,..."."""
        raise NotImplementedError

    def parse(self, out, text):
        """The Profile of a run that wrote out and printed text (both streams)."""
        raise NotImplementedError

    def outputs(self, out):
        """The files that a run wrote."""
        return [out] if os.path.exists(out) else []


# ---- krait ----------------------------------------------------------------------------------------


def krait_frame(text):
    """A frame as krait --lines shows it."""
    match = re.match(r"(.*) \(([^()]*?)(:\d+)?\)$", text, re.S)
    return "%s (%s%s)" % (match[1], os.path.basename(match[2]), match[3] or "") if match else text


class Krait(Profiler):
    name, anchors = "krait", "auto"

    def available(self, pythons):
        self.version = first_line(h.KRAIT, "--version").split(" ")[-1]
        if not self.version:
            self.why = "%s does not run (make)" % h.KRAIT
        return bool(self.version and self.python(pythons))

    def command(self, python, pid, rate, seconds, out):
        duration = ["-d", "%dms" % round(seconds * 1000)] if seconds else []
        return [h.KRAIT, "record", "-q", "--stats", "--max-loss", "100", "--lines", "--no-process",
                "--anchors", self.anchors, "-p", str(pid), "-F", str(rate), "-f", "folded",
                "-o", out, *duration]

    def parse(self, out, text):
        stats = h.parse_stats(text)
        stacks = [([krait_frame(f) for f in frames], n) for frames, n in h.parse_folded(out)]
        complete = sum(v for k, v in stats.items() if k.startswith(h.COMPLETE))
        truncated = sum(v for k, v in stats.items() if k.startswith(h.TRUNCATED))
        return Profile(stacks, complete + truncated, complete, stats.get("seconds"))


class KraitWithoutAnchors(Krait):
    name, anchors = "krait --anchors off", "off"


# ---- rivals that know Python ----------------------------------------------------------------------


class Sampling(Profiler):
    """profiling.sampling of CPython 3.15, in the same root folder as its target."""

    name, wall = "profiling.sampling", True
    options = ()

    def available(self, pythons):
        python = self.python(pythons)
        if python:
            self.version = python.version
            if "usage" not in first_line(*python.command("-m", "profiling.sampling", "--help")):
                self.why = "Python %s has no profiling.sampling" % python.version
        return not self.why

    def command(self, python, pid, rate, seconds, out):
        duration = ["-d", str(math.ceil(seconds))] if seconds else []
        return python.command("-m", "profiling.sampling", "attach", "--all-threads", "--no-gc",
                              *self.options, "-r", str(rate), *duration, "--collapsed", "-o",
                              python.inside(out), first_of(pid))

    def parse(self, out, text):
        stacks = []
        for path in self.outputs(out):
            for frames, count in h.parse_folded(path):
                # file:name:line; a name may have colons in it.
                frames = [f for f in frames[1:] if not f.startswith(INIT_CHECK)]
                parts = [re.match(r"([^:]*):(.*):(-?\d+)$", f) for f in frames]
                stacks.append(([frame(m[2], m[1], m[3]) if m else f
                                for m, f in zip(parts, frames)], count))
        took = re.search(r"Captured [\d,.]+ samples? in ([\d,.]+) second", text)
        seconds = float(took[1].replace(",", "")) if took else None
        delivered = sum(count for _, count in stacks)
        return Profile(stacks, delivered, delivered, seconds)


class SamplingWithChildren(Sampling):
    """A profiler for each child, which writes a file of its own beside and is not told of SIGINT."""

    options, endless = ("--subprocesses",), False

    def outputs(self, out):
        return glob.glob(glob.escape(os.path.splitext(out)[0]) + "*")


class BlockingSampling(Sampling):
    """Stops the target for each look. Children are not followed."""

    name, options, children = "profiling.sampling --blocking", ("--blocking",), False


class Austin(Profiler):
    """Debian's austin, in the root folder; it knows Python up to 3.13."""

    name, wall = "austin", True
    follow = ()

    def python(self, pythons):
        return self.pick(pythons, "3.13")

    def available(self, pythons):
        python = self.python(pythons)
        if not python:
            return False
        self.version = first_line("chroot", python.root, AUSTIN_IN_ROOT, "-V").split(" ")[-1] \
            if os.path.exists(python.root.rstrip("/") + AUSTIN_IN_ROOT) else ""
        self.why = "" if self.version else "not there (scripts/pythons --rivals)"
        return bool(self.version)

    def command(self, python, pid, rate, seconds, out):
        duration = ["-x", str(math.ceil(seconds))] if seconds else []
        return ["chroot", python.root, AUSTIN_IN_ROOT, *self.follow, "-i", str(round(1e6 / rate)),
                *duration, "-o", python.inside(out), "-p",
                first_of(pid)]

    def parse(self, out, text):
        counts, valid, seconds = {}, 0, None
        with open(out, encoding="utf-8", errors="replace") as f:
            for line in f:
                if line.startswith("# duration: "):
                    seconds = int(line[12:]) / 1e6
                elif line.startswith("P"):
                    stack = line.rpartition(" ")[0]
                    counts[stack] = counts.get(stack, 0) + 1
        stacks = []
        for stack, count in counts.items():
            # Process, thread, then path:name:line.
            frames = stack.split(";")[2:]
            if ":INVALID:" in stack:
                continue
            valid += count
            parts = [re.match(r"(.*?):([^:].*):(\d+)$", f) for f in frames]
            stacks.append(([frame(m[2], m[1], m[3]) if m else f
                            for m, f in zip(parts, frames)], count))
        return Profile(stacks, sum(counts.values()), valid, seconds)


class AustinWithChildren(Austin):
    follow = ("-C",)


class PySpy(Profiler):
    """py-spy from PATH; it stops the target for each look, and its names are not qualified."""

    name, wall, qualified = "py-spy", True, False

    def python(self, pythons):
        return self.pick(pythons, "3.14", "3.13")

    def available(self, pythons):
        path = shutil.which("py-spy")
        self.version = first_line(path, "--version").split(" ")[-1] if path else ""
        self.why = "" if self.version else "not on PATH"
        return bool(self.version and self.python(pythons))

    def command(self, python, pid, rate, seconds, out):
        return ["py-spy", "record", "--subprocesses", "--idle", "--full-filenames", "-f", "raw",
                "-r", str(rate), "-d", str(math.ceil(seconds or 3600)), "-o", out,
                "-p", first_of(pid)]

    def parse(self, out, text):
        stacks = []
        for frames, count in h.parse_folded(out):
            parts = [re.match(r"(.*) \((.*):(\d+)\)$", f) for f in frames]
            # Processes have a frame of their own where there are several.
            stacks.append(([frame(m[1], m[2], m[3]) for m in parts if m], count))
        delivered = sum(count for _, count in stacks)
        return Profile(stacks, delivered, delivered)


# ---- perf: what sampling costs at least -----------------------------------------------------------


class Perf(Profiler):
    """perf record: no Python frames; the address alone. Only "sleep" tells how long it sampled."""

    name, options, endless = "perf record", (), False

    def available(self, pythons):
        self.version = first_line("perf", "--version").split(" ")[-1]
        self.why = "" if self.version else "not on PATH (linux-perf)"
        return bool(self.version and self.python(pythons))

    def command(self, python, pid, rate, seconds, out):
        wait = ["--", "sleep", str(seconds)] if seconds else []
        return ["perf", "record", *self.options, "-F", str(rate), "-o", out, "-p", str(pid), *wait]

    def parse(self, out, text):
        report = subprocess.run(["perf", "report", "--stats", "-i", out], capture_output=True,
                                encoding="utf-8", errors="replace")
        samples = re.search(r"SAMPLE events: +(\d+)", report.stdout)
        return Profile(None, int(samples[1]) if samples else 0, None)


class PerfWithStacks(Perf):
    """With native stacks by frame pointers, of the interpreter's own functions."""

    name, options = "perf record -g", ("-g",)


def all_profilers(children=False):
    """One of each; children: for a target that has some."""
    return [Krait(), KraitWithoutAnchors(), SamplingWithChildren() if children else Sampling(),
            BlockingSampling(), AustinWithChildren() if children else Austin(), PySpy(),
            Perf(), PerfWithStacks()]
