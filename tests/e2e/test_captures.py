#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Captures in the tools they are made for, with the same numbers in all of them.

One recording writes every format at once; what real consumers report for each is compared with the folded stacks.
A missing consumer is a skip that names it.

"""
import base64
import collections
import difflib
import gzip
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chromium  # noqa: E402
import consumers  # noqa: E402
import harness  # noqa: E402
import interpreters  # noqa: E402
import speedscope  # noqa: E402
from consumers import merge, run  # noqa: E402

# Contains syntax of the various outputs.
ODD = ("a;b", "x -> y", "two words", "</script>", "quo\"te's", "new\nline", "(paren)", "bell\a",
       "back\\slash", "tab\there", "é→ü", "%s%n", "&amp; <b>", "[mark]", "name 12", "")
SOURCE = """
import sys, threading, time; SECONDS = float(sys.argv[1]) if sys.argv[1:] else 0.8
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
ODD = [named(n) for n in """ + repr(ODD) + """]
def worker():
    while time.process_time() < SECONDS:
        mid(3000)
thread = threading.Thread(target=worker)
thread.start()
while time.process_time() < SECONDS:
    mid(2000)
    deep(200)
    for odd in ODD:
        odd()
thread.join()
"""
# CPU seconds where few samples are enough.
BRIEF = "0.25"
FORMATS = ("x.folded", "x.data", "x.pb.gz", "x.speedscope.json", "x.firefox.json", "x.callgrind",
           "x.html")


def functions_of_folded(path):
    """Returns {function: samples that end in it}, by name without the file."""
    counts = collections.Counter()
    for frames, count in harness.parse_folded(path):
        counts[re.sub(r" \(.*", "", frames[-1]) or frames[-1]] += count
    return counts


# ---- tests ----------------------------------------------------------------------------------------


def each(tap, name, programs, check, package):
    """Calls check(label, command) for each installed release; for only one of them unless this run is thorough."""
    if not harness.is_all():
        programs = [(label, command) for label, command in programs if command][:1] or programs
    for label, command in programs:
        if command:
            check(name + label, command)
        else:
            tap.skip(name + label, "not here (%s)" % package)


def check_perf(tap, recording, want, name, perf):
    data = recording.path("x.data")
    script = run(*perf, "script", "--max-stack", "2100", "-F", "comm,tid,time,event,ip,sym,symoff,dso",
                 "-i", data)
    tap.equal(merge(consumers.perf_script_counts(script.stdout)), want,
              name + " script: each sample, each function", script.stderr)
    deepest = max(len(s.splitlines()) - 1 for s in script.stdout.split("\n\n"))
    tap.ok(deepest > 200, name + " script: all frames with the --max-stack that krait names", deepest)
    lines = run(*perf, "script", "-F", "ip,sym,srcline", "-i", data)
    tap.ok("target.py:6" in lines.stdout, name + " script: source lines", lines.stdout[:2000])
    collapsed = consumers.stackcollapse_counts(perf, data)
    if collapsed is not None:
        tap.equal(merge(collapsed), want, name + "'s stackcollapse.py: each function")
    report = run(*perf, "report", "--stdio", "-g", "none", "--no-children", "-F", "sample,symbol", "-i",
                 data)
    tap.equal(merge(consumers.perf_report_counts(report.stdout)), want,
              name + " report: each function", report.stdout[:3000])
    tap.ok("Total Lost Samples: %d" % recording.total(harness.LOST) in report.stdout,
           name + " report: losses", report.stdout[:300])
    symbol = re.search(r"py::leaf:\S*target.py", script.stdout)
    annotated = run(*perf, "annotate", "--stdio", "-i", data, symbol.group(0) if symbol else "?")
    tap.ok("s += i * i" in annotated.stdout, name + " annotate: Python source", annotated.stderr)
    listed = run(*perf, "evlist", "-v", "-i", data)
    tap.ok("cpu-clock" in listed.stdout, name + " evlist", listed.stderr)


def check_script(tap, recording, want):
    """Reads perf script's text as stackcollapse-perf.pl does."""
    ours = harness.run_krait("script", "-i", recording.path("x.data"))
    tap.equal(merge(consumers.perf_script_counts(ours.stdout)), want,
              "krait script: each sample, each function", ours.stderr)


def check_hotspot(tap, recording, want, name, parser):
    out = recording.path("x.perfparser")
    done = run(*parser, "--input", recording.path("x.data"), "--output", out)
    if not tap.equal(done.returncode, 0, name + " reads the capture", done.stderr):
        return
    stream = consumers.Hotspot(out)
    tap.equal(merge(stream.counts()), want, name + ": each sample, each function")
    tap.ok(any(file.endswith("target.py") and line == 6 for file, line in stream.lines()),
           name + ": source lines", sorted(stream.lines())[:50])


def check_samply(tap, recording, want):
    program = consumers.samply()
    if not program:
        return tap.skip("samply", "not here (scripts/consumers)")
    out = recording.path("samply.json")
    done = run(*program, "import", "-s", "-o", out, recording.path("x.data"))
    tap.equal(done.returncode, 0, "samply imports the capture", done.stderr)
    counts, lines = consumers.samply_counts(program, out)
    tap.equal(merge(counts), want, "samply: each sample, each function")
    return tap.ok(any(file and file.endswith("target.py") and line == 6 for file, line in lines),
                  "samply: source lines", sorted(lines, key=str)[:50])


def check_pprof(tap, recording, want):
    program = consumers.pprof()
    if not program:
        return tap.skip("go tool pprof", "not here (scripts/consumers)")
    path = recording.path("x.pb.gz")
    counts, said = consumers.pprof_counts(program, path)
    tap.equal(merge(counts), want, "go tool pprof -top: each function", said)
    counts, said = consumers.pprof_counts(program, path, "-lines")
    tap.equal(merge(counts), want, "go tool pprof -top -lines: each function, over its lines", said)
    tap.ok("target.py:6" in said, "go tool pprof -lines: source lines", said)
    with gzip.open(path) as f, open(recording.path("cut.pb.gz"), "wb") as out:
        out.write(f.read()[:-7])
    return tap.ok(run(program, "-top", recording.path("cut.pb.gz")).returncode != 0,
                  "go tool pprof refuses a damaged one")


def check_callgrind(tap, recording, want):
    program = consumers.callgrind()
    if not program:
        return tap.skip("callgrind_annotate", "not here (Debian package valgrind)")
    counts, total, said = consumers.callgrind_counts(program, recording.path("x.callgrind"))
    tap.equal(merge(counts), want, "callgrind_annotate: each function", said)
    return tap.equal(total, sum(want.values()), "callgrind_annotate: the total", said)


def check_firefox(tap, recording, want):
    program = consumers.firefox()
    if not program:
        return tap.skip("profiler-cli", "no npm packages node@24 and @firefox-devtools/profiler-cli")
    with open(recording.path("bad.json"), "w", encoding="utf-8") as f:
        f.write('{"meta": {"preprocessedProfileVersion": 61}}')
    bad = consumers.firefox_load(program, recording.path("bad.json"))
    tap.ok(bad.returncode != 0, "profiler-cli refuses a bad one", bad.stdout)
    loaded = consumers.firefox_load(program, recording.path("x.firefox.json"))
    if "did not become ready" in loaded.stdout + loaded.stderr:
        run(*program, "stop", "--all")
        return tap.skip("profiler-cli", "its daemon did not start within half a second, ten times")
    tap.ok(loaded.returncode == 0, "profiler-cli loads it", loaded.stdout, loaded.stderr)
    tap.equal(merge(consumers.firefox_counts(program)), want,
              "Firefox Profiler: each sample, each function")
    return run(*program, "stop", "--all")


def check_speedscope(tap, recording, want):
    path = recording.path("x.speedscope.json")
    tap.equal(merge(consumers.speedscope_counts(path, 1e9 / 997)), want, "speedscope JSON: each function")
    program, page = chromium.find(), speedscope.find(harness.BUILD)
    if not program or not page:
        return tap.skip("speedscope", "no Chromium, or no npm package speedscope")
    with open(path, encoding="utf-8") as f:
        threads = len(json.load(f)["profiles"])
    browser = chromium.Browser(program, "--allow-file-access-from-files")
    try:
        counts = speedscope.counts(browser, page, path, threads, 1e9 / 997)
    finally:
        browser.close()
    return tap.equal(counts and merge(counts), want, "speedscope's page: each sample, each function")


def by_itself(name, path):
    """Returns what a file says of stacks and counts. Frames that a capture distinguishes only by line and column
    become one frame in derived files, so the nodes of stacks differ."""
    if name == "x.pb.gz":
        program = consumers.pprof()
        return program and consumers.pprof_counts(program, path, "-lines")[0]
    if name == "x.speedscope.json":
        return consumers.speedscope_counts(path, 1e9 / 997)
    if name == "x.callgrind":
        program = consumers.callgrind()
        return program and consumers.callgrind_counts(program, path)[:2]
    with open(path, encoding="utf-8") as f:
        document = json.load(f)
    shared, counts = document["shared"], collections.Counter()
    for number, thread in enumerate(document["threads"]):
        for stack in thread["samples"]["stack"]:
            function = shared["frameTable"]["func"][shared["stackTable"]["frame"][stack]]
            counts[number, shared["stringArray"][shared["funcTable"]["name"][function]]] += 1
    return counts


def check_copy(tap, data, copy, name, *options):
    """convert -o x.data makes a capture that stands for itself: without the first one it says the same."""
    done = harness.run_krait("convert", "-q", *options, "-i", data, "-o", copy)
    tap.equal(done.returncode, 0, name + " becomes another one", done.stderr)
    says = []
    for path in data, copy:
        report = harness.run_krait("report", "--by", "line", "-i", path).stdout
        # perf 6.12 goes on without addr2line if that does not answer in time.
        for _ in range(3):
            lines = run("perf", "script", "--max-stack", "2100", "-F", "comm,tid,time,event,ip,sym,srcline", "-i", path).stdout \
                if shutil.which("perf") else ""
            if not re.search(r"^  (py:0|python-\w+\.so\[)", lines, re.M):
                break
        says.append((report, lines))
        # The first one's names are hidden from its copy, in the cache, too.
        for gone in data + ".krait", os.environ["PERF_BUILDID_DIR"]:
            if os.path.exists(gone):
                os.rename(gone, gone + ".away")
    for gone in data + ".krait", os.environ["PERF_BUILDID_DIR"]:
        if os.path.exists(gone + ".away"):
            shutil.rmtree(gone, ignore_errors=True)
            os.rename(gone + ".away", gone)
    tap.ok("leaf" in says[0][0] and says[0] == says[1], name + "'s copy says the same to krait and perf",
           *["\n".join(list(difflib.unified_diff(*(t.splitlines() for t in pair), lineterm="", n=1))[:12]) for pair in zip(*says)])


def check_convert(tap, recording):
    """convert makes from the capture what record wrote."""
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
    begins = []
    for folder in recording.folder, again:
        with open(os.path.join(folder, "x.firefox.json"), encoding="utf-8") as f:
            begins.append(json.load(f)["meta"]["startTime"])
    tap.ok(abs(begins[0] - begins[1]) < 1, "a converted capture has the time of the recording", begins)
    check_copy(tap, recording.path("x.data"), os.path.join(again, "x.data"), "a capture")
    done = harness.run_krait("convert", "--pid", "1", "-i", recording.path("x.data"), "-o", os.path.join(again, "y.data"))
    tap.ok(done.returncode == 2 and "has all of its samples" in done.stderr and not os.path.exists(os.path.join(again, "y.data")),
           "a copy of a part is refused", done.stderr)
    for name in ("x.pb.gz", "x.speedscope.json", "x.firefox.json", "x.callgrind"):
        path = os.path.join(again, name)
        tap.equal(by_itself(name, path), by_itself(name, recording.path(name)), "converted " + name)


def check_habits(tap, recording, want):
    """What perf's users type without thinking."""
    data = recording.path("x.data")

    def report(*args):
        return harness.run_krait("report", "-i", data, "-n", "0", *args)

    done = report("--stdio", "-g", "none", "--no-children", "-F", "sample,symbol")
    tap.equal(merge(consumers.perf_report_counts(done.stdout)), want, "krait report -F sample,symbol: each function", done.stderr)
    every = report("-F", "sample,comm,tid,dso,sym,srcline").stdout
    total = sum(int(line.split()[0]) for line in every.splitlines() if re.match(r"\s*\d+  \S", line))
    tap.equal(total, recording.samples(), "all rows together are all samples", every[:1000])
    tap.ok(re.search(r"target.py +\[\.\] leaf +target.py:6$", every, re.M), "columns are perf's", every[:1000])
    leaf = report("--sort", "dso,symbol", "--symbols", "leaf", "--percent-limit", "1").stdout
    tap.ok(re.search(r"^Overhead +Shared Object +Symbol\n +[0-9.]+% +target.py +\[\.\] leaf\n\d", leaf),
           "--symbols has one row", leaf)
    for args in ("--dsos", "target.py"), ("--symbol-filter", "eaf"), ("--comms", re.findall(r"python\S*", every)[0]):
        done = report(*args)
        tap.ok("[.] leaf\n" in done.stdout, " ".join(args), done.stdout[:500], done.stderr)
    parts = [report("--time", part, "--stats") for part in ("0%-50%", "50%/2", "0%-100%")]
    cnt = [int(re.search(r"^([\d,]+) samples", done.stdout, re.M).group(1).replace(",", "")) for done in parts]
    tap.ok(0 < cnt[0] < cnt[2] and cnt[0] + cnt[1] == cnt[2], "--time takes parts of the time, which add up", cnt)
    tap.ok("├" in report("-g", "caller").stdout, "-g prints the tree")
    for args, says in ((("--sort", "x"), "not \"x\""), (("--time", "5%"), "such as 10%-20%"),
                       (("--by", "line", "-F", "sym"), "choose one"), (("-F", "sample,"), "not \"\"")):
        done = report(*args)
        tap.ok(done.returncode == 2 and says in done.stderr, " ".join(args) + " is refused", done.stderr)
    done = report("--dsos", "none.so")
    tap.ok(done.returncode == 6 and "--sort comm,dso,symbol" in done.stderr, "no row is said", done.stderr)
    done = harness.run_krait("record", "-q", "-g", "-k", "mono", "--call-graph", "dwarf", "-o", recording.path("g.data"), "--",
                             "true")
    tap.ok(done.returncode in (0, 3, 6) and "--help" not in done.stderr, "record -g -k mono --call-graph dwarf", done.stderr)
    with harness.Target([sys.executable, "-c", "print('READY', flush=True)\nwhile True: sum(range(1000))"]) as target:
        for args in ("-p", str(target.pid)), ("-a", "--name", "*sum(range*"):
            began = time.monotonic()
            done = harness.run_krait("record", "-q", "-g", "-F", "499", *args, "-o", recording.path("g.data"), "--", "sh", "-c", "sleep 0.6; exit 7")
            shown = harness.run_krait("report", "-i", recording.path("g.data"), "-F", "sample,pid").stdout
            cnt = [int(n) for n, pid in re.findall(r"^ *(\d+) +(\d+)", shown, re.M) if int(pid) == target.pid]
            tap.ok(done.returncode == 7 and cnt and cnt[0] > 5 and time.monotonic() - began < 30 and target.alive(),
                   "record %s -- COMMAND: as long as the command runs" % args[0], done.returncode, done.stderr, shown)


def check_commands(tap, recording, scratch):
    data, total = recording.path("x.data"), recording.samples() + recording.stats.get("not_sampled", 0)
    for args in (("report",), ("report", "--tree"), ("report", "--by", "line"),
                 ("report", "--by", "thread"), ("report", "--by", "process"), ("report", "--children")):
        done = harness.run_krait(*args, "-i", data)
        tap.ok(done.returncode == 0 and "%d samples" % total in done.stdout and
               "--max-stack" in done.stderr, "krait " + " ".join(args), done.stdout, done.stderr)
    done = harness.run_krait("report", "--function", "mid", "-i", data)
    through = sum(n for frames, n in harness.parse_folded(recording.path("x.folded"))
                  if any(f.startswith("mid (") for f in frames))
    tap.ok("\n%d samples" % through in done.stdout, "krait report --function", through, done.stdout)
    for args, there in ((("--pid", "1"), r"\(its processes: \d+ python"), (("--tid", "1"), r"\(its threads: \d+ \S"),
                        (("--comm", "nobody"), r"\(its threads: \d+ \S"), (("--time", "1000"), r"\(it is \d+\.\d\d s long\)"),
                        (("--gil",), r"\(krait record --off-cpu records the states of threads\)"),
                        (("--function", "nobody"), r"\(a pattern such as '\*\.nobody' may help\)")):
        done = harness.run_krait("report", *args, "-i", data)
        tap.ok(done.returncode == 6 and re.search("none of its %d samples fits %s %s" % (total, " ".join(args), there), done.stderr),
               "krait report %s: none, and what there is" % args[0], done.stdout, done.stderr)
    rows = {by: harness.run_krait("report", "-n", "0", "--unit", "samples", "--by", by, "-i", data).stdout
            for by in ("function", "line", "thread", "process")}
    for by, column in (("function", 2), ("line", 2), ("thread", 1), ("process", 1)):
        counts = [int(line.split()[column]) for line in rows[by].splitlines()
                  if re.match(r" *[0-9.]+%", line)]
        tap.equal(sum(counts), total, "krait report --by %s: rows add up" % by, rows[by])
        tap.ok(by == "process" or len(counts) > 1, "krait report --by %s: several rows" % by, rows[by])
    with open(recording.path("x.html"), encoding="utf-8") as f:
        live = f.read()
    tap.ok("s += i * i" in page_sources(live) and '"strip":{"lanes":[[' in live,
           "a page that was recorded has sources, and samples in the order of time")
    done = harness.run_krait("annotate", "leaf", "-i", data)
    tap.ok(re.search(r"%.*\d  \s+s \+= i \* i$", done.stdout, re.M), "krait annotate", done.stdout,
           done.stderr)
    page = recording.path("annotate.html")
    done = harness.run_krait("annotate", "target.py", "-C", "0", "-i", data, "-o", page)
    with open(page, encoding="utf-8") as f:
        text = f.read()
    tap.ok(done.returncode == 0 and '"view":"source","file":"' in text and "target.py" in text and
           '"sources":{"files":[[' in text and text.count("<script") == text.count("</script>"),
           "krait annotate: the page, open at its source view", done.stderr)
    tap.ok("s += i * i" not in page_sources(text) and "only the capture says that its program could" in text,
           "which does not have the text of a file that not everybody may read, and says so")
    done = harness.run_krait("annotate", "target.py", "-C", "0", "-i", data, "-o", page, "--source", scratch)
    with open(page, encoding="utf-8") as f:
        texts = page_sources(f.read())
    tap.ok("s += i * i" in texts, "--source names its folder: with the text of the file", texts[:500])
    done = harness.run_krait("annotate", "target.py", "--no-source", "-i", data, "-o", page)
    with open(page, encoding="utf-8") as f:
        text = f.read()
    tap.ok(done.returncode == 0 and '"sources":{' not in text, "--no-source: without", done.stderr)
    done = harness.run_krait("diff", data, recording.path("x.folded"), "-m", "0.01")
    tap.ok(done.returncode == 0 and "leaf" not in done.stdout and "mid" not in done.stdout,
           "krait diff with itself: nothing has changed", done.stdout, done.stderr)
    page = recording.path("diff.html")
    done = harness.run_krait("diff", data, data, "-o", page)
    tap.ok(done.returncode == 0 and os.path.getsize(page) > 1000 and "wrote %s: open it" % page in done.stderr, "krait diff: a page",
           done.stderr)
    path = recording.path("my graph's.pb.gz")
    done = harness.run_krait("convert", data, "-o", path)
    tap.ok(done.returncode == 0 and "go tool pprof -http=: %s\n" % shlex.quote(path).replace("'\"'\"'", "'\\''") in done.stderr,
           "what to type next can be pasted", done.stderr)
    with open(page, encoding="utf-8") as f:
        text = f.read()
    tap.ok(text.count("<script") == text.count("</script>") == 4, "no name becomes markup in it")


def page_sources(page):
    """Returns the text of all sources in a page."""
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])
    return gzip.decompress(base64.b64decode(data["sources"]["data"])).decode()


def check_moved(tap, recording):
    """A capture without the file beside it: perf and krait find the DSO in the build-id cache."""
    shutil.move(recording.path("x.data.krait"), recording.path("gone"))
    done = harness.run_krait("report", "-i", recording.path("x.data"))
    tap.ok("leaf" in done.stdout, "the DSO is in the build-id cache", done.stdout, done.stderr)
    cache = os.environ["PERF_BUILDID_DIR"]
    shutil.rmtree(cache)
    done = harness.run_krait("report", "-i", recording.path("x.data"))
    tap.ok(done.returncode == 0 and "names of Python functions are missing" in done.stderr,
           "a capture without its DSO says so", done.stderr)
    shutil.move(recording.path("gone"), recording.path("x.data.krait"))


def check_pipe(tap, python, script):
    command = shlex.join([harness.KRAIT, "record", "-q", "-f", "perf", "-o", "-", "--", *python.command(script, BRIEF)])
    done = run("sh", "-c", command + " | " + shlex.join([harness.KRAIT, "report", "--by", "line", "-"]))
    tap.ok("target.py:6" in done.stdout, "through a pipe into krait report", done.stdout, done.stderr)
    if shutil.which("perf"):
        done = run("sh", "-c", command + " | perf script -i - -F ip,sym,srcline")
        tap.ok("target.py:6" in done.stdout, "through a pipe into perf script", done.stdout[:1000],
               done.stderr)


def check_compressed(tap, python, script):
    """record -z: the same sums in everything that reads zstd, and a plain file again."""
    recording = harness.record("-z", outputs=("x.folded", "x.data"), command=python.command(script))
    want = merge(functions_of_folded(recording.path("x.folded")))
    tap.ok(sum(want.values()) > 300, "a compressed recording", recording.err)
    check_script(tap, recording, want)
    for label, perf in consumers.perfs():
        name = "perf%s: compressed: " % label
        if not perf:
            tap.skip(name, "not here (Debian package linux-perf, scripts/consumers)")
            continue
        done = run(*perf, "script", "--max-stack", "2100", "-i", recording.path("x.data"))
        tap.equal(merge(consumers.perf_script_counts(done.stdout)), want, name + "each sample, each function", done.stderr)
        header = run(*perf, "report", "--header-only", "-i", recording.path("x.data"))
        tap.ok(re.search(r"compressed : Zstd, level = 1, ratio = [1-9]", header.stdout), name + "the header says so",
               header.stdout)
    # Debian 12's hotspot has no zstd.
    for label, parser in consumers.hotspots()[1:]:
        if parser:
            check_hotspot(tap, recording, want, "hotspot%s, compressed" % label, parser)
    check_samply(tap, recording, want)
    check_copy(tap, recording.path("x.data"), recording.path("plain.data"), "a compressed capture")
    check_copy(tap, recording.path("plain.data"), recording.path("again.data"), "a plain capture, compressed", "-z")
    sizes = [os.path.getsize(recording.path(n)) for n in ("again.data", "plain.data")]
    tap.ok(sizes[0] * 10 < sizes[1], "compressed, it has a tenth of the size", sizes)
    pipe = shlex.join([harness.KRAIT, "record", "-q", "-z", "-f", "perf", "-o", "-", "--", *python.command(script, BRIEF)])
    for reader in [[harness.KRAIT, "report", "-"]] + [[*perf, "report", "-i", "-"] for _, perf in consumers.perfs() if perf]:
        done = run("sh", "-c", pipe + " | " + shlex.join(reader))
        tap.ok(done.returncode == 0 and "leaf" in done.stdout, "compressed through a pipe into %s" % reader[-3:],
               done.stdout[:1000], done.stderr)
    for level in "0", "23", "x":
        done = harness.run_krait("record", "-z" + level, "--", "true")
        tap.ok(done.returncode == 2 and "-z takes a level" in done.stderr, "-z%s is refused" % level, done.stderr)
    done = harness.run_krait("record", "-z", "-o", recording.path("y.html"), "--", "true")
    tap.ok(done.returncode == 2 and "-z compresses a perf.data" in done.stderr, "-z needs a capture", done.stderr)


def check_depth(tap, python, script, folder):
    """deep() calls itself 200 times; by default perf shows 127 frames."""
    done = harness.run_krait("record", "-o", os.path.join(folder, "deep.data"), "--",
                             *python.command(script, BRIEF))
    depth = re.search(r"up to (\d+) frames deep: perf shows them whole with --max-stack (\d+)",
                      done.stderr)
    tap.ok(depth and int(depth.group(1)) > 200 and depth.group(1) == depth.group(2),
           "record says how perf shows deep stacks", done.stderr)


def main():
    harness.need_bpf()
    tap = harness.Tap()
    pythons = harness.interpreters(tap)
    cache = tempfile.mkdtemp(prefix="krait-e2e-")
    harness.folders.append(cache)
    os.environ["PERF_BUILDID_DIR"] = os.path.join(cache, "debug")
    os.environ["HOME"] = cache
    # perf looks for source files where krait runs.
    here = [p for p in [*pythons, *interpreters.all_interpreters()] if p.root == "/" and p.minor in interpreters.MINORS]
    python = harness.newest(here or pythons)
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
    odd = [consumers.plain(harness.printable(name) or "[unnamed]") for name in ODD]
    tap.ok(all(want[name] for name in odd), "odd names are among the functions",
           [name for name in odd if not want[name]])
    each(tap, "perf", consumers.perfs(), lambda *a: check_perf(tap, recording, want, *a),
         "Debian package linux-perf, scripts/consumers")
    each(tap, "hotspot", consumers.hotspots(), lambda *a: check_hotspot(tap, recording, want, *a),
         "scripts/consumers")
    check_samply(tap, recording, want)
    check_script(tap, recording, want)
    check_pprof(tap, recording, want)
    check_callgrind(tap, recording, want)
    check_firefox(tap, recording, want)
    check_speedscope(tap, recording, want)
    check_convert(tap, recording)
    check_habits(tap, recording, want)
    check_commands(tap, recording, scratch)
    check_pipe(tap, python, script)
    check_compressed(tap, python, script)
    check_depth(tap, python, script, cache)
    check_moved(tap, recording)
    harness.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
