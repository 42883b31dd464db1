#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""record --wall: time on and off the CPU as one measure. Each thread's sum is the elapsed time, whether it works,
waits or sleeps: in the printed table, in a flame graph and in the capture."""
import gzip
import re
import subprocess
import time

import harness as h

SECONDS = 1.0
# For a running thread: a few ticks more or less, and unread stacks of other threads count as lost.
LEAST, MOST = 0.9, 1.03
TRIES = 3


class Said:
    """Ignores what targets/doing.py says of its threads."""

    def add(self, document):
        pass


def krait(*args):
    return subprocess.run([h.KRAIT, *args], capture_output=True, encoding="utf-8", timeout=h.PATIENCE_SECS)


def by_thread(path, *args):
    """Returns {tid: seconds}."""
    text = krait("report", "--by", "thread", "-n", "0", "--unit", "samples", *args, "-i", path).stdout
    return {int(tid): int(ns) / 1e9 for ns, tid in re.findall(r"^ *[\d.]+% +(\d+) +\d+/(\d+) ", text, re.M)}


def folded_ns(text):
    return sum(int(line.rpartition(" ")[2]) for line in text.splitlines())


def record(target):
    for _ in range(TRIES):
        r = h.record("--wall", "-p", str(target.pid), "-d", "%dms" % (1000 * SECONDS),
                     outputs=("x.data", "x.folded"), lines=False)
        if not sum(map(int, re.findall(r"^offcpu-time\.lost\.[a-z ]* (\d+)$", r.err, re.M))):
            break
    return r


def check(tap, python):
    name = python.name
    with h.Target(python.command(python.target("doing.py")), oracle=Said()) as target:
        r = record(target)
        tap.equal(r.code, 0, name + ": exit code", r.err)
        said = krait("record", "--wall", "-p", str(target.pid), "-d", "100ms", "-f", "folded", "-o", "-").stderr
        tap.ok("# event wall-clock" in said and "# event cpu-clock" not in said, name + ": the summary is of both",
               said)
        threads = by_thread(r.path("x.data"), "--wall")
        tap.ok(len(threads) >= 10, name + ": every thread is there", threads)
        wrong = {tid: s for tid, s in threads.items() if not LEAST * SECONDS <= s <= MOST * SECONDS}
        tap.ok(not wrong, name + ": each has the time that has passed", wrong, r.err)
        part = by_thread(r.path("x.data"), "--wall", "--time", "0.2,0.6")
        wrong = {tid: part.get(tid, 0) for tid in threads if not LEAST * 0.4 <= part.get(tid, 0) <= MOST * 0.4}
        tap.ok(not wrong, name + ": of a wait, --time has the part within it", wrong, r.err)
        both = krait("convert", "--idle", "-f", "folded", "-o", "-", "-i", r.path("x.data")).stdout
        with open(r.path("x.folded"), encoding="utf-8") as f:
            tap.equal(folded_ns(both), folded_ns(f.read()), name + ": the capture says the same")
        script = krait("script", "-i", r.path("x.data")).stdout
        tap.ok(" cpu-clock: " in script and " offcpu-time: " in script, name + ": apart in the capture")
        tap.ok(target.alive(), name + ": the target is alive")


def check_end(tap, python):
    """The waits that are open at the end are read from outside; who runs meanwhile loses nothing by it."""
    name, cnt, seconds = python.name, 150, 0.5
    with h.Target(python.command(python.target("naps.py"), str(cnt), "200"), oracle=Said()) as target:
        r = h.record("--wall", "-p", str(target.pid), "-d", "%dms" % (1000 * seconds), outputs=("x.data",), lines=False)
        tap.ok("offcpu-time.lost.thread torn 0\n" in r.err, name + ": no open wait is lost", r.err)
        threads = by_thread(r.path("x.data"), "--wall")
        # Where stacks get rare, one stands for more than the waits that it is of: the sum is right.
        mean = sum(threads.values()) / (cnt + 1)
        tap.ok(0.7 * seconds <= mean <= 1.3 * seconds, name + ": threads that nap have their time up to the end",
               mean, r.err)


SLEEPY = "import time; time.sleep(0.2); end = time.thread_time() + 0.05\nwhile time.thread_time() < end: pass\ntime.sleep(0.2)"


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def pprof_seconds(path):
    """Returns field 10 of a profile, duration_nanos."""
    with gzip.open(path) as f:
        data, at, found = f.read(), 0, 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            at += value
        elif key >> 3 == 10:
            found = value
    return found / 1e9


def page_seconds(path):
    with open(path, encoding="utf-8") as f:
        return int(re.search(r'"milliseconds":(\d+)', f.read())[1]) / 1000


def told(seconds):
    """Returns a time as report_time() writes it (user/output/text/text_report.c): a second or more on a busy machine."""
    return "%.2f s" % seconds if seconds >= 0.9995 else "%.0f ms" % (1000 * seconds)


def check_lengths(tap, python):
    """All that show a recording say how long it was, also if samples come late and end early."""
    r = h.record("--off-cpu", outputs=("x.data", "x.html", "x.pb.gz"), lines=False, command=python.command("-c", SLEEPY))
    path, long = r.path("x.data"), told(r.stats["seconds"])
    said = h.run_krait("record", "--off-cpu", "-o", r.path("y.data"), "--", *python.command("-c", SLEEPY)).stderr
    first = re.findall(r" in ([\d.]+ m?s) \(", said)
    tap.ok(first and len(set(first)) == 1, python.name + ": the summary has a length", said)
    again = krait("report", "-i", r.path("y.data")).stdout
    tap.equal(set(re.findall(r" in ([\d.]+ m?s) \(", again)), set(first), python.name + ": and the capture's report has the same")
    for args in ((), ("--event", "cpu-clock"), ("--wall",), ("--by", "thread"), ("--state", "on"), ("--tree",)):
        text = krait("report", *args, "-i", path).stdout
        tap.equal(set(re.findall(r" in ([\d.]+ m?s) \(", text)), {long}, "report %s: the length" % " ".join(args), text)
    text = krait("report", "--by", "gil", "-i", path).stdout
    tap.ok("%% of %s, " % long in text, "report --by gil: the length", long, text)
    text = krait("diff", path, path).stdout
    tap.equal(set(re.findall(r" in ([\d.]+ m?s) \(", text)), {long}, "diff: the length", text)
    for name in ("again.html", "again.pb.gz"):
        krait("convert", "-q", "-i", path, "-o", r.path(name))
    shown = {name: (page_seconds if name.endswith("html") else pprof_seconds)(r.path(name))
            for name in ("x.html", "x.pb.gz", "again.html", "again.pb.gz")}
    tap.ok(all(told(s) == long for s in shown.values()), "pages and pprof: the length", shown, long)
    text = krait("report", "--time", "0.1,0.15", "--wall", "-i", path).stdout
    tap.equal(set(re.findall(r" in ([\d.]+ m?s) \(", text)), {"50 ms"}, "of a part: the part's length", text)


def page_measure(path):
    with open(path, encoding="utf-8") as f:
        return re.search(r'"measure":"(\w+)"', f.read())[1]


def check_opens(tap, python):
    """What was recorded as one time is shown as one by all that read the capture."""
    r = h.record("--wall", outputs=("x.data", "x.html", "x.folded"), lines=False, command=python.command("-c", SLEEPY))
    path, name = r.path("x.data"), python.name + ": recorded with --wall, "
    text = krait("report", "-i", path).stdout
    tap.ok("# event wall-clock" in text and "# event cpu-clock" not in text, name + "report shows wall-clock time", text)
    for out in ("again.html", "again.folded"):
        krait("convert", "-q", "-i", path, "-o", r.path(out))
    tap.equal([page_measure(r.path(out)) for out in ("x.html", "again.html")], ["wall", "wall"], name + "so does a page")
    with open(r.path("x.folded"), encoding="utf-8") as first, open(r.path("again.folded"), encoding="utf-8") as again:
        tap.equal(again.read(), first.read(), name + "so do folded stacks")
    text = krait("report", "--event", "cpu-clock", "-i", path).stdout
    tap.ok(" of CPU time in " in text and "Waits for" not in text, name + "an event that is asked for is shown", text)
    text = krait("diff", path, path).stdout
    tap.ok(" of time in " in text, name + "diff", text)
    text = krait("annotate", "-i", path, "<string>").stdout
    tap.ok(re.search(r"^<string>: [\d.]+ m?s, ", text, re.M) and "   Self     Time   Total   Line" in text and "events" not in text,
           name + "annotate says how long", text)
    slept = re.search(r"^ *([\d.]+)% +[\d.]+ m?s +[\d.]+% +[13]  ", text, re.M)
    tap.ok(slept and float(slept[1]) > 25, name + "and a line has the waits that it begins", text)
    krait("convert", "-q", "-i", path, "-o", r.path("again.callgrind"))
    with open(r.path("again.callgrind"), encoding="utf-8") as f:
        tap.ok("event: ns : nanoseconds of wall-clock\nevents: ns\n" in f.read(), name + "callgrind, too")
    r = h.record("--off-cpu", outputs=("x.data", "x.html"), lines=False, command=python.command("-c", SLEEPY))
    text = krait("report", "-i", r.path("x.data")).stdout
    tap.ok("# event cpu-clock" in text and "# event offcpu-time" in text, python.name + ": with --off-cpu two events are two", text)
    tap.equal(page_measure(r.path("x.html")), "cpu", python.name + ": and a page opens with the first")


def check_idle(tap, python):
    """A few samples of a program that waits are no table: it says what to do instead."""
    with h.Target(python.command("-c", "import sys; print('READY', flush=True)\nwhile True: __import__('time').sleep(0.02)")) as target:
        done = krait("record", "-p", str(target.pid), "-d", "700ms", "-f", "html", "-o", "/dev/null")
        said = done.stdout + done.stderr
        tap.ok("krait record --wall" in said and "Self  Total" not in said, python.name + ": idle: what to do", said)
        tap.ok("no samples" in said or
               "computed for" in said and "krait record --wall -p %d, or krait dump %d\n" % (target.pid, target.pid) in said,
               python.name + ": idle: with its pid", said)
    began = time.monotonic()
    done = krait("record", "-f", "html", "-o", "/dev/null", "--", *python.command("-c", "import time\nwhile time.thread_time() < 0.3: pass"))
    # Where others have the CPUs, it may have waited for one for nine tenths of its time.
    crowded = time.monotonic() - began > 2.5
    tap.ok(("--wall" not in done.stdout + done.stderr or crowded) and "Self  Total" in done.stdout + done.stderr,
           python.name + ": busy: its functions", done.stdout, done.stderr)


NAPS = """
import threading, time
def nap():
    end = time.monotonic() + 0.7
    while time.monotonic() < end:
        time.sleep(0.0001)
threads = [threading.Thread(target=nap) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
"""


def check_own(tap, python):
    """krait's programs run in the thread when it comes back from a wait: a tick there is krait's cost, not the kernel's code."""
    r = h.record("--wall", "-F", "4999", "--native", "--kernel", outputs=("x.data", "x.folded"), lines=False, command=python.command("-c", NAPS))
    leaves = [stack for stack, _ in r.stacks if stack[-1] == "[krait]"]
    tap.ok(leaves, python.name + ": krait's own work has its mark", h.show(r.stacks))
    named = [stack for stack, _ in r.stacks if any("bpf_prog_" in f and f.endswith("_loop_[k]") for f in stack)]
    tap.ok(not named, python.name + ": and none of its functions is shown", named[:3])
    tap.ok(all(not stack[-2].startswith(("bpf_trampoline_", "bpf_trace_run")) for stack in leaves),
           python.name + ": nor what calls them", leaves[:3])
    again = krait("convert", "-f", "folded", "-o", "-", "-i", r.path("x.data")).stdout
    tap.equal([line for line in again.splitlines() if "bpf_prog_" in line and "_loop_[k]" in line], [],
              python.name + ": nor in the capture")
    text = krait("report", "-n", "0", "-i", r.path("x.data")).stdout
    tap.ok(re.search(r"s .* \[krait\]$", text, re.M), python.name + ": the report has it", text)


def main():
    h.need_bpf()
    tap = h.Tap()
    found = h.interpreters(tap)
    old = [p for p in found if p.minor < "3.13"]
    for python in found[:1] + old[:1]:
        check(tap, python)
    check_end(tap, found[0])
    check_lengths(tap, found[0])
    check_opens(tap, found[0])
    check_idle(tap, found[0])
    check_own(tap, found[0])
    tap.equal(krait("record", "--wall", "-e", "page-faults", "true").returncode, 2, "without a clock there is no sum")
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
