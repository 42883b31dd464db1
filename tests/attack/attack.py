# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the attacks: programs of other users, a recording as root that is watched from outside, and bystanders,
which must not notice any of it.

Imported by the test_* files beside it. Each attack is a scene:

    with attack.Scene(tap, "A1: forged offsets", python) as scene:
        scene.attacker("poison.py", "lpf", "144")
        run = scene.record("-a", "--anchors", "on")

which records the whole machine while two bystanders work, one started before the recording and one after, and
checks what must hold in every scene:

- both bystanders live, end with 0, and their samples times the period equal the CPU time that the kernel charged
  them (user and system): |samples * period - time| <= 1 % of it + chance, where chance is stats.bound() of
  tests/truth (Bernstein; each visit to the CPU is one term with a variance of at most 1/4, so (switches + 1) / 4 in
  all), times the period;
- each of their frames is one of their own functions;
- krait begins and ends in time by itself, and its memory, and that of each process it started, stays bounded.

A test adds what else must hold (krait's messages, its exit code).

An attacker's CPU time is the whole machine's. Where the attack is what a program has done before it said READY, or its
files, it "rests": it stands still, except while krait samples.
"""
import contextlib
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
for _folder in "e2e", "truth":
    sys.path.insert(0, os.path.join(os.path.dirname(HERE), _folder))

import harness as h  # noqa: E402
import tap as tap_module  # noqa: E402
from bystanders import RATE, judge_names, judge_time, samples_of  # noqa: E402
from watch import Watch, children, proc_text, status  # noqa: E402,F401

# krait runs in the folder of its outputs.
h.KRAIT = os.path.abspath(h.KRAIT)
PROGRAMS = os.path.join(HERE, "programs")
LIBC = ctypes.CDLL(None, use_errno=True)
FULL = os.environ.get("KRAIT_FULL") == "1"
NOBODY = 65534
# User ids that nobody on this machine has.
BYSTANDER_UID, SPARE_UID = 61001, 61100
# CPU time of each bystander in a scene.
WORK_MS = 3000 if FULL else 500 if h.is_all() else 250
# A recording begins and ends in a fraction of a second, but the machine may be busy.
START_SECS, END_SECS = 20, 12
MIB = 1024
# For krait, and for each process that it starts: parsers have this limit on address space.
MEMORY_KIB, WORKER_KIB = 300 * MIB, 1024 * MIB


# Known defects by scene name: their results are TODO, with the owner.
OWED = {}


# ---- results --------------------------------------------------------------------------------------


class Tap(tap_module.Tap):
    """Results that may be marked as known defects: TAP's TODO, with the owner."""

    def __init__(self):
        super().__init__()
        self.owner = None

    def ok(self, good, name, *details):
        if not self.owner:
            return super().ok(good, name, *details)
        self.count += 1
        print("%sok %d - %s # TODO %s" % ("" if good else "not ", self.count,
                                          name.replace("#", ""), self.owner), flush=True)
        if not good:
            lines = [line for d in details for line in str(d).splitlines()[:15]]
            print("\n".join("#   " + line[:500] for line in lines), flush=True)
        return bool(good)


def owed(name):
    """Returns the owner, by the longest matching prefix of the name."""
    found = [part for part in OWED if name.startswith(part)]
    return OWED[max(found, key=len)] if found else None


def begin(bpf=True):
    if bpf:
        h.need_bpf()
    elif os.geteuid():
        print("1..0 # SKIP need root")
        sys.exit(0)
    return Tap()


def end(tap):
    h.cleanup()
    tap.done()


# ---- interpreters and compilers -------------------------------------------------------------------


def may_run(python):
    """Tells whether a user without rights can run it, which excludes anything below /root."""
    line = python_line(python, NOBODY, "-c", "pass")
    return subprocess.run(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def pythons(*minors, build=None):
    """Returns interpreters that users without rights can run, in the order of the minors."""
    found = [p for p in h.all_interpreters() if p.minor in (minors or h.MINORS) and
             p.kind in ("exe", "shared") and build in (None, p.build) and may_run(p)]
    return sorted(found, key=lambda p: minors.index(p.minor)) if minors else found


def python_of(tap, name, *minors, build="exe"):
    """Returns one of these, or skips."""
    found = pythons(*minors, build=build)
    if not found:
        tap.skip(name, "no interpreter %s that nobody may run" % " or ".join(minors))
    return found[0] if found else None


def as_user(uid, root="/"):
    """Returns a command prefix that switches to that user and its group, without other groups or rights. The process
    then runs the command itself."""
    return ["chroot", "--userspec=%d:%d" % (uid, uid), "--groups=%d" % uid, root]


def python_line(python, uid, *args):
    return as_user(uid, python.root) + [python.path, "-B", *args]


class Folder:
    """A folder that a scene's programs see, whatever their root, and may write to."""

    def __init__(self, root="/"):
        self.root = root.rstrip("/")
        os.makedirs(self.root + "/tmp", exist_ok=True)
        self.path = tempfile.mkdtemp(prefix="krait-attack-", dir=self.root + "/tmp")
        os.chmod(self.path, 0o1777)
        h.folders.append(self.path)

    def inside(self, name=""):
        """Returns the path as the programs see it."""
        return os.path.join(self.path[len(self.root):], name)

    def outside(self, name=""):
        return os.path.join(self.path, name)

    def add(self, program):
        """Adds a program of tests/attack/programs; returns its path inside."""
        shutil.copy(os.path.join(PROGRAMS, program), self.path)
        os.chmod(self.outside(program), 0o755)
        return self.inside(program)

    def build(self, source, *options, name=None):
        """Compiles a C program; returns its path outside. Raises if there is no compiler."""
        source = source if "/" in source else os.path.join(PROGRAMS, source)
        target = self.outside(name or os.path.basename(source).rsplit(".", 1)[0])
        subprocess.run([compiler(), "-O1", "-w", "-D_GNU_SOURCE", "-o", target, source, *options], check=True)
        return target


def why_no_fuse():
    """If everybody may use /dev/fuse, root can do what a user can."""
    return None if os.access("/dev/fuse", os.R_OK | os.W_OK) else "no /dev/fuse"


def why_no_userfaultfd():
    fd = LIBC.syscall(323 if os.uname().machine == "x86_64" else 282, os.O_CLOEXEC)
    if fd < 0:
        return "no userfaultfd"
    os.close(fd)
    return None


def compiler():
    return shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")


# ---- processes ------------------------------------------------------------------------------------


class Krait:
    """krait as root, during its run and after."""

    def __init__(self, *args, folder=None, env=None, launch=()):
        self.folder = folder or Folder().path
        self.out_path, self.err_path = (os.path.join(self.folder, n) for n in ("out", "err"))
        self.began = time.monotonic()
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.process = subprocess.Popen([*launch, h.KRAIT, *args], stdin=subprocess.DEVNULL,
                                            stdout=out, stderr=err, env=env, cwd=self.folder)
        self.pid = self.process.pid
        self.watch = Watch(self.pid)
        self.code, self.hung = None, False

    def recording(self, timeout=START_SECS):
        """Waits until it samples. Returns whether it does."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline and self.process.poll() is None:
            if h.is_sampling(self.process):
                # It first looks at the processes that already exist, which takes longer on a busy machine.
                time.sleep(min(0.15 + 0.02 * os.getloadavg()[0], 1.5))
                return True
            time.sleep(0.02)
        return False

    def wait(self, timeout):
        """Waits for its end, or kills it if it hangs. Returns the seconds it took."""
        began = time.monotonic()
        try:
            self.code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.hung = True
            self.stacks = "\n".join(proc_text(self.pid, "task/%s/stack" % t)
                                    for t in os.listdir("/proc/%d/task" % self.pid))
            self.process.kill()
            try:
                self.code = self.process.wait(2)
            except subprocess.TimeoutExpired:
                self.code = "does not even end by SIGKILL"
        self.ended = time.monotonic()
        self.watch.stop()
        return self.ended - began

    def interrupt(self, timeout=END_SECS):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.wait(timeout)

    def path(self, name):
        return os.path.join(self.folder, name)

    @property
    def said(self):
        text = []
        for path in self.err_path, self.out_path:
            with open(path, encoding="utf-8", errors="surrogateescape") as f:
                text.append(f.read(1 << 20))
        return "".join(text)

    @property
    def words(self):
        """Its output without the counters of --stats."""
        return "\n".join(x for x in self.said.splitlines() if not re.match(r"[a-z_. ]+ -?[\d.]+$", x))

    @property
    def stats(self):
        return h.parse_stats(self.said)


def krait(*args, timeout=START_SECS, **options):
    """Runs krait from start to end, watched."""
    k = Krait(*args, **options)
    k.seconds = k.wait(timeout)
    return k


# ---- bystanders -----------------------------------------------------------------------------------


class Bystander(h.Target):
    def __init__(self, folder, python, uid=BYSTANDER_UID, depth=3):
        self.file = folder.add("bystander.py")
        super().__init__(python_line(python, uid, self.file, str(depth)))
        self.truths = []

    def work(self, ms=WORK_MS):
        self.process.stdin.write(b"%d\n" % ms)

    def tell(self, timeout=60):
        line = h.read_line(self.process.stdout, time.monotonic() + timeout)
        if not line.startswith("TRUTH "):
            return None
        self.truths.append(json.loads(line[6:]))
        return self.truths[-1]

    def finish(self):
        """Ends it once it has nothing more to do; returns its exit code."""
        try:
            self.process.stdin.close()
            return self.process.wait(h.PATIENCE_SECS)
        except (OSError, subprocess.TimeoutExpired):
            return self.process.poll()


# ---- scenes ---------------------------------------------------------------------------------------


class Scene:
    """One attack, from its programs to the verdict. Any exception becomes a failed result and does not end the file;
    all its programs end with it."""

    def __init__(self, tap, name, python=None, bystanders=None, memory=MEMORY_KIB):
        self.tap, self.name, self.python, self.memory = tap, name, python, memory
        self.bystander_python = bystanders or python
        self.programs, self.depth, self.host = [], 3, None
        self.mounts, self.uid = [], BYSTANDER_UID
        self.resting = contextlib.ExitStack()
        self.folder = Folder(python.root if python else "/")
        self.home = self.folder if self.bystander_python == python else \
            Folder(self.bystander_python.root if self.bystander_python else "/")

    def __enter__(self):
        self.tap.owner = owed(self.name)
        return self

    def __exit__(self, kind, value, trace):
        # Stop all at the same time: one may wait for another.
        for program in self.programs:
            program.process.kill()
        for program in self.programs:
            program.stop()
        self.resting.close()
        for mount in self.mounts:
            subprocess.run(["umount", "-l", mount], stderr=subprocess.DEVNULL)
        if kind and issubclass(kind, Exception):
            self.tap.ok(False, self.name + ": the scene can be played", "".join(
                traceback.format_exception(kind, value, trace)))
        self.tap.owner = None
        return bool(kind) and issubclass(kind, Exception)

    def folder_of_host(self):
        """Makes a folder in this machine's root, for programs compiled here."""
        if self.folder.root and not self.host:
            self.host = Folder()
        return self.host or self.folder

    def mount_point(self):
        """Makes a folder to mount something on."""
        self.mounts.append(tempfile.mkdtemp(prefix="mnt-", dir=self.folder_of_host().path))
        return self.mounts[-1]

    def ok(self, good, what, *details):
        return self.tap.ok(good, "%s: %s" % (self.name, what), *details)

    def run(self, command, env=None, rests=False):
        """Starts a program and waits for its READY."""
        self.programs.append(h.Target([str(c) for c in command], env))
        if rests:
            self.resting.enter_context(h.resting(self.programs[-1]))
        return self.programs[-1]

    def attacker(self, script, *args, uid=NOBODY, python=None, rests=False):
        """Starts a Python program of tests/attack/programs as a user without rights."""
        return self.run(python_line(python or self.python, uid, self.folder.add(script),
                                    *map(str, args)), rests=rests)

    def native(self, program, *args, uid=NOBODY, root="/", rests=False):
        """Starts a compiled program; with uid 0 it drops its rights itself."""
        return self.run([*as_user(uid, root), program, *args] if uid else [program, *args], rests=rests)

    def bystander(self, depth=None):
        b = Bystander(self.home, self.bystander_python, self.uid, self.depth if depth is None else depth)
        self.programs.append(b)
        return b

    def record(self, *args, codes=(0,), during=None, work=WORK_MS, both=True, rate=RATE,
               age_secs=0, outputs=("x.script",), native=False, start_secs=START_SECS, end_secs=END_SECS, env=None):
        """Records and checks, with one bystander from before (if both) and one started afterwards. age_secs: how long
        they idle before they work. during(krait): called while they work. Returns the finished Krait."""
        early = [self.bystander()] if both else []
        line = ["record", "--stats", "--max-loss", "100"]
        line += ([] if native else list(h.PYTHON_ONLY)) + (["-F", str(rate)] if rate else [])
        for name in outputs:
            line += ["-o", name]
        k = Krait(*line, *args, env=env)
        began = k.recording(start_secs)
        self.ok(began, "krait begins to sample", k.words, stuck(k))
        truths = {}
        # Attackers also work while krait ends.
        with contextlib.ExitStack() as at_work:
            try:
                if began:
                    at_work.enter_context(h.working())
                    crowd = early + [self.bystander()]
                    time.sleep(age_secs)
                    for b in crowd:
                        b.work(work)
                    if during:
                        during(k)
                    truths = {b: b.tell() for b in crowd}
                    # Leave time for the last samples.
                    time.sleep(0.1)
            finally:
                k.seconds = k.interrupt(end_secs)
        self.judge_krait(k, codes, end_secs)
        if began:
            self.judge_bystanders(k, truths)
        return k

    def judge_krait(self, k, codes, secs):
        self.ok(not k.hung and k.code in codes, "krait ends in time, with %s" % " or ".join(
            map(str, codes)), "%s after %.1f s of %.1f" % (k.code, k.seconds, secs), k.words,
            getattr(k, "stacks", ""))
        fat = {n: kib for n, kib in k.watch.peaks.items()
               if kib > (self.memory if n == "krait" else WORKER_KIB)}
        self.ok(not fat, "krait stays below %d MiB, its workers below %d" % (
            self.memory // MIB, WORKER_KIB // MIB), fat)

    def judge_bystanders(self, k, truths):
        path = k.path("x.script")
        found = samples_of(path, [b.pid for b in truths]) if os.path.exists(path) else {}
        for b, truth in truths.items():
            who = "%s: the bystander from %s" % (self.name, "before" if b == list(truths)[0] and
                                                 len(truths) > 1 else "after")
            code = b.finish()
            self.tap.ok(truth and code == 0, who + " lives", "ended with %s" % code)
            if truth:
                judge_time(self.tap, who, found.get(b.pid, []), truth)
            judge_names(self.tap, who, [s for s in found.get(b.pid, []) if truth and
                                        truth["began"] <= s[0] < truth["ended"]], b.file)

    def says(self, k, pattern, what):
        """Checks that krait printed something: a regular expression."""
        self.ok(re.search(pattern, k.said), "krait says " + what, pattern, k.words)


def stuck(k):
    """Returns where the threads of a stuck krait are."""
    try:
        return "\n".join(proc_text(k.pid, "task/%s/wchan" % t) for t in
                         os.listdir("/proc/%d/task" % k.pid))
    except OSError:
        return ""
