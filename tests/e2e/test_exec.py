#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait exec: code runs in the intended thread, and krait reports the result; killing krait does not harm the
process. For refusals see test_exec_refused.py."""
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time

import exec_target as ex
import harness as h


def check_runs(tap, python):
    name = python.name
    with ex.start(python) as target:
        facts = target.oracle.facts
        done = ex.run(target, code="import threading; print('RUN', threading.get_native_id(), __name__, "
                                "flush=True)")
        tap.equal((done.returncode, done.stdout, done.stderr), (0, "", ""), name + ": it ran")
        asked, said = ex.line_of(target), ex.line_of(target)
        tap.ok(re.fullmatch(r"ASKED /tmp/krait-exec-[0-9a-f]{16}/run\.py", asked), name + ": by a file", asked)
        tap.equal(said, "RUN %d __main__" % facts["main"], name + ": in the main thread")
        done = ex.run(target, "--capture", code="import sys; print('one\\ttwo \u00fc'); print('x' * 20000); "
                                             "print('err', file=sys.stderr)")
        tap.equal((done.returncode, done.stdout, done.stderr),
                  (0, "one\ttwo \u00fc\n" + "x" * 20000 + "\n", "err\n"), name + ": its output is captured")
        ex.line_of(target)
        for thread in ("worker", "inside"):
            if thread not in facts:
                continue
            done = ex.run(target, "--capture", "--thread", str(facts[thread]),
                       code="import threading; print(threading.get_native_id())")
            tap.equal((done.returncode, done.stdout), (0, "%d\n" % facts[thread]),
                      "%s: in the thread %s" % (name, thread), done.stderr)
        tap.ok(ex.is_well(target) and not ex.left_behind(python), name + ": nothing is left", ex.left_behind(python))


def check_raises(tap, python):
    name = python.name
    with ex.start(python) as target:
        for code, last in (("def f(): raise ValueError('so')\nf()", "ValueError: so"),
                           ("raise SystemExit(3)", "SystemExit: 3"),
                           ("print(", "SyntaxError: '(' was never closed"),
                           ("raise KeyboardInterrupt", "KeyboardInterrupt")):
            done = ex.run(target, code=code)
            tap.ok(done.returncode == 1 and done.stderr.rstrip().endswith(last),
                   "%s: %s" % (name, last), (done.returncode, done.stderr))
        done = ex.run(target, code="def f(): raise ValueError('so')\nf()")
        tap.ok("inject" not in done.stderr and 'File "<krait exec>", line 2' in done.stderr,
               name + ": the traceback begins in the code", done.stderr)
        tap.equal(ex.run(target, code="raise SystemExit").returncode, 0, name + ": SystemExit is an end")
        with tempfile.NamedTemporaryFile("w", suffix=".py") as f:
            f.write("x = 1\nassert x == 2\n")
            f.flush()
            done = ex.run(target, f.name)
            tap.ok(done.returncode == 1 and 'File "%s", line 2' % f.name in done.stderr,
                   name + ": a file", done.stderr)
        tap.ok(ex.is_well(target), name + ": it lives")


def check_timeout(tap, python):
    name = python.name
    with ex.start(python, "lock") as target:
        done = ex.run(target, "--timeout", "300ms", code="print('LATE', flush=True)")
        tap.ok(done.returncode == 8 and "withdrawn" in done.stderr, name + ": withdrawn", done.stderr)
        box = ex.mailbox(python, target)
        tap.ok(box is None or box[:4] == b"\0\0\0\0", name + ": nothing is asked any more", box and box[:40])
        target.process.stdin.write(b"\n")
        tap.equal(ex.line_of(target), "BACK", name + ": nor does it run later")
        time.sleep(0.1)
        with open("/proc/%d/status" % target.pid, encoding="utf-8") as f:
            tap.ok("TracerPid:\t0" in f.read() and not ex.left_behind(python), name + ": nothing is left")
    with ex.start(python) as target:
        done = ex.run(target, "--timeout", "300ms", code="import time; time.sleep(0.7); print('END', flush=True)")
        tap.ok(done.returncode == 8 and "goes on" in done.stderr, name + ": it goes on", done.stderr)
        ex.line_of(target)
        tap.equal(ex.line_of(target), "END", name + ": and ends by itself")


def check_interrupted(tap, python):
    """Ctrl-C withdraws the request."""
    with ex.start(python, "lock") as target:
        with subprocess.Popen([h.KRAIT, "exec", str(target.pid), "-c", "print('LATE', flush=True)"],
                              stderr=subprocess.PIPE, encoding="utf-8") as krait:
            deadline = time.monotonic() + h.PATIENCE_SECS
            while not ex.left_behind(python) and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.2)
            krait.send_signal(signal.SIGINT)
            err = krait.communicate(timeout=h.PATIENCE_SECS)[1]
        tap.ok(krait.returncode == 8 and "withdrawn" in err, "Ctrl-C: withdrawn", err)
        target.process.stdin.write(b"\n")
        tap.equal(ex.line_of(target), "BACK", "Ctrl-C: nor does it run later")


def check_disabled(tap, python):
    for what, options, env, why in (
            ("the environment", (), {"PYTHON_DISABLE_REMOTE_DEBUG": "1"}, "PYTHON_DISABLE_REMOTE_DEBUG"),
            ("an option", ("-X", "disable-remote-debug"), None, "-X disable-remote-debug")):
        with ex.start(python, options=options, env=env) as target:
            before = ex.mailbox(python, target)
            with ex.Untouched(tap, "%s: disabled by %s" % (python.name, what), target.pid):
                done = ex.run(target, code="print('NEVER', flush=True)")
            tap.ok(done.returncode == 3 and why in done.stderr, "%s: disabled by %s" % (python.name, what),
                   (done.returncode, done.stderr))
            tap.ok(ex.mailbox(python, target) == before and not ex.left_behind(python), "nothing is written")
            tap.ok(ex.is_well(target), "it lives")


def check_turned_off(tap, python):
    """Turned off with no trace in environment or options, as in a build without it or a program that embeds
    Python."""
    with ex.start(python) as target:
        done = ex.run(target, "--capture", code="""
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
        before = ex.mailbox(python, target)
        with ex.Untouched(tap, python.name + ": turned off", target.pid):
            done = ex.run(target, code="print('NEVER', flush=True)")
        tap.ok(done.returncode == 3 and "--without-remote-debug" in done.stderr,
               python.name + ": turned off", done.stderr)
        tap.equal(ex.mailbox(python, target), before, python.name + ": nothing is written")


def check_old(tap, pythons):
    for minor in ("3.13", "3.12", "3.8"):
        python = next((p for p in pythons if p.minor == minor), None)
        if not python:
            continue
        with h.start(python, "asleep.py") as target:
            with ex.Untouched(tap, minor, target.pid):
                done = h.run_krait("exec", str(target.pid), "-c", "1")
            tap.ok(done.returncode == 3 and "older than CPython 3.14" in done.stderr,
                   minor + " is refused", done.stderr)


def check_pending(tap, python):
    """Another debugger's request is already waiting for that thread: it stays, and it is what runs."""
    with ex.start(python, "lock") as target:
        with subprocess.Popen([h.KRAIT, "exec", "--timeout", "60s", str(target.pid), "-c", "print('FIRST', flush=True)"],
                              stderr=subprocess.PIPE, encoding="utf-8") as first:
            deadline = time.monotonic() + h.PATIENCE_SECS
            while not ex.left_behind(python) and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.2)
            before = ex.mailbox(python, target)
            tap.ok(before is None or before[:4] == b"\1\0\0\0", "a request waits", before and before[:40])
            with ex.Untouched(tap, "a thread for which a request waits", target.pid):
                done = ex.run(target, code="print('SECOND', flush=True)")
            tap.ok(done.returncode == 3 and "another debugger's request" in done.stderr,
                   "a thread for which a request waits", (done.returncode, done.stderr))
            tap.ok(ex.mailbox(python, target) == before and len(ex.left_behind(python)) == 1, "only the first one's files are there",
                   ex.left_behind(python))
            target.process.stdin.write(b"\n")
            err = first.communicate(timeout=h.PATIENCE_SECS)[1]
        tap.equal((first.returncode, err), (0, ""), "the first one has run")
        said = [ex.line_of(target) for _ in range(3)]
        tap.ok({"FIRST", "BACK"} < set(said) and "SECOND" not in said, "and no other", said)
        tap.ok(ex.is_well(target) and not ex.left_behind(python), "nothing is left", ex.left_behind(python))


def check_prerelease(tap, pythons):
    """A copy of the interpreter whose table claims to be a pre-release."""
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
        with ex.start(copy, env={"PYTHONHOME": os.path.dirname(os.path.dirname(python.path))}) as target:
            before = ex.mailbox(copy, target)
            with ex.Untouched(tap, "a pre-release", target.pid):
                done = ex.run(target, code="print('NEVER', flush=True)")
            tap.ok(done.returncode == 3 and python.minor in done.stderr and "pre-release" in done.stderr,
                   "a pre-release", (done.returncode, done.stderr))
            tap.ok(ex.mailbox(copy, target) == before and ex.is_well(target) and not ex.left_behind(copy), "nothing is written")
    finally:
        shutil.rmtree(folder)


def check_stopped(tap, python):
    """A stopped process stays stopped."""
    with ex.start(python) as target:
        os.kill(target.pid, signal.SIGSTOP)
        time.sleep(0.1)
        done = ex.run(target, "--timeout", "200ms", code="print('NEVER', flush=True)")
        tap.ok(done.returncode == 8 and "withdrawn" in done.stderr, "a stopped process", done.stderr)
        tap.equal(ex.states_of(target.pid), {("T", 0)}, "is as it was")
        os.kill(target.pid, signal.SIGCONT)
        time.sleep(0.1)
        tap.ok(ex.is_well(target), "and goes on when it may")


def check_killed(tap, python):
    """krait is killed at arbitrary moments."""
    with ex.start(python) as target:
        cnt = 40 if h.is_all() else 20
        worse = []
        for i in range(cnt):
            with subprocess.Popen([h.KRAIT, "exec", str(target.pid), "-c", "pass"],
                                  stderr=subprocess.DEVNULL) as krait:
                time.sleep(0.002 * i)
                krait.kill()
            time.sleep(0.02)
            if not ex.is_well(target):
                worse.append((i, ex.states_of(target.pid) if target.alive() else "dead"))
        tap.ok(not worse, "krait is killed %d times" % cnt, worse)
        done = ex.run(target, "--capture", code="print('still')")
        tap.equal((done.returncode, done.stdout), (0, "still\n"), "and then is not", done.stderr)
        for name in ex.left_behind(python):
            shutil.rmtree(os.path.join(python.root, "tmp", name))


def check_ended(tap, python):
    """The process ends before it has run anything."""
    with ex.start(python, "lock") as target:
        with subprocess.Popen([h.KRAIT, "exec", str(target.pid), "-c", "pass"], stderr=subprocess.PIPE,
                              encoding="utf-8") as krait:
            deadline = time.monotonic() + h.PATIENCE_SECS
            while not ex.left_behind(python) and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.2)
            target.process.kill()
            err = krait.communicate(timeout=h.PATIENCE_SECS)[1]
        tap.ok(krait.returncode == 3 and "has ended" in err and not ex.left_behind(python),
               "a process that ends", krait.returncode, err, ex.left_behind(python))


def main():
    tap = h.Tap()
    pythons = h.interpreters(tap, each_class=True)
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
        for check in (check_interrupted, check_pending, check_stopped, check_killed, check_ended):
            check(tap, python)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
