# SPDX-License-Identifier: BSD-2-Clause
"""Programs that start while krait records: time from the shell's fork to the first sample, and to the first whole
native stack, for a program whose interpreter is new to krait, and for later ones."""
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time

import harness as h

COUNT, RATE = 8, "9973"
MINORS = ("3.11", "3.12", "3.13", "3.14", "3.15")
PROGRAM = """
import time
end = time.process_time() + 0.15
while time.process_time() < end:
    sorted(range(500), key=lambda x: -x)
"""
# Timestamps, one before each program.
SHELL = 'for i in $(seq %d); do date +%%s%%N; "$@"; done' % (COUNT + 1)
HEADER = re.compile(r"\S.*?\s(\d+)(?:/\d+)?\s+(?:\[\d+\]\s+)?(\d+)\.(\d+):")
HEAD = ["interpreter", "program", "first sample ms", "first whole native ms", "worst", "of samples, not whole"]


def samples_of(text):
    """Returns [(pid, ns, whether its native stack is whole)] in order of arrival."""
    found = []
    for block in text.split("\n\n"):
        at = next((m for m in map(HEADER.match, block.splitlines()) if m), None)
        if at:
            ns = int(at[2]) * 10**9 + int(at[3].ljust(9, "0"))
            found.append((int(at[1]), ns, "[truncated]" not in block and "_start" in block))
    return found


def ms(values):
    return "%.1f" % statistics.median(values) if values else "-"


def row(name, which, starts):
    """starts: [(ns of the stamp, samples of that program)]."""
    first = [(samples[0][1] - ns) / 1e6 for ns, samples in starts]
    whole = [(next(s[1] for s in samples if s[2]) - ns) / 1e6 for ns, samples in starts if any(s[2] for s in samples)]
    total = sum(len(samples) for _, samples in starts)
    cut = sum(not s[2] for _, samples in starts for s in samples)
    return [name, which, ms(first), ms(whole), "%.1f" % max(whole) if whole else "-", "%d of %d" % (cut, total)]


def record(python, folder):
    """Returns [(ns of the stamp, samples)] for each program, in the order of their starts."""
    out = os.path.join(folder, "x.data")
    offset = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    done = subprocess.run([h.KRAIT, "record", "-q", "--native", "--no-kernel", "--interpreter-frames", "-F", RATE, "-o", out,
                           "--", "sh", "-c", SHELL, "sh", *python.command("-c", PROGRAM)],
                          capture_output=True, encoding="utf-8", timeout=300)
    stamps = [int(word) - offset for word in re.findall(r"^\d{16,}$", done.stdout, re.M)]
    text = h.run_krait("script", out).stdout
    programs = {}
    for sample in samples_of(text):
        programs.setdefault(sample[0], []).append(sample)
    programs = sorted(programs.values(), key=lambda samples: samples[0][1])
    return list(zip(stamps, programs)) if len(stamps) == len(programs) else []


def run(pythons, say):
    """Returns (head, rows, notes)."""
    rows, notes, folder = [], [], tempfile.mkdtemp(prefix="krait-bench-")
    try:
        for minor in MINORS:
            python = next((p for p in pythons if p.minor == minor), None)
            if not python:
                continue
            say(python.name)
            starts = record(python, folder)
            if not starts:
                notes.append("%s: left out: a program without samples" % python.name)
                continue
            rows.append(row(python.name, "the first", starts[:1]))
            rows.append(row(python.name, "the next %d" % (len(starts) - 1), starts[1:]))
    finally:
        shutil.rmtree(folder)
    return HEAD, rows, notes
