# SPDX-License-Identifier: BSD-2-Clause
"""The programs that read krait's output, and what each of them reports for a recording: how many samples end in each
function, {name: samples}, by name without the file.

A missing program is None; scripts/consumers and npm bring those that Debian 12 lacks.

"""
import collections
import glob
import json
import os
import platform
import re
import select
import shutil
import socket
import struct
import subprocess
import time
import urllib.request

import harness
import npm

OWN, SID = (os.path.join(harness.CACHE, "consumers", name) for name in ("own", "sid"))
LIBRARIES = "usr/lib/%s-linux-gnu" % platform.machine()


def run(*args, timeout=harness.PATIENCE_SECS, **options):
    """Runs a program to its end; output as text."""
    return subprocess.run(args, capture_output=True, timeout=timeout, encoding="utf-8",
                          errors="surrogateescape", stdin=subprocess.DEVNULL, **options)


def plain(name):
    """Returns a name in the form common to all formats: characters that some must replace become one and the
    same."""
    return re.sub(r"[\s;:\"'`()\[\]=>\\-]", "_", name)


def merge(counts):
    merged = collections.Counter()
    for name, count in counts.items():
        merged[plain(name)] += count
    return merged


def of_sid(path):
    """Returns the command for a program of sid with its own libraries; it sees this machine's files."""
    loaders = [os.path.join(SID, name) for name in ("usr/lib64/ld-linux-x86-64.so.2",
                                                    "usr/lib/ld-linux-aarch64.so.1")]
    loader = next((name for name in loaders if os.path.exists(name)), None)
    program, libraries = os.path.join(SID, path), os.path.join(SID, LIBRARIES)
    if not loader or not os.path.exists(program):
        return None
    return [loader, "--library-path", libraries + ":" + libraries + "/libproxy", program]


def versions(own, sid):
    """Returns [(name, command)] for this machine's release and for sid; None if missing."""
    return [("", own), (" of sid", sid)]


# ---- perf -----------------------------------------------------------------------------------------


def perfs():
    return versions(["perf"] if shutil.which("perf") else None, of_sid("usr/bin/perf"))


def function_of(symbol):
    """Python functions are py::NAME:FILE."""
    match = re.match(r"py::(.*):[^:]*$|py::(.*)$", symbol)
    return match.group(1) or match.group(2) or "" if match else symbol


def perf_script_counts(text):
    """Counts the first frame of each sample in perf script's text."""
    counts, fresh = collections.Counter(), False
    for line in text.splitlines():
        if line and not line[0].isspace():
            fresh = True
        elif fresh and line.startswith("\t"):
            symbol = re.match(r"\s+[0-9a-f]+ (.*?)(?:\+0x[0-9a-f]+)? \(.*\)$", line).group(1)
            counts[function_of(symbol)] += 1
            fresh = False
    return counts


def perf_report_counts(text):
    """Counts from perf report -F sample,symbol."""
    counts = collections.Counter()
    for match in re.finditer(r"^\s+(\d+)\s+\[\.\] (.*?)\s*$", text, re.M):
        counts[function_of(match.group(2))] += int(match.group(1))
    return counts


def stackcollapse_counts(perf, data):
    """Counts with perf's own script; None if perf has none or lacks Python."""
    script = "/usr/lib/perf-core/scripts/python/stackcollapse.py"
    if perf != ["perf"] or not os.path.exists(script):
        return None
    counts = collections.Counter()
    done = run(*perf, "script", "-s", script, "-i", data)
    for line in done.stdout.splitlines():
        stack, _, count = line.rpartition(" ")
        counts[function_of(stack.split(";")[-1])] += int(count)
    return counts if done.returncode == 0 else None


# ---- hotspot --------------------------------------------------------------------------------------


def hotspots():
    own = os.path.join(OWN, LIBRARIES, "libexec/hotspot-perfparser")
    own = ["env", "LD_LIBRARY_PATH=" + os.path.join(OWN, LIBRARIES), own] \
        if os.path.exists(own) else None
    sid = of_sid("usr/libexec/hotspot-perfparser")
    return versions(own, sid and ["env", "LANG=C.UTF-8", *sid])


class Hotspot:
    """Parses what hotspot's parser sends to its window: a little-endian length and big-endian fields."""

    def __init__(self, path):
        with open(path, "rb") as f:
            data = f.read()
        assert data.startswith(b"QPERFSTREAM\0"), data[:16]
        self.strings, self.locations, self.symbols, self.leaves = {}, {}, {}, []
        # By the event's number in the file: samples and what they stand for. Switches: [in, out].
        self.samples, self.costs, self.switches = collections.Counter(), collections.Counter(), [0, 0]
        at = 16
        while at < len(data):
            size, = struct.unpack_from("<I", data, at)
            self.take(data[at + 4:at + 4 + size])
            at += 4 + size

    def take(self, message):
        kind = message[0]
        if kind == 5:
            number, = struct.unpack_from(">i", message, 1)
            self.strings[number] = message[9:].decode("utf-8", "replace")
        elif kind == 3:
            number, _, file, _, line, _, parent = struct.unpack_from(">iQiiiii", message, 1)
            self.locations[number] = (file, line, parent)
        elif kind == 4:
            number, name = struct.unpack_from(">ii", message, 1)
            self.symbols[number] = name
        elif kind == 13:
            count, = struct.unpack_from(">I", message, 21)
            self.leaves.append(struct.unpack_from(">i", message, 25)[0] if count else -1)
            at = 25 + 4 * count + 1
            for event, cost in struct.iter_unpack(">iQ", message[at + 4:]):
                self.samples[event] += 1
                self.costs[event] += cost
        elif kind == 12:
            self.switches[message[-1]] += 1

    def counts(self):
        """A function is the parent location of its address's location."""
        counts = collections.Counter()
        for leaf in self.leaves:
            parent = self.locations.get(leaf, (-1, -1, -1))[2]
            name = self.symbols.get(parent, self.symbols.get(leaf, -1))
            counts[function_of(self.strings.get(name, "?"))] += 1
        return counts

    def lines(self):
        """Returns {(file, line)} of all frames."""
        return {(self.strings.get(file, ""), line) for file, line, _ in self.locations.values()}


# ---- samply ---------------------------------------------------------------------------------------


def samply():
    return of_sid("usr/bin/samply")


def samply_symbols(command, path, modules, stack):
    """Asks the server that samply runs for the Firefox Profiler about [[module, address]]."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    server = subprocess.Popen([*command, "load", "--no-open", "-P", str(port), path],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)
    try:
        token, deadline, text = None, time.monotonic() + harness.PATIENCE_SECS, ""
        while not token and time.monotonic() < deadline:
            if select.select([server.stdout], [], [], 1)[0]:
                text += os.read(server.stdout.fileno(), 4096).decode()
            token = re.search(r"127\.0\.0\.1%%3A%d%%2F(\w+)%%2F" % port, text)
        question = {"jobs": [{"memoryMap": modules, "stacks": [stack]}]}
        request = urllib.request.Request(
            "http://127.0.0.1:%d/%s/symbolicate/v5" % (port, token.group(1)),
            json.dumps(question).encode())
        # Bypasses any proxy that the environment names.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=harness.PATIENCE_SECS) as reply:
            return json.load(reply)["results"][0]["stacks"][0]
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def samply_sums(path):
    """Returns ({name: markers}, samples, milliseconds of CPU time) of a profile made by samply import."""
    with open(path, encoding="utf-8") as f:
        document = json.load(f)
    markers, samples, cpu = collections.Counter(), 0, 0
    for thread in document["threads"]:
        strings = document.get("shared", thread).get("stringArray")
        markers += collections.Counter(strings[name] for name in thread["markers"]["name"])
        samples += thread["samples"]["length"]
        cpu += sum(thread["samples"]["threadCPUDelta"])
    return markers, samples, cpu / 1000


def samply_counts(command, path):
    """Returns (counts, {(file, line)}) of a profile made by samply import."""
    with open(path, encoding="utf-8") as f:
        document = json.load(f)
    leaves = collections.Counter()
    for thread in document["threads"]:
        frames, stacks = thread["frameTable"], thread["stackTable"]
        resources, functions = thread["resourceTable"], thread["funcTable"]
        for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
            frame = stacks["frame"][stack] if stack is not None else None
            if frame is not None and weight:
                resource = functions["resource"][frames["func"][frame]]
                library = resources["lib"][resource] if resource >= 0 else -1
                leaves[(library, frames["address"][frame])] += weight
    stack = [[library, address] for library, address in leaves]
    modules = [[lib["debugName"], lib["breakpadId"]] for lib in document["libs"]]
    counts, lines = collections.Counter(), set()
    for frame, count in zip(samply_symbols(command, path, modules, stack), leaves.values()):
        counts[function_of(frame.get("function", "?"))] += count
        lines.add((frame.get("file", ""), frame.get("line", 0)))
    return counts, lines


# ---- Firefox Profiler -----------------------------------------------------------------------------


def firefox():
    """Returns [node, script] for the Firefox Profiler's command line, fetched if npm can; None: not available."""
    modules = npm.modules(harness.BUILD, "node@24", "@firefox-devtools/profiler-cli@0.10.0", scripts=True)
    node = os.path.join(modules, "node/bin/node")
    script = os.path.join(modules, "@firefox-devtools/profiler-cli/dist/profiler-cli.js")
    return [node, script] if os.path.exists(node) and os.path.exists(script) else None


def firefox_load(program, path):
    """Loads a profile. The program gives its own daemon half a second to start, which can be too short on a busy
    machine, and then says so: so it runs with priority (as root) and may retry."""
    first = ["nice", "-n", "-20"] if os.geteuid() == 0 else []
    for _ in range(10):
        done = run(*first, *program, "load", path)
        if "did not become ready" not in done.stdout + done.stderr:
            break
        time.sleep(1)
        run(*program, "stop", "--all")
    return done


def firefox_counts(program):
    """Counts over all threads of the loaded profile."""
    counts = collections.Counter()
    listed = run(*program, "thread", "list", "--json").stdout
    for handle in sorted(set(re.findall(r'"(t-\d+)"', listed))):
        done = run(*program, "thread", "functions", "--thread", handle, "--include-idle", "--limit", "0",
                   "--json")
        for function in json.loads(done.stdout)["functions"]:
            counts[function["name"]] += function["selfSamples"]
    return +counts


# ---- pprof ----------------------------------------------------------------------------------------


def pprof():
    """Debian 12's Go has it as a separate program."""
    paths = glob.glob("/usr/lib/go-*/pkg/tool/*/pprof") + \
        glob.glob(os.path.join(harness.CACHE, "consumers/pprof/usr/lib/go-*/pkg/tool/*/pprof"))
    return paths[0] if paths else None


def pprof_counts(program, path, *options):
    """With -lines each line of a function has its own row."""
    done = run(program, "-top", "-nodecount=10000", "-nodefraction=0", "-sample_index=samples", *options,
               path)
    counts = collections.Counter()
    for line in done.stdout.splitlines():
        match = re.match(r"\s*(\d+)\s+[\d.]+%\s+[\d.]+%\s+\d+\s+[\d.]+%\s+(.*)$", line)
        if match and int(match.group(1)):
            name = re.sub(r" \(inline\)$", "", match.group(2))
            if "-lines" in options:
                name = re.sub(r" (?:/\S*|<[^>]*>|\S+\.py)?(?::-?\d+)?$", "", name)
            counts[name] += int(match.group(1))
    return counts, done.stdout + done.stderr


# ---- callgrind ------------------------------------------------------------------------------------


def callgrind():
    path = shutil.which("callgrind_annotate") or os.path.join(OWN, "usr/bin/callgrind_annotate")
    return path if os.path.exists(path) else None


def callgrind_counts(program, path):
    """Returns each function's self cost, and the total that the program reports."""
    done = run("perl", program, "--threshold=100", "--auto=no", path)
    counts, total = collections.Counter(), None
    for line in done.stdout.splitlines():
        match = re.match(r"\s*([\d,]+) \(\s*[\d.]+%\)\s+(.*)$", line)
        if match and match.group(2) == "PROGRAM TOTALS":
            total = int(match.group(1).replace(",", ""))
        elif match:
            name = re.sub(r"^(?:\?\?\?|<[^>]*>|.*?\.py):", "", match.group(2))
            counts[name] += int(match.group(1).replace(",", ""))
    return counts, total, done.stdout + done.stderr


# ---- speedscope -----------------------------------------------------------------------------------


def speedscope_counts(path, period):
    """By the rules of the format: the last frame of each sample, weights in nanoseconds."""
    with open(path, encoding="utf-8") as f:
        document = json.load(f)
    counts, names = collections.Counter(), [f["name"] for f in document["shared"]["frames"]]
    for profile in document["profiles"]:
        for stack, weight in zip(profile["samples"], profile["weights"]):
            counts[names[stack[-1]]] += weight / period
    return collections.Counter({k: round(v) for k, v in counts.items()})
