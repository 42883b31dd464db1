# SPDX-License-Identifier: BSD-2-Clause
"""Chains of asyncio tasks: of the samples in a leaf of tests/bench/targets/tasks.py, how many show the program's
whole chain of tasks, how many a different one, and how many only the running task's part."""
import math
import os
import re
import signal

import harness as h
import measure
import plan
import profilers
import samplers

SECONDS, RATE, KINDS = 4, 499, 4
TARGET = plan.Workload("tasks", "chains of tasks", "tasks.py", str(KINDS))
KNOWN = re.compile(r"(?:main|(?:serve|boss|work|step|leaf)_\d+)$")


class KraitAsync(profilers.Krait):
    name, frames = "krait --async", (*h.PYTHON_ONLY, "--async")


class KraitNoAsync(profilers.Krait):
    name, frames = "krait --no-async", (*h.PYTHON_ONLY, "--no-async")


class SamplingAsync(samplers.Sampling):
    """Its --async-aware excludes --all-threads and --no-gc."""

    name, mode = "profiling.sampling --async-aware", "running"

    def command(self, python, pid, rate, seconds, out):
        duration = ["-d", str(math.ceil(seconds))] if seconds else []
        return python.command("-m", "profiling.sampling", "attach", "--async-aware", "--async-mode", self.mode,
                              "-r", str(rate), *duration, "--collapsed", "-o", python.inside(out), str(pid))

    def parse(self, out, text):
        profile = super().parse(out, text)
        profile.stacks = h.parse_folded(out)
        return profile


TOOLS = (KraitAsync, KraitNoAsync, SamplingAsync, samplers.BlockingSampling, samplers.PySpy)


def chain_of(frames):
    """Returns the target's functions in a stack, root first."""
    found = []
    for text in frames:
        parts = re.split(r"[:\s(]", text)
        found += [p for p in parts if KNOWN.match(p)][:1]
    return found


def judge(frames):
    """Returns "right", "wrong", "missing" or "late" (missing, and the stack says so); None if it has no leaf."""
    chain = chain_of(frames)
    if not chain or not chain[-1].startswith("leaf_"):
        return None
    number = chain[-1].rpartition("_")[2]
    whole = ["main"] + [part + "_" + number for part in ("serve", "boss", "work", "step", "leaf")]
    if chain == whole:
        return "right"
    # A stack without tasks has the first task's frames that started the loop, and the running task's.
    rest = iter(whole)
    if not all(name in rest for name in chain):
        return "wrong"
    return "late" if "[tasks not known yet]" in frames else "missing"


def row(tool, python):
    job = measure.Job(python, TARGET, tool)
    try:
        out = os.path.join(job.folder, "out")
        run = measure.Attached(tool.command(python, job.pid, RATE, None, out), os.path.join(job.folder, "log"))
        try:
            measure.wait_for_start(tool, run)
            cpu, bpf, began = measure.family_cpu(run.pid), measure.bpf_seconds(run.pid), job.read()
            measure.time.sleep(SECONDS)
            cpu, bpf = measure.family_cpu(run.pid) - cpu, measure.bpf_seconds(run.pid) - bpf
            ended = job.read()
            run.end(True)
        finally:
            run.kill()
        said = run.text()
        profile = tool.parse(out, said)
    finally:
        job.stop()
    counts = {"right": 0, "wrong": 0, "missing": 0, "late": 0}
    for frames, count in profile.stacks or []:
        verdict = judge(frames)
        if verdict:
            counts[verdict] += count
    total = sum(counts.values())
    if not total:
        raise RuntimeError("no sample of the target's work: %s" % said.strip()[-120:])
    return [tool.name, str(total)] + ["%.1f %%" % (100 * counts[k] / total) for k in ("right", "wrong", "missing", "late")] + [
        "%.0f" % (1e6 * (cpu + bpf) / (ended[0] - began[0]) / RATE), "%.1f" % (1e6 * bpf / max(1, total))]


def run(pythons, say):
    """Returns (head, rows, notes)."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rows, notes = [], []
    python = next((p for p in pythons if p.minor == "3.15" and p.kind == "exe"), None)
    for tool in [kind() for kind in TOOLS] if python else []:
        if not tool.available(pythons):
            notes.append("%s: left out: %s" % (tool.name, tool.why))
            continue
        say(tool.name)
        try:
            rows.append(row(tool, python))
        except (RuntimeError, OSError, ValueError) as error:
            notes.append("%s: failed: %s" % (tool.name, str(error)[-160:]))
    return ["program", "samples in a leaf", "chain right", "wrong", "only the running task",
            "the same, and says so",
            "its CPU, us a tick", "of it BPF, us a sample"], rows, notes
