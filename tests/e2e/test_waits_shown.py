#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Time on and off the CPU in every output of one capture: all readers see the same sums, state by state."""
import collections
import gzip
import json
import os
import re
import shutil
import subprocess
import sys

import consumers
import harness as h

OUTPUTS = ("x.data", "x.html", "x.pb.gz", "x.firefox.json", "x.speedscope.json", "x.pftrace")
PERFETTO = "perfetto==0.59.1"


def krait(*args):
    return subprocess.run([h.KRAIT, *args], capture_output=True, encoding="utf-8", timeout=h.PATIENCE_SECS)


def folded_sums(path, *args):
    """Returns {leaf without what follows a colon: sum} of folded stacks."""
    sums = collections.Counter()
    for line in krait("convert", "-q", "-f", "folded", "-o", "-", *args, "-i", path).stdout.splitlines():
        stack, _, count = line.rpartition(" ")
        leaf = re.match(r"\[(\w+)[:\]]", stack.split(";")[-1])
        sums[leaf.group(1) if leaf else ""] += int(count)
    return sums


def script_sums(path):
    """Returns {event: [samples, ns]} from krait script."""
    sums = collections.defaultdict(lambda: [0, 0])
    for match in re.finditer(r":\s+(\d+)\s+(cpu-clock|offcpu-time):", krait("script", path).stdout):
        sums[match.group(2)][0] += 1
        sums[match.group(2)][1] += int(match.group(1))
    return dict(sums)


# ---- filters --------------------------------------------------------------------------------------


ON, OFF = ("cpu", "python", "native"), ("gil", "lock", "io", "sleep", "runnable", "fault", "stopped", "waiting",
                                        "stop-the-world", "critical-section")
SAMPLE = re.compile(r"\s(\d+)/(\d+)\s+\[\d+\]\s+[\d.]+:\s+(\d+)\s+(cpu-clock|offcpu-time):")


def script_samples(path, *args):
    """Returns [(tid, ns, event, leaf)]."""
    lines = krait("script", *args, path).stdout.splitlines()
    return [(int(m.group(2)), int(m.group(3)), m.group(4), following.split()[-2].partition("+")[0])
            for m, following in zip(map(SAMPLE.search, lines), lines[1:] + [""]) if m]


def check_filters(tap, path, main):
    """All commands agree about each part, and the parts add up to the whole."""
    def total(*args):
        return sum(folded_sums(path, "--wall", *args).values())
    every = total()
    parts = {state: total("--state", state) for state in ON + OFF}
    tap.equal(sum(parts.values()), every, "--state: each state apart is the whole together", parts)
    tap.equal((total("--state", "on"), total("--state", "off")),
              (sum(parts[s] for s in ON), sum(parts[s] for s in OFF)), "--state on, off", parts)
    samples = script_samples(path)
    tids = sorted({tid for tid, *_ in samples})
    for args, mine in ((("--state", "gil"), lambda s: s[3].startswith("[gil")), (("--thread", "main"), lambda s: s[0] == main),
                       (("--thread", str(tids[-1])), lambda s: s[0] == tids[-1]), (("--thread", "*"), lambda s: True)):
        want, name = [s for s in samples if mine(s)], " ".join(args)
        tap.equal(script_samples(path, *args), want, "script %s" % name)
        tap.equal(total(*args), sum(s[1] for s in want), "convert %s" % name)
        said = krait("diff", "--wall", *args, path, path).stdout
        tap.equal(re.findall(r"^[AB]: .*?, ([\d,]+) samples", said, re.M), ["{:,}".format(len(want))] * 2, "diff %s" % name, said)
        said = krait("report", "--wall", *args, "-i", path).stdout
        tap.ok(re.search("^{:,} samples\\b".format(len(want)), said, re.M), "report %s" % name, said)
    holding, gil = {s[0] for s in script_samples(path, "--gil")}, total("--gil")
    tap.ok(0 < parts["python"] <= gil < every and holding <= set(tids), "--gil: what holds the GIL, on a CPU or ready to run", gil, parts)
    tap.equal(total("--idle"), every, "--idle: the same as --wall")
    said = krait("annotate", "--event", "offcpu-time", "--state", "sleep", "-i", path).stdout
    tap.ok("time.sleep" in said and " n += 1" not in said.replace("0.00%", ""), "annotate --state", said)


def rows(text):
    """Returns {function: (self, what it waits for)} of a table with that column."""
    text = "\n" + text
    start = text.index("Waits for")
    where = start - text.rindex("\n", 0, start) - 1
    end = text.index("Function", start) - text.rindex("\n", 0, start) - 1
    return {line[end:].split("  ")[0].strip(): (float(line[:7].strip(" %")), line[where:end].strip())
            for line in text[start:].splitlines()[1:] if re.match(r" *[\d.]+% +[\d.]+% ", line)}


def check_who_waits(tap, path):
    """A report says which function waits, and for what: not that "[lock]" waits, or the kernel."""
    for args in (("--event", "offcpu-time"), ("--wall",)):
        name, text = "report %s: " % args[0], krait("report", *args, "-n", "0", "-i", path).stdout
        table = rows(text)
        tap.ok(table["in_sleep"][1].startswith("sleep") and table["in_pipe"][1].startswith("io: read pipe") and
               "gil" in table["spin_a"][1], name + "functions wait for what they wait for", text)
        tap.ok(not any(f.startswith(("[sleep", "[io", "[gil", "[lock")) for f in table), name + "marks do not wait", text)
        tap.ok("[sleep] in " in text and "[gil] in " in text, name + "what states are, and their sums", text)
    off = rows(krait("report", "--event", "offcpu-time", "-n", "0", "-i", path).stdout)
    tap.ok(not any("schedule" in f for f in off), "nor does the kernel", off)
    for word in ("sleep", "[sleep]"):
        text = krait("report", "--event", "offcpu-time", "--callers", word, "-i", path).stdout
        tap.ok(text.count("in_sleep") == 1 and re.search(r"%.* \[sleep\]$", text, re.M) and "schedule" not in text,
               "--callers %s: who waits, without the kernel" % word, text)
    text = krait("report", "--event", "offcpu-time", "--callers", "[si]*_[ab]", "-i", path).stdout
    tap.ok("spin_a" in text and "spin_b" in text, "--callers [si]*_[ab]: a pattern, since nothing has that name", text)
    text = krait("report", "--event", "offcpu-time", "--callers", "sleep", "--kernel", "-i", path).stdout
    tap.ok("schedule" in text or "nanosleep" in text, "--kernel: with the kernel", text)
    text = krait("report", "--event", "offcpu-time", "--tree", "-i", path).stdout
    tap.ok("in_sleep" in text and "[sleep]" in text and "schedule" not in text, "--tree: without the kernel", text)
    for word in ("io", "[io: read pipe]"):
        found = script_samples(path, "--function", word)
        tap.ok(found and all(s[3] == "pipe]" for s in found), "--function %s: these waits" % word, found[:3])
    text = krait("diff", "--event", "offcpu-time", "-m", "0", path, path).stdout
    tap.ok("in_sleep" in text and "schedule" not in text, "diff: functions wait", text)


# ---- consumers ------------------------------------------------------------------------------------


def check_perf(tap, path, waits):
    """perf's own reader: pairs of switches around the samples, which stand for nanoseconds."""
    perf = shutil.which("perf")
    if not perf:
        return tap.skip("perf", "not here (linux-perf)")
    done = consumers.run(perf, "script", "-i", path, "--show-switch-events", "-F", "comm,tid,time,event,period")
    out, pairs, wrong, inside, total = {}, 0, [], 0, 0
    for line in done.stdout.splitlines():
        match = re.match(r".*?\s(\d+)\s+(\d+\.\d+):\s+(?:(\d+)\s+)?(PERF_RECORD_SWITCH (?:IN|OUT)|[\w-]+)", line)
        if not match:
            continue
        tid, _, period, what = match.groups()
        if what.endswith("OUT"):
            wrong += [line] if tid in out else []
            out[tid] = line
        elif what.endswith("IN"):
            pairs += 1
            wrong += [] if out.pop(tid, None) else [line]
        elif what == "offcpu-time" and period:
            total += int(period)
            inside += tid in out
            wrong += [] if tid in out else [line]
    tap.ok(pairs > 20 and inside and not wrong and not out, "perf script: each wait lies between its switches", *wrong[:5],
           pairs, len(out), done.stderr)
    return tap.equal(total, waits, "perf script: and their sum is the same")


def check_hotspot(tap, r, sums, name, parser):
    """hotspot's parser: both events, their nanoseconds, and pairs of switches."""
    out = r.path("hotspot")
    done = consumers.run(*parser, "--input", r.path("x.data"), "--output", out)
    tap.equal(done.returncode, 0, name + " reads the capture", done.stderr[-500:])
    found = consumers.Hotspot(out)
    tap.equal([[found.samples[i], found.costs[i]] for i in (0, 1)], [sums["cpu-clock"], sums["offcpu-time"]],
              name + ": samples and nanoseconds of both events")
    went, came = found.switches[1], found.switches[0]
    tap.ok(went == came > 20, name + ": as many switches out as in", found.switches)


def check_samply(tap, r, sums):
    """CPU samples become samples there; samples of another event become markers with stacks."""
    program = consumers.samply()
    if not program:
        return tap.skip("samply", "not here (scripts/consumers)")
    out = r.path("samply.json")
    done = consumers.run(*program, "import", "--save-only", "-o", out, r.path("x.data"))
    tap.equal(done.returncode, 0, "samply imports the capture", done.stderr)
    markers, samples, cpu_ms = consumers.samply_sums(out)
    tap.equal([samples, dict(markers)], [sums["cpu-clock"][0], {"offcpu-time": sums["offcpu-time"][0]}],
              "samply: a sample for each of CPU time, a marker for each wait")
    return tap.ok(abs(cpu_ms - sums["cpu-clock"][1] / 1e6) <= 0.01 * cpu_ms + 1, "samply: threads have their CPU time",
                  cpu_ms, sums)


def check_pprof(tap, path, cpu, waits, gil):
    go = shutil.which("go") or (os.path.exists("/usr/local/go/bin/go") and "/usr/local/go/bin/go")
    program = [consumers.pprof()] if consumers.pprof() else [go, "tool", "pprof"] if go else None
    if not program:
        return tap.skip("go tool pprof", "not here (scripts/consumers)")
    raw = consumers.run(*program, "-raw", path, env=dict(os.environ, GOTOOLCHAIN="local", GOPROXY="off"))
    text = raw.stdout
    head = re.search(r"^Samples:\n(.*)$", text, re.M)
    if raw.returncode or not head:
        return tap.skip("go tool pprof", "does not run here: " + (raw.stderr or "no output")[-200:])
    tap.equal(head.group(1).replace("[dflt]", "").split(),
              ["samples/count", "cpu/nanoseconds", "off-cpu-samples/count", "off-cpu/nanoseconds",
               "gil-wait/nanoseconds"], "go tool pprof: the sample types")
    tap.ok("cpu/nanoseconds[dflt]" in text, "go tool pprof: CPU is what is shown first")
    sums = [0] * 5
    for line in re.findall(r"^\s*((?:\d+ +){4}\d+):", text, re.M):
        sums = [a + int(b) for a, b in zip(sums, line.split())]
    tap.equal([sums[1], sums[3], sums[4]], [cpu, waits, gil], "go tool pprof: the sums, and the GIL's part of them")
    top = consumers.run(*program, "-top", "-cum", "-nodecount=200", "-nodefraction=0", "-sample_index=gil-wait", path,
                        env=dict(os.environ, GOTOOLCHAIN="local", GOPROXY="off")).stdout
    return tap.ok("spin_a" in top and "in_sleep" in top or "spin_b" in top,
                  "go tool pprof -sample_index=gil-wait: who waits for it", top[:1500])


def check_firefox(tap, path, waits):
    """Checks the file by its own rules and with the profiler's own program."""
    with open(path, encoding="utf-8") as f:
        profile = json.load(f)
    names, kinds = profile["shared"]["stringArray"], [c["name"] for c in profile["meta"]["categories"]]
    total, wrong, seen = 0, [], collections.Counter()
    for thread in profile["threads"]:
        m = thread["markers"]
        wrong += [k for k in m if k != "length" and len(m[k]) != m["length"]]
        for name, start, end, category, data in zip(m["name"], m["startTime"], m["endTime"], m["category"], m["data"]):
            total += end - start
            seen[(names[name], kinds[category])] += 1
            wrong += [] if 0 <= start <= end and data["what"].startswith("[" + names[name]) else [data]
    tap.ok(not wrong, "Firefox: markers are intervals and say what was waited for", *wrong[:5])
    tap.ok(seen[("gil", "Waits for the GIL")] and seen[("sleep", "Sleeps")] and seen[("io", "Waits for I/O")],
           "Firefox: in the categories of their states", seen)
    # Sampled waits stand for more than their own length.
    tap.ok(0 < total * 1e6 <= waits * 1.001, "Firefox: together no longer than the waits", total, waits)
    program = consumers.firefox()
    if not program:
        return tap.skip("profiler-cli", "not here (npm)")
    try:
        done = consumers.firefox_load(program, path)
        said = consumers.run(*program, "thread", "markers").stdout
    finally:
        consumers.run(*program, "stop", "--all")
    if "did not become ready" in done.stdout + done.stderr:
        return tap.skip("profiler-cli", "its daemon did not start within half a second, ten times")
    return tap.ok(done.returncode == 0 and re.search(r"interval: min=", said) and "has stack trace" in said,
                  "profiler-cli: markers with stacks", done.stderr, said[:800])


def check_speedscope(tap, path, cpu, waits):
    with open(path, encoding="utf-8") as f:
        document = json.load(f)
    sums = collections.Counter()
    for p in document["profiles"]:
        sums[p["name"].rpartition(", ")[2]] += sum(p["weights"])
        if p["unit"] != "nanoseconds" or sum(p["weights"]) != p["endValue"] or len(p["weights"]) != len(p["samples"]):
            sums["wrong " + p["name"]] += 1
    tap.equal(dict(sums), {"CPU": cpu, "waiting": waits}, "speedscope: a profile of each time for each thread")


def page_data(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1))


def above_waits(data):
    """Returns {(kind, name)} of what the marks of waits follow, and the sum of the marks."""
    stack, found, total = [], set(), 0
    for depth, frame, self in zip(*[iter(data["nodes"])] * 3):
        kind, name = data["frames"][7 * frame:7 * frame + 2]
        stack[depth:] = [(data["kinds"][kind], data["strings"][name])]
        if depth and stack[-1][0] == "mark" and stack[-1][1].startswith(("[sleep", "[io", "[gil", "[lock")):
            found.add(stack[-2])
            total += self
    return found, total


def check_page_waits(tap, path, folder):
    """A page shows what waits, not how the kernel does that, unless asked."""
    pages = {}
    for args in ((), ("--kernel",)):
        page = os.path.join(folder, "waits.html")
        tap.equal(krait("convert", "-q", *args, "-i", path, "-o", page).returncode, 0, "converted to a page", args)
        pages[args] = above_waits(page_data(page))
    (short, total), (long, same) = pages.values()
    tap.ok(short and not any(kind == "kernel" for kind, _ in short), "the page: no kernel below a wait", short)
    tap.ok("kernel" in {kind for kind, _ in long}, "the page with --kernel: the kernel below a wait", long)
    tap.equal(total, same, "the page: the same time")


def check_page(tap, path, cpu, waits, gil):
    data = page_data(path)
    tap.equal([sum(data["nodes"][2::3]), sum(data["cpu"][1::2]), sum(data["gil"][1::2])], [cpu + waits, cpu, gil],
              "the page: wall clock is CPU and waiting, GIL waits are a part")


# ---- Perfetto -------------------------------------------------------------------------------------


def perfetto_python():
    """Returns a Python that has the descriptors of PyPI's package; otherwise None and the reason."""
    folder = os.path.join(h.BUILD, "venv-perfetto")
    python = os.path.join(folder, "bin/python")
    probe = "from perfetto.protos.perfetto.trace import perfetto_trace_pb2"
    install = ["install", "-q", "--retries", "0", "--no-compile", PERFETTO, "protobuf"]
    try:
        if not os.path.exists(python):
            # To give it a pip takes longer than all the rest.
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, capture_output=True, timeout=120)
        if subprocess.run([python, "-c", probe], capture_output=True, timeout=60).returncode:
            pip = [sys.executable, "-m", "pip", "--python", python]
            if subprocess.run([*pip, "--version"], capture_output=True, timeout=60).returncode:
                subprocess.run([python, "-m", "ensurepip"], check=True, capture_output=True, timeout=120)
                pip = [python, "-m", "pip"]
            subprocess.run([*pip, *install], check=True, capture_output=True, timeout=180)
        subprocess.run([python, "-c", probe], check=True, capture_output=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        return None, "%s cannot be installed: %s" % (PERFETTO, str(error)[-100:])
    return python, None


READ_TRACE = r'''
import collections, json, sys
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
trace, known, wrong = pb.Trace(), collections.defaultdict(dict), []
trace.ParseFromString(open(sys.argv[1], "rb").read())
tracks, open_, ns = {}, collections.defaultdict(list), collections.Counter()
samples, slices, stacks = 0, 0, 0
if trace.SerializeToString() != open(sys.argv[1], "rb").read():
    wrong.append("fields that Perfetto does not know, or in another order")
for packet in trace.packet:
    for field, entries in packet.interned_data.ListFields():
        for entry in entries:
            known[field.name][entry.iid] = entry
    kind = packet.WhichOneof("data")
    if kind == "track_descriptor":
        tracks[packet.track_descriptor.uuid] = packet.track_descriptor
    elif kind == "perf_sample":
        samples += 1
        if packet.perf_sample.callstack_iid not in known["callstacks"]:
            wrong.append("a sample without a stack")
    elif kind == "track_event":
        event = packet.track_event
        track = open_[event.track_uuid]
        if event.track_uuid not in tracks:
            wrong.append("an event of no track")
        if event.type == pb.TrackEvent.TYPE_SLICE_END:
            begin, name = track.pop()
            if not track:
                ns[name] += packet.timestamp - begin
        elif event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
            slices += 1
            track.append((packet.timestamp, known["event_names"][event.name_iid].name))
            if event.callstack_iid:
                stacks += 1
                for frame in known["callstacks"][event.callstack_iid].frame_ids:
                    function = known["frames"][frame].function_name_id
                    if function not in known["function_names"]:
                        wrong.append("a frame without a name")
            for i in event.category_iids:
                if i not in known["event_categories"]:
                    wrong.append("no category")
if any(open_.values()):
    wrong.append("slices that do not end")
clocks = {c.clock_id: c.timestamp for p in trace.packet for c in p.clock_snapshot.clocks}
threads = [t.thread.thread_name for t in tracks.values() if t.HasField("thread")]
print(json.dumps({"wrong": wrong[:5], "ns": ns, "threads": len(threads), "samples": samples, "slices": slices,
                  "stacks": stacks, "clocks": sorted(clocks), "functions":
                  sorted({e.name for e in known["event_names"].values()})}))
'''


def check_perfetto(tap, path, cpu_samples, seconds):
    python, why = perfetto_python()
    if not python:
        return tap.skip("Perfetto", why)
    done = consumers.run(python, "-c", READ_TRACE, path)
    if done.returncode:
        return tap.ok(False, "Perfetto's own descriptors read the trace", done.stderr[-2000:])
    found = json.loads(done.stdout)
    tap.equal(found["wrong"], [], "Perfetto: slices are nested, every number is known")
    tap.equal([found["threads"], found["clocks"]], [6, [1, 3]], "Perfetto: a track for each thread, and both clocks")
    tap.equal(found["samples"], cpu_samples, "Perfetto: every sample of CPU time is a perf sample")
    tap.ok({"spin_a", "spin_b", "in_sleep", "in_pipe", "feed"} <= set(found["functions"]) and
           found["stacks"] > found["slices"] // 3, "Perfetto: functions and stacks are on slices", found)
    ns = found["ns"]
    tap.ok({"python", "gil", "sleep", "io"} <= set(ns), "Perfetto: states are slices", ns)
    return tap.ok(0.8 * 6 * seconds < sum(ns.values()) / 1e9 < 1.02 * 6 * seconds,
                  "Perfetto: slices fill the threads' time", ns, seconds)


# ---- the whole ------------------------------------------------------------------------------------


def check(tap, python):
    with h.start(python, "idler.py") as target:
        r = h.record("--off-cpu", "-p", str(target.pid), "-d", "1500ms", outputs=OUTPUTS, lines=False)
        tap.equal(r.code, 0, "recorded", r.err)
        cost = {key: h.parse_stats(r.err).get("switches.%s_ns" % key, -1) for key in ("cost", "stacks", "over")}
        tap.ok(cost["cost"] > 0 and cost["stacks"] > 0 and cost["over"] >= 0, "--stats: what following the switches took", cost)
        tap.ok(target.alive(), "the target is alive")
        whole = r.path("whole.data")
        done = krait("record", "-q", "--off-cpu", "-p", str(target.pid), "-d", "400ms", "-o", whole)
        tap.equal(done.returncode, 0, "recorded with native code and the kernel", done.stderr)
    path = r.path("x.data")
    check_filters(tap, path, target.pid)
    check_who_waits(tap, whole)
    check_page_waits(tap, whole, r.folder)
    waits = folded_sums(path, "--event", "offcpu-time")
    sums = script_sums(path)
    total, gil, cpu = sum(waits.values()), waits["gil"], sums["cpu-clock"][1]
    tap.ok(waits["gil"] and waits["sleep"] and waits["io"] and not waits[""],
           "folded: the leaf of each wait is its state", waits)
    tap.equal(sums["offcpu-time"][1], total, "script: the same nanoseconds")
    wall = folded_sums(path, "--wall")
    tap.equal(sum(wall.values()), cpu + total, "folded --wall: their sum")
    check_perf(tap, path, total)
    for name, parser in consumers.hotspots():
        check_hotspot(tap, r, sums, "hotspot" + name, parser)
    check_samply(tap, r, sums)
    check_pprof(tap, r.path("x.pb.gz"), cpu, total, gil)
    check_firefox(tap, r.path("x.firefox.json"), total)
    check_speedscope(tap, r.path("x.speedscope.json"), cpu, total)
    check_page(tap, r.path("x.html"), cpu, total, gil)
    check_perfetto(tap, r.path("x.pftrace"), sums["cpu-clock"][0], 1.5)
    for name in ("x.html", "x.firefox.json", "x.speedscope.json", "x.pb.gz"):
        again = r.path("again-" + name)
        tap.equal(krait("convert", "-q", "-i", path, "-o", again).returncode, 0, "converted: " + name)
    check_page(tap, r.path("again-x.html"), cpu, total, gil)
    check_speedscope(tap, r.path("again-x.speedscope.json"), cpu, total)
    check_firefox_again(tap, r)


def check_firefox_again(tap, r):
    """Read back, a wait still begins when it began."""
    markers = []
    for name in ("x.firefox.json", "again-x.firefox.json"):
        with open(r.path(name), encoding="utf-8") as f:
            threads = json.load(f)["threads"]
        markers.append([[t["tid"], t["markers"]["startTime"], t["markers"]["endTime"]] for t in threads])
    tap.ok(markers[0] == markers[1] and markers[0], "the capture knows from when to when each wait was")


def main():
    h.need_bpf()
    tap = h.Tap()
    found = [p for p in h.interpreters(tap) if p.root == "/"]
    python = h.newest([p for p in found if not p.kind.startswith("nogil")])
    if python:
        check(tap, python)
    else:
        tap.skip("waits in outputs", "no interpreter")
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
