# SPDX-License-Identifier: BSD-2-Clause
"""What every profiler says of targets that account for themselves, by the comparisons that krait has to
pass. Prints a table; --json FILE keeps the figures. Run by scripts/truth --rivals.

A profiler that looks at all threads whether they run or not is held to wall clock time, the others to
CPU time. Only samples of the target's work count: that it waits before and after is no error.
"""
import argparse
import collections
import datetime
import json
import os
import signal
import subprocess
import sys
import time

import stats
import test_shares
import test_sweep
import truth as t

sys.path.insert(0, os.path.join(os.path.dirname(t.HERE), "bench"))
import profilers  # noqa: E402

# Seconds until a profiler looks at its target; until one that does not end by itself is killed; until a
# permanently stopped target counts as such.
BEGIN_SECS, END_SECS, WORK_SECS = 3, 30, 300


def profile(profiler, python, script, seconds, rate):
    """Returns (profile, the target's account); raises RuntimeError if a profiler fails."""
    folder = python.scratch()
    out = os.path.join(folder, "out")
    command = python.command(python.target(script), str(t.SEED), str(seconds * 1000), "--wait")
    target = t.h.Target(command)
    try:
        # It ends when the target has ended.
        with profiler.beside(out), \
                open(os.path.join(folder, "text"), "w+", encoding="utf-8", errors="replace") as text:
            run = subprocess.Popen(profiler.command(python, target.pid, rate, None, out),
                                   stdin=subprocess.DEVNULL, stdout=text, stderr=subprocess.STDOUT)
            try:
                time.sleep(BEGIN_SECS)
                t.h.wait_until(lambda: profiler.started(run.pid), run)
                target.process.stdin.write(b"go\n")
                account = t.h.read_line(target.process.stdout,
                                        time.monotonic() + WORK_SECS)
                time.sleep(profiler.tail)
                if run.poll() is None:
                    run.send_signal(signal.SIGINT)
                run.wait(END_SECS)
            finally:
                t.h.end_child(run)
            text.seek(0)
            said = text.read()
        if not profiler.outputs(out):
            raise RuntimeError("wrote nothing: %s" % said.strip()[-200:])
        return profiler.parse(out, said), t.parse_truth(account)[0]
    finally:
        target.stop()
        subprocess.run(["rm", "-rf", "--one-file-system", folder], check=True)


def function_of(frame):
    return frame.split(" (")[0].rpartition(".")[2]


def counts_of(stacks, names, otherwise):
    """Counts samples by the innermost function of names; by otherwise[1] if only otherwise[0] is there."""
    counts = collections.Counter()
    for frames, count in stacks:
        found = [f for f in map(function_of, frames) if f in names or f == otherwise[0]]
        if found:
            counts[otherwise[1] if found[-1] == otherwise[0] else found[-1]] += count
    return counts


def by_wall_clock(doc):
    """Returns the same account by CLOCK_MONOTONIC."""
    return dict(doc, visits=[[v[0], v[3], v[4], v[3], v[4]] for v in doc["visits"]],
                cpu=doc["ended"] - doc["began"])


def shares(profiler, python, seconds, rate):
    result, doc = profile(profiler, python, "visits.py", seconds, rate)
    if result.stacks is None:
        raise RuntimeError("shows no Python functions")
    doc = by_wall_clock(doc) if profiler.wall else doc
    counts = counts_of(result.stacks, doc["names"], ("work", test_shares.BETWEEN))
    samples = sum(counts.values())
    if not samples:
        raise RuntimeError("no sample of the target's work")
    verdicts = test_shares.verdicts_of(doc, counts, 1 / rate)
    worst = max(verdicts, key=stats.Verdict.excess)
    beyond = [max(v.low - v.got, v.got - v.high, 0) for v in verdicts]
    return {
        "samples": samples, "misplaced_percent": 100 * sum(beyond) / 2 / samples,
        "functions": len(verdicts), "wrong": sum(not v.good for v in verdicts),
        "worst": {"function": worst.name, "percent": 100 * worst.got / samples,
                  "truth_percent": 50 * (worst.low + worst.high) / samples,
                  "chance_percent": 100 * worst.slack / samples},
    }


def lengths(profiler, python, seconds, rate):
    result, doc = profile(profiler, python, "sweep.py", seconds, rate)
    names = {l[k] for l in doc["lengths"] for k in ("short", "caller")}
    counts = counts_of(result.stacks, names, ("work", None))
    verdicts = test_sweep.verdicts_of(doc, counts, 1 / rate)
    return {
        "lengths": len(verdicts), "wrong_lengths": sum(not v.good for v in verdicts),
        "callers": {str(l["us"]): {
            "percent": 100 * counts[l["caller"]] /
            max(1, counts[l["caller"]] + counts[l["short"]]),
            "truth_percent": [100 * l["calls"] * l[k] / l["ns"] for k in ("least", "most")],
        } for l in doc["lengths"]},
    }


def row_of(profiler, pythons, seconds, rate):
    row = {"name": profiler.name, "clock": "wall" if profiler.wall else "CPU"}
    if not profiler.available(pythons):
        return dict(row, failed=profiler.why)
    row["version"], python = profiler.version, profiler.python(pythons)
    row["python"] = python.version
    for kind in (shares, lengths):
        try:
            row.update(kind(profiler, python, seconds, rate))
        except (RuntimeError, OSError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
            return dict(row, failed=str(error) or repr(error))
    return row


def table(document):
    """Markdown."""
    lines = ["%(date)s, Linux %(kernel)s, %(cpus)d CPUs, %(rate)d Hz, %(seconds)d s of each target, "
             "seed %(seed)d" % document, "",
             "| | Python | samples | misplaced | functions wrong | worst: says, is (chance) | "
             "lengths wrong |", "|---|---|---|---|---|---|---|"]
    for r in document["rows"]:
        if "failed" in r:
            lines.append("| %s | %s | %s | | | | |" % (r["name"], r.get("python", ""), r["failed"]))
            continue
        w = r["worst"]
        lines.append("| %s %s | %s | %d | %.2f %% | %d of %d | %s %.1f %%, %.1f %% (±%.1f) | %d of %d |" % (
            r["name"], r["version"], r["python"], r["samples"], r["misplaced_percent"], r["wrong"],
            r["functions"], w["function"], w["percent"], w["truth_percent"], w["chance_percent"],
            r["wrong_lengths"], r["lengths"]))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--json", help="write the figures there, too")
    parser.add_argument("--rate", type=int, default=997)
    parser.add_argument("--seconds", type=int, default=6, help="CPU time of each target")
    parser.add_argument("--only", default="", help="profilers whose names have that in them")
    options = parser.parse_args()
    t.h.need_bpf()
    # A shell's background job ignores SIGINT, and so would everything it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    pythons = t.quiet_interpreters()
    profilers.private_proc(next((p.root for p in pythons if p.minor == "3.15"), "/"))
    document = {
        "date": datetime.date.today().isoformat(), "kernel": os.uname().release,
        "cpus": os.cpu_count(), "seed": t.SEED, "rate": options.rate, "seconds": options.seconds,
        "rows": [],
    }
    for profiler in profilers.all_profilers():
        if options.only not in profiler.name:
            continue
        print("krait: truth: %s" % profiler.name, file=sys.stderr, flush=True)
        document["rows"].append(row_of(profiler, pythons, options.seconds, options.rate))
    print(table(document))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(document, f, indent=1)


if __name__ == "__main__":
    main()
