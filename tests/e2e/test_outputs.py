#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""What krait does to files and to a terminal: a failing command changes nothing, an existing file stays until the new
one is complete, a launched command has its output and its terminal to itself, and krait reports what limits it."""
import contextlib
import fcntl
import glob
import os
import pty
import re
import resource
import select
import shlex
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import termios
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness as h  # noqa: E402
import terminal  # noqa: E402

BUSY = "import time\nend = time.monotonic() + %s\nwhile time.monotonic() < end: sum(range(100))\n"


def moment():
    """Returns options for a recording with some samples and not many more."""
    return "-F", "997", "-d", h.moment(0.15)


def content(path):
    with open(path, "rb") as f:
        return f.read()


def scratch():
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    h.folders.append(folder)
    return folder


def listing(folder):
    return sorted(os.path.relpath(os.path.join(at, name), folder)
                  for at, folders, files in os.walk(folder) for name in folders + files)


# ---- files ----------------------------------------------------------------------------------------


def check_failures(tap, target):
    """Each command fails for a different reason; the files that it names are unchanged, and no others appear."""
    folder = scratch()
    capture = os.path.join(folder, "good.data")
    h.run_krait("record", "-q", "-p", str(target.pid), *moment(), "-o", capture)
    keep = os.path.join(folder, "keep.html")
    default = os.path.join(folder, "perf.data")
    for path in (keep, default):
        with open(path, "w", encoding="utf-8") as f:
            f.write("what was there\n")
    os.mkdir(default + ".krait")
    before = {name: content(os.path.join(folder, name)) for name in listing(folder)
              if os.path.isfile(os.path.join(folder, name))}
    names = listing(folder)
    nobody = [k for k in ("setpriv",) if shutil.which(k)]
    cases = [
        ("no such process", 3, ["record", "-p", "999999", "-o", keep]),
        ("no such process, default name", 3, ["record", "-p", "999999"]),
        ("no such command", 127, ["record", "-o", keep, "--", "/nonexistent"]),
        ("no samples", 6, ["record", "--name", "nosuchname", "-d", "100ms"]),
        ("no samples of a command", 0, ["record", "-o", keep, "--", "true"]),
        ("no such capture", 7, ["convert", "nosuch.data", "-o", keep]),
        ("a filter that takes nothing", 6, ["convert", capture, "--pid", "1", "-o", keep]),
        ("no such function", 6, ["annotate", "-i", capture, "nosuchfunction", "-o", keep]),
        ("no such capture to compare", 7, ["diff", capture, "nosuch.data", "-o", keep]),
    ]
    for name, code, args in cases:
        done = h.run_krait(*args, cwd=folder)
        after = {n: content(os.path.join(folder, n)) for n in before}
        tap.ok(done.returncode == code and after == before and listing(folder) == names,
               "%s: nothing is changed and nothing is left" % name, done.returncode, done.stderr,
               set(listing(folder)) ^ set(names), [n for n in before if after[n] != before[n]])
    if nobody and os.geteuid() == 0:
        os.chmod(folder, 0o777)
        krait = os.path.join(folder, "..", "krait-%d" % os.getpid())
        shutil.copy(h.KRAIT, krait)
        done = subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", krait, "record",
                               "-p", str(target.pid), "-o", "new.data"], cwd=folder,
                              capture_output=True, encoding="utf-8", check=False)
        os.unlink(krait)
        tap.ok(done.returncode == 4 and listing(folder) == names,
               "no permission: nothing is left", done.returncode, done.stderr, listing(folder))


def check_old(tap, target):
    """The default name keeps one earlier capture, with its names; an explicit name keeps none."""
    folder = scratch()
    for _ in range(3):
        # With so few samples, one is more than a hundredth.
        done = h.run_krait("record", "-q", "--max-loss", "100", "-p", str(target.pid), *moment(), cwd=folder)
        tap.equal(done.returncode, 0, "a recording into the default name", done.stderr)
    tops = sorted(os.listdir(folder))
    tap.equal(tops, ["perf.data", "perf.data.krait", "perf.data.old", "perf.data.old.krait"],
              "perf.data.old is kept, with its folder, and nothing else")
    for name in ("perf.data", "perf.data.old"):
        done = h.run_krait("report", name, cwd=folder, env=dict(os.environ, HOME="/nonexistent"))
        tap.ok(done.returncode == 0 and "not here" not in done.stderr and "pairs" in done.stdout,
               name + " has its names", done.stdout[-300:], done.stderr)
        found = os.stat(os.path.join(folder, name))
        tap.equal(stat.S_IMODE(found.st_mode), 0o600, name + " is for its owner only")
        tap.equal(len(glob.glob(os.path.join(folder, name + ".krait", "*.so"))), 1, name + ": one DSO")
    other = os.path.join(folder, "other.data")
    for _ in range(2):
        h.run_krait("record", "-q", "-p", str(target.pid), *moment(), "-o", other)
    tap.equal([n for n in sorted(os.listdir(folder)) if n.startswith("other")],
              ["other.data", "other.data.krait"], "a name that was given replaces")
    tap.equal(len(glob.glob(other + ".krait/*.so")), 1, "and leaves no DSO of the one before")


def check_special(tap, target):
    """Links, devices and pipes by name."""
    folder = scratch()
    precious, link = os.path.join(folder, "precious"), os.path.join(folder, "link.folded")
    with open(precious, "w", encoding="utf-8") as f:
        f.write("precious\n")
    os.symlink(precious, link)
    args = ["record", "-q", "-p", str(target.pid), *moment()]
    done = h.run_krait(*args, "-o", link)
    tap.ok(done.returncode == 7 and "symbolic link" in done.stderr and
           content(precious) == b"precious\n" and os.path.islink(link),
           "a link is refused, and says so", done.returncode, done.stderr)
    before = os.stat("/dev/null")
    done = h.run_krait(*args, "-f", "folded", "-o", "/dev/null")
    after = os.stat("/dev/null")
    tap.ok(done.returncode == 0 and stat.S_ISCHR(after.st_mode) and
           (before.st_uid, before.st_mode, before.st_ino) == (after.st_uid, after.st_mode, after.st_ino),
           "a device is written in place", (done.returncode, done.stderr), (before, after))
    done = h.run_krait(*args, "-f", "folded", "-o", "/dev/stdout")
    tap.ok(done.returncode == 0 and "pairs" in done.stdout, "/dev/stdout", done.stderr)
    fifo = os.path.join(folder, "fifo")
    os.mkfifo(fifo)
    with subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE) as cat:
        done = h.run_krait(*args, "-f", "folded", "-o", fifo)
        text = cat.communicate(timeout=h.PATIENCE_SECS)[0]
    tap.ok(done.returncode == 0 and b"pairs" in text and stat.S_ISFIFO(os.stat(fifo).st_mode),
           "a FIFO is written in place", done.stderr)
    left = [n for n in os.listdir(folder) if n not in ("precious", "link.folded", "fifo")]
    tap.equal(left, [], "nothing else is left")


def check_full(tap, target):
    """A full disk ends the recording, and what fitted is readable with its names."""
    if os.geteuid() or not shutil.which("mount"):
        return tap.skip("full disk", "cannot mount")
    folder = scratch()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "none", folder], check=False).returncode:
        return tap.skip("full disk", "cannot mount a tmpfs here")
    try:
        page = os.path.join(folder, "f.html")
        with open(page, "w", encoding="ascii") as f:
            f.write("old")
        path, start = os.path.join(folder, "f.data"), time.monotonic()
        done = h.run_krait("record", "-q", "-F", "5000", "-p", str(target.pid), "-d", "60s", "-o", path)
        seconds = time.monotonic() - start
        tap.ok(done.returncode == 7 and done.stderr.count("No space left") == 1 and seconds < 30,
               "a full disk is said and ends the recording", seconds, done.returncode, done.stderr)
        # A page may be small enough for the room that the recording has left.
        with contextlib.suppress(OSError), open(os.path.join(folder, "filler"), "wb", buffering=0) as f:
            while f.write(bytes(4096)):
                pass
        done = h.run_krait("convert", "-i", path, "-o", page)
        saved = re.search(r"f\.html: No space left on device; saved as (/\S+-f\.html)$", done.stderr, re.M)
        with open(page, encoding="utf-8") as f:
            tap.ok(done.returncode == 7 and saved and os.path.getsize(saved.group(1)) > 1000 and f.read() == "old",
                   "what is written at the end is saved elsewhere, and it is said where and why", done.stderr)
        if saved:
            os.unlink(saved.group(1))
        report = h.run_krait("report", path)
        match = re.search(r"^([0-9,]+) samples\b", report.stdout, re.M)
        tap.ok(report.returncode == 0 and match and int(match.group(1).replace(",", "")) > 100 and
               "[python 0x" not in report.stdout, "what fitted can be read", report.stdout[-400:],
               report.stderr)
    finally:
        subprocess.run(["umount", folder], check=False)
    return None


def check_reader(tap, target):
    """A reader that has seen enough ends a recording that streams to it."""
    start = time.monotonic()
    with h.working():
        done = subprocess.run("%s record -q -p %d -d 60s -f script -o - | head -1" % (shlex.quote(h.KRAIT), target.pid),
                              shell=True, capture_output=True, timeout=h.PATIENCE_SECS, check=False)
    tap.ok(time.monotonic() - start < 20, "a gone reader ends the recording", done.stderr)


# ---- limits ---------------------------------------------------------------------------------------


NAPS = "import time\nprint('READY', flush=True)\nwhile True:\n    end = time.thread_time() + 0.002\n" \
    "    while time.thread_time() < end: pass\n    time.sleep(0.04)\n"


def check_limits(tap, target):
    folder = scratch()
    path = os.path.join(folder, "c.folded")
    with h.Target([sys.executable, "-c", NAPS]) as naps:
        done = subprocess.run("exec %s record -F 9973 -p %d -d 600ms -o %s >&-" % (shlex.quote(h.KRAIT), naps.pid, path), shell=True,
                              capture_output=True, encoding="utf-8", check=False)
    tap.ok(done.returncode in (0, 1), "a closed stdout: that it mostly waits is not wanted either", done.returncode, done.stderr)
    args = ["record", "-p", str(target.pid), *moment(), "-o", path]
    with h.working():
        done = subprocess.run("exec %s %s >&-" % (shlex.quote(h.KRAIT), " ".join(args)), shell=True,
                              capture_output=True, encoding="utf-8", check=False)
    tap.ok(done.returncode in (0, 1) and "Self" not in content(path).decode(),
           "a closed stdout: the summary is not in the output file", done.returncode,
           content(path)[:200], done.stderr)
    with h.working():
        done = subprocess.run("exec %s record -q -p %d -d 300ms -f folded -o - >&-" % (shlex.quote(h.KRAIT), target.pid),
                              shell=True, capture_output=True, encoding="utf-8", check=False)
    tap.ok(done.returncode == 7 and "Bad file descriptor" in done.stderr,
           "a closed stdout that is the output is an error", done.returncode, done.stderr)

    def limited(which, value, *more):
        def limit():
            resource.setrlimit(which, (value, value))
        with h.working():
            return subprocess.run([h.KRAIT, *args, *more], capture_output=True, encoding="utf-8",
                                  preexec_fn=limit, check=False)

    done = limited(resource.RLIMIT_NOFILE, 20)
    tap.ok(done.returncode == 5 and "ulimit -n" in done.stderr, "few descriptors: which limit it is",
           done.returncode, done.stderr)
    done = limited(resource.RLIMIT_STACK, 65536)
    tap.ok(done.returncode in (0, 1) or "ulimit -s" in done.stderr,
           "a small stack works or is said", done.returncode, done.stderr)
    big = os.path.join(folder, "big.folded")
    done = limited(resource.RLIMIT_FSIZE, 1000, "-f", "script")
    tap.ok(done.returncode == 7 and "too large" in done.stderr, "a limit of file sizes is an error",
           done.returncode, done.stderr, big)


# ---- the command's own -----------------------------------------------------------------------------


def check_stdout(tap, python):
    folder = scratch()
    done = h.run_krait("record", "-o", os.path.join(folder, "x.html"), "--",
                       *python.command("-c", BUSY % 0.2 + "print('{\"a\": 1}')"))
    tap.equal(done.stdout, '{"a": 1}\n', "the output of a command is its own", done.stderr)
    tap.ok("Self" in done.stderr, "the summary is on stderr", done.stderr)


def on_terminal(command, columns, resize=None):
    """Returns everything it writes to a terminal of that width; resize: the width from its first progress line on."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def prepare():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, preexec_fn=prepare) as process:
        os.close(slave)
        text, start = b"", time.monotonic()
        while time.monotonic() - start < h.PATIENCE_SECS:
            if resize and b"krait: " in text:
                fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, resize, 0, 0))
            if not select.select([master], [], [], 0.1)[0]:
                if process.poll() is not None:
                    break
                continue
            try:
                more = os.read(master, 65536)
            except OSError:
                break
            if not more:
                break
            text += more
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.wait(h.PATIENCE_SECS)
    os.close(master)
    return text.decode("utf-8", "replace")


def progress_lines(text):
    return re.findall(r"\r\x1b\[K(krait: [0-9.]+ s  [^\r\n\x1b]*)", text)


def check_terminal(tap, python):
    folder = scratch()
    with h.start(python, "split.py", "rest") as target:
        args = [h.KRAIT, "record", "-p", str(target.pid), "-d", "1300ms", "-o", os.path.join(folder, "x.html")]
        wide = progress_lines(on_terminal(args, 200))
        tap.ok(wide and all(re.fullmatch(r"krait: \S+ s  \d+ samples \(\d+/s\)  1 process"
                                         r"(  lost \d+ \(\S+%\))?  Ctrl-C to stop", line) for line in wide),
               "the progress line", wide)
        tap.ok(not any("lost 0" in line for line in wide), "no loss is not said", wide)
        narrow = progress_lines(on_terminal(args, 40, resize=30))
        tap.ok(narrow and len(narrow[0]) == 39 and max(map(len, narrow)) == 39, "it is cut to the width", narrow)
        tap.ok(narrow and len(narrow[-1]) == 29, "and to a new one", narrow)
    text = on_terminal([h.KRAIT, "record", "-o", os.path.join(folder, "y.html"), "--",
                        *python.command("-c", "import sys\nprint('Your name? ', end='', flush=True)\n" +
                                        BUSY % 0.6 + "print('step 1')")], 80)
    tap.ok("Your name? step 1" in text and not progress_lines(text),
           "a command has its terminal to itself", text)
    with terminal.Terminal(h.KRAIT, "record", "-o", os.path.join(folder, "z.html"), "--",
                           *python.command("-c", "import json, decimal, argparse")) as t:
        screen = t.wait("END ")
        tap.ok("Self  Total" in screen and re.search(r"^… \d+ more", screen, re.M) and "END 0" in screen,
               "the hottest functions are still on the screen at the end", screen)


# ---- numbers --------------------------------------------------------------------------------------


def check_total(tap):
    """If several functions on a stack share a line, a sample counts once for the line."""
    folder = scratch()
    path = os.path.join(folder, "x.folded")
    with open(path, "w", encoding="utf-8") as f:
        f.write("a (/x.py:1);b (/x.py:1);c (/x.py:2) 5\na (/x.py:1) 3\n"
                "d (/x.py:3);a (/x.py:1);d (/x.py:3);b (/x.py:1) 2\n")
    done = h.run_krait("annotate", "-i", path)
    rows = {int(m.group(2)): m.group(1) for m in re.finditer(r" ([0-9.]+)% +(\d+) *$", done.stdout, re.M)}
    tap.equal(rows, {1: "100.00", 2: "50.00", 3: "20.00"}, "annotate: totals of lines", done.stdout)


SAYS = """
import sys, time
print("READY", flush=True)
end = time.monotonic() + 60
exec(compile("\\nwhile time.monotonic() < end: sum(range(99))\\n" * 2, sys.argv[1], "exec"))
"""


AS_OTHERS = ["setpriv", "--reuid", "61001", "--regid", "61001", "--clear-groups"]


def runs_as_others(python):
    """Tells whether it runs as other users: not if its libraries are below a closed home."""
    return bool(shutil.which("setpriv")) and not subprocess.run(
        [*AS_OTHERS, *python.command("-c", "")], check=False, stderr=subprocess.DEVNULL).returncode


def check_sources(tap, pythons):
    """Whatever source file a program claims, krait shows only what the program itself could read."""
    usable = [] if os.geteuid() else [p for p in pythons if p.root == "/" and runs_as_others(p)]
    if not usable:
        return tap.skip("annotate: whose files", "needs root, setpriv, and a Python that others can run")
    python = h.newest(usable)
    folder = scratch()
    os.chmod(folder, 0o711)
    own, others = os.path.join(folder, "own"), os.path.join(folder, "others")
    for path, uid in ((own, 61001), (others, 61002)):
        os.mkdir(path, 0o700)
        with open(os.path.join(path, "x.py"), "w", encoding="utf-8") as f:
            f.write("first\nsecret = 1\nthird\n")
        os.chown(path, uid, uid)
    shutil.copy(os.path.join(others, "x.py"), os.path.join(others, "y.py"))
    os.symlink(os.path.join(others, "x.py"), os.path.join(own, "link.py"))
    os.mkfifo(os.path.join(own, "fifo"), 0o666)
    os.chown(own, 61001, 61001)
    cases = [(os.path.join(own, "x.py"), True), (os.path.join(others, "x.py"), False),
             (os.path.join(own, "link.py"), False), (os.path.join(own, "fifo"), False),
             ("/dev/zero", False), ("/etc/passwd", True), ("/etc/shadow", False)]
    capture = os.path.join(folder, "x.data")
    for path, shown in cases:
        command = [*AS_OTHERS, *python.command("-c", SAYS, path)]
        with h.Target(command) as target:
            h.run_krait("record", "-q", "-p", str(target.pid), *moment(), "-o", capture)
        done = h.run_krait("annotate", "-C", "1", "-i", capture, os.path.basename(path))
        rows = re.findall(r"^.*% +\d+  (.*)$", done.stdout, re.M)
        tap.ok(done.returncode == 0 and rows and bool("".join(rows).strip()) == shown and
               ("not shown" in done.stdout) != shown,
               "annotate: %s is %s" % (path.replace(folder, ""), "shown" if shown else "not shown"),
               done.stdout[:600], done.stderr)
    folded = os.path.join(folder, "x.folded")
    with open(folded, "w", encoding="utf-8") as f:
        f.write("f (%s:2) 5\n" % os.path.join(own, "x.py"))
    unknown = h.run_krait("annotate", "-i", folded).stdout
    vouched = h.run_krait("annotate", "-i", folded, "--source", own).stdout
    tap.ok("secret" not in unknown and "not shown" in unknown, "annotate: of whom nothing is known, "
           "only what everybody may read is shown", unknown)
    tap.ok("secret" in vouched, "annotate: but below a folder that the user names", vouched)
    with open(folded, "w", encoding="utf-8") as f:
        f.write("f (../others/y.py:2) 5\ng (link.py:2) 5\n")
    vouched = h.run_krait("annotate", "-i", folded, "--source", own).stdout
    tap.ok("secret" not in vouched, "annotate: nothing leads out of that", vouched)
    return None


def main():
    h.need_bpf()
    tap = h.Tap()
    pythons = h.interpreters(tap)
    python = h.newest([p for p in pythons if p.root == "/"] or pythons)
    check_total(tap)
    if python:
        with h.start(python, "pairs.py") as target, h.resting(target):
            check_failures(tap, target)
            check_old(tap, target)
            check_special(tap, target)
            check_full(tap, target)
            check_reader(tap, target)
            check_limits(tap, target)
        check_terminal(tap, python)
        check_stdout(tap, python)
        check_sources(tap, pythons)
    else:
        tap.skip("outputs", "no interpreter")
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
