#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait exec: code runs in the thread that is meant, and krait says what became of it; who cannot be asked is
refused, with the reason, and nothing is written; a krait that is killed leaves the process well."""
# run-tests: beside others
# run-tests: second try: krait looks late at what has just begun or changed where a host takes the CPU away
import hashlib
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time

import harness as h

NOBODY = 65534
# Place of a request in PyThreadState of builds with a GIL (cpython.md, 8).
MAILBOX = {"3.14": 304, "3.15": 344}


class Said:
    def __init__(self):
        self.facts = {}

    def add(self, document):
        self.facts = document


def start(python, *args, options=(), env=None, before=()):
    command = python.command(*options, python.target("asked.py"), *args)
    return h.Target([*before, *command], oracle=Said(), env=env and dict(os.environ, **env))


def line_of(target):
    return h.read_line(target.process.stdout, time.monotonic() + h.PATIENCE_SECS).strip()


def run(target, *args, code=None):
    return h.run_krait("exec", str(target.pid), *args, *(("-c", code) if code else ()))


def left_behind(python):
    folder = os.path.join(python.root, "tmp")
    return [n for n in os.listdir(folder) if n.startswith("krait-exec-")]


def states_of(pid):
    """State and tracer of each thread."""
    found = set()
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/status" % (pid, tid), encoding="utf-8") as f:
            text = f.read()
        found.add((re.search(r"^State:\t(.)", text, re.M).group(1),
                   int(re.search(r"^TracerPid:\t(\d+)", text, re.M).group(1))))
    return found


def is_well(target):
    return target.alive() and all(s in "RSD" and not t for s, t in states_of(target.pid))


def mailbox(python, target):
    """The bytes that a request is made of; None where that cannot be told."""
    state = target.oracle.facts.get("state")
    if not state or python.free_threaded or python.minor not in MAILBOX:
        return None
    with open("/proc/%d/mem" % target.pid, "rb") as f:
        f.seek(state + MAILBOX[python.minor])
        return f.read(516)


def memory_of(pid):
    """A digest of all that it could write to."""
    digest = hashlib.sha256()
    with open("/proc/%d/maps" % pid, encoding="utf-8", errors="replace") as maps, open("/proc/%d/mem" % pid, "rb") as mem:
        for line in maps:
            addresses, rights = line.split()[:2]
            start, end = (int(a, 16) for a in addresses.split("-"))
            if "w" not in rights:
                continue
            mem.seek(start)
            digest.update(line.encode())
            for at in range(start, end, 1 << 20):
                try:
                    digest.update(mem.read(min(1 << 20, end - at)))
                except OSError:
                    break
    return digest.hexdigest()


class Untouched:
    """That nothing is written while it is refused: of a process that is stopped, whose memory nobody else changes."""

    def __init__(self, tap, name, pid):
        self.tap, self.name, self.pid = tap, name, pid

    def __enter__(self):
        self.traced = h.proc_state(self.pid) == "t"
        if not self.traced:
            os.kill(self.pid, signal.SIGSTOP)
            while h.proc_state(self.pid) != "T":
                time.sleep(0.01)
            time.sleep(0.05)
        self.before = memory_of(self.pid)
        return self

    def __exit__(self, *_):
        self.tap.equal(memory_of(self.pid), self.before, self.name + ": not a byte of its memory is another one")
        if not self.traced:
            os.kill(self.pid, signal.SIGCONT)


def check_runs(tap, python):
    name = python.name
    with start(python) as target:
        facts = target.oracle.facts
        done = run(target, code="import threading; print('RUN', threading.get_native_id(), __name__, "
                                "flush=True)")
        tap.equal((done.returncode, done.stdout, done.stderr), (0, "", ""), name + ": it ran")
        asked, said = line_of(target), line_of(target)
        tap.ok(re.fullmatch(r"ASKED /tmp/krait-exec-[0-9a-f]{16}/run\.py", asked), name + ": by a file", asked)
        tap.equal(said, "RUN %d __main__" % facts["main"], name + ": in the main thread")
        done = run(target, "--capture", code="import sys; print('one\\ttwo \u00fc'); print('x' * 20000); "
                                             "print('err', file=sys.stderr)")
        tap.equal((done.returncode, done.stdout, done.stderr),
                  (0, "one\ttwo \u00fc\n" + "x" * 20000 + "\n", "err\n"), name + ": its output is captured")
        line_of(target)
        for thread in ("worker", "inside"):
            if thread not in facts:
                continue
            done = run(target, "--capture", "--thread", str(facts[thread]),
                       code="import threading; print(threading.get_native_id())")
            tap.equal((done.returncode, done.stdout), (0, "%d\n" % facts[thread]),
                      "%s: in the thread %s" % (name, thread), done.stderr)
        tap.ok(is_well(target) and not left_behind(python), name + ": nothing is left", left_behind(python))


def check_raises(tap, python):
    name = python.name
    with start(python) as target:
        for code, last in (("def f(): raise ValueError('so')\nf()", "ValueError: so"),
                           ("raise SystemExit(3)", "SystemExit: 3"),
                           ("print(", "SyntaxError: '(' was never closed"),
                           ("raise KeyboardInterrupt", "KeyboardInterrupt")):
            done = run(target, code=code)
            tap.ok(done.returncode == 1 and done.stderr.rstrip().endswith(last),
                   "%s: %s" % (name, last), (done.returncode, done.stderr))
        done = run(target, code="def f(): raise ValueError('so')\nf()")
        tap.ok("inject" not in done.stderr and 'File "<krait exec>", line 2' in done.stderr,
               name + ": the traceback begins in the code", done.stderr)
        tap.equal(run(target, code="raise SystemExit").returncode, 0, name + ": SystemExit is an end")
        with tempfile.NamedTemporaryFile("w", suffix=".py") as f:
            f.write("x = 1\nassert x == 2\n")
            f.flush()
            done = run(target, f.name)
            tap.ok(done.returncode == 1 and 'File "%s", line 2' % f.name in done.stderr,
                   name + ": a file", done.stderr)
        tap.ok(is_well(target), name + ": it lives")


def check_timeout(tap, python):
    name = python.name
    with start(python, "lock") as target:
        done = run(target, "--timeout", "300ms", code="print('LATE', flush=True)")
        tap.ok(done.returncode == 8 and "withdrawn" in done.stderr, name + ": withdrawn", done.stderr)
        box = mailbox(python, target)
        tap.ok(box is None or box[:4] == b"\0\0\0\0", name + ": nothing is asked any more", box and box[:40])
        target.process.stdin.write(b"\n")
        tap.equal(line_of(target), "BACK", name + ": nor does it run later")
        time.sleep(0.1)
        with open("/proc/%d/status" % target.pid, encoding="utf-8") as f:
            tap.ok("TracerPid:\t0" in f.read() and not left_behind(python), name + ": nothing is left")
    with start(python) as target:
        done = run(target, "--timeout", "300ms", code="import time; time.sleep(0.7); print('END', flush=True)")
        tap.ok(done.returncode == 8 and "goes on" in done.stderr, name + ": it goes on", done.stderr)
        line_of(target)
        tap.equal(line_of(target), "END", name + ": and ends by itself")


def check_interrupted(tap, python):
    """Ctrl-C withdraws."""
    with start(python, "lock") as target:
        with subprocess.Popen([h.KRAIT, "exec", str(target.pid), "-c", "print('LATE', flush=True)"],
                              stderr=subprocess.PIPE, encoding="utf-8") as krait:
            deadline = time.monotonic() + h.PATIENCE_SECS
            while not left_behind(python) and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.2)
            krait.send_signal(signal.SIGINT)
            err = krait.communicate(timeout=h.PATIENCE_SECS)[1]
        tap.ok(krait.returncode == 8 and "withdrawn" in err, "Ctrl-C: withdrawn", err)
        target.process.stdin.write(b"\n")
        tap.equal(line_of(target), "BACK", "Ctrl-C: nor does it run later")


def check_disabled(tap, python):
    for what, options, env, why in (
            ("the environment", (), {"PYTHON_DISABLE_REMOTE_DEBUG": "1"}, "PYTHON_DISABLE_REMOTE_DEBUG"),
            ("an option", ("-X", "disable-remote-debug"), None, "-X disable-remote-debug")):
        with start(python, options=options, env=env) as target:
            before = mailbox(python, target)
            with Untouched(tap, "%s: disabled by %s" % (python.name, what), target.pid):
                done = run(target, code="print('NEVER', flush=True)")
            tap.ok(done.returncode == 3 and why in done.stderr, "%s: disabled by %s" % (python.name, what),
                   (done.returncode, done.stderr))
            tap.ok(mailbox(python, target) == before and not left_behind(python), "nothing is written")
            tap.ok(is_well(target), "it lives")


def check_turned_off(tap, python):
    """Neither the environment nor an option says so: as a build without it, or a program that embeds Python."""
    with start(python) as target:
        done = run(target, "--capture", code="""
import ctypes, struct
addr = ctypes.c_uint64.in_dll(ctypes.pythonapi, "_PyRuntime")
table = ctypes.string_at(ctypes.addressof(addr), 888)
u64 = lambda at: struct.unpack_from("<Q", table, at)[0]
head = ctypes.c_uint64.from_address(ctypes.addressof(addr) + u64(40)).value
while head:
    ctypes.c_int32.from_address(head + u64(%d)).value = 0
    head = ctypes.c_uint64.from_address(head + u64(64)).value
""" % {"3.14": 728, "3.15": 856}[python.minor])
        if not tap.equal((done.returncode, done.stderr), (0, ""), python.name + ": turns it off itself"):
            return
        before = mailbox(python, target)
        with Untouched(tap, python.name + ": turned off", target.pid):
            done = run(target, code="print('NEVER', flush=True)")
        tap.ok(done.returncode == 3 and "--without-remote-debug" in done.stderr,
               python.name + ": turned off", done.stderr)
        tap.equal(mailbox(python, target), before, python.name + ": nothing is written")


def check_old(tap, pythons):
    for minor in ("3.13", "3.12", "3.8"):
        python = next((p for p in pythons if p.minor == minor), None)
        if not python:
            continue
        with h.start(python, "asleep.py") as target:
            with Untouched(tap, minor, target.pid):
                done = h.run_krait("exec", str(target.pid), "-c", "1")
            tap.ok(done.returncode == 3 and "older than CPython 3.14" in done.stderr,
                   minor + " is refused", done.stderr)


def check_refused(tap, python):
    with subprocess.Popen(["sleep", "60"]) as process:
        with Untouched(tap, "what is no Python", process.pid):
            done = h.run_krait("exec", str(process.pid), "-c", "1")
        process.kill()
        tap.equal(done.returncode, 3, "what is no Python is refused", done.stderr)
    for args in ((), ("1",), ("x", "-c", "1"), ("1", "a", "-c", "1"), ("1", "a", "b")):
        tap.equal(h.run_krait("exec", *args).returncode, 2, "usage: %s" % (args,))
    tap.equal(h.run_krait("exec", "1", "/nonexistent.py").returncode, 7, "a script that is not there")
    with start(python) as target:
        with Untouched(tap, "a thread of somebody else", target.pid):
            done = run(target, "--thread", "1", code="1")
        tap.ok(done.returncode == 3 and "no thread 1" in done.stderr, "a thread of somebody else", done.stderr)
        with Untouched(tap, "another user's process", target.pid):
            done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", h.KRAIT, "exec",
                                   str(target.pid), "-c", "1"], capture_output=True, encoding="utf-8")
        tap.ok(done.returncode == 4, "another user's process", (done.returncode, done.stderr))
        tap.ok(is_well(target) and not left_behind(python), "nothing is left")


def check_traced(tap, python):
    if not shutil.which("gdb"):
        tap.skip("a process that gdb traces", "no gdb")
        return
    with start(python) as target:
        with subprocess.Popen(["gdb", "-q", "-batch", "-p", str(target.pid), "-ex", "shell sleep 30"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as gdb:
            deadline = time.monotonic() + h.PATIENCE_SECS
            while {t for _, t in states_of(target.pid)} == {0} and time.monotonic() < deadline:
                time.sleep(0.05)
            with Untouched(tap, "a process that gdb traces", target.pid):
                done = run(target, code="1")
            tap.ok(done.returncode == 4 and "traces it" in done.stderr and "gdb" in done.stderr,
                   "a process that gdb traces", (done.returncode, done.stderr))
            done = h.run_krait("dump", str(target.pid))
            tap.ok("asked.py" in done.stdout, "dump works there", done.stdout + done.stderr)
            for child in subprocess.run(["ps", "-o", "pid=", "--ppid", str(gdb.pid)], capture_output=True,
                                        encoding="utf-8").stdout.split():
                os.kill(int(child), signal.SIGKILL)
            gdb.kill()
        tap.ok(target.alive() and not left_behind(python), "nothing is left")


def check_pending(tap, python):
    """A request of another debugger waits for that thread: it stays, and is what runs."""
    with start(python, "lock") as target:
        with subprocess.Popen([h.KRAIT, "exec", "--timeout", "60s", str(target.pid), "-c", "print('FIRST', flush=True)"],
                              stderr=subprocess.PIPE, encoding="utf-8") as first:
            deadline = time.monotonic() + h.PATIENCE_SECS
            while not left_behind(python) and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.2)
            before = mailbox(python, target)
            tap.ok(before is None or before[:4] == b"\1\0\0\0", "a request waits", before and before[:40])
            with Untouched(tap, "a thread for which a request waits", target.pid):
                done = run(target, code="print('SECOND', flush=True)")
            tap.ok(done.returncode == 3 and "another debugger's request" in done.stderr,
                   "a thread for which a request waits", (done.returncode, done.stderr))
            tap.ok(mailbox(python, target) == before and len(left_behind(python)) == 1, "only the first one's files are there",
                   left_behind(python))
            target.process.stdin.write(b"\n")
            err = first.communicate(timeout=h.PATIENCE_SECS)[1]
        tap.equal((first.returncode, err), (0, ""), "the first one has run")
        said = [line_of(target) for _ in range(3)]
        tap.ok({"FIRST", "BACK"} < set(said) and "SECOND" not in said, "and no other", said)
        tap.ok(is_well(target) and not left_behind(python), "nothing is left", left_behind(python))


def check_prerelease(tap, pythons):
    """A copy of the interpreter whose table says that it is no release yet."""
    python = next((p for p in pythons if p.kind == "exe"), None)
    if not python:
        tap.skip("a pre-release", "no interpreter that is one file")
        return
    final = int("%02x%02x%02xf0" % tuple(int(n) for n in python.version.split(".")), 16)
    folder = python.scratch()
    try:
        path = os.path.join(folder, os.path.basename(python.path))
        shutil.copy(python.root.rstrip("/") + python.path, path)
        with open(path, "r+b") as f:
            f.seek(f.read().index(b"xdebugpy" + struct.pack("<Q", final)) + 8)
            f.write(struct.pack("<Q", final & ~0xff | 0xc1))
        copy = h.Interpreter(python.version, python.kind, python.root, python.inside(path))
        with start(copy, env={"PYTHONHOME": os.path.dirname(os.path.dirname(python.path))}) as target:
            before = mailbox(copy, target)
            with Untouched(tap, "a pre-release", target.pid):
                done = run(target, code="print('NEVER', flush=True)")
            tap.ok(done.returncode == 3 and python.minor in done.stderr and "pre-release" in done.stderr,
                   "a pre-release", (done.returncode, done.stderr))
            tap.ok(mailbox(copy, target) == before and is_well(target) and not left_behind(copy), "nothing is written")
    finally:
        shutil.rmtree(folder)


def check_other_user(tap, python):
    for tmpdir in (None, "/tmp", "/nonexistent"):
        before = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        if python.root != "/":
            # The whole of it is run as that user: chroot comes first.
            command = ["chroot", python.root, *before, python.path, "-B", python.target("asked.py")]
        else:
            command = [*before, *python.command(python.target("asked.py"))]
        if python.root != "/" and not os.path.exists(python.root + "/usr/bin/setpriv"):
            tap.skip("another user's process", "no setpriv in " + python.root)
            return
        with h.Target(command, oracle=Said(), env=tmpdir and dict(os.environ, TMPDIR=tmpdir)) as target:
            done = run(target, "--capture", code="import os; print(os.getuid())")
            tap.equal((done.returncode, done.stdout, done.stderr), (0, "65534\n", ""),
                      "nobody's process, TMPDIR=%s" % tmpdir)
            tap.ok(not left_behind(python), "nothing is left")


def check_rights(tap, python):
    """What krait's file may do, and its caller may not, does not count."""
    if not shutil.which("setcap"):
        tap.skip("krait with capabilities of its file", "no setcap")
        return
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    try:
        os.chmod(folder, 0o755)
        krait = folder + "/krait"
        shutil.copy(h.KRAIT, krait)
        os.chmod(krait, 0o755)
        caps = "cap_sys_ptrace,cap_dac_read_search,cap_dac_override,cap_setuid,cap_setgid,cap_kill+ep"
        if subprocess.run(["setcap", caps, krait], stderr=subprocess.DEVNULL).returncode:
            tap.skip("krait with capabilities of its file", "setcap is refused")
            return
        with open(folder + "/secret.py", "w", encoding="utf-8") as f:
            f.write("print('secret')")
        os.chmod(folder + "/secret.py", 0o600)
        with start(python) as target:
            before = mailbox(python, target)
            for args, code in ((("exec", str(target.pid), "-c", "1"), 4),
                               (("exec", str(target.pid), folder + "/secret.py"), 7),
                               (("dump", "--pause", str(target.pid)), 4)):
                done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", krait, *args],
                                      capture_output=True, encoding="utf-8", timeout=h.PATIENCE_SECS)
                tap.equal(done.returncode, code, "nobody, with capabilities of the file: %s" % (args,), done.stderr)
            tap.ok(mailbox(python, target) == before and is_well(target), "nothing is written")
    finally:
        shutil.rmtree(folder)


def check_folders(tap, python):
    """Folders where others could put another script, and links, are not used."""
    folder = python.scratch()
    try:
        os.chmod(folder, 0o755)
        os.mkdir(folder + "/open")
        os.chmod(folder + "/open", 0o777)
        os.mkdir(folder + "/good")
        os.mkdir(folder + "/others")
        os.chown(folder + "/others", 4242, 4242)
        os.symlink("good", folder + "/link")
        for name, used in (("good", True), ("open", False), ("link", False), ("others", False)):
            tmpdir = python.inside(folder) + "/" + name
            with start(python, env={"TMPDIR": tmpdir}) as target:
                done = run(target, code="1")
                asked = line_of(target)
                tap.ok(done.returncode == 0 and asked.startswith(
                    "ASKED %s/krait-exec-" % (tmpdir if used else "/tmp")), "TMPDIR: " + name, asked, done.stderr)
    finally:
        shutil.rmtree(folder)


def check_container(tap, python):
    """Mounts, pids and a /tmp of its own."""
    root = python.root
    script = ("mount -t tmpfs none %s/tmp && exec chroot %s %s -B %s" %
              (root.rstrip("/"), root, python.path, python.target("asked.py")))
    with h.Target(["unshare", "-mpf", "--kill-child", "sh", "-c", script], oracle=Said()) as target:
        with open("/proc/%d/task/%d/children" % (target.pid, target.pid), encoding="utf-8") as f:
            pid = int(f.read().split()[0])
        facts = target.oracle.facts
        tap.equal(facts["pid"], 1, "it has a pid of its own")
        done = h.run_krait("exec", str(pid), "--capture", "-c", "import os; print(os.getpid(), os.listdir('/tmp'))")
        tap.equal((done.returncode, done.stdout, done.stderr), (0, "1 []\n", ""), "in a container")
        tids = {}
        for tid in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/status" % (pid, tid), encoding="utf-8") as f:
                tids[int(re.search(r"^NSpid:.*\t(\d+)$", f.read(), re.M).group(1))] = tid
        done = h.run_krait("exec", str(pid), "--capture", "-t", tids[facts["worker"]], "-c",
                           "import threading; print(threading.get_native_id())")
        tap.equal(done.stdout, "%d\n" % facts["worker"], "a thread by our number", done.stderr)


def check_stopped(tap, python):
    """One that is stopped stays so."""
    with start(python) as target:
        os.kill(target.pid, signal.SIGSTOP)
        time.sleep(0.1)
        done = run(target, "--timeout", "200ms", code="print('NEVER', flush=True)")
        tap.ok(done.returncode == 8 and "withdrawn" in done.stderr, "a stopped process", done.stderr)
        tap.equal(states_of(target.pid), {("T", 0)}, "is as it was")
        os.kill(target.pid, signal.SIGCONT)
        time.sleep(0.1)
        tap.ok(is_well(target), "and goes on when it may")


def check_killed(tap, python):
    """At whatever moment krait is killed."""
    with start(python) as target:
        cnt = 40 if h.is_all() else 20
        worse = []
        for i in range(cnt):
            with subprocess.Popen([h.KRAIT, "exec", str(target.pid), "-c", "pass"],
                                  stderr=subprocess.DEVNULL) as krait:
                time.sleep(0.002 * i)
                krait.kill()
            time.sleep(0.02)
            if not is_well(target):
                worse.append((i, states_of(target.pid) if target.alive() else "dead"))
        tap.ok(not worse, "krait is killed %d times" % cnt, worse)
        done = run(target, "--capture", code="print('still')")
        tap.equal((done.returncode, done.stdout), (0, "still\n"), "and then is not", done.stderr)
        for name in left_behind(python):
            shutil.rmtree(os.path.join(python.root, "tmp", name))


def check_ended(tap, python):
    """The process ends before it has run anything."""
    with start(python, "lock") as target:
        with subprocess.Popen([h.KRAIT, "exec", str(target.pid), "-c", "pass"], stderr=subprocess.PIPE,
                              encoding="utf-8") as krait:
            deadline = time.monotonic() + h.PATIENCE_SECS
            while not left_behind(python) and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.2)
            target.process.kill()
            err = krait.communicate(timeout=h.PATIENCE_SECS)[1]
        tap.ok(krait.returncode == 3 and "has ended" in err and not left_behind(python),
               "a process that ends", krait.returncode, err, left_behind(python))


def check_hostile(tap, python):
    """A process that writes whatever it likes into the report."""
    with start(python) as target:
        done = run(target, "--capture", "--timeout", "3s", code="""
import os
import stat
for fd in range(3, 64):
    try:
        if stat.S_ISFIFO(os.fstat(fd).st_mode):
            os.write(fd, b"O\\xff\\xff\\xff\\xff" + b"A" * 4000)
    except OSError:
        pass
""")
        tap.ok(done.returncode == 3 and "no sense" in done.stderr, "a report that makes no sense",
               (done.returncode, done.stderr, done.stdout[:100]))
        tap.ok(is_well(target), "it lives")


def main():
    tap = h.Tap()
    pythons = h.interpreters(tap)
    able = [p for p in pythons if p.minor not in ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")]
    for python in able:
        check_runs(tap, python)
        check_raises(tap, python)
        check_timeout(tap, python)
        check_disabled(tap, python)
        if not python.free_threaded:
            check_turned_off(tap, python)
    check_old(tap, pythons)
    check_prerelease(tap, able)
    if able:
        python = h.newest(able)
        for check in (check_refused, check_interrupted, check_pending, check_traced, check_other_user, check_rights,
                      check_folders, check_container, check_stopped, check_killed, check_ended, check_hostile):
            check(tap, python)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
