#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""A thread has the name that the program gave it, its last one, in every output and for --thread, whatever the version
tells the kernel; one that has none, and the first thread, have the kernel's."""
import collections
import gzip
import json
import os
import re
import subprocess
import time

import consumers
import harness as h
import otlp

LONG = "a-name-that-is-longer-than-what-the-kernel-keeps"
ODD = "odd; [name] \\n\\tü"
# By the function that only threads of that name run.
NAMES = {"pooled": {"pool_0", "pool_1"}, "long_name": {LONG}, "odd_name": {ODD}, "named_by_itself": {"by-itself"},
         "renamed_by_itself": {"itself-1"}, "renamed_by_others": {"others-1"}}
CHANGED = dict(NAMES, renamed_by_itself={"itself-2"}, renamed_by_others={"others-2"})


def names_of(stacks):
    """Returns {function: {name of its thread: samples}} of [(frames, count)] whose second frame is the thread."""
    found = collections.defaultdict(collections.Counter)
    for stack, count in stacks:
        for frame in stack[2:]:
            name = frame.split(" ")[0]
            if name in NAMES or name == "unnamed":
                found[name][thread_of(stack)] += count
    return found


def thread_of(stack):
    """Returns the name of a stack's thread: its frame is NAME/TID."""
    return stack[1].rpartition("/")[0]


def judge(tap, found, want, kernels, what):
    wrong = {f: dict(names) for f, names in found.items() if set(names) != want.get(f, {kernels})}
    tap.ok(not wrong and set(found) == {*want, "unnamed"}, what, wrong, sorted(found))


def kernels_name(pid):
    with open("/proc/%d/comm" % pid, encoding="utf-8") as f:
        return f.read().rstrip("\n")


def turn(target, seconds, *args, **options):
    """Records until each thread has had a turn."""
    for factor in (1, 2, 4, 8):
        recording = h.record_work(target.pid, factor * seconds, "-t", "-F", "1999", *args, lines=False, **options)
        if len(names_of(recording.stacks)) == len(NAMES) + 1:
            break
    return recording


def with_semicolon(name):
    """In folded stacks a semicolon separates frames."""
    return name.replace(";", ":")


def check(tap, python):
    """Names as they were before the recording, and those that change during it."""
    folded = {f: {with_semicolon(n) for n in names} for f, names in NAMES.items()}
    later = {f: {with_semicolon(n) for n in names} for f, names in CHANGED.items()}
    with h.start(python, "named.py") as target:
        kernels = kernels_name(target.pid)
        recording = turn(target, 0.2, outputs=("x.folded", "x.data"))
        judge(tap, names_of(recording.stacks), folded, kernels, python.name + ": names")
        again = h.run_krait("convert", "-t", *h.PYTHON_ONLY, "-f", "folded", "-o", "-", "-i", recording.path("x.data"))
        tap.equal(sorted(again.stdout.splitlines()),
                  sorted("%s %d" % (";".join(s), n) for s, n in recording.stacks), python.name + ": the capture has them, too")
        one = h.record_work(target.pid, 0.2, "-t", "-F", "1999", "--thread", "pool_1", lines=False)
        tap.equal({thread_of(s) for s, _ in one.stacks}, {"pool_1"}, python.name + ": --thread by name", one.err)
        recording = changing(target)
        judge(tap, names_of(recording.stacks), later, kernels, python.name + ": the last name counts")
    return recording


def changing(target):
    """Records while names change, once all threads have had a turn before."""
    folder = h.tempfile.mkdtemp(prefix="krait-e2e-")
    h.folders.append(folder)
    outputs = [a for name in ("x.folded", "x.data", "x.speedscope.json", "x.pb.gz", "x.firefox.json", "x.pftrace", "x.html")
               for a in ("-o", os.path.join(folder, name))]
    with subprocess.Popen([h.KRAIT, "record", "-q", "--stats", "-t", "-F", "1999", *h.PYTHON_ONLY, *outputs, "-p",
                           str(target.pid)], stderr=subprocess.PIPE, encoding="utf-8") as krait:
        h.wait_until(lambda: h.is_sampling(krait), krait)
        end = h.cpu_seconds(target.pid) + 0.2
        h.wait_until(lambda: h.cpu_seconds(target.pid) > end, krait)
        target.process.stdin.write(b"change\n")
        tap_line = h.read_line(target.process.stdout, time.monotonic() + h.PATIENCE_SECS)
        assert tap_line == "changed\n", tap_line
        end = h.cpu_seconds(target.pid) + 0.3
        h.wait_until(lambda: h.cpu_seconds(target.pid) > end, krait)
        krait.send_signal(h.signal.SIGINT)
        _, err = krait.communicate(timeout=h.PATIENCE_SECS)
    return h.Recording(krait.returncode, "", err, folder)


def check_outputs(tap, python, recording):
    """Every other output of the same recording, as its consumers read it."""
    want = {n for names in CHANGED.values() for n in names}
    old = {"itself-1", "others-1", "before"}

    def is_right(names, what):
        names = set(names)
        tap.ok(want <= names and not names & old, "%s: %s" % (python.name, what), sorted(names))

    with open(recording.path("x.speedscope.json"), encoding="utf-8") as f:
        is_right((re.search(r'Thread \d+ "(.*)"$', p["name"], re.S).group(1) for p in json.load(f)["profiles"]), "speedscope")
    with open(recording.path("x.firefox.json"), encoding="utf-8") as f:
        profile = json.load(f)
        is_right((t["name"] for p in [profile, *profile.get("processes", [])] for t in p["threads"]), "Firefox")
    with gzip.open(recording.path("x.pb.gz")) as f:
        profile = otlp.Message(f.read())
    strings = [bytes(s).decode() for s in profile.all(6)]
    is_right((strings[label.one(2)] for sample in profile.messages(2) for label in sample.messages(3)
              if strings[label.one(1)] == "thread_name"), "pprof")
    with open(recording.path("x.pftrace"), "rb") as f:
        data = f.read()
    is_right((n for n in want | old if n.encode() in data), "Perfetto")
    rows = h.run_krait("report", "--by", "thread", "-i", recording.path("x.data")).stdout
    is_right(re.findall(r"\d+/\d+ +(.+?) of ", rows), "report --by thread")
    if consumers.perfs()[0][1]:
        text = consumers.run("perf", "script", "-F", "comm,tid", "-i", recording.path("x.data")).stdout
        names = {re.sub(r"\s+\d+\s*$", "", line).strip() for line in text.splitlines()}
        is_right(names, "perf script")
    for name, cnt in (("itself-2", 1), ("itself-*", 1), ("pool_*", 2)):
        done = h.run_krait("report", "--by", "thread", "--thread", name, "-i", recording.path("x.data"))
        tap.equal(len(re.findall(r"^ *[\d.]+% .* of ", done.stdout, re.M)), cnt,
                  "%s: report --thread %s" % (python.name, name), done.stdout, done.stderr)


def check_none(tap, python):
    """--thread that matches none: which threads there are, or were."""
    with h.start(python, "named.py") as target, h.resting(target):
        pid = str(target.pid)
        kernels = kernels_name(target.pid)
        for args in (("record", "-q", "-f", "folded", "-o", "/dev/null", "-p", pid, "-d", h.moment(0.3)),
                     ("record", "-q", "-f", "folded", "-o", "/dev/null", "-a", "-d", h.moment(0.3)),
                     ("top", "--batch", "-F", "997", "-n", "1", "-i", "300ms", "-p", pid)):
            done = h.run_krait(*args, "--thread", "nosuch")
            tap.ok(done.returncode == 6 and re.search(r"no samples: no thread that ran matches --thread nosuch \(those that "
                                                      r"ran: \d+ \S", done.stderr) and "never came" not in done.stderr,
                   "%s: %s --thread nosuch" % (python.name, " ".join(args[:2])), done.returncode, done.stdout[-300:], done.stderr)
        for args in ((pid,), ("--json", pid)):
            done = h.run_krait("dump", *args, "--thread", "nosuch")
            tap.ok(done.returncode == 3 and "no thread matches --thread nosuch (its threads: %s %s, " % (pid, kernels) in done.stdout,
                   "%s: dump %s--thread nosuch" % (python.name, "--json " if args[1:] else ""), done.returncode, done.stdout)
        done = h.run_krait("dump", "--thread", "main", pid)
        tap.ok(re.search(r'^Thread %s "%s" \(main, ' % (pid, re.escape(kernels)), done.stdout, re.M) and
               done.stdout.count("\nThread ") == 1, python.name + ": dump --thread main", done.stdout)
        done = h.run_krait("top", "--batch", "-F", "997", "-n", "3", "-i", "400ms", "--view", "threads", "-p", pid)
        tap.ok("pool_0" in done.stdout.split("krait top")[-1] and LONG in done.stdout.split("krait top")[-1],
               python.name + ": top", done.stdout)


def check_agent(tap, python):
    """An agent's windows: thread.name."""
    with h.tempfile.TemporaryDirectory(prefix="krait-e2e-") as folder, h.start(python, "named.py") as target, h.part_time(target):
        with subprocess.Popen([h.KRAIT, "agent", "-i", "1s", "-F", "997", "--otlp-dir", folder], stderr=subprocess.PIPE) as agent:
            found = set()

            def has_all():
                for name in os.listdir(folder):
                    if not name.startswith("."):
                        with open(os.path.join(folder, name), "rb") as f:
                            data = f.read()
                        found.update(n for n in ("pool_0", "pool_1", LONG, "by-itself") if n.encode() in data)
                return len(found) == 4

            h.wait_until(has_all)
            agent.send_signal(h.signal.SIGTERM)
            agent.communicate(timeout=h.PATIENCE_SECS)
    tap.ok(len(found) == 4, python.name + ": agent", sorted(found))


def main():
    h.need_bpf()
    tap = h.Tap()
    pythons = h.interpreters(tap, each_class=True)
    for python in pythons:
        recording = check(tap, python)
        if python in h.few(pythons):
            check_outputs(tap, python, recording)
    check_none(tap, pythons[-1])
    check_agent(tap, pythons[-1])
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
