#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait dump: the stacks of waiting threads and of a running one match what the program says of itself, on every
interpreter, as text and as JSON; nothing is stopped."""
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import harness as h


class Said:
    """What targets/doing.py says of its threads: by name (native id, frames innermost first)."""

    def __init__(self):
        self.threads = {}

    def add(self, document):
        self.threads = document


def dumped(*args):
    done = h.run_krait("dump", "--json", *args)
    return done, json.loads(done.stdout) if done.stdout.startswith("[") else None


def start(python):
    return h.Target(python.command(python.target("doing.py")), oracle=Said())


def frames_of(thread):
    return [[f["name"], f.get("file", ""), f.get("line", 0)] for f in thread["frames"]]


def check_python(tap, python):
    name = python.name
    with start(python) as target:
        done, processes = dumped(str(target.pid))
        if not tap.ok(done.returncode == 0 and processes, name + ": is dumped", done.stderr):
            return
        threads = {t["tid"]: t for t in processes[0]["threads"]}
        for what, (tid, stack) in target.oracle.threads.items():
            thread = threads.get(tid, {"frames": [], "state": "", "stack": ""})
            frames = frames_of(thread)
            if what == "busy":
                # Its line within the loop changes; the functions it is in do not.
                frames, stack = [f[:2] for f in frames], [f[:2] for f in stack]
                tap.ok(thread["stack"] in ("interrupted", "at rest"), name + ": busy", thread)
            else:
                tap.equal(thread["stack"], "at rest", "%s: %s held still" % (name, what), thread)
            tap.equal(frames, stack, "%s: %s: its stack" % (name, what))
            if what in STATES:
                tap.equal(thread["state"], STATES[what], "%s: %s: its state" % (name, what))
        main = threads[target.pid]
        tap.ok(main["main"] and frames_of(main)[-1][0] == "<module>", name + ": the main thread",
               main)
        names = {what: (threads[tid].get("python_name"), threads[tid].get("name_changed"))
                 for what, (tid, _) in target.oracle.threads.items()}
        tap.ok(all(names[what] == (what, None) for what in names) and main.get("python_name") == "MainThread",
               name + ": threads have the program's names", names)
        interps = processes[0]["interpreters"]
        tap.ok(len(interps) == 1 and interps[0]["id"] == 0 and
               (interps[0]["gil"] == "none" if python.free_threaded else
                interps[0]["gil"] in ("free", "held") and
                ("holder" not in interps[0] or interps[0]["holder"] in threads)), name + ": the interpreter", interps)
        tap.ok(target.alive(), name + ": it lives")


def traced_or_stopped(pid):
    found = []
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/status" % (pid, tid), encoding="utf-8") as f:
            text = f.read()
        if "TracerPid:\t0\n" not in text or "\nState:\tt" in text or "\nState:\tT" in text:
            found.append(tid)
    return found


def check_pause(tap, python):
    """All at one moment; a running thread has variables, too."""
    name = python.name + " paused"
    with start(python) as target:
        done, processes = dumped("--pause", "--locals", str(target.pid))
        if not tap.ok(done.returncode == 0 and processes and processes[0].get("paused_ms", 0) > 0,
                      name + ": is dumped", done.stderr):
            return
        threads = {t["tid"]: t for t in processes[0]["threads"]}
        for what, (tid, stack) in target.oracle.threads.items():
            thread = threads.get(tid, {"frames": [], "state": "", "stack": ""})
            frames = frames_of(thread)
            if what == "busy":
                frames, stack = [f[:2] for f in frames], [f[:2] for f in stack]
                tap.ok("_" in {v["name"] for v in thread["frames"][0].get("locals", [])},
                       name + ": busy has variables", thread)
                # It may have been about to take the GIL back.
                tap.ok(thread["state"].startswith(("running", "gil")), name + ": busy: its state", thread["state"])
            elif what in STATES:
                tap.equal(thread["state"], STATES[what], "%s: %s: its state" % (name, what))
            tap.equal((thread["stack"], thread.get("paused"), frames), ("at rest", True, stack),
                      "%s: %s: its stack" % (name, what))
        tap.ok(not any(v.get("changed") for t in threads.values() for f in t["frames"] for v in f.get("locals", [])),
               name + ": nothing moved")
        tap.ok(target.alive() and not traced_or_stopped(target.pid), name + ": it goes on")


def check_pause_text(tap, python):
    with start(python) as target:
        done = h.run_krait("dump", "--pause", str(target.pid))
        tap.ok(re.search(r"^paused for \d+\.\d ms$", done.stdout, re.M) and "\nGIL: " in done.stdout and
               re.search(r'^Thread %d "' % target.pid, done.stdout, re.M), "text: how long it was paused", done.stdout[:500])


def is_stuck(pid):
    """In vfork() the parent sleeps uninterruptibly; tells whether it does."""
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="utf-8") as f:
        return f.read().split() != [] and h.proc_state(pid) == "D"


def check_stuck(tap, python, *ways):
    """krait shows a thread in uninterruptible sleep, and one that waits while it holds the GIL."""
    name = python.name + " uninterruptible"
    folder = python.scratch()
    fifo = os.path.join(folder, "fifo")
    os.mkfifo(fifo)
    with h.Target(python.command(python.target("stuck.py"), python.inside(fifo)), oracle=Said()) as target:
        try:
            deadline = time.monotonic() + h.PATIENCE_SECS
            while not is_stuck(target.pid) and time.monotonic() < deadline:
                time.sleep(0.01)
            for args in ways:
                check_stuck_thread(tap, name + " ".join(("",) + args), target, args, not python.free_threaded)
            done = h.run_krait("dump", "--pause", str(target.pid))
            tap.ok("could not be paused" in done.stdout, name + ": that it could not be paused is said", done.stdout)
            tap.ok(is_stuck(target.pid), name + ": it has slept all the while", h.proc_state(target.pid))
        finally:
            # Opening for reading and writing does not block.
            with open(fifo, "r+b", buffering=0):
                said = h.read_line(target.process.stdout, time.monotonic() + h.PATIENCE_SECS)
            shutil.rmtree(folder)
        tap.ok(said == "BACK\n" and target.alive() and not traced_or_stopped(target.pid), name + ": it goes on", said)


def check_stuck_thread(tap, name, target, args, has_gil):
    said = target.oracle.threads
    deadline = time.monotonic() + 10
    # A thread that waits for the GIL wakes every 5 ms, so one look may find it awake.
    while True:
        done, processes = dumped(*args, str(target.pid))
        threads = {t["tid"]: t for t in processes[0]["threads"]} if processes else {}
        worker = threads.get(said["worker"], {"state": "", "frames": []})
        if worker["state"] in ("gil", "sleep") or time.monotonic() > deadline:
            break
    thread = threads.get(target.pid, {"frames": [], "state": "", "stack": ""})
    frames = [f for f in frames_of(thread) if f[0] in ("spawn", "<module>")]
    tap.ok(done.returncode == 0 and len(threads) == 2, name + ": both threads", done.stdout, done.stderr)
    tap.equal((thread["stack"], frames), ("at rest", said["stack"]), name + ": its stack", thread)
    tap.ok(re.fullmatch(r"io: (clone3?|vfork)" + (", holds the GIL" if has_gil else ""), thread["state"]),
           name + ": its state", thread)
    tap.ok(worker["frames"] and worker["state"] == ("gil" if has_gil else "sleep"), name + ": who waits for it", worker)
    if "--pause" in args:
        tap.ok(thread["paused"] is False and worker["paused"] is True, name + ": one is paused", threads)
    if "--native" in args:
        tap.ok(thread["frames"][0].get("native"), name + ": native frames", thread)


def check_interpreters(tap, python):
    """Threads are listed below their interpreter."""
    script = ("import threading, time\nfrom concurrent import interpreters\n"
              "def run():\n    interpreters.create().exec('import time\\ntime.sleep(1000)')\n"
              "threading.Thread(target=run, daemon=True).start()\ntime.sleep(0.5)\n"
              "print('READY', flush=True)\ntime.sleep(1000)")
    with h.Target(python.command("-c", script)) as target:
        done, processes = dumped(str(target.pid))
        tap.equal([i["id"] for i in processes[0]["interpreters"]], [0, 1], "two interpreters", done.stdout)
        tap.equal(sorted(t["interpreter"] for t in processes[0]["threads"]), [0, 1], "a thread in each")
        text = h.run_krait("dump", str(target.pid)).stdout
        tap.ok(re.search(r"Interpreter 0 \(main\), GIL: .*\n\nThread %d .*\n(.*\n)*\nInterpreter 1, GIL: .*\n\nThread"
                         % target.pid, text), "grouped", text)


# Not from repr(): krait calls nothing in the target.
SHOWN = {
    "slots": "<Slots a=1 b='two'>",
    "more_slots": "<MoreSlots c=None a=1 b='two'>",
    "plain": "<Plain x=1 y=[1, 2] me=...>",
    "late": "<Late x=1 y=2>",
    "data": "<Data p=1 q='z'>",
    "lying": "<Lying n=1>",
    "subclass": "<Text 'sub'>",
    "number": "<Number 7>",
    "names": "<Names {'a': 1}>",
    "point": "<Point (1, 2)>",
    "long": "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, …]",
    "deep": "[[[[<list …>]]]]",
    "ordered": "<OrderedDict {'a': 1}>",
    "color": "<Color 1>",
    "method": "<bound method Outer.method of <Outer>>",
    "dec": "<Decimal>",
    "captured": "1",
}


def check_locals(tap, python):
    name = python.name
    with h.Target(python.command(python.target("variables.py")), oracle=Said()) as target:
        done, processes = dumped("--locals", str(target.pid))
        if not tap.ok(done.returncode == 0 and processes, name + ": is dumped", done.stderr):
            return
        frame = processes[0]["threads"][0]["frames"][0]
        shown = {v["name"]: v["value"] for v in frame.get("locals", [])}
        expected = dict(target.oracle.threads)
        expected.update(SHOWN)
        wrong = {n: (shown.get(n), v) for n, v in expected.items() if shown.get(n) != v}
        tap.ok(not wrong, name + ": %d variables are what the program says" % len(expected), wrong)
        tap.ok("unset" not in shown, name + ": one without a value is not there", shown)
        tap.ok(not any("changed" in v for v in frame["locals"]), name + ": nothing moved", frame)
    with h.start(python, "threads.py", "2") as target:
        text = h.run_krait("dump", "--locals", str(target.pid)).stdout
        listed = h.run_krait("list", "--pid", str(target.pid)).stdout
    tap.ok("run (threading.py" in text and "self = <Thread" not in text, name + ": a thread does not say three times what it is", text[:2000])
    tap.ok(f" {target.pid} " in listed and len(listed.splitlines()) == 2, name + ": list takes --pid, too", listed)


def check_moving(tap, python):
    """A running thread has its variables; those that change during reading are marked."""
    script = ("def inner(given):\n    n = 0\n    while True:\n        n += 1\n"
              "def outer():\n    kept = 'the same'\n    inner([1, 2])\n"
              "print('READY', flush=True)\nouter()")
    name = python.name + " running"
    with h.Target(python.command("-c", script)) as target:
        seen = []
        for _ in range(3):
            done, processes = dumped("--locals", str(target.pid))
            thread = processes[0]["threads"][0]
            frames = {f["name"]: {v["name"]: v for v in f.get("locals", [])} for f in thread["frames"]}
            seen.append(int(frames.get("inner", {}).get("n", {"value": "-1"})["value"]))
        tap.ok(done.returncode == 0 and thread["stack"] == "interrupted" and thread["state"].startswith("running"),
               name + ": is dumped", thread)
        tap.equal((frames["outer"].get("kept"), frames["inner"].get("given")),
                  ({"name": "kept", "value": "'the same'"}, {"name": "given", "value": "[1, 2]"}),
                  name + ": variables that do not change", frames)
        tap.ok(0 <= seen[0] < seen[1] < seen[2], name + ": and one that does", seen)


def check_crowded(tap, python):
    """A running thread that gets a CPU ten times a second, since another one wants the same and comes first."""
    cpu = {min(os.sched_getaffinity(0))}
    script = "import os\nos.sched_setaffinity(0, %r)\nos.nice(15)\nprint('READY', flush=True)\nwhile True: pass" % cpu
    with subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=lambda: os.sched_setaffinity(0, cpu)) as other:
        try:
            with h.Target(python.command("-c", script)) as target:
                found = [dumped(str(target.pid))[1][0]["threads"][0] for _ in range(4)]
        finally:
            other.kill()
    tap.equal([t["stack"] for t in found], ["interrupted"] * 4, python.name + " running, while others come first: is dumped", found)


STATES = {
    "asleep": "sleep",
    "at_a_lock": "lock",
    "at_a_condition": "lock",
    "at_a_queue": "lock",
    "at_a_socket": "io: recvfrom socket",
    "at_a_child": "io: wait4",
    "deep": "sleep",
}


def check_gil(tap, python):
    """Shows who holds the GIL and who waits for it."""
    if python.free_threaded:
        return
    with h.start(python, "gilholder.py") as target:
        deadline = time.monotonic() + h.PATIENCE_SECS
        # Waiting threads wake every 5 ms, so one look may find one awake.
        while True:
            done, processes = dumped(str(target.pid))
            states = sorted(t["state"] for t in processes[0]["threads"])
            if states == ["gil", "gil", "sleep, holds the GIL"] or time.monotonic() > deadline:
                break
        tap.equal(states, ["gil", "gil", "sleep, holds the GIL"], python.name + ": the GIL",
                  done.stdout)


def check_text(tap, python):
    with start(python) as target:
        done = h.run_krait("dump", str(target.pid))
        lines = done.stdout.splitlines()
        tap.ok(lines and lines[0].startswith("Process %d: " % target.pid) and
               "Python " + python.version in lines[1], "text: the process", done.stdout[:500])
        tap.ok(any(line.startswith("Thread %d " % target.pid) and "(main, " in line
                   for line in lines), "text: the main thread", done.stdout[:500])
        tap.ok("    asleep (doing.py:" in done.stdout, "text: a frame", done.stdout[:2000])
        done, processes = dumped("-p", "%d,%d" % (target.pid, target.pid))
        tap.equal([p["pid"] for p in processes or []], [target.pid] * 2, "-p, as record and top take it", done.stderr)


def check_looks(tap, python):
    """Repeated looks at whatever has that name: unchanged threads are only mentioned."""
    with start(python) as target:
        done, processes = dumped("-n", "3", "-i", "50ms", "--name", "doing.py")
        own = [p for p in processes or [] if p["pid"] == target.pid]
        tap.equal([p["look"] for p in own], [1, 2, 3], "three looks, by name", done.stderr)
        waiting = [tid for name, (tid, _) in target.oracle.threads.items() if name != "busy"]
        later = [t for p in own[1:] for t in p["threads"] if t["tid"] in waiting]
        tap.ok(later and all(t["unchanged"] for t in later), "those that wait are as before", later)
        done = h.run_krait("dump", "-n", "2", "-i", "50ms", str(target.pid))
        tap.ok("---- look 2 of 2" in done.stdout and "    [as before]" in done.stdout,
               "the same as text", done.stdout[-1000:])
        done, processes = dumped("--thread", "main", "--thread", "at_a_*", str(target.pid))
        names = sorted(t["python_name"] for t in processes[0]["threads"])
        tap.equal(names, ["MainThread", "at_a_child", "at_a_condition", "at_a_lock", "at_a_queue", "at_a_socket"],
                  "threads by name", done.stderr)
        done = h.run_krait("dump", "--name", "nobody-has-this-name")
        tap.equal((done.returncode, done.stdout), (0, "no Python process\n"), "a name without any")


DEEP = """
import sys, threading, time
threads, depth = map(int, sys.argv[1:])
sys.setrecursionlimit(100000)
threading.stack_size(4 << 20)
arrived, end = threading.Semaphore(0), threading.Event()
def down(n):
    if n:
        return down(n - 1)
    arrived.release()
    end.wait()
for _ in range(threads):
    threading.Thread(target=down, args=(depth,), daemon=True).start()
for _ in range(threads):
    arrived.acquire()
print("READY", flush=True)
end.wait()
"""


def check_turns(tap):
    """The deep stacks of one user cost memory only one after another, and then the others' processes come first."""
    if os.getuid():
        return
    python, nobody = "/usr/bin/python3", {"user": 65534, "group": 65534, "extra_groups": []}
    jobs = [([python, "-c", DEEP, "300", "1000"], nobody)] * 4 + [([python, "-c", DEEP, "1", "1"], nobody),
                                                                  ([python, "-c", DEEP, "1", "1"], {})]
    with contextlib.ExitStack() as stack:
        started = []
        for command, options in jobs:
            process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options))
            stack.callback(process.kill)
            started.append(process)
        if not tap.ok(all(p.stdout.readline() == "READY\n" for p in started), "six processes"):
            return
        pids = [p.pid for p in started]
        out = stack.enter_context(tempfile.TemporaryFile("w+"))
        err = stack.enter_context(tempfile.TemporaryFile("w+"))
        krait = subprocess.Popen([h.KRAIT, "dump", "-a"], stdout=out, stderr=err)
        usage = os.wait4(krait.pid, 0)[2]
        out.seek(0)
        err.seek(0)
        said = err.read()
        found, pid = {}, 0
        for line in out:
            if line.startswith("Process "):
                pid = int(line.split()[1].rstrip(":"))
            elif line.startswith("Thread ") and pid in pids:
                found[pid] = found.get(pid, 0) + 1
        tap.equal([found.get(pid) for pid in pids], [301] * 4 + [2] * 2, "all are dumped, with all threads", said)
        order = list(found)
        if pids == sorted(pids):
            tap.ok(order.index(pids[5]) < order.index(pids[4]), "another user's process does not wait for them", order)
        tap.ok("processes of user 65534 takes long" in said, "which is said", said)
        tap.ok(usage.ru_maxrss < 80 * 1024, "memory for some of them at a time", usage.ru_maxrss)


def check_refused(tap):
    with subprocess.Popen(["sleep", "60"]) as process:
        done, processes = dumped(str(process.pid))
        process.kill()
        tap.equal(done.returncode, 3, "what is no Python is refused", done.stdout)
        tap.ok(processes and processes[0]["why"], "and why", done.stdout)
    tap.equal(h.run_krait("dump").returncode, 2, "somebody must be named")
    tap.equal(h.run_krait("dump", "x").returncode, 2, "by number")
    tap.equal([h.run_krait("dump", "-p", text).returncode for text in ("12,x", "", "0")], [2, 2, 2], "also with -p")


def main():
    tap = h.Tap()
    h.need_bpf()
    pythons = h.interpreters(tap)
    ways = {python: [] for python in pythons}
    for python, way in h.covering(pythons, [(), ("--pause",)]):
        ways[python].append(way)
    for python in pythons:
        check_python(tap, python)
        check_locals(tap, python)
        check_moving(tap, python)
        check_gil(tap, python)
        check_pause(tap, python)
        check_stuck(tap, python, *ways[python], *((("--native",),) if python is h.newest(pythons) else ()))
    if pythons:
        check_pause_text(tap, h.newest(pythons))
        check_crowded(tap, h.newest(pythons))
        if any(p.minor in ("3.14", "3.15") for p in pythons):
            check_interpreters(tap, next(p for p in pythons if p.minor in ("3.14", "3.15")))
        check_text(tap, h.newest(pythons))
        check_looks(tap, h.newest(pythons))
    check_turns(tap)
    check_refused(tap)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
