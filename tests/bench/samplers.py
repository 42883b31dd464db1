# SPDX-License-Identifier: BSD-2-Clause
"""Profilers that know Python: the standard library's, austin, py-spy. All of them read the target's memory from
outside."""
import glob
import math
import os
import re
import shutil

import mojo
from profiler import Profile, Profiler, first_line, first_of, frame, h, is_python, rival

# CPython's own frame that checks __init__'s return value; krait hides it.
INIT_CHECK = "__init__:__init__:"
# Its place in a root folder: it needs a newer C library than Debian 12's.
AUSTIN_IN_ROOT = "/opt/krait/austin4"


class Sampling(Profiler):
    """CPython 3.15's profiling.sampling, in the same root folder as its target."""

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
                # file:name:line; a name may contain colons.
                frames = [f for f in frames[1:] if not f.startswith(INIT_CHECK)]
                parts = [re.match(r"([^:]*):(.*):(-?\d+)$", f) for f in frames]
                stacks.append(([frame(m[2], m[1], m[3]) if m else f
                                for m, f in zip(parts, frames)], count))
        took = re.search(r"Captured [\d,.]+ samples? in ([\d,.]+) second", text)
        seconds = float(took[1].replace(",", "")) if took else None
        delivered = sum(count for _, count in stacks)
        return Profile(stacks, delivered, delivered, seconds)


class SamplingWithChildren(Sampling):
    """With one profiler per child, which writes a separate file beside and does not hear of SIGINT."""

    options, endless = ("--subprocesses",), False

    def outputs(self, out):
        return glob.glob(glob.escape(os.path.splitext(out)[0]) + "*")


class BlockingSampling(Sampling):
    """Stops the target for each look. Does not follow children."""

    name, options, children = "profiling.sampling --blocking", ("--blocking",), False


class Austin(Profiler):
    """austin 4, in the root folder; it knows Python up to 3.14."""

    name, wall = "austin", True
    follow = ()

    def python(self, pythons):
        return self.pick(pythons, "3.14", "3.13")

    def available(self, pythons):
        python = self.python(pythons)
        path, self.why = rival("austin", "austin") if python else (None, self.why)
        if path:
            shutil.copy2(path, python.root.rstrip("/") + AUSTIN_IN_ROOT)
            said = first_line("chroot", python.root, AUSTIN_IN_ROOT, "-V")
            self.version = said.split(" ")[-1]
            self.why = "" if said.startswith("austin ") else "refused to start: " + said[:100]
        return not self.why

    def command(self, python, pid, rate, seconds, out):
        duration = ["-x", str(math.ceil(seconds))] if seconds else []
        return ["chroot", python.root, AUSTIN_IN_ROOT, *self.follow, "-i", str(round(1e6 / rate)),
                *duration, "-o", python.inside(out), "-p", first_of(pid)]

    def parse(self, out, text):
        with open(out, "rb") as f:
            said, samples = mojo.parse(f.read())
        counts, everything = {}, 0
        for frames in samples:
            everything += 1
            if frames:
                stack = tuple(mojo.INVALID if f is mojo.INVALID else frame(*f) for f in frames)
                counts[stack] = counts.get(stack, 0) + 1
        stacks = [(list(s), n) for s, n in counts.items() if mojo.INVALID not in s]
        seconds = int(said["duration"]) / 1e6 if "duration" in said else None
        return Profile(stacks, everything, sum(n for _, n in stacks), seconds)


class AustinWithChildren(Austin):
    follow = ("-C",)


class PySpy(Profiler):
    """Stops the target for each look."""

    name, wall, options = "py-spy", True, ()

    def python(self, pythons):
        return self.pick(pythons, "3.15", "3.14")

    def available(self, pythons):
        self.path, self.why = rival("py-spy", "py-spy")
        if self.path:
            self.version = first_line(self.path, "--version").split(" ")[-1]
            self.why = "" if self.version else "refused to start"
        return bool(self.version and self.python(pythons))

    def command(self, python, pid, rate, seconds, out):
        return [self.path, "record", "--subprocesses", "--idle", "--full-filenames", "-f", "raw",
                *self.options, "-r", str(rate), "-d", str(math.ceil(seconds or 3600)), "-o", out,
                "-p", first_of(pid)]

    def parse(self, out, text):
        stacks, mixed = [], []
        for frames, count in h.parse_folded(out):
            parts = [re.match(r"(.*) \((.*?)(?::(\d+))?\)$", f) for f in frames]
            # If there are several processes, each has a frame of its own.
            known = [frame(m[1], m[2], m[3]) if m[3] and m[2].endswith(".py") else
                     "%s (%s)" % (m[1], os.path.basename(m[2])) for m in parts if m]
            mixed.append((known, count))
            stacks.append(([f for f in known if is_python(f)], count))
        stacks = [s for s in stacks if s[0]]
        return Profile(stacks, sum(n for _, n in mixed), sum(n for _, n in stacks), mixed=mixed)


class PySpyNative(PySpy):
    """With what libunwind finds of C; it drops everything below Python's first frame, so whole stacks cannot be
    distinguished from cut ones."""

    name, options = "py-spy --native", ("--native",)


class PySpyNonblocking(PySpy):
    name, options = "py-spy --nonblocking", ("--nonblocking",)
