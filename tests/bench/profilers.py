# SPDX-License-Identifier: BSD-2-Clause
"""Every profiler that can be compared: krait, its rivals, and perf, which shows the minimal cost of sampling. See
profiler.py for what they have in common."""
import os
import re
import subprocess

import roots
from otel import Otel
from profiler import Profile, Profiler, first_line, first_of, h, is_python, private_proc, short_oracle
from samplers import (Austin, AustinWithChildren, BlockingSampling, PySpy, PySpyNative, PySpyNonblocking, Sampling,
                      SamplingWithChildren)

__all__ = ["Austin", "Krait", "KraitNative", "KraitWithoutAnchors", "Otel", "Perf", "PerfDwarf", "PerfWithStacks",
           "PySpy", "PySpyNative", "PySpyNonblocking", "Sampling", "all_profilers", "h", "private_proc", "short_oracle"]


# ---- krait ----------------------------------------------------------------------------------------


def krait_frame(text):
    """Parses a frame as krait --lines shows it."""
    match = re.match(r"(.*) \(([^()]*?)(:\d+)?\)$", text, re.S)
    return "%s (%s%s)" % (match[1], os.path.basename(match[2]), match[3] or "") if match else text


class Krait(Profiler):
    """Only Python frames, like the others."""

    name, anchors, frames = "krait", "auto", h.PYTHON_ONLY

    def available(self, pythons):
        self.version = first_line(h.KRAIT, "--version").split(" ")[-1]
        if not self.version:
            self.why = "%s does not run (make)" % h.KRAIT
        return bool(self.version and self.python(pythons))

    def command(self, python, pid, rate, seconds, out):
        duration = ["-d", "%dms" % round(seconds * 1000)] if seconds else []
        return [h.KRAIT, "record", *self.frames, "-q", "--stats", "--max-loss", "100",
                "--lines", "--no-process",
                "--anchors", self.anchors, "-p", str(pid), "-F", str(rate), "-f", "folded",
                "-o", out, *duration]

    def started(self, pid):
        return h.has_programs_at_events(pid)

    def parse(self, out, text):
        stats = h.parse_stats(text)
        stacks = [([krait_frame(f) for f in frames], n) for frames, n in h.parse_folded(out)]
        complete = sum(v for k, v in stats.items() if k.startswith(h.COMPLETE))
        truncated = sum(v for k, v in stats.items() if k.startswith(h.TRUNCATED))
        named = complete - stats.get("unknown_samples", 0)
        return Profile(stacks, complete + truncated, named, stats.get("seconds"))


class KraitNative(Krait):
    """krait with its defaults: with native and kernel frames."""

    name, frames = "krait, native", ()

    def parse(self, out, text):
        profile, stats = super().parse(out, text), h.parse_stats(text)
        profile.mixed = profile.stacks
        python = [([f for f in frames if is_python(f)], n) for frames, n in profile.stacks
                  if "[truncated]" not in frames]
        profile.stacks = [s for s in python if s[0]]
        profile.native = stats.get("native.complete", 0), stats.get("native.samples", 0)
        return profile


class KraitWithoutAnchors(Krait):
    name, anchors = "krait --anchors off", "off"


# ---- perf: what sampling costs at least -----------------------------------------------------------


class Perf(Profiler):
    """perf record without Python frames: only the address. Only "sleep" tells how long it sampled."""

    name, options, endless = "perf record", (), False

    def available(self, pythons):
        self.version = first_line("perf", "--version").split(" ")[-1]
        self.why = "" if self.version else "not on PATH (linux-perf)"
        return bool(self.version and self.python(pythons))

    def command(self, python, pid, rate, seconds, out):
        wait = ["--", "sleep", str(seconds)] if seconds else []
        return ["perf", "record", *self.options, "-F", str(rate), "-o", out, "-p", str(pid), *wait]

    def started(self, pid):
        return h.has_events(pid)

    def parse(self, out, text):
        report = subprocess.run(["perf", "report", "--stats", "-i", out], capture_output=True,
                                encoding="utf-8", errors="replace")
        samples = re.search(r"SAMPLE events: +(\d+)", report.stdout)
        return Profile(None, int(samples[1]) if samples else 0, None)


class PerfWithStacks(Perf):
    """With native stacks by frame pointers, for the interpreter's own functions."""

    name, options = "perf record -g", ("-g",)

    def command(self, python, pid, rate, seconds, out):
        self.maps = roots.Maps(int(first_of(pid)))
        return super().command(python, pid, rate, seconds, out)

    def parse(self, out, text):
        """Reads the capture's stacks with perf itself, which shows positions in files."""
        done = subprocess.run(["perf", "script", "-i", out, "--no-inline", "-F", "ip,sym,dso"], capture_output=True,
                              encoding="utf-8", errors="replace", timeout=4 * h.PATIENCE_SECS)
        whole, mixed = 0, []
        for block in done.stdout.split("\n\n"):
            frames = re.findall(r"^\s*([0-9a-f]+) (.*) \((.*)\)$", block, re.M)
            user = [f for f in frames if not f[2].startswith("[k")]
            if user:
                mixed.append((["%s (%s)" % (symbol, os.path.basename(file)) for _, symbol, file in user[::-1]], 1))
                whole += self.maps.is_root_at(user[-1][2], int(user[-1][0], 16))
        return Profile(None, len(mixed), None, None, (whole, len(mixed)), mixed)


class PerfDwarf(PerfWithStacks):
    """With copies of 8 KiB of the stack, unwound when they are read."""

    name, options = "perf --call-graph dwarf", ("--call-graph", "dwarf", "--user-callchains")


def all_profilers(children=False):
    """Returns one of each; children: for a target that has some."""
    return [Krait(), KraitNative(), KraitWithoutAnchors(), Otel(),
            SamplingWithChildren() if children else Sampling(), BlockingSampling(),
            AustinWithChildren() if children else Austin(), PySpy(), PySpyNonblocking(), PySpyNative(),
            Perf(), PerfWithStacks(), PerfDwarf()]
