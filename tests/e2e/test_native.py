#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Native and kernel frames among Python's: five levels of C that calls Python that calls C, exact in every sample if
the interpreter keeps frame pointers; libraries below the function that calls them; and exact Python frames
whatever the native part is like."""
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import harness as h

TRUNCATED = "[truncated]"
# Built with frame pointers (PEP 831); others are truncated where C calls Python.
FRAME_POINTERS = ("3.15",)
LEVELS = 5


def build(python):
    """Returns a folder with the extension, as this machine sees it; None without a compiler."""
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")
    if not compiler:
        return None
    folder = python.scratch()
    subprocess.check_call([compiler, "-O1", "-fPIC", "-shared", "-fno-omit-frame-pointer",
                           "-mno-omit-leaf-frame-pointer", "-fno-optimize-sibling-calls",
                           *(["-DFREE_THREADED"] if python.free_threaded else []),
                           os.path.join(h.TARGETS, "mixed.c"), "-o",
                           os.path.join(folder, "mixed_native.so")])
    return folder


def plain(frame):
    """Strips a frame's file."""
    return re.sub(r" \([^()]*\)$", "", frame)


def legal_stacks():
    """Yields every stack of mixed.py, root first: each level can be in C or in Python."""
    stack, legal = ["<module>", "main"], {("<module>",), ("<module>", "main")}
    for level in range(1, LEVELS + 1):
        stack = stack + ["native%d" % level]
        legal |= {tuple(stack), tuple(stack + ["work"])}
        stack = stack + ["call_back"]
        legal.add(tuple(stack))
        stack = stack + ["python%d" % level]
        legal |= {tuple(stack), tuple(stack + ["spin"])}
    return legal


def shown(stack):
    """Drops what may be at the leaf of any stack: the kernel, the stub of a call, and the C library and the loader,
    which the interpreter calls, with a mark before them."""
    stack = list(stack)
    while re.search(r"_\[k\]$|@plt \(|[\[(](libc\.so|ld-)[^()]*[])]$", stack[-1]):
        stack.pop()
        if stack[-1] == TRUNCATED:
            stack.pop()
    return tuple(plain(f) for f in stack)


def is_legal(stack, legal):
    """At a C function's first instruction its caller is not visible yet."""
    return stack in legal or any(len(c) == len(stack) + 1 and c[-1] == stack[-1] and
                                 c[:-2] == stack[:-1] for c in legal
                                 if stack[-1] in ("work", "call_back"))


def python_part(stack):
    return tuple(f for f in stack if re.match(r"(<module>|main|spin|python\d)$", f))


def native_mark_fits(stack, legal):
    """Tells whether some legal stack matches, with native frames missing only at a mark or if the Python frame below
    it is missing."""
    names = [f for f in stack if f != TRUNCATED]
    for candidate in legal:
        rest = iter(candidate)
        if python_part(candidate) == python_part(stack) and all(f in rest for f in names):
            return True
    return False


def check_mixed(tap, python):
    folder = build(python)
    name = python.name + ": mixed.py"
    if not folder:
        tap.skip(name, "no C compiler")
        return
    try:
        with h.start(python, "mixed.py", python.inside(folder)) as target:
            r = h.record_work(target.pid, 0.4, "-F", "4999", "-n", "-k", lines=False)
    finally:
        shutil.rmtree(folder)
    h.check_accounts(tap, name, r, complete=0.99)
    legal = legal_stacks()
    stacks = [(shown(s[1:]), n) for s, n in r.stacks]
    wrong_python = [(s, n) for s, n in stacks if python_part(s) not in
                    {python_part(c) for c in legal}]
    tap.ok(stacks and not wrong_python, name + ": the Python part is exact", h.show(wrong_python))
    if python.minor in FRAME_POINTERS:
        wrong = [(s, n) for s, n in stacks if not is_legal(s, legal)]
        tap.ok(not wrong, name + ": the order is exact in every sample", h.show(wrong))
        early = sum(n for s, n in stacks if s not in legal)
        tap.ok(early <= 0.01 * r.samples(), name + ": hardly a caller is missing", early)
        deepest = {s[-2] for s, n in stacks if s[-1] == "work" and s in legal}
        tap.equal(deepest, {"native%d" % i for i in range(1, LEVELS + 1)},
                  name + ": all levels were seen at work in C")
        whole, natives = r.stats.get("native.complete"), r.stats.get("native.samples")
        tap.equal(whole, natives, name + ": native stacks are complete")
        return
    wrong = [(s, n) for s, n in stacks if not native_mark_fits(s, legal)]
    tap.ok(not wrong, name + ": what is native is in its place", h.show(wrong))
    unmarked = [(s, n) for s, n in stacks if s not in legal and TRUNCATED not in s and
                not is_legal(s, legal) and s[-1] in ("work", "call_back")]
    tap.ok(not unmarked, name + ": what is missing has a mark", h.show(unmarked))
    truncated = r.total("native.truncated.")
    tap.equal(r.stats.get("native.complete") + truncated, r.stats.get("native.samples"),
              name + ": every native stack is complete or truncated")


LIBRARIES = {
    "in_hashlib": r"libcrypto|_hashlib|_sha2|libssl",
    "in_zlib": r"libz\.so|zlib\.cpython",
    "in_sqlite": r"libsqlite3|_sqlite3",
    "in_sleep": r"libc\.so|ld-linux|vdso",
}


def check_inside(tap, python):
    """The Python function is directly above the native frames, whatever those can tell."""
    name = python.name + ": inside.py"
    with h.start(python, "inside.py", *LIBRARIES) as target:
        r = h.record_work(target.pid, 0.4, "-F", "4999", "-n", "-k", "-t", lines=False)
    h.check_accounts(tap, name, r, complete=0.98)
    for function, library in LIBRARIES.items():
        mine = [(s, n) for s, n in r.stacks if any(plain(f) == function for f in s)]
        tops = [(s, n, max(i for i, f in enumerate(s) if plain(f) == function)) for s, n in mine]
        inside = sum(n for s, n, at in tops if any(re.search(library, f) for f in s[at + 1:]))
        above = [(s, n) for s, n, at in tops
                 if any(re.search(r"\.py\)$", f) for f in s[at + 1:])]
        total = sum(n for _, n in mine)
        tap.ok((total > 5 or function == "in_sleep") and not above, "%s: nothing of Python is below %s" % (name, function),
               total, h.show(above))
        wanted = 0 if function == "in_sleep" else 0.8
        static = python.minor in FRAME_POINTERS or function != "in_hashlib"
        tap.ok(not static or inside >= wanted * total,
               "%s: %s is above its library" % (name, function),
               "%d of %d" % (inside, total), h.show(mine))


def check_kernel(tap, python):
    """System calls end in kernel frames, below the Python function that makes them."""
    name = python.name + ": kernel"
    with h.start(python, "inside.py", "in_read") as target:
        r = h.record_work(target.pid, 0.25, "-F", "4999", "-k", lines=False)
    reads = [(s, n) for s, n in r.stacks if any(plain(f) == "in_read" for f in s)]
    total, kernel = sum(n for _, n in reads), 0
    for stack, count in reads:
        at = [plain(f) for f in stack].index("in_read")
        if any(re.search(r"read.*_\[k\]$", f) for f in stack[at + 1:]):
            kernel += count
    tap.ok(total > 100 and kernel > 0.7 * total, name + ": read() is below in_read()",
           "%d of %d" % (kernel, total), h.show(reads))
    misplaced = [(s, n) for s, n in r.stacks
                 if any(a.endswith("_[k]") and not b.endswith("_[k]") for a, b in zip(s, s[1:]))]
    tap.ok(not misplaced, name + ": nothing is above the kernel", h.show(misplaced))


def foreign(stacks, what):
    """Counts samples with such a frame."""
    return sum(n for s, n in stacks if any(re.search(what, f) for f in s))


def check_options(tap, python):
    """Both kinds appear unless turned off, each separately."""
    name = python.name + ": options"
    kernel, native = r"_\[k\]$", r"\.so"
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    path = os.path.join(folder, "x.folded")
    with h.start(python, "inside.py", "in_zlib", "in_read") as target, h.resting(target):
        for options, want in (((), (True, True)), (("--no-native",), (False, True)),
                              (("--no-kernel",), (True, False)), (h.PYTHON_ONLY, (False, False)),
                              (("--no-native", "-n", "--no-kernel", "-k"), (True, True)),
                              (("-n", "-k", *h.PYTHON_ONLY), (False, False))):
            h.run_krait("record", "-q", *options, "-F", "4999", "-p", str(target.pid), "-d", h.moment(0.1), "-o", path)
            stacks = h.parse_folded(path)
            got = tuple(foreign(stacks, what) > 0 for what in (native, kernel))
            tap.ok(sum(n for _, n in stacks) > 10 and got == want,
                   "%s: native, kernel are %s with %s" % (name, want, " ".join(options) or "none"),
                   h.show(stacks))
    shutil.rmtree(folder)


def check_folding(tap, python):
    """Frames left out of a capture afterwards count where Python called them: the same stacks and numbers as in a
    recording without them."""
    name = python.name + ": folding"
    with h.start(python, "inside.py", "in_zlib", "in_read") as target:
        r = h.record_work(target.pid, 0.25, "-F", "4999", "-n", "-k", lines=False,
                     outputs=("x.folded", "x.data"))
    names = {s[-1] for s, _ in r.stacks}
    for option, what in (("--no-native", r"\.so|\[truncated\]"), ("--no-kernel", r"_\[k\]$")):
        h.run_krait("convert", "-q", option, "-o", r.path("y.folded"), r.path("x.data"))
        stacks = h.parse_folded(r.path("y.folded"))
        tap.ok(foreign(r.stacks, what) > 10 and not foreign(stacks, what),
               "%s: %s leaves none" % (name, option), h.show(stacks))
        tap.equal(sum(n for _, n in stacks), r.samples(), "%s: %s loses none" % (name, option))
    h.run_krait("convert", "-q", *h.PYTHON_ONLY, "-o", r.path("y.folded"), r.path("x.data"))
    stacks = {";".join(s): n for s, n in h.parse_folded(r.path("y.folded"))}
    want = {}
    for s, n in r.stacks:
        # Whatever else is on the stack: libraries, the vdso, the kernel, marks.
        python_only = s[:1] + [f for f in s[1:] if f.endswith(".py)")]
        want[";".join(python_only)] = want.get(";".join(python_only), 0) + n
    tap.equal(stacks, want, name + ": both give the stacks of Python", names)
    note = h.run_krait("annotate", "-i", r.path("x.data"), "in_zlib").stdout
    hot = re.search(r"^ *([0-9.]+)% +\d+ +([0-9.]+)% +22\b", note, re.M)
    tap.ok(hot and hot.group(1) == hot.group(2) and float(hot.group(1)) > 5,
           name + ": annotate gives a line what it calls", note)
    refused = h.run_krait("report", "--no-native", r.path("x.folded"))
    tap.ok(refused.returncode == 2 and "captures" in refused.stderr,
           name + ": folded stacks cannot tell", refused.stderr)


def check_perf(tap, python):
    """perf itself finds the names of a capture's native frames, in the same samples."""
    name = python.name + ": perf"
    folder = build(python)
    if not shutil.which("perf") or not folder or python.minor not in FRAME_POINTERS:
        tap.skip(name, "no perf, no C compiler, or no interpreter with frame pointers")
        return
    try:
        with h.start(python, "mixed.py", python.inside(folder)) as target:
            r = h.record_work(target.pid, 0.25, "-F", "4999", "-n", "-k", lines=False,
                         outputs=("x.folded", "x.data"))
        text = subprocess.run(["perf", "script", "-F", "ip,sym,dso", "-i", r.path("x.data")],
                              capture_output=True, encoding="utf-8", check=False).stdout
    finally:
        shutil.rmtree(folder)
    legal, wrong, total = legal_stacks(), [], 0
    for sample in filter(None, text.split("\n\n")):
        frames = re.findall(r"^\s*([0-9a-f]+) (.*) \((.*)\)$", sample, re.M)
        frames = [(n, dso) for ip, n, dso in frames if not ip.startswith("ffffffff") and not n.endswith("@plt")]
        # As shown() does.
        while frames and re.search(r"/(libc\.so|ld-)[^/]*$", frames[0][1]):
            del frames[0]
        stack = tuple(re.sub(r"^py::([^:]*):.*", r"\1", n) for n, _ in reversed(frames))
        total += 1
        if not is_legal(stack, legal):
            wrong.append((stack, 1))
    tap.equal(total, r.samples() + r.stats["not_sampled"], name + ": all samples are there")
    tap.ok(total and not wrong, name + ": perf shows the stacks that krait shows", h.show(wrong))


def check_unknown(tap, python):
    """For processes that have ended before krait could look (it is stopped meanwhile), native frames can no longer be
    resolved, and a mark says so."""
    name = python.name + ": unknown"
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    path = os.path.join(folder, "x.folded")
    with h.start(python, "pairs.py"):
        krait = subprocess.Popen([h.KRAIT, "record", "-a", "-F", "997", "--stats", "-q", "-o",
                                  path], stderr=subprocess.PIPE, encoding="utf-8")
        # It knows the interpreter once it has seen the other process, and follows the next from exec on.
        time.sleep(1.5)
        krait.send_signal(signal.SIGSTOP)
        subprocess.run(python.command(python.target("flash.py"), "300", "gone"), check=True)
        krait.send_signal(signal.SIGCONT)
        krait.send_signal(signal.SIGINT)
        stats = h.parse_stats(krait.communicate(timeout=h.PATIENCE_SECS)[1])
    stacks = h.parse_folded(path)
    shutil.rmtree(folder)
    gone = [(s, n) for s, n in stacks if any(f.startswith("gone_leaf ") for f in s)]
    marked = [(s, n) for s, n in stacks if "[unknown native frames]" in s]
    tap.ok(sum(n for _, n in gone) > 3 and all(s in marked for s in gone),
           name + ": a mark says that native frames are missing", h.show(gone))
    tap.equal(sum(n for _, n in marked), stats.get("native.unknown"),
              name + ": as many as are counted")


def lines_of(capture, *args):
    """Returns {function: seconds with one of its lines}, and what krait said."""
    done = h.run_krait("report", "-i", capture, "--no-native", "--no-kernel", "--event", "cpu-clock", "--by", "line", "-n", "0", "--json", *args)
    event, sums = json.loads(done.stdout)["events"][0], {}
    for row in event["rows"]:
        sums[row["function"]] = sums.get(row["function"], 0) + row["total"] * event["time_ns"] / event["all"] / 1e9
    return sums, done.stderr


def check_spread(tap, python):
    """A library's threads work for a line that waits for them: with --charge-waiters their time is the line's; if two threads
    wait, it stays apart. spread.py computes for 60 ms and 180 ms by turns of two calls, and for 100 ms in the end."""
    name = python.name + ": spread.py"
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")
    if not compiler:
        tap.skip(name, "no compiler")
        return
    library = os.path.join(python.scratch(), "libspread.so")
    subprocess.check_call([compiler, "-O1", "-fPIC", "-shared", "-pthread", os.path.join(h.TARGETS, "spread.c"), "-o", library])
    for how, waits in (("waits recorded", ["--off-cpu"]), ("CPU time only", [])):
        # On a busy machine the rows of the library's code may come after its first threads, whose stacks then say nothing.
        for _ in range(5):
            recording = h.record("-F", "1999", "-n", "-k", *waits, outputs=("x.data",), lines=False,
                                 command=python.command(python.target("spread.py"), python.inside(library)))
            capture = recording.path("x.data")
            before, _ = lines_of(capture)
            after, said = lines_of(capture, "--charge-waiters")
            apart = re.search(r"none is seen to wait for (\d+)", said)
            if not waits or not apart or int(apart[1]) < 60:
                break
        tap.ok(before["[native thread]"] > 0.45 and before.get("large", 0) < 0.1, f"{name}, {how}: native threads are apart", before)
        if waits:
            # One of the two threads may begin before the other, or end after it.
            after["two"] = after["[native thread]"] + after.get("wait", 0)
            tap.ok(all(abs(after.get(f, 0) - want) < 0.2 * want for f, want in (("small", 0.12), ("large", 0.36), ("two", 0.1))) and after["[native thread]"] > 0.03,
                   f"{name}, {how}: the time is the lines' that wait, and apart where two wait", after, said)
        tap.ok(re.search(r"\d+ of \d+ samples of native threads count for the line that waits", said), f"{name}, {how}: krait says how much", said)
        threads = [h.run_krait("report", "-i", capture, "--event", "cpu-clock", "--by", "thread", *more).stdout for more in ([], ["--charge-waiters"])]
        tap.ok(sorted(threads[0].split("\n")) == sorted(threads[1].split("\n")), f"{name}, {how}: threads and sums are as before", *threads)
    done = h.run_krait("annotate", "-i", capture, "--event", "cpu-clock")
    tap.ok(re.search(r"Not shown: .*\[native thread\].*--charge-waiters", done.stdout), name + ": annotate says what it leaves out", done.stdout[-300:])
    shutil.rmtree(os.path.dirname(library))


def check_charged_part(tap, python):
    """--charge-waiters reads samples of those who were not asked for, too, and shows nothing of them."""
    name = python.name + ": a part, with --charge-waiters"
    with h.start(python, "pairs.py") as wanted, h.start(python, "split.py") as other:
        capture = h.record_work([wanted.pid, other.pid], 0.3, "-F", "997", "-n", outputs=("x.data",)).path("x.data")
    part = ["--pid", str(wanted.pid), "--charge-waiters"]

    def check_names(said, capture, part, shown, hidden):
        for form in ("html", "jsonl", "speedscope", "firefox", "callgrind", "folded", "pprof"):
            out = capture + "." + form
            done = h.run_krait("convert", "-q", *part, capture, "-f", form, "-o", out)
            code = done.returncode or done.stderr
            with (gzip.open if form == "pprof" else open)(out, "rb") as f:
                text = f.read().decode(errors="replace")
            tap.ok(not code and shown in text and not [x for x in hidden if x in text], f"{name}: {form} names nothing of other {said}", code)
            if form == "html":
                tap.ok('"charged":true' in text, f"{name}: the page of {said} does not recommend what it was made with")

    check_names("processes", capture, part, "pairs.py", ("split.py", "warm"))
    with h.start(python, "named.py") as threads:
        named = h.record_work(threads.pid, 0.3, "-F", "997", "-n", outputs=("x.data",)).path("x.data")
    check_names("threads", named, ["--thread", "by-itself", "--charge-waiters"], "named_by_itself", ("renamed_by_others", "pooled"))
    for more in ([], ["--charge-waiters"]):
        done = h.run_krait("report", "-i", capture, "--pid", str(wanted.pid), *more, "--callers", "warm")
        tap.equal(done.returncode, 6, f"{name}: their functions have no callers, {more}")
    done = h.run_krait("report", "-i", capture, *part, "--tree", "--min-percent", "0")
    tap.ok("passed_on" in done.stdout and "split.py" not in done.stdout, name + ": nor have they rows", done.stdout[-500:])


def main():
    h.need_bpf()
    tap = h.Tap()
    # Before 3.13 there are no entry frames, so nothing to join by.
    pythons = [p for p in h.interpreters(tap, each_class=True) if int(p.minor.split(".")[1]) >= 13]
    minors = [next(p for p in pythons if p.minor == minor) for minor in dict.fromkeys(p.minor for p in pythons)]
    for python, check in h.covering(minors, [check_inside, check_mixed]):
        check(tap, python)
    for python in pythons:
        if h.is_all() and python not in minors:
            check_mixed(tap, python)
    if pythons:
        newest = h.newest(pythons)
        check_kernel(tap, newest)
        check_options(tap, newest)
        check_folding(tap, newest)
        check_perf(tap, newest)
        check_unknown(tap, newest)
        check_spread(tap, newest)
        check_charged_part(tap, newest)
    tap.done()
    h.cleanup()


if __name__ == "__main__":
    main()
