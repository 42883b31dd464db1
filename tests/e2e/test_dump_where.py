#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait dump of processes in other namespaces, of a deleted executable, of one traced by gdb, of 500 threads: all
threads are shown."""
import json
import os
import shutil
import subprocess
import time

import harness as h

SLEEPER = "import time\ndef here():\n    print('READY', flush=True)\n    time.sleep(1000)\nhere()"
MANY = """
import threading, time
def deep(n):
    if n:
        deep(n - 1)
    else:
        time.sleep(1000)
for i in range(%d):
    threading.Thread(target=deep, args=(5 + i %% 20,), daemon=True).start()
lock = threading.Lock()
lock.acquire()
for i in range(%d):
    threading.Thread(target=lock.acquire, daemon=True).start()
def busy():
    while True:
        pass
for i in range(2):
    threading.Thread(target=busy, daemon=True).start()
print('READY', flush=True)
time.sleep(1000)
"""


def dumped(*args):
    done = h.run_krait("dump", "--json", *args)
    return done, json.loads(done.stdout) if done.stdout.startswith("[") else None


def child_of(pid):
    """Returns the only child, and its child, as far as they exist."""
    while True:
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="utf-8") as f:
            children = f.read().split()
        if not children:
            return pid
        pid = int(children[0])


def check_here(tap, name, pid):
    done, processes = dumped(str(pid))
    threads = processes[0]["threads"] if processes else []
    tap.ok(done.returncode == 0 and threads and [f["name"] for f in threads[0]["frames"]] == ["here", "<module>"],
           name, done.stdout + done.stderr)
    done, processes = dumped("--native", str(pid))
    frames = processes[0]["threads"][0]["frames"] if processes and processes[0]["threads"] else []
    tap.ok(done.returncode == 0 and frames and frames[0].get("native") and "libc" in frames[0]["file"] and
           [f["name"] for f in frames if not f.get("native")] == ["here", "<module>"], name + ": with native frames",
           done.stdout + done.stderr)


def check_namespaces(tap, python):
    for name, options in (("pid and mount namespaces of its own", ["-mpf", "--kill-child"]),
                          ("a user namespace of its own", ["-Urpf", "--kill-child"]),
                          ("all namespaces of its own", ["-Urmpfniu", "--kill-child"])):
        try:
            with h.Target(["unshare", *options, *python.command("-c", SLEEPER)]) as target:
                check_here(tap, name, child_of(target.pid))
        except RuntimeError as e:
            tap.skip(name, "unshare: %s" % e)


def check_deleted(tap, python):
    if python.build != "exe":
        tap.skip("a deleted executable", "the interpreter is in a library")
        return
    folder = python.scratch()
    try:
        shutil.copy(os.path.join(python.root, python.path.lstrip("/")), folder + "/gone")
        path = python.inside(folder) + "/gone"
        command = [*([] if python.root == "/" else ["chroot", python.root]), "env", "PYTHONHOME=/usr", path, "-c",
                   SLEEPER]
        with h.Target(command) as target:
            os.unlink(folder + "/gone")
            check_here(tap, "a deleted executable", target.pid)
    finally:
        shutil.rmtree(folder)


def check_traced(tap, python):
    if not shutil.which("gdb"):
        tap.skip("a process that gdb traces", "no gdb")
        return
    with h.Target(python.command("-c", SLEEPER)) as target:
        with subprocess.Popen(["gdb", "-q", "-batch", "-p", str(target.pid), "-ex", "shell sleep 60"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as gdb:
            deadline = time.monotonic() + h.PATIENCE_SECS
            while h.proc_state(target.pid) != "t" and time.monotonic() < deadline:
                time.sleep(0.05)
            check_here(tap, "one that gdb has stopped", target.pid)
            done = h.run_krait("dump", "--pause", str(target.pid))
            tap.ok(done.returncode == 3 and "a debugger traces it already" in done.stdout,
                   "and cannot be paused, which is said", done.stdout + done.stderr)
            for child in subprocess.run(["ps", "-o", "pid=", "--ppid", str(gdb.pid)], capture_output=True,
                                        encoding="utf-8").stdout.split():
                os.kill(int(child), 9)
            gdb.kill()


def check_many(tap, python):
    """At least 99.9 % of all threads are shown; two of them never yield."""
    with h.Target(python.command("-c", MANY % (400, 97))) as target:
        time.sleep(0.5)
        for args in ((), ("--locals",), ("--native",), ("--pause",), ("--pause", "--native", "--locals")):
            asked = answered = 0
            for _ in range(4 if h.is_all() else 2):
                done, processes = dumped(*args, str(target.pid))
                threads = processes[0]["threads"] if processes else []
                asked += 500
                answered += sum(t["stack"] in ("at rest", "interrupted") and len(t["frames"]) > 0 for t in threads)
            tap.ok(answered >= 0.999 * asked, "%d of %d threads %s" % (answered, asked, args),
                   done.returncode, done.stderr, [t for t in threads if t["stack"] == "none"][:3])


def main():
    tap = h.Tap()
    h.need_bpf()
    pythons = h.interpreters(tap)
    python = next((p for p in pythons if p.build == "exe"), None) or h.newest(pythons)
    if python:
        check_namespaces(tap, python)
        check_deleted(tap, python)
        check_traced(tap, python)
        check_many(tap, python)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
