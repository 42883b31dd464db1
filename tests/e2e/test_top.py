#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait top: what it shows of a program with known figures, as lines and on a real terminal; keys, sizes, files that
it writes, how it ends."""
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import harness as h
from terminal import Terminal

# Many samples of a target that rests most of the time: even on a busy machine it gets a CPU at once.
RATE = ("-F", "997")
ROUNDS_SECS = 0.4
TARGET = ("split.py", "rest")
# A row of functions: self, total now; self, total in seconds since the start; name, file. Blank means 0.
ROW = re.compile(r"^(.{6})(.{7})(.{10})(.{9}) (?:[ .:=+*#@\u2581-\u2588-]{11})?(\S.*?)\s*$")


def rows(text):
    """Returns {name: (self now, total now, self s, total s)} of functions."""
    found = {}
    for line in text.splitlines():
        match = ROW.match(line)
        if not match:
            continue
        try:
            figures = tuple(float(x) if x.strip() else 0.0 for x in match.groups()[:4])
        except ValueError:
            continue
        found.setdefault(re.split(r"\s{2,}", match.group(5))[0], figures)
    return found


def rounds(text):
    """Returns the blocks of --batch."""
    return [block for block in re.split(r"(?m)^(?=krait top  )", text) if block]


def check_split(tap, name, found):
    """hot has three times as many samples as warm, both below work: each sample is in one of the two."""
    hot, warm, work = (found.get(f, (0, 0, 0, 0)) for f in ("hot", "warm", "work"))
    both = hot[2] + warm[2]
    tap.ok(both > 0 and abs(hot[2] / both - 0.75) < 0.15, name + ": three quarters are hot's", found)
    # Each figure has a resolution of a hundredth of a second.
    tap.ok(both > 0 and 0.97 * work[3] - 0.02 <= both <= work[3] + 0.02, name + ": work has what it calls", found)


def worked(seconds):
    """A screen that shows so much time for work()."""
    return lambda screen: rows(screen).get("work", (0,) * 4)[3] >= seconds


def check_batch(tap, python):
    # It works without a pause, so that sums are large, and only while krait runs.
    with h.start(python, "split.py") as target, h.resting(target):
        ran, stolen = h.cpu_seconds(target.pid), h.stolen_seconds()
        done = h.run_krait("top", "--batch", *RATE, "-p", str(target.pid), "-n", "4", "-i", "%dms" % (1000 * ROUNDS_SECS))
        ran, stolen = h.cpu_seconds(target.pid) - ran, h.stolen_seconds() - stolen
        blocks = rounds(done.stdout)
        tap.ok(done.returncode == 0 and len(blocks) == 4, "--batch -n 4: four rounds", done.returncode,
               done.stdout, done.stderr)
        done_json = h.run_krait("top", "--json", *RATE, "-p", str(target.pid), "-n", "2", "-i", "500ms")
        said = [json.loads(line) for line in done_json.stdout.splitlines()]
        tap.ok(done_json.returncode == 0 and [(r["schema"], r["version"]) for r in said] == [("krait.top", 1)] * 2,
               "--json: a line for each round", done_json)
        last = {row["name"]: row for row in said[-1]["rows"]} if said else {}
        parts = [last.get(f, {}).get("self_all_ns", 0) for f in ("hot", "warm")]
        tap.ok(sum(parts) > 0 and abs(parts[0] / sum(parts) - 0.75) < 0.15 and last["work"]["total_all_ns"] >= sum(parts) and
               sum(r["self_ns"] for line in said for r in line["rows"] if r["name"] == "hot") == parts[0],
               "--json: three quarters are hot's, and rounds add up", said)
        tap.ok("with the GIL)" in done.stdout, "how much of it with the GIL", done.stdout)
        found = rows(blocks[-1]) if blocks else {}
        check_split(tap, "--batch", found)
        # 1 ms per sample; excludes what ran before and after the rounds.
        total = found.get("work", (0,) * 4)[3]
        # Also by chance if others share the CPU: each of its turns may have a tick more than its share.
        tap.ok(ran * 0.6 < total <= 1.05 * ran + 0.02 + stolen, "seconds are the CPU time it used",
               "%s of %s, stolen %s" % (total, ran, stolen))
        now = [rows(block).get("work", (0,) * 4)[1] for block in blocks]
        # On a busy machine a round begins late and is longer than what its shares refer to.
        tap.ok(abs(sum(now) / 100 * ROUNDS_SECS - total) < 0.03 + 0.1 * total,
               "rounds add up to what is since the start", now, total)
        start = time.monotonic()
        done = h.run_krait("top", *RATE, "-p", str(target.pid), "-d", "1s", "-i", "250ms", "--view", "processes")
        tap.ok(done.returncode == 0 and len(rounds(done.stdout)) in (3, 4) and
               re.search(r"(?m)^.* %d \S+ \[split.py\]$" % target.pid, done.stdout),
               "piped: lines; -d ends it; processes have pid and script", done.stdout, done.stderr)
        tap.ok(time.monotonic() - start < 20, "in time")
        done = h.run_krait("top", "-b", *RATE, "-p", str(target.pid), "-n", "1", "-i", "500ms", "--view", "tree")
        # Each row is called by the one above it.
        names = [line.split()[-2] for line in done.stdout.splitlines() if "split.py:" in line]
        tap.ok("work" in names and names.index("main") < names.index("work") < names.index("hot"),
               "a tree has callers above", done.stdout)


def check_off_cpu(tap, python):
    with h.start(python, "split.py", "doze") as target:
        done = h.run_krait("top", "-b", "-p", str(target.pid), "-n", "3", "-i", "500ms", "--off-cpu", "--view", "threads")
        last = rounds(done.stdout)[-1] if done.stdout else ""
        lines = [line for line in last.splitlines() if " %d " % target.pid in line]
        # CPU%, GIL%, Wait%, Ready%: the sleeping one waits most of the time.
        waits = [float(line[13:20].strip() or 0) for line in lines]
        tap.ok(done.returncode == 0 and waits and max(waits) > 30, "--off-cpu: a thread that sleeps waits",
               done.stdout, done.stderr)
        tap.ok("GIL%" in last and "wait for the GIL" in last, "its columns and its head", last)


def check_lasting(tap, python):
    """A wait is visible while it lasts, and no thread waits for longer than the elapsed time."""
    script = ("import threading, time\n"
              "def again():\n    while True:\n        time.sleep(0.7)\n"
              "threading.Thread(target=again, daemon=True).start()\n"
              "def asleep():\n    print('READY', flush=True)\n    time.sleep(1000)\nasleep()")
    with h.Target(python.command("-c", script)) as target:
        done = h.run_krait("top", "-b", "-p", str(target.pid), "-n", "4", "-i", "500ms", "--off-cpu", "--view", "threads")
        last = rounds(done.stdout)[1:] if done.stdout else []
        waits = {}
        for line in "\n".join(last).splitlines():
            found = re.search(r"%d +(\d+) \S.*$" % target.pid, line)
            if found:
                waits.setdefault(int(found.group(1)), []).append(float(line[13:20].strip() or 0))
        own = waits.pop(target.pid, [])
        done_main = h.run_krait("top", "-b", "-p", str(target.pid), "-n", "2", "-i", "300ms", "--off-cpu", "--thread", "main",
                                "--view", "threads")
        tids = set(re.findall(r"%d +(\d+) \S.*$" % target.pid, done_main.stdout, re.M))
        tap.equal(tids, {str(target.pid)}, "--thread main", done_main.stdout)
        tap.ok(len(own) == 3 and min(own) > 99, "a thread that sleeps all the time waits", own, done.stdout)
        # Its last wait may have ended after the last look.
        tap.ok(waits and all(100 <= sum(w) <= 301 for w in waits.values()),
               "and one that wakes up waits no longer than it does", waits, done.stdout)


def check_usage(tap):
    for args, code in ((["top", "x"], 2), (["top", "--view", "no"], 2), (["top", "-i", "1ms"], 2),
                       (["top", "-b", "-p", "4194304"], 3), (["top", "-n", "x"], 2)):
        done = h.run_krait(*args)
        tap.ok(done.returncode == code and done.stderr, "krait %s: %d" % (" ".join(args), code), done.returncode,
               done.stderr)
    done = h.run_krait("top", "--help")
    tap.ok(done.returncode == 0 and "--off-cpu" in done.stdout, "--help", done.stdout)
    done = subprocess.run("%s top -b -i 200ms -d 20s | head -n 1" % shlex.quote(h.KRAIT), shell=True, timeout=60,
                          capture_output=True, encoding="utf-8", check=False)
    tap.ok(done.stdout.startswith("krait top") and "error" not in done.stderr, "a reader that leaves ends it",
           done.stdout, done.stderr)


def krait_of(terminal):
    """Returns the pid of krait in it once it is there."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        for pid in terminal.pids():
            with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as f:
                for child in f.read().split():
                    try:
                        name = os.path.basename(os.readlink("/proc/%s/exe" % child))
                    except OSError:
                        continue
                    if name == os.path.basename(os.path.realpath(h.KRAIT)):
                        return int(child)
        time.sleep(0.05)
    return None


def top(target, *args, **options):
    options.setdefault("columns", 100)
    return Terminal(os.path.abspath(h.KRAIT), "top", *RATE, "-i", "%dms" % (1000 * ROUNDS_SECS), "-p", str(target.pid),
                    *args, **options)


def check_patience(tap, name, terminal):
    """A screen that never comes costs half a minute, and without it a test would check nothing."""
    tap.equal(terminal.in_vain, [], name + ": each screen that was waited for came")


def check_screen(tap, python):
    with h.start(python, *TARGET) as target, top(target) as t:
        began = time.monotonic()
        screen = t.wait(" hot ")
        print("# hot was seen after %.2f s" % (time.monotonic() - began))
        lines = screen.splitlines()
        tap.ok(lines and lines[0].startswith("krait top  ") and lines[2] == "Functions, by self now" and
               lines[3].split() == "Self% Total% Self s Total s History Function File".split() and
               lines[-1].startswith("q quit"), "a screen", screen)
        check_split(tap, "on a screen", rows(t.wait(worked(0.5))))

        t.resize(80, 24)
        screen = t.wait(" Self% Total%   Total s History")
        tap.ok(re.search(r"^[ .\d]{23} .{11}hot +split\.py:\d+$", screen, re.M), "80 columns: one since the start, files without folders",
               screen)
        t.resize(100, 24)
        t.wait(" Self s  Total s ")
        t.keys("/", "W", "A", "R")
        screen = t.wait(lambda s: "Filter: WAR" in s and " hot " not in s)
        tap.ok(" warm " in screen and " hot " not in screen, "a filter as it is typed", screen)
        t.keys("Escape")
        t.wait(" hot ")
        # In a round with a few samples the first row may be warm's.
        for _ in range(10):
            t.keys("Home", "Enter")
            if "for _ in range(3 * n):" in t.wait("Self s   Line"):
                break
            t.keys("Escape")
            t.wait("Functions, by self now")
        heat = lambda s: [float(line[:6].strip() or 0) for line in s.splitlines() if "for _ in range(3 * n):" in line]
        screen = t.wait(lambda s: "Self s   Line" in s and heat(s) and heat(s)[0] > 5)
        tap.ok("Self s   Line" in screen and heat(screen) and heat(screen)[0] > 5, "Enter: the source with its heat", screen)
        t.keys("Escape")
        t.wait("Functions, by")
        t.keys("/", "w", "o", "r", "k", "Enter", "Home", "c")
        screen = t.wait("Callers and callees")
        tap.ok(re.search(r"main +split.py", screen) and re.search(r"hot +split.py", screen) and
               re.search(r"warm +split.py", screen), "c: who calls it, and what it calls", screen)
        t.keys("Escape", "Escape")
        t.wait(lambda s: "Functions, by" in s and ", with " not in s)
        t.keys("3")
        t.wait("Process")
        t.keys("Enter")
        screen = t.wait("process %d" % target.pid)
        tap.ok("process %d" % target.pid in screen and " hot " in t.wait(" hot "), "into a process", screen)
        t.keys("F5")
        screen = t.wait("Call tree")
        tap.ok(re.search(r"- main", screen) and re.search(r"- work", screen), "a tree", screen)
        t.keys("F1")
        tap.ok("any key goes back" in t.wait("any key"), "help", t.screen())
        t.keys("x", "Space")
        screen = t.wait("PAUSED")
        figures = [line for line in t.screen().splitlines()[3:10]]
        time.sleep(3 * ROUNDS_SECS)
        tap.ok([line for line in t.screen().splitlines()[3:10]] == figures, "a pause", screen, t.screen())
        t.keys("Space")
        t.wait(lambda s: "PAUSED" not in s)

        for columns, height in (40, 10), (200, 60), (20, 4), (100, 24), (80, 24):
            t.resize(columns, height)
            # A line wider than the screen would continue in the next row.
            screen = t.wait(lambda s: s.startswith("krait top") and len(s.rstrip("\n").splitlines()) == height)
            tap.ok(all(len(line) <= columns for line in screen.splitlines()) and
                   len(screen.rstrip("\n").splitlines()) == height, "%d x %d" % (columns, height), screen)
        t.keys("q")
        tap.ok(t.exit_code() == 0 and t.is_restored(), "q: 0, and the terminal as it was", t.screen())
        check_patience(tap, "screens", t)


def check_write(tap, python):
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    h.folders.append(folder)
    with h.start(python, *TARGET) as target, top(target) as t:
        t.wait(worked(0.3))
        for name in "x.folded", "x.html", "x.data", "x.speedscope.json", "x.pb.gz":
            path = os.path.join(folder, name)
            t.keys("w", "C-u")
            t.keys("-l", path)
            t.keys("Enter")
            screen = t.wait(lambda s: "wrote" in s)
            tap.ok(os.path.exists(path) and os.path.getsize(path) > 100, "w writes " + name, screen)
            t.keys("Home")
            t.wait(lambda s: "wrote" not in s)
        stacks = h.parse_folded(os.path.join(folder, "x.folded"))
        total = sum(count for _, count in stacks)
        hot = sum(count for frames, count in stacks if frames[-1].startswith("hot "))
        tap.ok(total > 20 and abs(hot / total - 0.75) < 0.2, "with what was on the screen", stacks)
        for name in "x.data", "x.folded":
            done = h.run_krait("report", os.path.join(folder, name))
            tap.ok(done.returncode == 0 and re.search(r"\bhot\b", done.stdout), "krait report reads " + name,
                   done.stdout, done.stderr)
        with open(os.path.join(folder, "x.folded"), encoding="utf-8") as f:
            before = f.read()
        t.keys("w", "C-u")
        t.keys("-l", os.path.join(folder, "x.folded"))
        t.keys("Enter")
        screen = t.wait("already exists")  # a long path leaves no room for the advice
        with open(os.path.join(folder, "x.folded"), encoding="utf-8") as f:
            tap.ok("already exists" in screen and f.read() == before, "a file that is there stays", screen)
        t.keys("w", "C-u")
        t.keys("-l", "/nowhere/x.zzz")
        t.keys("Enter")
        screen = t.wait("no format")
        tap.ok("no format" in screen, "what cannot be written is said", screen)
        t.keys("F10")
        tap.ok(t.exit_code() == 0, "and it goes on until F10")
        check_patience(tap, "files", t)


def check_ends(tap, python):
    """The terminal is restored, and pending messages are printed."""
    with h.start(python, *TARGET) as target:
        for name, end in ("SIGTERM", signal.SIGTERM), ("SIGINT", signal.SIGINT), ("Ctrl-C", None):
            with top(target) as t:
                t.wait(" hot ")
                if end:
                    os.kill(krait_of(t), end)
                else:
                    t.keys("C-c")
                tap.ok(t.exit_code() == 0 and t.is_restored() and " hot " not in t.screen(), name, t.screen())
        with top(target) as t:
            t.wait(" hot ")
            target.stop()
            tap.ok(t.exit_code() == 0 and t.is_restored(), "when the process ends", t.screen())
    with Terminal(os.path.abspath(h.KRAIT), "top", "-p", "4194304") as t:
        tap.ok(t.exit_code() == 3 and "no process 4194304" in t.screen(), "no such process: 3", t.screen())


def check_looks(tap, python):
    with h.start(python, *TARGET) as target:
        for env, what in (({"LANG": "C"}, "not UTF-8"), ({"NO_COLOR": "1"}, "no colour"),
                          ({"TERM": "dumb"}, "a dumb terminal")):
            with top(target, env=env) as t:
                t.wait(worked(0.1))
                screen, colored = t.screen(), t.screen(colors=True)
                if what == "not UTF-8":
                    tap.ok(screen.isascii() and " hot " in screen, "ASCII where the locale has no more", screen)
                elif what == "no colour":
                    tap.ok(not re.search(r"\x1b\[[0-9;]*3[0-7][;m]", colored) and " hot " in screen, what, colored)
                else:
                    tap.ok("q quit" not in screen and " hot " in screen, "plain lines on " + what, screen)
        with top(target) as t:
            t.wait(" hot ")
            colored = t.wait(lambda s: bool(re.search(r"hot", s))) and t.screen(colors=True)
            tap.ok(re.search(r"\x1b\[[0-9;]*3[0-7][;m]", colored), "colours where they may be", colored)


HOSTILE = r"""
import sys, time
names = ["f\x1b]0;owned\x07\x1b[31m", "\x9b31m\u202egpj", "new\nline", "a" * 3000, "\u8868" * 60, "\r\x1b[2J"]
for i, name in enumerate(names):
    code = compile("def f(n):\n    for _ in range(n): pass\n", name + ".py", "exec")
    scope = {}
    exec(code, scope)
    f = scope["f"]
    f.__code__ = f.__code__.replace(co_name=name, **({"co_qualname": name} if sys.version_info >= (3, 11) else {}))
    names[i] = f
print("READY", flush=True)
while True:
    for f in names:
        f(20000)
        time.sleep(0.001)
"""


def check_hostile(tap, python):
    with h.Target(python.command("-c", HOSTILE)) as target, top(target) as t:
        # The end of a name that is too long.
        screen = t.wait("]0;owned\\x07")
        for key in "2", "t", "3", "1", "c", "Escape", "Enter":
            t.keys(key)
            time.sleep(ROUNDS_SECS)
        screen = t.screen()
        raw = t.tmux("capture-pane", "-p", "-e")
        tap.ok(not re.search(r"[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u202e]", raw) and
               not t.tmux("display-message", "-p", "#{pane_title}").startswith("owned"),
               "names order no terminal", screen)
        t.keys("q")
        tap.ok(t.exit_code() == 0, "and do no harm", t.screen())
        check_patience(tap, "names", t)


def check_browser(tap, python):
    """krait report --tui: as root its reader has no terminal of its own."""
    script = "def hot(n):\n    return sum(range(n))\ndef work():\n    while True:\n        hot(2000)\nprint('READY', flush=True)\nwork()\n"
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    h.folders.append(folder)
    path, data = os.path.join(folder, "program.py"), os.path.join(folder, "x.data")
    with open(path, "w", encoding="utf-8") as f:
        f.write(script)
    with h.Target(python.command(path)) as target:
        h.run_krait("record", "-q", "-p", str(target.pid), "-F", "997", "-d", h.moment(0.3), "--no-native", "-o", data)
    done = h.run_krait("report", "--tui", data)
    tap.ok(done.returncode == 2 and "needs a terminal" in done.stderr, "--tui: not without a terminal", done.stderr)
    report = h.run_krait("report", data).stdout
    hot = re.search(r"([\d.]+)% .*\bhot ", report)
    with Terminal(os.path.abspath(h.KRAIT), "report", "--tui", data) as t:
        screen = t.wait(" hot ")
        shown = re.search(r"([\d.]+)% .*\bhot ", screen)
        tap.ok(hot and shown and abs(float(hot[1]) - float(shown[1])) < 0.06, "--tui: as report has it", report, screen)
        t.keys("/", "h", "o", "t", "Enter", "Right")
        screen = t.wait(lambda s: re.search(r"- hot .*\n.*\+ work ", s))
        t.keys("Down", "Right")
        screen = t.wait("<module>")
        tap.ok(re.search(r"- hot .*\n.*- work .*\n.*<module>", screen), "--tui: callers, level by level", screen)
        t.keys("Up", "Enter")
        screen = t.wait("return sum")
        tap.ok("return sum(range(n))" in screen and "def hot" in screen, "--tui: the source", screen)
        t.keys("Escape")
        t.wait("Function")
        t.keys("t")
        t.wait("Thread")
        t.keys("Enter")
        tap.ok("thread " in t.wait("thread ").splitlines()[1], "--tui: into a thread", t.screen())
        t.keys("?")
        tap.ok("any key" in t.wait("any key"), "--tui: help", t.screen())
        t.keys("x")
        t.resize(100, 30)
        screen = t.wait(lambda s: [line[:12] for line in s.splitlines()[29:30]] == ["Enter source"])
        tap.ok("Enter source" in screen.splitlines()[29], "--tui: another size", screen)
        t.resize(80, 24)
        t.wait(lambda s: [line[:12] for line in s.splitlines()[23:24]] == ["Enter source"])
        t.keys("C-c")
        tap.ok(t.exit_code() == 0 and t.is_restored(), "--tui: Ctrl-C ends it, and the terminal is as it was", t.screen())
        check_patience(tap, "--tui", t)


def memory_kib(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))


CHURN = r"""
import subprocess, sys, time
code = "import zlib\ndef f(n):\n    if n: return f(n - 1)\n    e = time.monotonic() + .003\n" \
       "    while time.monotonic() < e: pass\nimport time\nf(%d)\n"
print("READY", flush=True)
n = 0
while True:
    n += 1
    subprocess.run([sys.executable, "-IS", "-c", code % (n % 50)])
"""


def check_memory(tap, python):
    """Processes come and go; what krait keeps does not grow."""
    seconds = 120 if os.environ.get("KRAIT_FULL") == "1" else 6 if h.is_all() else 2.4
    with h.Target(python.command("-c", CHURN)) as target, \
            subprocess.Popen([h.KRAIT, "top", "-b", *RATE, "-p", str(target.pid), "-i", "200ms"],
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as krait:
        time.sleep(seconds / 2)
        before = memory_kib(krait.pid)
        time.sleep(seconds / 2)
        after = memory_kib(krait.pid)
        krait.send_signal(signal.SIGINT)
        tap.ok(krait.wait(timeout=60) == 0 and after < before + 8192, "memory stays flat",
               "%d KiB, then %d KiB" % (before, after))
    # The last child of the killed process ends by itself.
    time.sleep(1)


def main():
    h.need_bpf()
    tap = h.Tap()
    # One with a GIL, since the test waits for it.
    pythons = [p for p in h.interpreters(tap) if not p.free_threaded]
    # top looks for source files where krait runs.
    here = [p for p in [*pythons, *h.all_interpreters()] if p.root == "/" and p.minor in h.MINORS and not p.free_threaded]
    python = h.newest(here or pythons)
    if not python or not shutil.which("tmux"):
        tap.skip("krait top", "no interpreter, or no tmux")
        tap.done()
        return
    check_usage(tap)
    check_batch(tap, python)
    check_off_cpu(tap, python)
    check_lasting(tap, python)
    check_screen(tap, python)
    check_write(tap, python)
    check_ends(tap, python)
    check_looks(tap, python)
    check_hostile(tap, python)
    check_browser(tap, python)
    check_memory(tap, python)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    sys.exit(main())
