# SPDX-License-Identifier: BSD-2-Clause
"""Every profiler that can be compared: krait, its rivals, and perf, which shows what sampling costs
at least. See profiler.py for what they have in common."""
import os
import re
import subprocess

from profiler import Profile, Profiler, first_line, h, private_proc, short_oracle
from samplers import Austin, AustinWithChildren, BlockingSampling, PySpy, Sampling, SamplingWithChildren

__all__ = ["Austin", "Krait", "KraitWithoutAnchors", "Perf", "PySpy", "Sampling", "all_profilers",
           "h", "private_proc", "short_oracle"]


def has_perf_event(pid):
    """Whether a process has a perf event open."""
    folder = "/proc/%d/fd/" % pid
    try:
        return any("perf_event" in os.readlink(folder + fd) for fd in os.listdir(folder))
    except OSError:
        return False  # it opens and closes some


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
        return [h.KRAIT, "record", *h.PYTHON_ONLY, "-q", "--stats", "--max-loss", "100",
                "--lines", "--no-process",
                "--anchors", self.anchors, "-p", str(pid), "-F", str(rate), "-f", "folded",
                "-o", out, *duration]

    def started(self, pid):
        return has_perf_event(pid)

    def parse(self, out, text):
        stats = h.parse_stats(text)
        stacks = [([krait_frame(f) for f in frames], n) for frames, n in h.parse_folded(out)]
        complete = sum(v for k, v in stats.items() if k.startswith(h.COMPLETE))
        truncated = sum(v for k, v in stats.items() if k.startswith(h.TRUNCATED))
        named = complete - stats.get("unknown_samples", 0)
        return Profile(stacks, complete + truncated, named, stats.get("seconds"))


class KraitWithoutAnchors(Krait):
    name, anchors = "krait --anchors off", "off"


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

    def started(self, pid):
        return has_perf_event(pid)

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
