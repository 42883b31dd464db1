# SPDX-License-Identifier: BSD-2-Clause
"""Shared by the end-to-end tests: targets and recordings; and, under the same module name, interpreters
(interpreters.py), checks (judge.py) and TAP (tap.py).

Only for Python 3.9 and later with the standard library; imported by the test_* files beside it.

"""
import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

# Tests use these as h.NAME, wherever they are defined.
from interpreters import (CACHE, KINDS, MINORS, NOGIL, ROOT, TARGETS, TARGETS_IN_ROOT, Interpreter,  # noqa: F401
                          all_interpreters, covering, few, interpreters, is_all, newest, same_content)
from judge import (COMPLETE, LOST, TRUNCATED, VISITING, Oracle, check_accounts, check_stacks,  # noqa: F401
                   complete_part, label, printable, short_path, show)
from tap import Tap  # noqa: F401

KRAIT = os.environ.get("KRAIT", "build/krait")
BUILD = os.environ.get("KRAIT_BUILD", os.path.join(ROOT, "build"))
# Nothing here takes that long except perhaps on a busy machine.
PATIENCE_SECS = 60


def need_bpf():
    """Ends the test file if nothing can be recorded."""
    if os.environ.get("KRAIT_CAN_BPF", "1" if os.geteuid() == 0 else "0") != "1":
        print("1..0 # SKIP need root and BPF")
        sys.exit(0)


# ---- targets --------------------------------------------------------------------------------------


def read_line(stream, deadline):
    """Reads a line from an unbuffered binary stream, or what there is of it at the deadline or the end."""
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


targets = {}  # those that run, by pid


class Target:
    """A running target that has printed READY, and before that its oracles."""

    def __init__(self, command, env=None, oracle=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        bufsize=0, env=env)
        self.pid = self.process.pid
        self.oracle = oracle or Oracle()
        targets[self.pid] = self
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
        targets.pop(self.pid, None)
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
    """Waits until a busy target is that much older; it is stopped meanwhile."""
    os.kill(target.pid, signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(target.pid, signal.SIGCONT)


@contextlib.contextmanager
def part_time(target, share=0.25):
    """In here the target, which is busy all the time, works for such a share of it, in turns of some milliseconds: for what
    takes as long, whatever it does."""
    over = threading.Event()

    def take_turns():
        while not over.wait(0.01 * (1 - share) / share) and target.alive():
            os.kill(target.pid, signal.SIGCONT)
            time.sleep(0.01)
            os.kill(target.pid, signal.SIGSTOP)

    turns = threading.Thread(target=take_turns, daemon=True)
    os.kill(target.pid, signal.SIGSTOP)
    turns.start()
    try:
        yield
    finally:
        over.set()
        turns.join()
        if target.alive():
            os.kill(target.pid, signal.SIGCONT)


at_rest = []


@contextlib.contextmanager
def resting(target):
    """Within this context a busy target is stopped, except while it is watched: in run_krait() with a sampling
    command, and where a test says so (working())."""
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
    """Within this context the resting targets work."""
    for target in at_rest:
        os.kill(target.pid, signal.SIGCONT)
    try:
        yield
    finally:
        for target in at_rest:
            if target.alive():
                os.kill(target.pid, signal.SIGSTOP)


# ---- recordings -----------------------------------------------------------------------------------

PYTHON_ONLY = ("--no-native", "--no-kernel")
# Stacks as the interpreter has them and programs know them. Otherwise a task's stack would begin with those that
# await it, and a greenlet's with its parents' (or with a mark while krait does not yet know whether it has any).
OWN_STACKS = ("--no-async", "--no-greenlets")


class Recording:
    """One run of krait record --stats: exit code, output, counters, folded stacks."""

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
    """Parses the lines "name value" of --stats; names may contain blanks."""
    stats = {}
    for line in text.splitlines():
        match = re.match(r"([a-z_.][a-z_. ]*) (-?[0-9.]+)$", line)
        if match:
            stats[match.group(1)] = float(match.group(2)) if "." in match.group(2) else \
                int(match.group(2))
    return stats


def parse_folded(path):
    """Returns [(frames, count)], the process first. CPU time that no tick found has no stack, and is in no account of
    interrupts: a host that takes the CPU away leaves some."""
    stacks = []
    try:
        with open(path, encoding="utf-8", newline="\n") as f:
            for line in f:
                stack, _, count = line.rstrip("\n").rpartition(" ")
                if not stack.endswith(";[not sampled]"):
                    stacks.append((stack.split(";"), int(count)))
    except FileNotFoundError:
        pass
    return stacks


# With these it also counts when a target does not work.
OFF_CPU = ("--off-cpu", "--wall", "--idle", "--tasks", "--state")


def watched(args):
    """Returns the targets that a recording with these arguments is about, if they may be stopped before and after, and its
    seconds, or None."""
    if not args[:1] or not args[0].startswith("rec") or "-p" not in args or any(a.startswith(OFF_CPU) for a in args):
        return [], None
    pids = args[args.index("-p") + 1].split(",")
    found = [targets[int(pid)] for pid in pids if pid.isdigit() and int(pid) in targets]
    time_ = re.fullmatch(r"([0-9.]+)(m?)s", args[args.index("-d") + 1]) if "-d" in args else None
    return found, time_ and float(time_.group(1)) / (1000 if time_.group(2) else 1)


def run_krait(*args, timeout=PATIENCE_SECS, **options):
    """Runs krait to its end; output as text. Targets that it records with -p are stopped while it begins and ends."""
    found, seconds = watched(args)
    if found:
        return run_watching(args, {*found, *at_rest}, seconds, timeout, options)
    with working() if args and args[0].startswith(("rec", "top")) else contextlib.nullcontext():
        return subprocess.run([KRAIT, *args], capture_output=True, timeout=timeout,
                              encoding="utf-8", errors="surrogateescape", **options)


def run_watching(args, found, seconds, timeout, options):
    send(found, signal.SIGSTOP)
    with subprocess.Popen([KRAIT, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8", errors="surrogateescape", **options) as krait:
        try:
            wait_until(lambda: is_sampling(krait), krait)
            send(found, signal.SIGCONT)
            try:
                out, err = krait.communicate(timeout=timeout if seconds is None else min(seconds, timeout))
            except subprocess.TimeoutExpired:
                if seconds is None or seconds >= timeout:
                    raise
                send(found, signal.SIGSTOP)
                out, err = krait.communicate(timeout=timeout)
        except BaseException:
            krait.kill()
            raise
        finally:
            send(found - {*at_rest}, signal.SIGCONT)
            send(found & {*at_rest}, signal.SIGSTOP)
    return subprocess.CompletedProcess(krait.args, krait.returncode, out, err)


def send(found, number):
    """Signals those of the targets that still run."""
    for target in found:
        if target.alive():
            os.kill(target.pid, number)


def record(*args, outputs=("x.folded",), lines=True, command=(), timeout=PATIENCE_SECS, **options):
    """Runs krait record --stats with outputs in a new folder, which cleanup() removes. Records only Python frames,
    which are all that the oracle knows, unless the arguments say otherwise."""
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    folders.append(folder)
    line = ["record", "-q", "--stats", "--max-loss", "100", *PYTHON_ONLY] + \
        (["--lines"] if lines else [])
    for name in outputs:
        line += ["-o", os.path.join(folder, name)]
    line += list(args) + (["--", *command] if command else [])
    done = run_krait(*line, timeout=timeout, **options)
    if done.returncode < 0:
        # Its last words are at the end, after hundreds of counters.
        print("# krait was ended by signal %d: %r" % (-done.returncode, done.stderr[-600:]), flush=True)
    return Recording(done.returncode, done.stdout, done.stderr, folder)


def crowd():
    """Returns how many threads share a CPU: of those that want one now and one that may come, or of the last minute's if those
    were fewer, since the load average also remembers tests that have ended."""
    most = 0
    for _ in range(5):
        with open("/proc/loadavg", encoding="ascii") as f:
            most = max(most, int(f.read().split()[3].split("/")[0]))
        time.sleep(0.003)
    return max(1, min(os.getloadavg()[0], most + 1) / len(os.sched_getaffinity(0)))


def moment(seconds):
    """Returns an argument for -d: a duration in which a busy target gets a CPU for about so long, even on an
    overloaded machine."""
    return "%dms" % (1000 * seconds * min(10, crowd()))


def cpu_seconds(pid):
    """Returns a process's CPU time; include/linux/posix-timers.h defines the number of its clock."""
    return time.clock_gettime(~pid << 3 | 2)


def stolen_seconds():
    """Returns the CPU time that the host has taken from all CPUs since boot: during it timers tick, but threads'
    clocks stand still."""
    with open("/proc/stat", encoding="ascii") as f:
        return int(f.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


# Since 5.15 a program hangs at a perf event by a link of its own.
HAS_PERF_LINKS = tuple(int(n) for n in re.findall(r"\d+", os.uname().release)[:2]) >= (5, 15)


def is_sampling(krait):
    """Tells whether this krait samples."""
    return has_programs_at_events(krait.pid)


def descriptors(pid):
    """Returns a process's descriptors and what they lead to, without those that it closes meanwhile."""
    found = {}
    try:
        for fd in os.listdir("/proc/%d/fd" % pid):
            with contextlib.suppress(OSError):
                found[fd] = os.readlink("/proc/%d/fd/%s" % (pid, fd))
    except OSError:
        pass  # it has ended
    return found


def has_programs_at_events(pid):
    """Tells whether krait samples. Events without a program may be those that report mappings, which krait opens
    before it looks at the first process."""
    if not HAS_PERF_LINKS:
        return has_events(pid)
    for fd, target in descriptors(pid).items():
        if "bpf_link" in target or "bpf-link" in target:
            with contextlib.suppress(OSError), open("/proc/%d/fdinfo/%s" % (pid, fd), encoding="ascii") as f:
                if re.search(r"^link_type:\s*perf", f.read(), re.M):
                    return True
    return False


def has_events(pid):
    """Tells whether a process has a perf event open."""
    return any("perf_event" in target for target in descriptors(pid).values())


class Ahead:
    """Within this context this thread has priority over others for a CPU; processes that it starts do not."""

    def __enter__(self):
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(2))

    def __exit__(self, *exc):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def when_first(krait):
    """Waits until krait (Popen) runs with priority and returns when that was: before that its loader waits like any
    program."""
    while krait.poll() is None and os.sched_getscheduler(krait.pid) != os.SCHED_RR:
        time.sleep(0.005)
    return time.monotonic()


def wait_until(condition, krait=None):
    """Waits until the condition holds or krait has ended, at most for PATIENCE_SECS."""
    deadline = time.monotonic() + PATIENCE_SECS
    while not condition() and time.monotonic() < deadline and (not krait or krait.poll() is None):
        time.sleep(0.01)


def signal_all(pids, number):
    for pid in pids:
        os.kill(pid, number)


def record_work(pid, seconds, *args, outputs=("x.folded",), lines=True, beside=(), **options):
    """Like record(), for a process, or for each of a list, until it has used so much CPU time: that gives as many samples on
    a busy machine as on an idle one. The processes, and those beside them, are stopped while krait begins and ends."""
    pids = [pid] if isinstance(pid, int) else list(pid)
    all_ = (*pids, *beside)
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    folders.append(folder)
    line = [KRAIT, "record", "-q", "--stats", "--max-loss", "100", *PYTHON_ONLY, *(["--lines"] if lines else [])]
    for name in outputs:
        line += ["-o", os.path.join(folder, name)]
    signal_all(all_, signal.SIGSTOP)
    with subprocess.Popen([*line, "-p", ",".join(map(str, pids)), *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8", errors="surrogateescape", **options) as krait:
        wait_until(lambda: is_sampling(krait), krait)
        try:
            ends = {pid: cpu_seconds(pid) + seconds for pid in pids}
            signal_all(all_, signal.SIGCONT)
            wait_until(lambda: all(cpu_seconds(pid) >= end for pid, end in ends.items()), krait)
            signal_all(all_, signal.SIGSTOP)
        except OSError:
            pass  # it has ended, so krait will, too
        if krait.poll() is None:
            krait.send_signal(signal.SIGINT)
        out, err = krait.communicate(timeout=PATIENCE_SECS)
    with contextlib.suppress(OSError):
        signal_all(all_, signal.SIGCONT)
    return Recording(krait.returncode, out, err, folder)


def record_turns(target, seconds, *args, **options):
    """Like record_work(), for a target with an oracle whose functions take turns: on a busy machine some of them may
    get no samples, so as long as not all working ones were seen, repeats for twice as long."""
    for factor in (1, 2, 4, 8):
        recording = record_work(target.pid, factor * seconds, *args, **options)
        if not set(target.oracle.hot) - set(target.oracle.judge(recording.stacks)[1]):
            break
    return recording


folders = []


def cleanup():
    while folders:
        shutil.rmtree(folders.pop(), ignore_errors=True)


# ---- processes -------------------------------------------------------------------------------------


def proc_state(pid):
    with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def end_child(process, number=signal.SIGKILL):
    """Kills a process that the test started. Returns its exit code."""
    if process.poll() is None:
        process.send_signal(number)
    return process.wait(PATIENCE_SECS)
