#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Captures in the tools that they are for, and the same numbers in all of them.

One recording writes every format at once; what real consumers say of each is compared with the
folded stacks. A consumer that is not here is a skip that names it.
"""
import collections
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

SOURCE = """
import threading, time
def leaf(n):
    s = 0
    for i in range(n):
        s += i * i
    return s
def mid(n):
    return leaf(n) + leaf(n // 2)
def deep(n):
    return deep(n - 1) if n else leaf(20000)
def named(name):
    code = compile("def hot():\\n  for i in range(20000): pass\\n", "/tmp/odd.py", "exec")
    space = {}
    exec(code, space)
    hot = space["hot"]
    hot.__code__ = hot.__code__.replace(co_name=name, **({"co_qualname": name} if hasattr(
        hot.__code__, "co_qualname") else {}))
    return hot
ODD = [named(n) for n in ("a;b", "x -> y", "two words", "</script>", 'quo"te\\'s', "new\\nline",
                          "(paren)", "bell\\a", "back\\\\slash")]
def worker():
    while time.time() < END:
        mid(3000)
END = time.time() + 1.5
thread = threading.Thread(target=worker)
thread.start()
while time.time() < END:
    mid(2000)
    deep(200)
    for odd in ODD:
        odd()
thread.join()
"""
FORMATS = ("x.folded", "x.data", "x.pb.gz", "x.speedscope.json", "x.firefox.json", "x.callgrind",
           "x.html")


def run(*args, timeout=60, **options):
    return subprocess.run(args, capture_output=True, timeout=timeout, encoding="utf-8",
                          errors="surrogateescape", **options)


def functions_of_folded(path):
    """{function: samples that end in it}, by name without the file."""
    counts = collections.Counter()
    for frames, count in harness.parse_folded(path):
        counts[re.sub(r" \(.*", "", frames[-1]) or frames[-1]] += count
    return counts


def plain(name):
    """A name as all formats can have it: what some must replace is the same character here."""
    return re.sub(r"[\s;:\"'`()\[\]=>-]", "_", name)


def merge(counts):
    merged = collections.Counter()
    for name, count in counts.items():
        merged[plain(name)] += count
    return merged


# ---- consumers ------------------------------------------------------------------------------------


def perf_counts(script):
    """Leaf functions of perf script's text; the first frame of each sample."""
    counts, fresh = collections.Counter(), False
    for line in script.splitlines():
        if line and not line[0].isspace():
            fresh = True
        elif fresh and line.startswith("\t"):
            symbol = re.match(r"\s+[0-9a-f]+ (.*?)(?:\+0x[0-9a-f]+)? \(.*\)$", line).group(1)
            match = re.match(r"py::(.*?):[</].*$", symbol)
            counts[match.group(1) if match else symbol] += 1
            fresh = False
    return counts


def speedscope_counts(path, period):
    with open(path, encoding="utf-8") as f:
        document = json.load(f)
    counts, names = collections.Counter(), [f["name"] for f in document["shared"]["frames"]]
    for profile in document["profiles"]:
        for stack, weight in zip(profile["samples"], profile["weights"]):
            counts[names[stack[-1]]] += weight / period
    return collections.Counter({k: round(v) for k, v in counts.items()})


def firefox_counts(path):
    with open(path, encoding="utf-8") as f:
        document = json.load(f)
    shared, counts = document["shared"], collections.Counter()
    for thread in document["threads"]:
        for stack in thread["samples"]["stack"]:
            function = shared["frameTable"]["func"][shared["stackTable"]["frame"][stack]]
            counts[shared["stringArray"][shared["funcTable"]["name"][function]]] += 1
    return counts


def pprof_program():
    """Debian 12's golang has it as a program of its own; it is unpacked into the cache."""
    for version in ("1.19", "1.24"):
        path = f"/usr/lib/go-{version}/pkg/tool/linux_amd64/pprof"
        if os.path.exists(path):
            return path
    cache = os.path.join(os.environ.get("KRAIT_CACHE", "/var/cache/krait"), "pprof")
    path = os.path.join(cache, "usr/lib/go-1.19/pkg/tool/linux_amd64/pprof")
    if not os.path.exists(path) and shutil.which("apt-get"):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            run("apt-get", "-q", "download", "golang-1.19-go", cwd=folder, timeout=120)
            for package in os.listdir(folder):
                run("dpkg", "-x", os.path.join(folder, package), cache)
    return path if os.path.exists(path) else None


def pprof_counts(program, path):
    done = run(program, "-top", "-nodecount=10000", "-nodefraction=0", "-sample_index=samples", path)
    counts = collections.Counter()
    for line in done.stdout.splitlines():
        match = re.match(r"\s*(\d+)\s+[\d.]+%\s+[\d.]+%\s+\d+\s+[\d.]+%\s+(.*)$", line)
        if match and int(match.group(1)):
            counts[re.sub(r" \(inline\)$", "", match.group(2))] += int(match.group(1))
    return counts, done.stderr


def callgrind_counts(path):
    """As callgrind_annotate adds them up: self costs of each function."""
    counts, names, function, called = collections.Counter(), {}, None, False
    with open(path, encoding="utf-8") as f:
        for line in f:
            match = re.match(r"(c?fn)=\((\d+)\)(?: (.*))?$", line)
            if match:
                if match.group(3) is not None:
                    names[match.group(2)] = match.group(3)
                if match.group(1) == "fn":
                    function = names[match.group(2)]
            elif line.startswith("calls="):
                called = True
            elif re.match(r"\d+ \d+$", line):
                if not called:
                    counts[function] += int(line.split()[1])
                called = False
    return counts


# ---- tests ----------------------------------------------------------------------------------------


def check_perf(tap, recording, want):
    if not shutil.which("perf"):
        return tap.skip("perf", "no perf (Debian package linux-perf)")
    data = recording.path("x.data")
    script = run("perf", "script", "--max-stack", "2100", "-F", "comm,tid,time,event,ip,sym,symoff,dso",
                 "-i", data)
    tap.equal(merge(perf_counts(script.stdout)), want, "perf script: each sample, each function",
              script.stderr)
    lines = run("perf", "script", "-F", "ip,sym,srcline", "-i", data)
    tap.ok("target.py:6" in lines.stdout, "perf script: source lines", lines.stdout[:2000])
    report = run("perf", "report", "--stdio", "-g", "none", "-F", "sample,symbol", "-i", data)
    counts = collections.Counter()
    for match in re.finditer(r"^\s+(\d+)\s+\[\.\] (?:py::)?(.*?)(?::[</].*)?\s*$", report.stdout, re.M):
        counts[match.group(2)] += int(match.group(1))
    tap.equal(merge(counts), want, "perf report: each function", report.stdout[:3000])
    tap.ok("Total Lost Samples: %d" % recording.total(harness.LOST) in report.stdout,
           "perf report: losses", report.stdout[:300])
    symbol = re.search(r"py::leaf:/\S*target.py", script.stdout)
    annotated = run("perf", "annotate", "--stdio", "-i", data, symbol.group(0) if symbol else "?")
    tap.ok("s += i * i" in annotated.stdout, "perf annotate: Python source", annotated.stderr)
    listed = run("perf", "evlist", "-v", "-i", data)
    tap.ok("cpu-clock" in listed.stdout, "perf evlist", listed.stderr)


def check_stackcollapse(tap, recording, want):
    """As stackcollapse-perf.pl reads perf script's text, ours and perf's."""
    ours = harness.run_krait("script", "-i", recording.path("x.data"))
    tap.equal(merge(perf_counts(ours.stdout)), want, "krait script: each sample, each function",
              ours.stderr)


def check_formats(tap, recording, want):
    program = pprof_program()
    if program:
        counts, err = pprof_counts(program, recording.path("x.pb.gz"))
        tap.equal(merge(counts), want, "go tool pprof -top", err)
        lines = run(program, "-top", "-lines", recording.path("x.pb.gz"))
        tap.ok("target.py:6" in lines.stdout, "go tool pprof -lines", lines.stdout[:2000])
        with gzip.open(recording.path("x.pb.gz")) as f, open(recording.path("cut.pb.gz"), "wb") as out:
            out.write(f.read()[:-7])
        tap.ok(run(program, "-top", recording.path("cut.pb.gz")).returncode != 0,
               "go tool pprof refuses a damaged one")
    else:
        tap.skip("go tool pprof", "no golang-1.19-go to unpack")
    period = 1e9 / 997
    tap.equal(merge(speedscope_counts(recording.path("x.speedscope.json"), period)), want,
              "speedscope: each function")
    tap.equal(merge(firefox_counts(recording.path("x.firefox.json"))), want,
              "Firefox Profiler: each function")
    tap.equal(merge(callgrind_counts(recording.path("x.callgrind"))), want,
              "callgrind: each function")
    if shutil.which("callgrind_annotate"):
        done = run("callgrind_annotate", recording.path("x.callgrind"))
        tap.ok(re.search(r"^\s*%s \(100" % "{:,}".format(sum(want.values())), done.stdout, re.M),
               "callgrind_annotate: the total", done.stdout[:1500])
    else:
        tap.skip("callgrind_annotate", "no valgrind")


def firefox_program():
    """[node, script] of the Firefox Profiler's command line, installed once by npm."""
    folder = os.path.join(harness.BUILD, "npm-firefox")
    node = os.path.join(folder, "node_modules/node/bin/node")
    script = os.path.join(folder, "node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js")
    if not (os.path.exists(node) and os.path.exists(script)) and shutil.which("npm"):
        os.makedirs(folder, exist_ok=True)
        try:
            run("npm", "install", "--prefix", folder, "--no-audit", "--no-fund", "--fetch-retries=0",
                "node@24", "@firefox-devtools/profiler-cli@0.10.0", timeout=120)
        except subprocess.TimeoutExpired:
            pass
    return [node, script] if os.path.exists(node) and os.path.exists(script) else None


def check_firefox(tap, recording, want):
    program = firefox_program()
    if not program:
        return tap.skip("profiler-cli", "no npm packages node@24 and @firefox-devtools/profiler-cli")
    with open(recording.path("bad.json"), "w", encoding="utf-8") as f:
        f.write('{"meta": {"preprocessedProfileVersion": 61}}')
    bad = run(*program, "load", recording.path("bad.json"))
    tap.ok(bad.returncode != 0, "profiler-cli refuses a bad one", bad.stdout)
    loaded = run(*program, "load", recording.path("x.firefox.json"))
    tap.ok(loaded.returncode == 0, "profiler-cli loads it", loaded.stdout, loaded.stderr)
    done = run(*program, "thread", "samples", "--include-idle")
    match = re.search(r"leaf - total: ([\d,]+)", done.stdout)
    with open(recording.path("x.firefox.json"), encoding="utf-8") as f:
        most = max(t["samples"]["length"] for t in json.load(f)["threads"])
    tap.ok(match and 0 < int(match.group(1).replace(",", "")) <= most, "profiler-cli: samples of leaf",
           done.stdout[:2000], done.stderr)
    run(*program, "stop", "--all")


def check_convert(tap, recording):
    """What convert makes of the capture is what record wrote."""
    again = recording.path("again")
    os.mkdir(again)
    names = [n for n in FORMATS if n != "x.data"]
    args = []
    for name in names:
        args += ["-o", os.path.join(again, name)]
    done = harness.run_krait("convert", "-q", "--lines", "-i", recording.path("x.data"), *args)
    tap.equal(done.returncode, 0, "krait convert to everything", done.stderr)
    with open(recording.path("x.folded")) as a, open(os.path.join(again, "x.folded")) as b:
        tap.equal(b.read(), a.read(), "converted folded stacks are those that were recorded")
    for name, count in (("x.firefox.json", firefox_counts), ("x.callgrind", callgrind_counts)):
        tap.equal(count(os.path.join(again, name)), count(recording.path(name)), "converted " + name)


def check_commands(tap, recording):
    data, total = recording.path("x.data"), recording.samples()
    for args in (("report",), ("report", "--tree"), ("report", "--by", "line"),
                 ("report", "--by", "thread"), ("report", "--by", "process"), ("report", "--children")):
        done = harness.run_krait(*args, "-i", data)
        tap.ok(done.returncode == 0 and "%d samples" % total in done.stdout, "krait " + " ".join(args),
               done.stdout, done.stderr)
    done = harness.run_krait("annotate", "leaf", "-i", data)
    tap.ok(re.search(r"%.*\d  \s+s \+= i \* i$", done.stdout, re.M), "krait annotate", done.stdout,
           done.stderr)
    done = harness.run_krait("diff", data, recording.path("x.folded"), "-m", "0.01")
    tap.ok(done.returncode == 0 and "leaf" not in done.stdout and "mid" not in done.stdout,
           "krait diff with itself: nothing has changed", done.stdout, done.stderr)
    page = recording.path("diff.html")
    done = harness.run_krait("diff", data, data, "-o", page)
    tap.ok(done.returncode == 0 and os.path.getsize(page) > 1000, "krait diff: a page", done.stderr)
    with open(page, encoding="utf-8") as f:
        tap.ok("<script" not in f.read(), "no name becomes markup in it")


def check_moved(tap, recording):
    """The capture without the file beside it: perf and krait find the DSO in the build-id cache."""
    shutil.move(recording.path("x.data.krait"), recording.path("gone"))
    done = harness.run_krait("report", "-i", recording.path("x.data"))
    tap.ok("leaf" in done.stdout, "the DSO is in the build-id cache", done.stdout, done.stderr)
    cache = os.environ["PERF_BUILDID_DIR"]
    shutil.rmtree(cache)
    done = harness.run_krait("report", "-i", recording.path("x.data"))
    tap.ok(done.returncode == 0 and "names of Python functions are not here" in done.stderr,
           "a capture without its DSO says so", done.stderr)
    shutil.move(recording.path("gone"), recording.path("x.data.krait"))


def check_pipe(tap, python, script):
    command = " ".join([harness.KRAIT, "record", "-q", "-f", "perf", "-o", "-", "--",
                        *python.command(script)])
    done = run("sh", "-c", command + " | " + harness.KRAIT + " report --by line -")
    tap.ok("target.py:6" in done.stdout, "through a pipe into krait report", done.stdout, done.stderr)
    if shutil.which("perf"):
        done = run("sh", "-c", command + " | perf script -i - -F ip,sym,srcline")
        tap.ok("target.py:6" in done.stdout, "through a pipe into perf script", done.stdout[:1000],
               done.stderr)


def main():
    harness.need_bpf()
    tap = harness.Tap()
    pythons = harness.interpreters(tap)
    cache = tempfile.mkdtemp(prefix="krait-e2e-")
    harness.folders.append(cache)
    os.environ["PERF_BUILDID_DIR"] = os.path.join(cache, "debug")
    os.environ["HOME"] = cache
    python = harness.newest([p for p in pythons if p.root == "/"] or pythons)
    if not python:
        tap.skip("captures", "no interpreter")
        tap.done()
        return
    scratch = python.scratch()
    harness.folders.append(scratch)
    with open(os.path.join(scratch, "target.py"), "w", encoding="utf-8") as f:
        f.write(SOURCE)
    script = python.inside(os.path.join(scratch, "target.py"))
    recording = harness.record(outputs=FORMATS, command=python.command(script))
    want = merge(functions_of_folded(recording.path("x.folded")))
    tap.ok(sum(want.values()) > 300, "a recording with every output", recording.err)
    check_perf(tap, recording, want)
    check_stackcollapse(tap, recording, want)
    check_formats(tap, recording, want)
    check_firefox(tap, recording, want)
    check_convert(tap, recording)
    check_commands(tap, recording)
    check_pipe(tap, python, script)
    check_moved(tap, recording)
    harness.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
