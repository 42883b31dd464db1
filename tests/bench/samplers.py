# SPDX-License-Identifier: BSD-2-Clause
"""Profilers that know Python: the one of the standard library, austin, py-spy. All of them read the
target's memory from outside."""
import glob
import math
import os
import re
import shutil

from profiler import Profile, Profiler, first_line, first_of, frame, h

# CPython's own frame that checks what __init__ returns; krait does not show it.
INIT_CHECK = "__init__:__init__:"
# Where scripts/pythons --rivals unpacks it.
AUSTIN_IN_ROOT = "/opt/krait/austin/usr/bin/austin"


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
