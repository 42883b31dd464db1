# SPDX-License-Identifier: BSD-2-Clause
"""What the end-to-end tests share: interpreters, targets, recordings, the oracle, TAP.

Only for Python 3.9 and later with the standard library; imported by the test_* files beside it.
"""
import contextlib
import json
import math
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from tap import Tap

KRAIT = os.environ.get("KRAIT", "build/krait")
ROOT = os.environ.get("KRAIT_ROOT", os.path.dirname(os.path.dirname(os.path.dirname(__file__))))
BUILD = os.environ.get("KRAIT_BUILD", os.path.join(ROOT, "build"))
TARGETS = os.path.join(ROOT, "tests", "targets")
# Where scripts/pythons keeps a copy of the targets in a root folder.
TARGETS_IN_ROOT = "/opt/krait/targets"
# Nothing here takes nearly as long; on a busy machine it may.
PATIENCE_SECS = 60
MINORS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15")
# Kinds of each that are looked for: what Debian or pyenv have.
KINDS = {"3.8": ("shared",), "3.9": ("shared",), "3.10": ("shared",), "3.12": ("shared",)}
# Kinds of those that have a free-threaded build, too (scripts/pythons-nogil).
NOGIL = {minor: ("nogil-exe", "nogil-shared") for minor in ("3.13", "3.14", "3.15")}


def need_bpf():
    """Ends the test file where nothing can be recorded."""
    if os.environ.get("KRAIT_CAN_BPF", "1" if os.geteuid() == 0 else "0") != "1":
        print("1..0 # SKIP need root and BPF")
        sys.exit(0)


# ---- interpreters ---------------------------------------------------------------------------------


class Interpreter:
    """One line of KRAIT_PYTHONS."""

    def __init__(self, version, kind, root, path):
        self.version, self.kind, self.root, self.path = version, kind, root, path
        self.minor = ".".join(version.split(".")[:2])
        self.name = "%s %s" % (version, kind)
        self.free_threaded = kind.startswith("nogil-")
        # Where the interpreter is: "exe" or "shared".
        self.build = kind.split("-")[-1]
        self.targets = TARGETS if root == "/" else TARGETS_IN_ROOT

    def command(self, *args):
        """A command line that runs it; the process that results is the interpreter itself."""
        chroot = [] if self.root == "/" else ["chroot", self.root]
        return chroot + [self.path, "-B", *args]

    def target(self, script):
        return os.path.join(self.targets, script)

    def inside(self, path):
        """A path of this machine as the interpreter sees it, and None where it cannot."""
        if self.root == "/":
            return path
        root = self.root.rstrip("/")
        return path[len(root):] if path.startswith(root + "/") else None

    def scratch(self):
        """A folder that both sides see; the caller removes it."""
        folder = os.path.join(self.root, "tmp")
        os.makedirs(folder, exist_ok=True)
        return tempfile.mkdtemp(prefix="krait-e2e-", dir=folder)

    def refresh_targets(self):
        """Copies what has changed since scripts/pythons did."""
        if self.root == "/":
            return
        folder = self.root.rstrip("/") + TARGETS_IN_ROOT
        os.makedirs(folder, exist_ok=True)
        for name in os.listdir(TARGETS):
            new, old = os.path.join(TARGETS, name), os.path.join(folder, name)
            if os.path.isfile(new) and not same_content(new, old):
                part = "%s.%d" % (old, os.getpid())
                shutil.copy2(new, part)
                os.rename(part, old)


def same_content(a, b):
    try:
        with open(a, "rb") as f, open(b, "rb") as g:
            return f.read() == g.read()
    except OSError:
        return False


def all_interpreters(path=os.environ.get("KRAIT_PYTHONS")):
    """All lines of KRAIT_PYTHONS, those that krait supports and those that it does not."""
    if path:
        with open(path, encoding="utf-8") as f:
            text = f.read()
    else:
        text = subprocess.check_output([os.path.join(ROOT, "scripts", "pythons"), "--list"],
                                       encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines() if line.count("\t") == 3]
    return [Interpreter(*row) for row in rows]


def interpreters(tap):
    """The supported ones, of which scripts/run-tests may have chosen one of each class (KRAIT_MATRIX); a
    minor or kind that is not there is a skip that names it."""
    chosen = os.environ.get("KRAIT_MATRIX")
    found = [p for p in all_interpreters() if p.minor in MINORS and p.kind not in ("debug", "refs")]
    for minor in MINORS:
        kinds = KINDS.get(minor, ("exe", "shared")) + NOGIL.get(minor, ())
        if chosen and any(p.minor == minor for p in found):
            continue
        for kind in kinds:
            if not any(p.minor == minor and p.kind == kind for p in found):
                script = "pythons-nogil" if kind.startswith("nogil") else "pythons"
                tap.skip("%s %s" % (minor, kind), "no such interpreter (scripts/%s)" % script)
    if chosen:
        found = all_interpreters(chosen)
    for python in found:
        python.refresh_targets()
    return found


def is_all():
    """Whether this run is to be thorough: on every interpreter, not on one of each class."""
    return not os.environ.get("KRAIT_MATRIX")


def newest(pythons):
    """One to run what does not depend on the version with."""
    return pythons[0] if pythons else None


def few(pythons):
    """For what hardly depends on the version: the newest and the oldest, and all where this run is to be thorough."""
    return pythons if is_all() or len(pythons) < 2 else [pythons[0], pythons[-1]]


def covering(pythons, cases, each=1):
    """(interpreter, case) for all that must be run: every interpreter with every case where this run is to be
    thorough, else the newest with all of them, and of the others each with so many, in turn. Each interpreter and
    each case is among them, but not each of the one with each of the other."""
    turn = 0
    for python in pythons:
        if is_all() or python is newest(pythons):
            mine = cases
        else:
            mine = [cases[(turn + i) % len(cases)] for i in range(min(each, len(cases)))]
            turn += len(mine)
        for case in mine:
            yield python, case


# ---- targets --------------------------------------------------------------------------------------


def read_line(stream, deadline):
    """A line of an unbuffered binary stream, or what there is of it at the deadline or the end."""
    line = bytearray()
    while not line.endswith(b"\n"):
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([stream], [], [], left)[0]:
            break
        more = stream.readline()
        if not more:
            break
        line += more
    return line.decode("utf-8", "surrogateescape")


class Target:
    """A running target that has said READY, with the oracles that it printed before."""

    def __init__(self, command, env=None, oracle=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        bufsize=0, env=env)
        self.pid = self.process.pid
        self.oracle = oracle or Oracle()
        deadline = time.monotonic() + PATIENCE_SECS
        while True:
            line = read_line(self.process.stdout, deadline)
            if line == "READY\n":
                return
            if line.startswith("ORACLE "):
                self.oracle.add(json.loads(line[7:]))
            elif not line.endswith("\n"):
                self.stop()
                raise RuntimeError("%s did not get ready: %r" % (command, line))

    def alive(self):
        return self.process.poll() is None

    def stop(self):
        if self.alive():
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.stop()


def start(python, script, *args, env=None):
    return Target(python.command(python.target(script), *args), env)


def age(target, seconds):
    """Lets a target that is busy all the time get that much older; it stands still meanwhile."""
    os.kill(target.pid, signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(target.pid, signal.SIGCONT)


at_rest = []


@contextlib.contextmanager
def resting(target):
    """In here the target, which is busy all the time, stands still but where somebody looks at it: in run_krait() with
    something that samples, and where a test says so (working())."""
    at_rest.append(target)
    os.kill(target.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        at_rest.remove(target)
        if target.alive():
            os.kill(target.pid, signal.SIGCONT)


@contextlib.contextmanager
def working():
    """In here the targets that rest do their work."""
    for target in at_rest:
        os.kill(target.pid, signal.SIGCONT)
    try:
        yield
    finally:
        for target in at_rest:
            if target.alive():
                os.kill(target.pid, signal.SIGSTOP)


# ---- labels as krait writes them ------------------------------------------------------------------


def printable(text):
    """As user/util/printable.c; a lone surrogate is shown as the replacement character."""
    def piece(c):
        o = ord(c)
        if c in "\n\t\r":
            return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}[c]
        if o < 0x20 or o == 0x7f:
            return "\\x%02x" % o
        if 0x80 <= o <= 0x9f or o in (0x61c, 0x200e, 0x200f) or 0x2028 <= o <= 0x202e or \
                0x2066 <= o <= 0x2069:
            return "\\u%04x" % o
        return "\ufffd" if 0xd800 <= o <= 0xdfff else c

    return "".join(piece(c) for c in text)


def short_path(path):
    """As user/util/short_path.c."""
    if not path.startswith("/"):
        return path
    match = re.match(r".*/(?:site|dist)-packages/(.*)", path, re.S) or \
        re.match(r".*/python3\.[0-9tbdm]+/(.*)", path, re.S)
    if match:
        return match.group(1)
    parts = path.split("/")
    if parts[-1] in ("__init__.py", "__main__.py"):
        return "/".join(parts[-2:]).lstrip("/")
    return parts[-1] or path


def label(name, path, line=0):
    """A frame as one field of a folded line."""
    text = printable(name)
    if path:
        text += " (%s%s)" % (printable(short_path(path)), ":%d" % line if line > 0 else "")
    return text.replace(";", ":")


# ---- recordings -----------------------------------------------------------------------------------

PYTHON_ONLY = ("--no-native", "--no-kernel")
# As the interpreter has them, and programs know them: a task's stack would begin with those that await it, a greenlet's with
# its parents', or a mark where nobody knows yet whether it has some.
OWN_STACKS = ("--no-async", "--no-greenlets")
COMPLETE, TRUNCATED, LOST = "complete.", "truncated.", "lost."


class Recording:
    """One run of krait record --stats: exit code, what it said, its counters, its folded stacks."""

    def __init__(self, code, out, err, folder):
        self.code, self.out, self.err, self.folder = code, out, err, folder
        self.stats = parse_stats(err)
        self.stacks = parse_folded(self.path("x.folded"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def total(self, prefix):
        return sum(v for k, v in self.stats.items() if k.startswith(prefix))

    def samples(self):
        return sum(count for _, count in self.stacks)


def parse_stats(text):
    """The lines "name value" of --stats; names may have blanks."""
    stats = {}
    for line in text.splitlines():
        match = re.match(r"([a-z_.][a-z_. ]*) (-?[0-9.]+)$", line)
        if match:
            stats[match.group(1)] = float(match.group(2)) if "." in match.group(2) else \
                int(match.group(2))
    return stats


def parse_folded(path):
    """[(frames, count)], the process first."""
    stacks = []
    try:
        with open(path, encoding="utf-8", newline="\n") as f:
            for line in f:
                stack, _, count = line.rstrip("\n").rpartition(" ")
                stacks.append((stack.split(";"), int(count)))
    except FileNotFoundError:
        pass
    return stacks


def run_krait(*args, timeout=PATIENCE_SECS, **options):
    """A finished krait; output as text."""
    with working() if args and args[0].startswith(("rec", "top")) else contextlib.nullcontext():
        return subprocess.run([KRAIT, *args], capture_output=True, timeout=timeout,
                              encoding="utf-8", errors="surrogateescape", **options)


def record(*args, outputs=("x.folded",), lines=True, command=(), timeout=PATIENCE_SECS, **options):
    """Runs krait record with --stats into a new folder, which cleanup() removes. Python frames only,
    which is what the oracle knows, unless the arguments say something else."""
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    folders.append(folder)
    line = ["record", "-q", "--stats", "--max-loss", "100", *PYTHON_ONLY] + \
        (["--lines"] if lines else [])
    for name in outputs:
        line += ["-o", os.path.join(folder, name)]
    line += list(args) + (["--", *command] if command else [])
    done = run_krait(*line, timeout=timeout, **options)
    if done.returncode < 0:
        # What it said last is at the end, behind hundreds of counters.
        print("# krait was ended by signal %d: %r" % (-done.returncode, done.stderr[-600:]), flush=True)
    return Recording(done.returncode, done.stdout, done.stderr, folder)


def moment(seconds):
    """For -d: a time in which a busy target has a CPU for about so long, on a machine that has more to run
    than CPUs, too."""
    crowd = os.getloadavg()[0] / len(os.sched_getaffinity(0))
    return "%dms" % (1000 * seconds * min(10, max(1, crowd)))


def cpu_seconds(pid):
    """CPU time that a process has used; include/linux/posix-timers.h has the number of its clock."""
    return time.clock_gettime(~pid << 3 | 2)


def stolen_seconds():
    """CPU time that the host has taken from all CPUs since the start: timers' ticks go on, clocks of threads do not."""
    with open("/proc/stat", encoding="ascii") as f:
        return int(f.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


def is_sampling(krait):
    """Whether it has its events."""
    folder = "/proc/%d/fd" % krait.pid
    try:
        return any("perf_event" in os.readlink(os.path.join(folder, fd)) for fd in os.listdir(folder))
    except OSError:
        return False


class Ahead:
    """While it lasts, this thread does not stand in the queue for a CPU; what it starts does."""

    def __enter__(self):
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(2))

    def __exit__(self, *exc):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def when_first(krait):
    """Waits until krait runs before others (Popen), and says when that was: the loader, before that, waits as
    with any other program."""
    while krait.poll() is None and os.sched_getscheduler(krait.pid) != os.SCHED_RR:
        time.sleep(0.005)
    return time.monotonic()


def wait_until(condition, krait=None):
    """Until it holds, or krait has ended; no longer than everybody's patience."""
    deadline = time.monotonic() + PATIENCE_SECS
    while not condition() and time.monotonic() < deadline and (not krait or krait.poll() is None):
        time.sleep(0.01)


def record_work(pid, seconds, *args, outputs=("x.folded",), lines=True, **options):
    """As record(), of a process, until it has used so much CPU time: as many samples on a busy machine
    as on a quiet one. It stands still while krait begins and ends."""
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    folders.append(folder)
    line = [KRAIT, "record", "-q", "--stats", "--max-loss", "100", *PYTHON_ONLY, *(["--lines"] if lines else [])]
    for name in outputs:
        line += ["-o", os.path.join(folder, name)]
    os.kill(pid, signal.SIGSTOP)
    with subprocess.Popen([*line, "-p", str(pid), *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8", errors="surrogateescape", **options) as krait:
        wait_until(lambda: is_sampling(krait), krait)
        try:
            end = cpu_seconds(pid) + seconds
            os.kill(pid, signal.SIGCONT)
            wait_until(lambda: cpu_seconds(pid) >= end, krait)
            os.kill(pid, signal.SIGSTOP)
        except OSError:
            pass  # it has ended, and so will krait
        if krait.poll() is None:
            krait.send_signal(signal.SIGINT)
        out, err = krait.communicate(timeout=PATIENCE_SECS)
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGCONT)
    return Recording(krait.returncode, out, err, folder)


def record_turns(target, seconds, *args, **options):
    """As record_work(), of a target with an oracle whose functions have to take turns: as long as not all that work were
    seen, once more and for twice as long, since on a busy machine some of them had none."""
    for factor in (1, 2, 4, 8):
        recording = record_work(target.pid, factor * seconds, *args, **options)
        if not set(target.oracle.hot) - set(target.oracle.judge(recording.stacks)[1]):
            break
    return recording


folders = []


def cleanup():
    while folders:
        shutil.rmtree(folders.pop(), ignore_errors=True)


# ---- judgements -----------------------------------------------------------------------------------


# An interpreter that a thread has entered from another one: its callers there are not walked.
VISITING = "[truncated: other interpreter]"


class Oracle:
    """The tries that targets/oracle.py prints, asked about sampled stacks."""

    def __init__(self):
        self.codes, self.hot = [], []
        self.children = {}  # (node, label of the frame, code) -> node; -1 is the root's parent
        self.node_code, self.by_label = [], {}

    def add(self, document):
        base, nodes = len(self.codes), []
        self.codes += document["codes"]
        self.hot += document["hot"]
        for parent, line, code in document["nodes"]:
            parent = nodes[parent] if parent >= 0 else -1
            nodes.append(self.child(parent, line, code + base))

    def child(self, parent, line, code):
        by_line = self.children.setdefault(parent, {}).setdefault(line, {})
        # The same function in two tries is the same function.
        key = json.dumps(self.codes[code])
        if key not in by_line:
            by_line[key] = len(self.node_code)
            self.node_code.append(code)
        return by_line[key]

    def code_of(self, node):
        return self.codes[self.node_code[node]]

    def labels(self, node):
        """What the leaf may look like: any line of its code."""
        code = self.code_of(node)
        return {label(code["name"], code["file"], line) for line in [0] + code["lines"]}

    def step(self, node, text):
        """The nodes reached by calls from that frame, shown with that text."""
        code = self.code_of(node)
        found = []
        for line, by_code in self.children.get(node, {}).items():
            if label(code["name"], code["file"], line) == text:
                found += by_code.values()
        return found

    def roots(self):
        return [n for by_code in self.children.get(-1, {}).values() for n in by_code.values()]

    def leaves(self, frames, begin=None):
        """The codes that the last of these frames, root first, can be; none for a stack that
        never was. begin: the nodes that the first frame may be; a root."""
        nodes = self.roots() if begin is None else begin
        for text in frames[:-1]:
            key = (tuple(nodes), text)
            if key not in self.by_label:
                self.by_label[key] = [n for node in nodes for n in self.step(node, text)]
            nodes = self.by_label[key]
        codes = [self.code_of(n) for n in nodes if frames and frames[-1] in self.labels(n)]
        if not codes and len(frames) > 1:
            codes = self.created(frames)
        return codes

    def visit_leaves(self, frames):
        """As leaves(), of a stack behind the mark for callers in another interpreter. While a generator is being left
        there it has no callers for an instruction, and no mark of its own: then it is the first frame."""
        return self.leaves(frames) or \
            self.leaves(frames, [n for n in range(len(self.node_code)) if self.code_of(n)["suspends"]])

    def created(self, frames):
        """A call of a generator function only makes the generator, but it is a frame meanwhile,
        which no trace tells of: it stands at its first line, and its caller knows its name."""
        callers = self.leaves(frames[:-1])
        return [c for c in self.codes if c["suspends"] and
                frames[-1] == label(c["name"], c["file"], c["suspends"]) and
                any(c["short"] in caller["creates"] for caller in callers)]

    def judge(self, stacks, process_frames=1):
        """(illegal stacks, {qualname: [samples as leaf, of them in the lines of its loop]})."""
        illegal, leaves = [], {}
        for stack, count in stacks:
            # Between two stores of a yield the callers are not known: the stack says it is cut.
            if stack[process_frames:][:1] == ["[truncated: no base]"]:
                continue
            # krait may be quicker than the return from there.
            if stack[-1].startswith("say_ready (oracle.py"):
                continue
            frames = stack[process_frames:]
            codes = self.visit_leaves(frames[1:]) if frames[:1] == [VISITING] else self.leaves(frames)
            if not codes:
                illegal.append((stack, count))
                continue
            name, path, loop = codes[0]["name"], codes[0]["file"], codes[0]["loop"]
            entry = leaves.setdefault(name, [0, 0])
            entry[0] += count
            if not path or not loop or stack[-1] in {label(name, path, line) for line in loop}:
                entry[1] += count
        return illegal, leaves


def complete_part(python):
    """Where C calls Python all the time, 3.11 and 3.12 leave a moment that cannot be read (bpf/walk.h)."""
    return 0.97 if python.minor in ("3.11", "3.12") else 0.99


def show(stacks):
    """Stacks for a message: the leaf side matters."""
    return "\n".join("%d  %s%s" % (count, "… " if len(stack) > 12 else "", ";".join(stack[-12:]))
                     for stack, count in sorted(stacks, key=lambda s: -s[1])[:20])


def check_accounts(tap, name, recording, complete=0.0):
    """Each interrupt has one reason, each sample that has a stack is in the output once."""
    r, problems = recording, []
    interrupts = r.stats.get("interrupts", -1)
    reasons = r.total(COMPLETE) + r.total(TRUNCATED) + r.total(LOST)
    samples = r.total(COMPLETE) + r.total(TRUNCATED)
    if r.stats.get("balance") != 0:
        problems.append("balance %s" % r.stats.get("balance"))
    if interrupts != reasons:
        problems.append("%d interrupts, %d reasons" % (interrupts, reasons))
    if r.samples() != samples:
        problems.append("%d samples in the folded file, %d in the accounts" % (r.samples(), samples))
    # The part is what is expected; in few samples chance adds to it.
    others = (1 - complete) * max(0, interrupts)
    if interrupts - r.total(COMPLETE) > others + 4 * math.sqrt(others):
        problems.append("%d of %d complete" % (r.total(COMPLETE), interrupts))
    return tap.ok(not problems, name + ": the accounts balance", *problems, r.err)


def check_stacks(tap, name, recording, oracle, process_frames=1):
    """Every sample is a stack that the target says it can have; the hot functions were seen at
    work, in the lines where they loop."""
    illegal, leaves = oracle.judge(recording.stacks, process_frames)
    tap.ok(recording.stacks and not illegal, name + ": every stack is one the target can have",
           "%d samples" % recording.samples(), show(illegal), recording.err)
    missing = [h for h in oracle.hot if h not in leaves]
    tap.ok(not missing, name + ": every function at work was seen", "missing: %s" % missing)
    # Of few samples, some more may be elsewhere by chance.
    astray = {n: (total, there) for n, (total, there) in leaves.items() if n in oracle.hot and total >= 50 and
              there < 0.9 * total - 4 * math.sqrt(0.09 * total)}
    tap.ok(not astray, name + ": work is in the lines that do it", astray)
    tap.equal(recording.stats.get("unknown_frames"), 0, name + ": no frame is unknown")


def proc_state(pid):
    with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def end_child(process, number=signal.SIGKILL):
    """Ends a process that the test started; its exit code."""
    if process.poll() is None:
        process.send_signal(number)
    return process.wait(PATIENCE_SECS)
