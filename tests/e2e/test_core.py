#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait dump --core: threads, stacks and variables of a process killed by a signal, or of a core made by gdb; with
and without its files; also files that are truncated, changed, or no cores at all."""
import json
import os
import random
import resource
import shutil
import signal
import subprocess

import harness as h

CODE = """
import os, signal, sys, threading, time

def sleeper(n):
    local = "of the thread"
    time.sleep(1000)

def crash(depth, why="because"):
    if depth:
        return crash(depth - 1)
    while "gcore" not in sys.argv:
        os.kill(os.getpid(), int(sys.argv[-1]))
    print("READY", flush=True)
    time.sleep(1000)

threading.Thread(target=sleeper, args=(7,), name="sleeper", daemon=True).start()
time.sleep(0.3)
crash(2)
"""
STACK = ["crash", "crash", "crash", "<module>"]


def unlimited():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def make_core(python, folder, number):
    """Makes the core of an interpreter killed by this signal; folder: visible on both sides."""
    inside = python.inside(folder)
    command = python.command("-c", "import os; os.chdir(%r)\n%s" % (inside, CODE), str(int(number)))
    done = subprocess.run(command, preexec_fn=unlimited, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          timeout=h.PATIENCE_SECS)
    found = [n for n in os.listdir(folder) if n.startswith("core")]
    if done.returncode != -number or not found:
        return None
    path = os.path.join(folder, "made")
    os.rename(os.path.join(folder, found[0]), path)
    return path


def dumped(path, *args):
    done = h.run_krait("dump", "--json", "--core", path, *args)
    try:
        return done, json.loads(done.stdout)
    except ValueError:
        return done, None


def root_of(python):
    return () if python.root == "/" else ("--root", python.root)


def names_of(thread):
    return [f["name"].rsplit(".", 1)[-1] for f in thread["frames"]]


def check(tap, name, done, processes, values=True):
    if not tap.ok(done.returncode == 0 and processes, name + ": is dumped", done.stderr + done.stdout[:500]):
        return
    threads = processes[0]["threads"]
    main = next((t for t in threads if t["main"]), None)
    tap.ok(main and names_of(main) == STACK and len(threads) == 2, name + ": the main thread", threads)
    other = next(t for t in threads if not t["main"])
    tap.ok(names_of(other)[:1] == ["sleeper"] and other["state"] == "sleep", name + ": the other one", other)
    if not values or not main:
        return
    tap.equal((main.get("python_name"), other.get("python_name")), ("MainThread", "sleeper"), name + ": names")
    shown = [{v["name"]: v["value"] for v in f.get("locals", [])} for f in main["frames"][:3]]
    tap.equal(shown, [{"depth": str(i), "why": "'because'"} for i in range(3)], name + ": variables")
    tap.equal({v["name"]: v["value"] for v in other["frames"][0]["locals"]},
              {"n": "7", "local": "'of the thread'"}, name + ": variables of the other one")


def check_natives(tap, name, done, processes):
    """Native frames among Python's, from the mapped files."""
    if not tap.ok(done.returncode == 0 and processes, name + ": is dumped", done.stderr + done.stdout[:500]):
        return
    main, other = sorted(processes[0]["threads"], key=lambda t: not t["main"])
    # Above its first Python frame; newer C libraries have nameless functions above the called one.
    natives = [f for f in other["frames"][:names_of(other).index("sleeper")] if f.get("native") and "libc" in f["file"]]
    tap.ok(natives and natives[-1]["name"].endswith(("nanosleep", "select")) and
           not any(f.get("mark") for f in other["frames"]), name + ": the other one waits in libc", other)
    tap.ok([n for n in names_of(main) if n in STACK] == STACK and main["frames"][0].get("native") and
           not any(f.get("mark") for f in main["frames"]), name + ": the main thread", main)


def check_signals(tap, python, folder):
    for number in (signal.SIGSEGV, signal.SIGABRT):
        name = "%s, SIG%s" % (python.name, number.name[3:])
        path = make_core(python, folder, number)
        if not path:
            tap.skip(name, "no core was made")
            continue
        check(tap, name, *dumped(path, "--locals", *root_of(python)))
        check_natives(tap, name + ", --native", *dumped(path, "--native", *root_of(python)))
    return path


def check_text(tap, python, path):
    done = h.run_krait("dump", "--core", path, *root_of(python))
    tap.ok(done.stdout.startswith("Core file %s, ended by SIGABRT, " % path) and '" (main, ' in done.stdout,
           "as text", done.stdout[:300])


def check_absent(tap, python, path):
    """Its files are missing or others: before 3.13 krait must say so."""
    root = os.path.join(os.path.dirname(path), "root")
    os.mkdir(root)
    name = python.name + " without its files"
    done, processes = dumped(path, "--root", root)
    if python.minor in ("3.8", "3.9", "3.10", "3.11", "3.12"):
        tap.ok(done.returncode == 3 and "executable and libraries have changed or are missing" in done.stdout, name, done.stdout)
    else:
        check(tap, name, done, processes, values=False)
        done, natives = dumped(path, "--native", "--root", root)
        tap.ok(done.returncode == 0 and all(
            [f["name"] for f in t["frames"] if not f.get("native") and not f.get("mark")] ==
            [f["name"] for f in before["frames"]] and any(f.get("mark") for f in t["frames"])
            for t, before in zip(natives[0]["threads"], processes[0]["threads"])),
               name + ": native frames are missing, which is said", natives)
    # Same name, different bytes.
    inside = python.path.lstrip("/")
    os.makedirs(os.path.join(root, os.path.dirname(inside)), exist_ok=True)
    shutil.copy("/bin/true", os.path.join(root, inside))
    again, _ = dumped(path, "--root", root)
    tap.equal(again.returncode, done.returncode, name + ": another file of that name is not taken", again.stdout)
    shutil.rmtree(root)


def check_gcore(tap, python, folder):
    if not shutil.which("gcore"):
        tap.skip("gcore", "no gdb")
        return
    with h.Target(python.command("-c", CODE, "gcore")) as target:
        prefix = os.path.join(folder, "gdb")
        subprocess.run(["gcore", "-o", prefix, str(target.pid)], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=h.PATIENCE_SECS)
        path = "%s.%d" % (prefix, target.pid)
    if tap.ok(os.path.exists(path), "gcore made a core"):
        # gdb names files as we see them.
        done, processes = dumped(path, "--locals")
        check(tap, python.name + ", gcore", done, processes)
        # gdb omits stacks whose guard pages it cannot read (glibc 2.42): then Python's own frames have no base.
        if any(f["name"] == "[truncated: no base]" for t in processes[0]["threads"] for f in t["frames"]):
            tap.skip(python.name + ", gcore --native", "the core has not the stack of a thread")
            return
        check_natives(tap, python.name + ", gcore --native", *dumped(path, "--native"))


def check_broken(tap, python, path):
    """A truncated or changed core: krait ends with a message, and nothing crashes."""
    size = os.path.getsize(path)
    part = path + ".part"
    bad = []
    with open(path, "rb") as f:
        head = f.read(65536)
    dice = random.Random(16)
    for i in range(40 if h.is_all() else 15):
        shutil.copyfile(path, part)
        if i % 3 == 0:
            os.truncate(part, dice.randrange(size))
        else:
            with open(part, "r+b") as f:
                for _ in range(1 + i):
                    f.seek(dice.randrange(len(head)) if i % 3 == 1 else dice.randrange(size))
                    f.write(bytes([dice.randrange(256)]))
        done, _ = dumped(part, "--locals", *(("--native",) if i % 2 else ()), *root_of(python))
        if done.returncode not in (0, 1, 3, 7):
            bad.append((i, done.returncode, done.stderr[:200]))
    os.unlink(part)
    tap.ok(not bad, "cores that are cut or changed", bad)
    for what in ("/bin/true", "/dev/zero", "/dev/null", "/nonexistent", "/tmp"):
        done = h.run_krait("dump", "--core", what)
        tap.ok(done.returncode == 7 and done.stderr.count("\n") == 1, "no core: " + what,
               (done.returncode, done.stderr))
    tap.equal(h.run_krait("dump", "--core", path, "1").returncode, 2, "either a core or processes")


def main():
    tap = h.Tap()
    pythons = h.interpreters(tap)
    with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as f:
        relative = f.read()[:1] not in "|/"
    try:
        unlimited()
    except ValueError:
        tap.skip("cores", "whoever started this forbids them: ulimit -Hc %d" % resource.getrlimit(resource.RLIMIT_CORE)[1])
        relative = False
    for python in pythons:
        folder = python.scratch()
        try:
            path = relative and check_signals(tap, python, folder)
            if not path:
                tap.skip(python.name, "cores do not go into the current folder here")
                continue
            check_absent(tap, python, path)
            if python is h.newest(pythons):
                check_text(tap, python, path)
                check_broken(tap, python, path)
            check_gcore(tap, python, folder)
        finally:
            shutil.rmtree(folder)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
