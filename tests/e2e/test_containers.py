#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Processes in containers, with files that exist only there and their own pids, control groups and users: krait can
choose among all processes by these, and can tell processes apart."""
import base64
import contextlib
import glob
import gzip
import os
import re
import shutil
import subprocess
import sys
import time

import harness as h

NOBODY = 65534


def hidden(python):
    """Returns a command that runs the interpreter from files that no other mount namespace has."""
    root = python.root.rstrip("/")
    place = root + "/mnt"
    script = "set -e; mount -t tmpfs none %s; cp %s%s %s/hidden; " % (place, root, python.path, place)
    inside = "/mnt/hidden"
    if python.kind == "shared":
        script += "cp -L %s/usr/lib/*/libpython%s.so.1.0 %s/; " % (root, python.minor, place)
        inside = "/usr/bin/env LD_LIBRARY_PATH=/mnt PYTHONHOME=/usr " + inside
    script += "exec chroot %s %s -B %s" % (root, inside, python.target("pairs.py"))
    return ["unshare", "-mpf", "--kill-child", "sh", "-c", script]


def check_hidden(tap, python):
    name = python.name + " that exists only in its container"
    with h.Target(hidden(python)) as target:
        r = h.record("-a", "--name", "pairs.py", "--label", "nspid", "-F", "997", "-d", h.moment(0.5))
    h.check_accounts(tap, name, r, complete=0.98)
    stacks = [s for s in r.stacks if s[0][0].endswith("[nspid_1]")]
    illegal, leaves = target.oracle.judge(stacks)
    tap.ok(leaves and not illegal, name + ": known by its own pid, its stacks are right",
           h.show(illegal), r.err)


def check_late(tap, python):
    """A process that starts in its container while krait records."""
    name = python.name + " that starts in its container"
    krait = subprocess.Popen([h.KRAIT, "record", *h.PYTHON_ONLY, "--name", "*.py", "-q", "-F", "997", "-d", "2s",
                              "-f", "folded", "-o", "-"], stdout=subprocess.PIPE, encoding="utf-8")
    time.sleep(0.6)
    with h.Target(hidden(python)):
        out, _ = krait.communicate(timeout=h.PATIENCE_SECS)
    tap.ok("pairs (pairs.py)" in out, name + " was seen")


PROGRAM = """
import linecache, os, sys
sys.path.insert(0, "/mnt")
import big, moved, newer
CELL = "/tmp/ipykernel_%%d/123.py" %% os.getpid()
# As IPython has it: a cell's number.
class Compiler:
    def __init__(self):
        self._filename_map = {"/tmp/other.py": 3, CELL: 12, "/tmp/ipykernel_1/4.py": 5, "<made 1>": 6}
class Shell:
    def __init__(self):
        self.compile = Compiler()
    def get_ipython(self):
        return self
get_ipython = Shell().get_ipython
def total(cart):
    # what it costs
    return sum(x * 2 for x in cart)
def cell(name, text, cached=True):
    if cached:
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {}
    exec(compile(text, name, "exec"), space)
    return space["f"]
ROOM = %d
work = [total, big.f, moved.f, newer.f, cell("<made 1>", "def f(n):\\n    return sum(n)  # made by " "a library\\n"),
        cell(CELL, "\\ndef f(n):\\n    return sum(n)  # a " "cell\\n"),
        cell("<nowhere>", "def f(n):\\n    return sum(n)  # nobody " "knows\\n", False)]
long = "def f(n):\\n" + "    '%%s'\\n" %% ("x" * 1000) * 100 + "    return sum(n)\\n"
work += [cell("<long %%d>" %% i, long) for i in range(ROOM)]
for name, text in ("moved", "# another line\\n"), ("newer", ""):
    with open("/mnt/%%s.py" %% name) as f:
        text += f.read().replace("was", "is")
    with open("/mnt/%%s.py" %% name, "w") as f:
        f.write(text)
os.utime("/mnt/newer.py", (2**31, 2**31))
print("READY", flush=True)
while True:
    for f in work:
        for i in range(20):
            f(range(2000))
"""


def in_container(python, room):
    place = python.root.rstrip("/") + "/mnt"
    script = "set -e; mount -t tmpfs none %s; printf '%%s' \"$1\" >%s/shop.py; " % (place, place) + \
        "for name in moved newer; do printf 'def f(n):\\n    return sum(n)  # was\\n' >%s/$name.py; done; " % place + \
        "(printf 'def f(n):\n    return sum(n)  # big\n'; head -c 1048576 /dev/zero | tr '\\0' '#') >%s/big.py; " % place + \
        "exec chroot %s %s -B /mnt/shop.py" % (python.root, python.path)
    return ["unshare", "-m", "sh", "-c", script, "sh", PROGRAM % room]


def texts_of(path):
    """Returns the sources that are in a capture's library, or in a page."""
    if path.endswith(".html"):
        with open(path, encoding="utf-8") as f:
            packed = re.findall(r'"data":"([A-Za-z0-9+/=]+)"', f.read())
        return "".join(gzip.decompress(base64.b64decode(p)).decode("utf-8", "replace") for p in packed)
    library, = glob.glob(path + ".krait/*.so")
    with open(library, "rb") as f:
        return f.read().decode("utf-8", "replace")


def check_sources(tap, python):
    """Lines of functions that only the container, or only the process's memory has travel with the recording."""
    name = python.name + ": sources travel: "
    with h.Target(in_container(python, 0)) as target:
        r = h.record("-p", str(target.pid), "-F", "1997", "-d", h.moment(0.6), outputs=("x.data", "live.html"))
        for _ in range(2):
            again = h.run_krait("record", "-q", *h.PYTHON_ONLY, "-p", str(target.pid), "-F", "997", "-d", h.moment(0.1), "-o", r.path("again.data"))
        bare = h.record("-p", str(target.pid), "-F", "1997", "-d", h.moment(0.2), "--no-source", outputs=("x.data", ))
    h.run_krait("convert", "-i", r.path("x.data"), "-o", r.path("x.html"))
    h.run_krait("convert", "-i", r.path("x.data"), "-o", r.path("y.data"))
    for what, text in [(file, h.run_krait("annotate", "-C", "0", "-n", "9", "-i", r.path(file)).stdout) for file in ("x.data", "y.data")] + \
            [(file, texts_of(r.path(file))) for file in ("live.html", "x.html")]:
        for line in "# what it costs", "# made by a library", "# a cell":
            tap.ok(line in text, name + "%s has %s" % (what, line), text[-3000:], r.err)
        tap.ok("nobody knows" not in text and "# is" not in text and "# was" not in text,
               name + what + " has no line that may not be what ran", text[-3000:])
    for file in "x.data", "y.data":
        text = h.run_krait("report", "-i", r.path(file), "-n", "0", "--by", "line").stdout
        tap.ok(re.search(r" f +cell 12:3$", text, re.M), name + file + " calls the cell as the notebook does", text)
    os.makedirs(r.path("own/mnt"))
    with open(r.path("own/mnt/shop.py"), "w", encoding="utf-8") as f:
        f.write("# from a folder\n" * 99)
    text = h.run_krait("annotate", "-C", "0", "-n", "9", "-i", r.path("x.data"), "--source", r.path("own")).stdout
    tap.ok("# from a folder" in text and "# what it costs" not in text and "# a cell" in text, name + "--source is looked at first", text[-3000:])
    if shutil.which("perf"):
        text = subprocess.run(["perf", "annotate", "--stdio", "-i", r.path("x.data")], capture_output=True, encoding="utf-8",
                              errors="replace", check=False, stdin=subprocess.DEVNULL, timeout=h.PATIENCE_SECS).stdout
        for line in "return sum(x * 2 for x in cart)", "# made by a library", "# a cell":
            tap.ok(line in text, name + "perf annotate has " + line, text[-3000:])
    kept = sorted(os.listdir(r.path("again.data.krait")))
    tap.equal([file.split(".")[-1] for file in kept], ["so", "source"], name + "a capture has only its own files", kept, again.stderr)
    os.unlink(r.path("again.data"))
    done = h.run_krait("clean", r.path("again.data"))
    tap.ok(not os.path.exists(r.path("again.data.krait")), name + "which go with it", done.stdout, done.stderr)
    tap.ok("# a cell" not in texts_of(bare.path("x.data")) and "def total" not in texts_of(bare.path("x.data")),
           name + "none with --no-source", bare.err)
    with h.Target(in_container(python, 60)) as target:
        done = h.run_krait("record", "-p", str(target.pid), *h.PYTHON_ONLY, "-F", "1997", "-d", h.moment(1), "-o", r.path("z.data"))
    text = texts_of(r.path("z.data"))
    tap.ok(re.search(r"the source of \d+ functions .* does not travel", done.stderr) and 3 << 20 < len(text) < 9 << 20,
           name + "what finds no room is said", done.stderr[-2000:], len(text))
    tap.ok(re.search(r"the source of \d+ functions .*: their files were not read", done.stderr) and "# big" not in text,
           name + "what is too large to be read is said", done.stderr[-2000:])


CELLS = """
import linecache, os, sys
uid, number, *codes = sys.argv[1:]
os.setgroups([])
os.setgid(int(uid))
os.setuid(int(uid))
work, numbers = [], {}
for code in codes:
    function, path = code.split("=")
    path = path.replace("PID", str(os.getpid()))
    text = "def %s():\\n    return sum(range(2000))\\n" % function
    if int(number):
        linecache.cache[path] = (len(text), None, text.splitlines(True), path)
        numbers[path] = int(number)
    exec(compile(text, path, "exec"))
    work.append(globals()[function])
class Compiler:
    def __init__(self):
        self._filename_map = numbers
class Shell:
    def __init__(self):
        self.compile = Compiler()
    def get_ipython(self):
        pass
get_ipython = Shell().get_ipython
# Another interpreter's linecache is too large to be read.
try:
    import _interpreters
    number == "3" and _interpreters.run_string(_interpreters.create(), "import linecache; linecache.cache.update((str(i), (i, )) for i in range(200000))")
except ImportError:
    pass
print("READY", flush=True)
while True:
    for f in work:
        f()
"""


def check_cells(tap, python):
    """What a process calls its cells names no other's code: of another user, or of a kernel with the same pid in its namespace."""
    space = ["unshare", "-pf", "--kill-child"]
    program = lambda *args: python.command("-c", CELLS, *args)
    with h.Target(program("0", "7", "mine=/tmp/ipykernel_PID/a.py", "alone=/tmp/ipykernel_PID/b.py", "text=<made>",
                          "old=<ipython-input-2-a>", "foreign=/tmp/ipykernel_1/c.py")) as kernel, \
            h.Target(program(str(NOBODY), "0", "victim=/tmp/ipykernel_%d/a.py" % kernel.pid, "victim_text=<made>",
                             "victim_cell=/tmp/ipykernel_1/c.py")) as victim, \
            h.Target(space + program("0", "3", "three=/tmp/ipykernel_PID/d.py", "alone_3=/tmp/ipykernel_PID/e.py")) as three, \
            h.Target(space + program("0", "4", "four=/tmp/ipykernel_PID/d.py")) as four:
        pids = [str(t.pid) for t in (kernel, victim, three, four)]
        r = h.record("-p", ",".join(pids), "-F", "997", "-d", h.moment(0.8), outputs=("x.data", "x.folded"))
    for what, text in ("x.data", h.run_krait("report", "-i", r.path("x.data"), "-n", "0", "--by", "line").stdout), ("live", str(r.stacks)):
        for function, file in ("mine", "a.py"), ("alone", "cell 7"), ("text", "<made>"), ("foreign", "c.py"), ("victim", "a.py"), \
                ("victim_text", "<made>"), ("victim_cell", "c.py"), ("three", "d.py"), ("alone_3", "cell 3"), ("four", "d.py"):
            tap.ok(re.search(r"\b%s[ (]+%s:\d" % (function, file), text), python.name + ": %s: %s is in %s" % (what, function, file), text, r.err)
        tap.ok(not re.search(r"\bold[ (]+cell 7", text), python.name + ": %s: a cell's own number stays" % what, text)


def group_of_test():
    """Makes a control group, wherever this machine has some. Returns its path and folder."""
    for mount in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/pids"):
        folder = "%s/krait-%d" % (mount, os.getpid())
        try:
            if os.path.exists(mount + "/cgroup.procs"):
                os.mkdir(folder)
                return "/krait-%d" % os.getpid(), folder
        except OSError:
            pass
    return None, None


def processes_of(r):
    """Returns processes' names as krait labels them."""
    return {s[0] for s, _ in r.stacks}


def pids_of(r, ours):
    """Returns which of our processes are there: on a busy machine others may look the same."""
    found = {int(re.sub(r".*pid_(\d+).*", r"\1", p)) for p in processes_of(r)}
    return found & {target.pid for target in ours if target}


def check_filters(tap, python):
    """Four processes of the same interpreter; each filter finds its own."""
    group, folder = group_of_test()
    script = "import sys\nprint('READY', flush=True)\nwhile True: sum(range(1000))\n"
    plain = named = user = grouped = None
    everything = ("--label", "pid", "-F", "997", "-d", h.moment(0.2))
    rest = contextlib.ExitStack()
    try:
        plain = h.Target(python.command("-c", script))
        named = h.start(python, "pairs.py")
        user = h.Target(["chroot", "--userspec=%d" % NOBODY, python.root, python.path, "-B", "-c",
                         script])
        if folder:
            grouped = h.Target(["sh", "-c", "echo $$ >%s/cgroup.procs; exec \"$@\"" % folder,
                                "sh", *python.command("-c", script)])
        ours = (plain, named, user, grouped)
        for target in filter(None, ours):
            rest.enter_context(h.resting(target))
        r = h.record("--name", "pairs.*", *everything)
        tap.equal(pids_of(r, ours), {named.pid}, python.name + ": --name by script", r.err)
        h.check_accounts(tap, python.name + ": --name", r)
        r = h.record("--name", "no such", *everything)
        tap.equal(r.code, 6, python.name + ": --name that nothing has", r.err)
        tap.ok(re.search(r"no samples: \d+ Python process(es ran during the recording, none| ran during the recording, but not) with "
                         r"--name no such \(--name '\*no such\*' ", r.err), python.name + ": and says that others ran", r.err[-600:])
        done = h.run_krait("record", "-a", "-F", "997", "-d", h.moment(0.5), "-o", r.path("a.data"))
        table = done.stdout.splitlines()
        tap.ok(len(table) > 3 and table[0].split() == ["Share", "Time", "Program"] and "[pairs.py]" in "".join(table[1:7]),
               python.name + ": a summary of all begins with the programs", done.stdout, done.stderr)
        for args, first in (((), "Share"), (("--by", "function"), "Self")):
            done = h.run_krait("report", *args, r.path("a.data"))
            tap.equal(done.stdout.split()[:1], [first], "%s: report %s begins with %s" % (python.name, " ".join(args), first))
        done = h.run_krait("record", "--name", "no such", "-d", "100ms", "-o", "/dev/null", "-f", "folded")
        tap.ok("inspected" not in done.stderr,
               python.name + ": a process that cannot be read and is not wanted is not worth a word", done.stderr)
        if grouped:
            for path in (group, group[1:], folder + "/"):
                r = h.record("-a", "--cgroup", path, *everything)
                tap.equal(pids_of(r, ours), {grouped.pid},
                          "%s: --cgroup %s" % (python.name, path), r.err)
        r = h.record("-a", "--cgroup", "no.such.slice", *everything)
        tap.ok(r.code == 3 and "no.such.slice" in r.err, python.name + ": --cgroup that there is not", r.err)
        r = h.record("--user", "nobody", *everything)
        tap.equal(pids_of(r, ours), {user.pid}, python.name + ": --user", r.err)
        r = h.record("-a", "--user", "0", "--name", "python*", *everything)
        found = pids_of(r, ours)
        tap.ok(plain.pid in found and user.pid not in found, python.name + ": --user and --name",
               found, r.err)
    finally:
        rest.close()
        for target in (plain, named, user, grouped):
            if target:
                target.stop()
        if folder:
            time.sleep(0.1)
            os.rmdir(folder)


def check_excluded(tap, python):
    """A process that starts meanwhile and is not wanted does not enter the accounts."""
    krait = subprocess.Popen([h.KRAIT, "record", *h.PYTHON_ONLY, "--name", "nothing", "-q", "--stats", "-F", "997",
                              "-d", "1200ms", "-o", "/dev/null", "-f", "folded"],
                             stderr=subprocess.PIPE, encoding="utf-8")
    time.sleep(0.6)
    for _ in range(4):
        subprocess.run(python.command("-S", "-c", "sum(range(300000))"), check=True)
    _, err = krait.communicate(timeout=h.PATIENCE_SECS)
    stats = h.parse_stats(err)
    tap.ok(krait.returncode == 6 and stats["interrupts"] == 0 and stats["balance"] == 0,
           python.name + ": what the filter excludes is not in the books", err)


def main():
    h.need_bpf()
    tap = h.Tap()
    pythons = h.interpreters(tap)
    full = os.environ.get("KRAIT_FULL") == "1"
    for python in [p for p in pythons if p.root != "/"][:None if full else 2]:
        check_hidden(tap, python)
    away = [p for p in pythons if p.root != "/"]
    for python in away if h.is_all() else h.few(away):
        check_sources(tap, python)
    for python in away[-1:]:
        check_cells(tap, python)
    for kind in ("exe", "shared") if h.is_all() else ("exe",):
        some = [p for p in pythons if p.kind == kind and p.root != "/"]
        if some:
            check_late(tap, some[0])
            check_filters(tap, some[0])
            check_excluded(tap, some[0])
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    sys.exit(main())
