#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""-e and -c: counts of page faults and context switches equal the kernel's, each event is separate in every output,
and stacks taken at task switches are those of the oracle."""
import collections
import gzip
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

import harness as h

BOTH = ("-e", "page-faults,context-switches", "-c", "1")


def near(got, want):
    """The calls that read the kernel's counters are counted themselves, so allow for them."""
    return abs(got - want) <= 0.02 * want + 5


def of_function(stacks, name):
    return sum(count for stack, count in stacks if re.match(name + r"\b", stack[-1]))


def stats_of(recording, event):
    """Returns the accounts of one of several events."""
    rest = {}
    for line in recording.err.splitlines():
        match = re.match(re.escape(event) + r"\.(.*) (-?\d+)$", line)
        if match:
            rest[match.group(1)] = int(match.group(2))
    return rest


def check_accounts(tap, name, recording, event):
    stats = stats_of(recording, event)
    reasons = sum(v for k, v in stats.items() if k.split(".")[0] in ("complete", "truncated", "lost"))
    tap.ok(stats and stats["balance"] == 0 and stats["interrupts"] == reasons > 0,
           "%s: the accounts of %s balance" % (name, event), stats, recording.err)
    return sum(v for k, v in stats.items() if k.split(".")[0] in ("complete", "truncated"))


def perf_events(path):
    """Returns {event: samples} as perf script has them; None without perf."""
    if not shutil.which("perf"):
        return None
    done = subprocess.run(["perf", "script", "-i", path, "-F", "comm,tid,time,event"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8",
                          errors="replace", check=True)
    return collections.Counter(re.findall(r"([a-z:-]+):\s*$", done.stdout, re.M))


def check_counts(tap, python):
    name = python.name + ": events.py"
    r = h.record(*BOTH, lines=False, command=python.command(python.target("events.py")),
                 outputs=("x.folded", "x.data", "x.pb.gz", "x.speedscope.json", "x.script"))
    match = re.search(r"^TOLD (.*)$", r.out, re.M)
    if not tap.ok(r.code == 0 and match, name + ": records", r.out, r.err):
        return
    told = json.loads(match.group(1))
    samples = {e: check_accounts(tap, name, r, e) for e in BOTH[1].split(",")}
    got = of_function(r.stacks, "touch")
    tap.ok(near(got, told["faults"]), name + ": each page fault is in its function",
           "%d samples, the kernel says %d" % (got, told["faults"]), h.show(r.stacks))
    tap.equal(r.samples(), samples["page-faults"], name + ": folded has the first event alone")
    other = h.run_krait("convert", "--event", "context-switches", "-q", "-f", "folded", "-o",
                        r.path("cs.folded"), r.path("x.data"))
    stacks = h.parse_folded(r.path("cs.folded"))
    got = of_function(stacks, "wait")
    tap.ok(near(got, told["switches"]), name + ": each context switch is in its function",
           "%d samples, the kernel says %d" % (got, told["switches"]), h.show(stacks), other.stderr)
    tap.equal(sum(c for _, c in stacks), samples["context-switches"],
              name + ": convert --event has the other one")
    return r, samples


def check_outputs(tap, r, samples):
    """Every output has each event separately, or says which one it has."""
    counts = perf_events(r.path("x.data"))
    if counts is None:
        tap.skip("perf script has both events", "no perf")
    else:
        tap.equal(dict(counts), samples, "perf script has both events with these counts")
    with open(r.path("x.script"), encoding="utf-8") as f:
        events = re.findall(r": +1 ([a-z-]+): $", f.read(), re.M)
    tap.equal(dict(collections.Counter(events)), samples, "krait's script has both events")
    with open(r.path("x.speedscope.json"), encoding="utf-8") as f:
        document = json.load(f)
    weights = sum(sum(p["weights"]) for p in document["profiles"])
    tap.equal((weights, {p["unit"] for p in document["profiles"]}),
              (samples["page-faults"], {"none"}), "speedscope has the first event, and no time")
    tap.equal(document["name"], "krait: page-faults", "and says which")
    with gzip.open(r.path("x.pb.gz")) as f:
        packed = f.read()
    tap.ok(all(b"\x32" + bytes([len(n)]) + n in packed for n in
               (b"page-faults", b"page-faults-samples", b"context-switches")),
           "pprof has sample types for both")
    report = h.run_krait("report", r.path("x.data")).stdout
    sections = re.split(r"^# event (\S+)\n", report, flags=re.M)[1:]
    tap.equal(sections[::2], list(samples), "report has a section for each event", report)
    totals = [int(re.search(r"^([\d,]+) samples of", s, re.M).group(1).replace(",", "")) for s in sections[1::2]]
    tap.equal(totals, list(samples.values()), "with its own total", report)
    hottest = [re.search(r"^ *Self +Total .*\n(.*)$", s, re.M) for s in sections[1::2]]
    tap.ok(all(hottest) and "touch" in hottest[0].group(1) and "wait" in hottest[1].group(1),
           "and its own hottest function", report)
    one = h.run_krait("report", "--event", "context-switches", r.path("x.data"))
    tap.ok("# event" not in one.stdout and "{:,} samples of context-switches".format(
           samples["context-switches"]) in one.stdout, "report --event has that one", one.stdout)
    html = h.run_krait("convert", "-o", r.path("y.html"), r.path("x.data"))
    tap.ok("page-faults only; %d samples of other events" % samples["context-switches"]
           in html.stderr, "convert says which event a page has", html.stderr)
    diff = h.run_krait("diff", r.path("x.data"), r.path("x.data"), "--event", "nonsense")
    tap.ok(diff.returncode == 6 and "no samples of an event nonsense" in diff.stderr,
           "an event that is not there is named", diff.stderr)


def check_oracle(tap, python, script, event):
    """Stacks at task switches and page faults, some of which hit the kernel: all are legal."""
    name = "%s: %s at %s" % (python.name, script, event)
    with h.start(python, script) as target:
        r = h.record("-p", str(target.pid), "-d", h.moment(0.3), "-e", event + ",cpu-clock", "-c", "1",
                     *h.OWN_STACKS)
    for part in (event, "cpu-clock"):
        check_accounts(tap, name, r, part)
    # If memory is short, the missing page may be one that the walk would read; then the stack says so.
    stacks = [(s, n) for s, n in r.stacks if event != "page-faults" or s[1] != "[truncated: frame fault]"]
    tap.ok(sum(n for _, n in stacks) >= 0.99 * r.samples(), name + ": next to none is cut", h.show(r.stacks))
    illegal, _ = target.oracle.judge(stacks)
    tap.ok(stacks and not illegal, name + ": every stack is one the target can have",
           "%d samples" % r.samples(), h.show(illegal), r.err)
    tap.equal(stats_of(r, event).get("unknown_frames"), 0, name + ": no frame is unknown")


def check_frequency(tap, python):
    """Sampled by frequency, samples stand for many faults: shares are those of the faults."""
    # The rate is that of the machine, which others use, too.
    r = h.record("-e", "page-faults", "-F", "4000", lines=False,
                 command=python.command(python.target("events.py")), outputs=("x.folded", "x.data"))
    match = re.search(r"^TOLD (.*)$", r.out, re.M)
    told = json.loads(match.group(1))["faults"] if match else 0
    interrupts, got = r.stats.get("interrupts", 0), of_function(r.stacks, "touch")
    tap.ok(0 < interrupts < told, "-F samples some of the page faults", r.err)
    tap.ok(told / 2 < got < told * 2, "and counts what the samples stand for",
           "%d, the kernel says %d" % (got, told), h.show(r.stacks))
    report = h.run_krait("report", r.path("x.data")).stdout
    tap.ok(re.search(r"^{:,} events of page-faults in {:,} samples, none lost$".format(r.samples(), interrupts),
                     report, re.M), "report says both", report)


def check_leaf(tap, python):
    """A task switch's native and kernel part goes from sleep() down to the scheduler."""
    r = h.record("-n", "-k", *BOTH, "-e", "cpu-clock", lines=False,
                 command=python.command(python.target("events.py"), "9"), outputs=("x.data",))
    # A busy machine reads libc's rows in the first second.
    h.run_krait("convert", "--event", "context-switches", "--time", "50%-100%", "-q", "-o", r.path("cs.folded"),
                r.path("x.data"))
    stacks = [(s, c) for s, c in h.parse_folded(r.path("cs.folded"))
              if any(f.startswith("wait ") for f in s)]
    whole = sum(c for s, c in stacks if any("libc.so" in f for f in s) and
                any("schedule" in f or "nanosleep" in f for f in s if f.endswith("_[k]")))
    total = sum(c for _, c in stacks)
    tap.ok(total > 100 and whole > 0.9 * total,
           python.name + ": task switches are seen from Python to the scheduler", h.show(stacks))
    tap.equal(r.stats.get("native.truncated.no registers"), 0,
              python.name + ": user registers are found in the kernel")


def check_refusals(tap, python):
    """An event that the machine lacks gives one line and code 5; an invalid one gives code 2."""
    command = python.command("-c", "pass")
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    path = os.path.join(folder, "x.folded")
    none = h.run_krait("record", "-e", "page-fault", "-o", path, "--", *command)
    tap.ok(none.returncode == 2 and 'no event "page-fault"' in none.stderr,
           "an event that is none is refused", none.stderr)
    # No machine has a PMU that knows the raw event with all bits set.
    lacks = h.run_krait("record", "-e", "cpu-clock,rffffffffffffffff", "-o", path, "--", *command)
    tap.ok(lacks.returncode == 5 and len(lacks.stderr.splitlines()) == 1 and
           "rffffffffffffffff" in lacks.stderr, "an event that the machine lacks is one line",
           lacks.returncode, lacks.stderr)
    for event, says in (("nosuch/event=1/", 'no PMU "nosuch"; it has '), ("software/faults/", 'no event or field "faults"'),
                        ("software/config=2", "ends with a slash"), ("sched:no_such_place", "no tracepoint")):
        refused = h.run_krait("record", "-e", event, "-o", path, "--", *command)
        tap.ok(refused.returncode == 2 and says in refused.stderr, event + " is refused by name", refused.stderr)
    if os.path.exists("/sys/bus/event_source/devices/msr/events/tsc"):
        lacks = h.run_krait("record", "-e", "msr/tsc/", "-o", path, "--", *command)
        tap.ok(lacks.returncode == 5 and "can be counted" in lacks.stderr, "a PMU that does not sample is said", lacks.stderr)
    rated = h.run_krait("record", "-e", "sched:sched_process_fork", "-F", "99", "-o", path, "--", *command)
    tap.ok(rated.returncode == 2 and "no rate" in rated.stderr, "a tracepoint has no rate", rated.stderr)
    tap.ok(not os.path.exists(path), "and leaves no file")
    shutil.rmtree(folder)


def check_pmu(tap, python):
    """The kernel's software events by the number of their PMU are those with names."""
    r = h.record("-e", "page-faults,software/config=2,name=faults-of-pmu/", "-c", "1", lines=False, outputs=("x.data", "x.folded"),
                 command=python.command("-c", "x = [bytearray(4096) for _ in range(2000)]"))
    report = h.run_krait("report", r.path("x.data")).stdout
    totals = dict((name, int(cnt.replace(",", ""))) for cnt, name in
                  re.findall(r"^([\d,]+) samples of (\S+?)[,:]", report, re.M))
    tap.ok(set(totals) == {"page-faults", "faults-of-pmu"} and totals["page-faults"] > 1000 and
           near(totals["faults-of-pmu"], totals["page-faults"]), "an event of a PMU counts what it counts by name", totals, report,
           r.err)


# It touches new pages in one function, while a clock may be read in any.
TOUCHES = """
import mmap, time
def toucher():
    with mmap.mmap(-1, 1 << 22) as m:
        for at in range(0, 1 << 22, 4096):
            m[at] = 1
def other():
    sum(range(60000))
end = time.process_time() + 1.2
while time.process_time() < end:
    toucher()
    other()
"""


def check_groups(tap, python):
    """{a,b}:S: the samples of a are those of b, too, with what b has counted since the one before. {a,b}: each has its own."""
    r = h.record("-F", "997", "-e", "{cpu-clock,page-faults}:S,software/config=2,name=all-faults/", lines=False,
                 outputs=("x.data", "x.folded"), command=python.command("-c", TOUCHES))
    counts = {}
    for event in "cpu-clock", "page-faults", "all-faults":
        check_accounts(tap, "{cpu-clock,page-faults}:S", r, event)
        out = r.path(event + ".folded")
        h.run_krait("convert", "-q", "--event", event, "-i", r.path("x.data"), "-o", out)
        counts[event] = h.parse_folded(out)
    sums = {event: sum(n for _, n in stacks) for event, stacks in counts.items()}
    # On a busy machine another thread's sample has what came before it, and ours what others did, as with perf -a.
    tap.ok(sums["all-faults"] > 10000 and sums["page-faults"] > 0.4 * sums["all-faults"],
           "a group: the member's counts are there", sums, r.err)
    whole = {tuple(frames) for frames, _ in counts["cpu-clock"]}
    tap.ok(counts["page-faults"] and {tuple(frames) for frames, _ in counts["page-faults"]} <= whole, "at its leader's stacks",
           [frames for frames, _ in counts["page-faults"] if tuple(frames) not in whole][:3])
    touched = [sum(n for frames, n in counts["page-faults"] if any(f.startswith(name) for f in frames)) for name in ("toucher", "other")]
    tap.ok(touched[0] > 2 * touched[1], "counted where the leader's next sample was", touched)
    seen = perf_events(r.path("x.data"))
    tap.ok(seen is None or set(seen) == set(counts), "perf reads the events of a group", seen)
    own = h.record("-F", "997", "-e", "{cpu-clock,task-clock}", lines=False, outputs=("x.data",), command=python.command("-c", TOUCHES))
    seen = perf_events(own.path("x.data"))
    tap.ok(seen is None or min(seen.get("cpu-clock", 0), seen.get("task-clock", 0)) > 0.8 * 1.2 * 997, "{a,b}: each has its samples", seen,
           own.err)
    if os.path.exists("/sys/bus/event_source/devices/msr/events/tsc"):
        own = h.record("-F", "499", "-e", "{cpu-clock,msr/tsc/}:S", lines=False, outputs=("x.data", "x.folded"),
                       command=python.command("-c", TOUCHES))
        h.run_krait("convert", "-q", "--event", "msr/tsc/", "-i", own.path("x.data"), "-o", own.path("t.folded"))
        ticks = sum(n for _, n in h.parse_folded(own.path("t.folded")))
        tap.ok(ticks > 1e8, "what a PMU only counts is read at a clock's samples", ticks, own.err)
    for events, says in (("{cpu-clock,page-faults", "has no end"), ("{cpu-clock,page-faults}:u", ":S is all"),
                         ("{page-faults,cpu-clock}:S", "a clock leads"), ("{cpu-clock,sched:sched_switch}:S", "not tracepoints")):
        refused = h.run_krait("record", "-e", events, "--", *python.command("-c", "pass"))
        tap.ok(refused.returncode == 2 and says in refused.stderr, events + " is refused", refused.stderr)


PLACES = '''
import os, subprocess
def starter(n):
    for _ in range(n):
        os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)
def writer(n):
    fd = os.open("/dev/null", os.O_WRONLY)
    for _ in range(n):
        os.write(fd, b"x")
def filler():
    return [bytearray(4096) for _ in range(500)]
starter(20)
writer(500)
kept = filler()
'''


def check_tracepoints(tap, python):
    """Each time that a thread comes by is a sample, with its Python stack."""
    if not os.path.isdir("/sys/kernel/tracing/events/syscalls/sys_enter_write"):
        tap.skip("tracepoints", "none of system calls in this kernel")
        return
    r = h.record("-e", "sched:sched_process_fork,syscalls:sys_enter_writ?,page-faults", "-c", "1", "--off-cpu", lines=False,
                 outputs=("x.data",), command=python.command("-c", PLACES))
    counts, names = {}, ("starter", "writer", "filler")
    for event in "sched:sched_process_fork", "syscalls:sys_enter_writ?", "page-faults":
        check_accounts(tap, "tracepoints", r, event)
        counts[event] = dict(zip(names, counts_by_function(r, event, names)))
    tap.equal((counts["sched:sched_process_fork"]["starter"], counts["syscalls:sys_enter_writ?"]["writer"]), (20, 500),
              "a tracepoint, and those that match a glob: every time, in the function that it was", counts, r.err)
    tap.ok(counts["page-faults"]["filler"] > 300, "beside other events", counts)
    events = perf_events(r.path("x.data"))
    tap.ok(events is None or len(events) >= 3, "perf reads them", events)
    r = h.record("-e", "syscalls:sys_enter_write", "-c", "10", lines=False, command=python.command("-c", PLACES))
    stack = [(frames, count) for frames, count in r.stacks if any(f.split(" ")[0] == "writer" for f in frames)]
    tap.ok(45 <= sum(count for _, count in stack) <= 51, "-c 10: every tenth time", stack, r.err)


# krait has looked at it before it begins.
FILTERED = '''
import ctypes, os, time
time.sleep(0.3)
ctypes.CDLL(None).prctl(15, b"filtered-one", 0, 0, 0)  # PR_SET_NAME: a chroot has no /proc
fd = os.open("/dev/null", os.O_WRONLY)
for i in range(300):
    os.write(fd, b"x" * (i + 1))
for name in ["/bin/true"] * 5 + ["/bin/echo"] * 3:
    os.waitpid(os.posix_spawn(name, ["x"], {}), 0)
'''


def check_filters(tap, python):
    """Filters select as perf's do, among them those that the kernel's program cannot leave to the kernel."""
    if not os.path.isdir("/sys/kernel/tracing/events/syscalls/sys_enter_write"):
        return
    fork = "sched:sched_process_fork"
    command = python.command("-c", FILTERED)
    for event, text, want in (("syscalls:sys_enter_write", "fd != 2 && count > 100 && !(count & 1) || count == 7 && fd > 2", 101),
                              ("syscalls:sys_enter_w*te", "fd > 2 && (count==7 || count == 0x9 || count == 11)", 3),
                              (fork, 'parent_comm ~ "filtered-*"', 8), (fork, 'COMM ~ "*-one"', 8),
                              (fork, 'child_comm ~ "*tered-*" && parent_comm == "filtered-one"', 8),
                              (fork, 'comm != "filtered-one"', 0), (fork, 'child_comm ~ "*two*"', 0), (fork, "common_pid == 1 || CPU > 4095", 0)):
        r = h.record("-e", event, "--filter", text, lines=False, command=command)
        # libffi writes, too, when ctypes loads it where there is no /proc.
        tap.equal(sum(count for frames, count in r.stacks if "ctypes" not in str(frames)), want, "--filter %s" % text, r.err)
    for args, says in (((fork, "nosuch == 1"), "its fields: parent_comm"), ((fork, "child_pid"), "compares with"),
                       ((fork, "(child_pid == 1"), "not closed"), ((fork, "child_pid ~ 3"), "is a number"),
                       ((fork, "child_pid == 1 child_pid"), "ends before"), ((fork, 'child_comm < "a"'), "not with <"),
                       ((fork, 'child_comm ~ "a*b"'), "has a *"), ((fork, 'child_comm == "a'), "quote"),
                       ((fork, " || ".join(["child_pid == 1"] * 17)), "at most 16"), (("cs", "x == 1"), "follows the tracepoint")):
        none = h.run_krait("record", "-e", args[0], "--filter", args[1], "-o", "/nowhere/x.data", "--", "true")
        tap.ok(none.returncode == 2 and says in none.stderr, "refused: %.20s" % args[1], none.stderr)
    began = time.monotonic()
    r = h.record("-e", "syscalls:*", lines=False, command=python.command("-c", PLACES))
    tap.ok(r.samples() > 1000 and time.monotonic() - began < 20, "all system calls do not take a minute to free", r.samples(),
           time.monotonic() - began)


PROBED = '''
import ctypes, gc, sys
libc = ctypes.CDLL(None)
def collector(n):
    for _ in range(n):
        gc.collect()
def asker(n):
    for _ in range(n):
        libc.getppid()
gc.disable()
sys.stdin.read(int(len(sys.argv) > 1))
collector(30)
asker(400)
'''


def counts_by_function(r, event, names):
    """Samples of that event in each of these functions."""
    h.run_krait("convert", "-q", "--event", event, "-i", r.path("x.data"), "-o", r.path("e.folded"))
    counts = collections.Counter()
    for frames, count in h.parse_folded(r.path("e.folded")):
        for name in names:
            counts[name] += count if any(f.split(" ")[0] == name for f in frames) else 0
    return [counts[name] for name in names]


TWIN = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1]) if sys.argv[1:] else None
print(flush=True)
sys.stdin.read()
for _ in range(40 if library else 0):
    library.cbrt()
"""


def check_probed_files(tap, python):
    """Processes may have different files of one name, as in containers: all are probed, and who has none is named."""
    libm = next(line.split()[-1] for line in open("/proc/self/maps", encoding="utf-8") if "/libm.so" in line or "/libm-" in line)
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name, "libtwin.so.6") for name in "ab"]
        for file in files:
            os.mkdir(os.path.dirname(file))
            shutil.copy(libm, file)
        targets = [subprocess.Popen([python, "-c", TWIN, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                   for args in ([files[0]], [files[1]], [])]
        for target in targets:
            target.stdout.readline()
        data = os.path.join(folder, "x.data")
        with subprocess.Popen([h.KRAIT, "record", "--probe", "libtwin:cbrt", "-p", ",".join(str(t.pid) for t in targets), "-o", data],
                              stderr=subprocess.PIPE, encoding="utf-8") as krait:
            h.wait_until(lambda: sum("bpf_link" in f or "bpf-link" in f for f in h.descriptors(krait.pid).values()) >= 5, krait)
            for target in targets:
                target.communicate(b"x")
            says = krait.stderr.read()
        report = h.run_krait("report", data)
        tap.ok("80 samples of uprobe:libtwin:cbrt" in report.stdout + report.stderr and
               f"1 of 3 processes have no file libtwin with it by now: {targets[2].pid}\n" in says,
               "each process's own file is probed", says + report.stdout + report.stderr)


def check_static_functions(tap, python):
    """Each source of a library may have a static function of one name: all are probed."""
    source = "static __attribute__((noinline)) void same(void) { __asm__ volatile(\"\"); }\nvoid %s(void) { same(); }\n"
    with tempfile.TemporaryDirectory() as folder:
        library, data, files = os.path.join(folder, "libsame.so"), os.path.join(folder, "x.data"), []
        for name in ("one", "two"):
            files.append(os.path.join(folder, name + ".c"))
            with open(files[-1], "w", encoding="utf-8") as f:
                f.write(source % name)
        compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")
        if not compiler or subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, *files], check=False).returncode:
            tap.skip("static functions of one name", "no C compiler")
            return
        code = f"import ctypes\nlib = ctypes.CDLL({library!r})\nfor _ in range(20): lib.one(), lib.two()"
        recorded = h.run_krait("record", "--probe", library + ":same", "-o", data, "--", python, "-c", code)
        report = h.run_krait("report", data)
        tap.ok("40 samples of uprobe:libsame.so:same" in report.stdout + report.stderr, "static functions of one name are probed all",
               recorded.stderr + report.stdout + report.stderr)


def check_probes(tap):
    """Functions of libraries, returns from them, and marks in programs: each time, with the Python stack."""
    python = "/usr/bin/python3"
    marks = subprocess.run(["readelf", "-n", python], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8",
                           check=False).stdout if os.path.exists(python) else ""
    if "gc__start" not in marks:
        tap.skip("probes in code", "this machine's python3 has no marks (--with-dtrace)")
        return
    events = ("usdt:libpython:gc__start", "usdt:python:python:gc__done", "uprobe:libc:getppid", "uretprobe:libc:getppid")
    r = h.record("-e", ",".join(events[:2]), "--probe", "libc:getppid", "--probe", "libc:getppid%return", "-e", "cpu-clock",
                 lines=False, outputs=("x.data",), command=[python, "-c", PROBED])
    names = ("collector", "asker")
    got = {event: counts_by_function(r, event, names) for event in events}
    for event in events:
        check_accounts(tap, "probes", r, event)
    tap.equal(got, {events[0]: [30, 0], events[1]: [30, 0], events[2]: [0, 400], events[3]: [0, 400]},
              "a mark, a function and its returns: every time, in the Python function that it was", r.err)
    found = perf_events(r.path("x.data"))
    tap.ok(found is None or sum(found.values()) >= 860, "perf reads them", found)
    # A process that runs already: its counter of listeners is raised, and lowered at the end.
    data = os.path.join(r.folder, "x.data")
    # On one CPU, since each counts for itself.
    with subprocess.Popen([python, "-c", PROBED, "wait"], stdin=subprocess.PIPE,
                          preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})) as target:
        h.wait_until(lambda: "/libc.so.6" in open("/proc/%d/maps" % target.pid, encoding="utf-8").read(), None)
        with subprocess.Popen([h.KRAIT, "record", "-q", "-e", "usdt:python:gc__start", "--probe", "uprobe:libc.so.6:getppid",
                               "-c", "10", "-p", str(target.pid), "-o", data]) as krait:
            h.wait_until(lambda: sum("bpf_link" in f or "bpf-link" in f for f in h.descriptors(krait.pid).values()) >= 5, krait)
            target.stdin.write(b"x")
            target.stdin.close()
    tap.equal([counts_by_function(r, "usdt:python:gc__start", names), counts_by_function(r, "uprobe:libc.so.6:getppid", names)],
              [[3, 0], [0, 40]], "in a process that runs: every tenth time")
    check_probed_files(tap, python)
    check_static_functions(tap, python)
    command = [python, "-c", "pass"]
    for event, says in (("usdt:python:no_mark", "it has python:"), ("usdt:libm:x", "has no marks"),
                        ("uprobe:libc:no_such_function", "has no function no_such_function"),
                        ("uprobe:libc:strlen", "is chosen at run time (IFUNC)"),
                        ("uprobe:libnosuch:f", "give its path"), ("uprobe:/no/such:f", "cannot be read"),
                        ("uprobe:/etc/passwd:f", "cannot be used"), ("uprobe:libc", "a probe is"),
                        ("uprobe:libc:getppid+1", "no instruction"), ("uretprobe:libc:getppid+4", "without an offset")):
        refused = h.run_krait("record", "-e", event, "-o", r.path("no.data"), "--", *command)
        tap.ok(refused.returncode == 2 and says in refused.stderr and len(refused.stderr.splitlines()) <= 2,
               event + " is refused by name", refused.stderr)


def main():
    h.need_bpf()
    tap = h.Tap()
    pythons = h.interpreters(tap)
    if not pythons:
        tap.skip("all", "no interpreter (make pythons)")
        return tap.done()
    results = None
    # How a layout is walked does not depend on the event: one of each kind of walk suffices.
    some = [next((p for p in pythons if p.minor == minor), None) for minor in ("3.15", "3.14", "3.12", "3.11", "3.8")]
    for python, check in h.covering([p for p in some if p], [check_counts, check_oracle]):
        if check == check_counts:
            results = results or check(tap, python)
        else:
            check(tap, python, "threads.py", "context-switches")
    if results:
        check_outputs(tap, *results)
    newest = h.newest(pythons)
    check_oracle(tap, newest, "flow.py", "page-faults")
    check_frequency(tap, newest)
    check_refusals(tap, newest)
    check_pmu(tap, newest)
    check_groups(tap, newest)
    check_tracepoints(tap, newest)
    check_filters(tap, next((p for p in pythons if p.root == "/"), newest))
    check_probes(tap)
    for python in pythons:
        if python.minor == "3.15" and python.kind == "exe":
            check_leaf(tap, python)
    h.cleanup()
    return tap.done()


if __name__ == "__main__":
    main()
