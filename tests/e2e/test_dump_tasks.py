#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait dump --tasks draws what `python -m asyncio pstree` draws of the same waiting program: every edge between a
task, its frames and the tasks it awaits, with lines. It draws cycles and mentions them, and handles 10,000 tasks
and tasks of ended threads. For older versions, and programs without asyncio, it says so."""
import json
import os
import re
import subprocess
import time

import harness as h

MANY = 10000
LEAF = "leaf tasktree.py:14"
# main awaits boss, which creates child, which starts eagerly and rests in its first step.
EAGER = """
import asyncio, time
def rest():
    print('READY', flush=True)
    time.sleep(1000)
async def child():
    rest()
async def boss():
    await asyncio.sleep(0)
    await asyncio.Task(child(), name='child', loop=asyncio.get_running_loop(), eager_start=True)
async def main():
    await asyncio.create_task(boss(), name='boss')
asyncio.run(main())
"""
# main awaits host, which runs another loop, whose task waits within an inner one.
WITHIN = """
import asyncio, time
def run_within(coroutine):
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    asyncio.tasks._leave_task(loop, task)
    asyncio._set_running_loop(None)
    asyncio.new_event_loop().run_until_complete(coroutine)
async def third():
    print('READY', flush=True)
    await asyncio.sleep(1000)
async def second():
    asyncio.create_task(asyncio.sleep(1000), name='beside')
    await asyncio.sleep(0)
    run_within(third())
async def host():
    run_within(second())
async def main():
    await asyncio.create_task(host(), name='host')
asyncio.run(main())
"""


def krait(*args):
    return subprocess.run([h.KRAIT, "dump", *args], capture_output=True, encoding="utf-8", timeout=h.PATIENCE_SECS)


def paths(text):
    """Returns every line of a tree with all lines above it, as names with lines: a set of tuples. A task already
    drawn has no subtree there: we insert its subtree."""
    found, above, below = set(), [], {}
    for line in text.splitlines():
        match = re.match(r"^((?:│   |    )*)(?:├──|└──) (.*)$", line)
        if not match:
            continue
        depth = len(match[1]) // 4
        name = match[2].strip()
        again = name.endswith("[see above]")
        name = re.sub(r" \[see above\]$", "", name)
        name = re.sub(r" (\S*/)?([^/\s]+:\d+)$", r" \2", name)
        above[depth:] = [name]
        found.add(tuple(above))
        for i, frame in enumerate(above[:-1]):
            if frame.startswith("(T)"):
                below.setdefault(frame, set()).add(tuple(above[i + 1:]))
        if again:
            found.update(tuple(above) + rest for rest in below.get(name, ()))
    return found


class Held:
    """The target in a mount namespace in which its own Python finds /proc."""

    def __init__(self, python, *args):
        command = python.command(python.target("tasktree.py"), *args)
        mount = "mount -t proc proc %s/proc && " % python.root if python.root != "/" else ""
        self.process = subprocess.Popen(["unshare", "-m", "sh", "-c", mount + 'exec "$@"', "sh", *command],
                                        stdout=subprocess.PIPE, encoding="utf-8")
        self.pid = str(self.process.pid)
        self.python = python

    def __enter__(self):
        assert self.process.stdout.readline() == "READY\n"
        # The main task has to await again: from then on the process sleeps.
        time.sleep(0.2)
        h.wait_until(lambda: h.proc_state(self.process.pid) == "S", self.process)
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def pstree(self):
        return subprocess.run(["nsenter", "-t", self.pid, "-m", "-r", self.python.path, "-m", "asyncio", "pstree", self.pid],
                              capture_output=True, encoding="utf-8", timeout=h.PATIENCE_SECS)


def check(tap, python):
    name = python.name
    with Held(python, "3") as target:
        ours, theirs = krait("--tasks", target.pid), target.pstree()
        tap.equal(ours.returncode, 0, name + ": exit code", ours.stderr)
        want, got = paths(theirs.stdout), paths(ours.stdout)
        # 3.14 omits threads other than the main one: so its output must be contained in ours, and the main thread
        # must match.
        tap.ok(len(want) > 20 and not want - got, name + ": all that pstree has", (sorted(want - got), theirs.stderr))
        other = {path[0] for path in got if path[1:2] == (LEAF,) and path[0].startswith("(T) Task-")}
        rest = {path for path in got - want if path[0] not in other}
        tap.ok(not rest, name + ": nothing else", sorted(rest))
        tap.ok("\n  thread %s" % target.pid in ours.stdout and "(other)\n" in ours.stdout and
               "tasks of threads that have ended\n└── (T) orphan" in ours.stdout, name + ": by thread", ours.stdout)
        again = krait("--tasks", "-n", "2", "-i", "300ms", target.pid)
        waits = [float(t) for t in re.findall(r"\[waits here for (\S+) s or longer\]", again.stdout)]
        tap.ok(waits and all(t < h.PATIENCE_SECS for t in waits), name + ": how long, as far as two looks can tell", again.stdout)
        document = json.loads(krait("--tasks", "--json", target.pid).stdout)[0]
        names = {t["name"]: t for t in document["tasks"]}
        tap.equal((document["schema"], document["schema_version"]), ("krait.dump", 1), name + ": JSON says what it is")
        tap.ok(document["whole"] and {"shared", "orphan", "w0", "w1", "w2"} <= set(names), name + ": JSON", document)
        tap.equal(sum(names["shared"]["id"] in t["awaits"] for t in document["tasks"]), 3, name + ": JSON: three await it")
    with Held(python, "1", "circle") as target:
        r = krait("--tasks", target.pid)
        tap.ok(re.search(r"\(T\) circle0\n(.*\n)*.*\(T\) circle1\n(.*\n)*.*\(T\) circle0 \[cycle: see above\]", r.stdout) and
               r.returncode == 0, name + ": a circle is drawn and said", r.stdout)


def check_eager(tap, python):
    """A task that starts eagerly is below its creator, on whose stack it runs; the creator does not wait."""
    with h.Target(python.command("-c", EAGER)) as target:
        r = krait("--tasks", "-n", "2", "-i", "200ms", str(target.pid))
        tree = paths(r.stdout.split("\n\n")[0])
        lines = [re.sub(r" \S+:\d+$", "", line) for line in max(tree, key=len, default=())]
        tap.equal(lines, ["(T) Task-1", "main", "(T) boss [on its thread's stack]", "boss", "(T) child [running]", "child"],
                  python.name + ": an eager task is below its creator", r.stdout, r.stderr)
        tap.ok(re.search(r"Task-1 \[waits here", r.stdout) and "stack] [waits" not in r.stdout,
               python.name + ": its creator does not wait", r.stdout)
        names = {t["name"]: t for t in json.loads(krait("--tasks", "--json", str(target.pid)).stdout)[0]["tasks"]}
        tap.ok(names["boss"]["awaits"] == [names["child"]["id"]] and names["boss"]["on_stack"] and not names["boss"]["running"] and
               names["child"]["running"] and not names["Task-1"]["on_stack"], python.name + ": and in JSON", names)


def check_within(tap, python):
    """Tasks of a loop that a task runs are below that one."""
    with h.Target(python.command("-c", WITHIN)) as target:
        h.wait_until(lambda: h.proc_state(target.pid) == "S", target.process)
        r = krait("--tasks", str(target.pid))
    lines = [re.sub(r"( \S+:\d+)?$|Task-\d+", "", line) for line in max(paths(r.stdout), key=len, default=())]
    tap.equal(lines, ["(T) ", "main", "(T) host [on its thread's stack]", "host", "(T)  [on its thread's stack]", "second", "(T) ",
                      "third", "sleep"], python.name + ": a loop's tasks are below who runs it", r.stdout, r.stderr)
    tap.ok(re.search(r"^( +).*\(T\) beside\n", r.stdout, re.M), python.name + ": so are those that nobody awaits", r.stdout)


def check_many(tap, python):
    with Held(python, str(MANY)) as target:
        begin = sum(os.times()[2:4])
        r = krait("--tasks", target.pid)
        tap.equal(len(set(re.findall(r"\(T\) w\d+\n", r.stdout))), MANY, "10,000 tasks", r.stderr)
        tap.ok("%d tasks\n" % (MANY + 8) in r.stdout and r.returncode == 0, "and they are counted", r.stdout[:200])
        took = sum(os.times()[2:4]) - begin
        tap.ok(took < 15, "in seconds of CPU time", took)


def main():
    h.need_bpf()
    tap = h.Tap()
    found = h.interpreters(tap)
    new = [p for p in found if p.minor in ("3.14", "3.15")]
    old = [p for p in found if p.minor in ("3.12", "3.13")]
    for python in new:
        check(tap, python)
        check_eager(tap, python)
        check_within(tap, python)
    for python in new[-1:]:
        check_many(tap, python)
        with h.start(python, "asleep.py") as target:
            r = krait("--tasks", str(target.pid))
            # 3.15 has it built in.
            want = (": 0 tasks\n", 0) if python.minor == "3.15" else ("asyncio was never imported\n", 3)
            tap.ok(want[0] in r.stdout and r.returncode == want[1], "a program without asyncio", r.stdout)
    for python in old[:1]:
        with h.start(python, "asleep.py") as target:
            r = krait("--tasks", str(target.pid))
            tap.ok("needs CPython 3.14 or 3.15" in r.stdout and r.returncode == 3, "an old version is told so", r.stdout)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
