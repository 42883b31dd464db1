#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait record --tasks: suspended tasks, by the chain that awaits them, have the number and places that the program
set up; in every output and beside CPU time; also the arguments of --tasks."""
import os
import re
import tempfile

import harness as h
from test_dump_tasks import EAGER, WITHIN

PROGRAM = """
import asyncio
async def db():
    await asyncio.sleep(1000)
async def net():
    await asyncio.Event().wait()
async def handle(i):
    await (db() if i % 4 else net())
async def request(i):
    await asyncio.create_task(handle(i))
async def main():
    requests = [asyncio.create_task(request(i)) for i in range(400)]
    shared = asyncio.create_task(db())
    both = [asyncio.create_task(wait_for(shared)) for i in range(2)]
    await asyncio.sleep(0.1)
    print('READY', flush=True)
    while True:
        await asyncio.sleep(0.01)
async def wait_for(task):
    await task
asyncio.run(main())
"""
# Task by task: 400 requests, what they await, one that two others await, those two, and main.
EXPECTED = {
    ("request",): 400,
    ("request", "handle", "db", "sleep"): 300,
    ("request", "handle", "net", "Event.wait"): 100,
    ("wait_for", "[the first of 2 tasks that await it]", "db", "sleep"): 1,
    ("wait_for",): 2,
}


def folded(path):
    found = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            stack, _, cnt = line.rstrip("\n").rpartition(" ")
            names = tuple(re.sub(r" \(.*\)$", "", name) for name in stack.split(";")[1:])
            found[names] = found.get(names, 0) + int(cnt)
    return found


def check(tap, python):
    with tempfile.TemporaryDirectory(prefix="krait-e2e-") as folder:
        record(tap, python, folder)


def check_names(tap, python):
    """With --task-names each task has its own stack: 400 requests are 400 stacks."""
    with tempfile.TemporaryDirectory(prefix="krait-e2e-") as folder, h.Target(python.command("-c", PROGRAM)) as target:
        path = os.path.join(folder, "x.data")
        done = h.run_krait("record", "--tasks=5", "--task-names", "-p", str(target.pid), "-d", "1s", "-o", path)
        h.run_krait("convert", "-i", path, "--event", "waiting-tasks", "-o", folder + "/x.folded")
        found = [stack for stack in folded(folder + "/x.folded") if "handle" in stack]
    handled = {stack[2] for stack in found}
    tap.ok(len(found) == len(handled) == 400 and all(re.fullmatch(r"\[task Task-\d+\]", n) for n in handled) and
           all(re.fullmatch(r"\[task Task-\d+\]", stack[0]) and stack[1] == "request" for stack in found),
           python.name + ": each task with its name", len(found), len(handled), done.stderr[-500:], found[:3])


def check_eager(tap, python):
    """A task that creates another one, which starts eagerly, is on its thread's stack and does not wait."""
    with tempfile.TemporaryDirectory(prefix="krait-e2e-") as folder, h.Target(python.command("-c", EAGER)) as target:
        path = os.path.join(folder, "x.data")
        done = h.run_krait("record", "--tasks=10", "-p", str(target.pid), "-d", "500ms", "-o", path)
        h.run_krait("convert", "-i", path, "--event", "waiting-tasks", "-o", folder + "/x.folded")
        tap.equal(set(folded(folder + "/x.folded")), {("main",)}, python.name + ": a task's creator does not wait", done.stderr[-500:])


def check_within(tap, python):
    """Tasks of a loop that a task runs have that one, which does not wait, and those that await it before them."""
    with tempfile.TemporaryDirectory(prefix="krait-e2e-") as folder, h.Target(python.command("-c", WITHIN)) as target:
        path = os.path.join(folder, "x.data")
        done = h.run_krait("record", "--tasks=10", "-p", str(target.pid), "-d", "500ms", "-o", path)
        h.run_krait("convert", "-i", path, "--event", "waiting-tasks", "-o", folder + "/x.folded")
        tap.equal(set(folded(folder + "/x.folded")), {("main",), ("main", "host", "sleep"), ("main", "host", "second", "third", "sleep")},
                  python.name + ": a loop's tasks are below who runs it", done.stderr[-500:])


def record(tap, python, folder):
    name = python.name
    path = os.path.join(folder, "x.data")
    with h.Target(python.command("-c", PROGRAM)) as target:
        done = h.run_krait("record", "--tasks=5", "--stats", "-p", str(target.pid), "-d", "2s", "-o", path)
        if not tap.ok(done.returncode == 0, name + ": is recorded", done.stderr[-1500:]):
            return
        alive = target.alive()
    stats = dict(line.split(" ", 1) for line in done.stderr.splitlines() if re.match(r"census\.\w+ \d+$", line))
    taken = int(stats["census.taken"])
    tap.ok(taken >= 1 and int(stats["census.failed"]) == 0 and alive, name + ": counted %d times" % taken, done.stderr[-800:])
    done = h.run_krait("convert", "-i", path, "--event", "waiting-tasks", "-o", folder + "/x.folded")
    found = folded(folder + "/x.folded")
    for stack, cnt in EXPECTED.items():
        tap.equal(found.get(stack), cnt * taken, "%s: %d at %s" % (name, cnt, stack[-1]), found)
    # Its own task runs at times.
    others = sum(found.values()) - taken * sum(EXPECTED.values())
    tap.ok(0 <= others <= taken, name + ": and main", found)
    done = h.run_krait("report", "-i", path)
    tap.ok("events of waiting-tasks" in done.stdout and "CPU time" in done.stdout, name + ": beside CPU time", done.stdout)


def main():
    tap = h.Tap()
    h.need_bpf()
    pythons = [p for p in h.interpreters(tap, each_class=True) if p.minor in ("3.14", "3.15")]
    for python in pythons:
        check(tap, python)
    for python in pythons[:1]:
        check_names(tap, python)
        check_eager(tap, python)
        check_within(tap, python)
    for rate in ("0", "11", "x", "nan"):
        tap.equal(h.run_krait("record", "--tasks=" + rate, "-p", "1").returncode, 2, "--tasks=%s is refused" % rate)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
