#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""An asyncio program's stack is that of its tasks: each function of tests/targets/tasks.py that burns CPU is known to
be at the end of one chain, however the tasks await each other. At 10 kHz no sample contradicts that; the capture
agrees with the recording; on request the event loop's own frames appear."""
import concurrent.futures
import contextlib
import re
import subprocess

import harness as h

FIRST = (3, 14)
SECONDS = 2 if h.is_all() else 0.7
# What precedes "leaf_NAME", counting only the program's own functions.
CHAINS = {
    "plain": ["main", "plain", "work", "step"],
    "group": ["main", "group", "work", "step"],
    "gather": ["main", "gather", "work", "step"],
    "wait": ["main", "wait", "work", "step"],
    "shield": ["main", "shield", "work", "step"],
    "timeout": ["main", "timeout", "work", "step"],
    "agen": ["main", "agen", "numbers", "step"],
    "shared": ["main", "shared", "shared_by", "[the first of 3 tasks that await it]", "step"],
    "eager": ["main", "eager", "eager_step"],
    # A task that starts eagerly is on the stack of its creator, which is below those that await that one.
    "eager_create": ["main", "eager_create", "boss", "start_create", "eager_work", "eager_first"],
    "eager_option": ["main", "eager_option", "boss", "start_option", "eager_first"],
    "eager_group": ["main", "eager_group", "boss", "start_group", "eager_work", "eager_first"],
    "eager_gather": ["main", "eager_gather", "boss", "start_gather", "eager_work", "eager_first"],
    "eager_wait": ["main", "eager_wait", "boss", "start_wait", "eager_work", "eager_first"],
    "eager_shield": ["main", "eager_shield", "boss", "start_shield", "eager_work", "eager_first"],
    "eager_timeout": ["main", "eager_timeout", "boss", "start_timeout", "eager_work", "eager_first"],
    "eager_agen": ["main", "eager_agen", "boss", "start_agen", "eager_numbers", "eager_first"],
    "eager_shared": ["main", "eager_shared", "shared_by", "[the first of 3 tasks that await it]", "boss", "start_shared",
                     "eager_first"],
    "eager_watched": ["main", "eager_watch", "boss", "start_watched", "eager_watched"],
    "eager_quick": ["main", "eager_quick", "boss", "start_quick", "eager_quick_step"],
    "eager_callback": ["eager_callback.<locals>.call_eager", "eager_first"],
    "callback": ["callback.<locals>.call"],
    "storm": ["main", "storm", "victim"],
    "many": ["main", "many", "work", "step"],
    # The other loop's tasks follow the frames of the task that runs it.
    "nested": ["main", "nested", "run_within", "work", "step"],
    "within": ["main", "within", "host", "run_within", "within_work", "work", "step"],
    "within_setup": ["main", "within_setup", "host", "run_within", "inner_setup"],
    "within_callback": ["main", "within_setup", "host", "run_within", "inner_setup.<locals>.call"],
    "within_twice": ["main", "within_two", "host", "run_within", "within_twice", "twice", "run_within", "work", "step"],
    "within_eager": ["main", "within_eager", "host", "run_within", "inner_eager", "eager_first"],
    "within_back": ["main", "within", "host"],
}
# Likewise on the thread's own stack, where that is not only the last one.
EARLY = {leaf: chain[chain.index("boss"):] for leaf, chain in CHAINS.items() if "boss" in chain}
EARLY |= {"eager_callback": CHAINS["eager_callback"], "eager": CHAINS["eager"], "nested": ["main", "nested", "run_within", "step"]}
EARLY |= {leaf: [f for f in chain[2:] if f not in ("work", "within_work", "within_twice")] for leaf, chain in CHAINS.items()
          if leaf.startswith("within")}
# Who runs in no task keeps the frames of the loop.
CALLED = ("leaf_callback", "leaf_within_callback")
LATE = "[tasks not known yet]"
TORN = "[truncated: tasks that were changing]"
LOOP = ("BaseEventLoop.run_forever", "BaseEventLoop._run_once", "Handle._run")


def version(python):
    return tuple(int(part) for part in python.minor.split("."))


def stacks(text):
    """Returns [(own functions and marks, all frames, count)]."""
    found = []
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        frames = stack.split(";")
        own = [re.sub(r" \(tasks\.py\)$", "", f) for f in frames if f.endswith("(tasks.py)") or f.startswith("[the first")]
        found.append((own, frames, int(count)))
    return found


def judge(found):
    """Returns (right, from before the tasks were known, wrong): samples; wrong as a list of stacks. Those from before
    are marked."""
    right, early, wrong = 0, 0, []
    for own, frames, count in found:
        leaf = next((f for f in own if f.startswith("leaf_")), None)
        # Tasks that are just being entered or left have their callers but no leaf.
        if "main" in own and own[:3] != ["<module>", "serve", "main"]:
            wrong.append((frames, count))
        elif any(f.startswith("start_") or f == "host" for f in own) and "main" not in own and not {LATE, TORN} & set(frames):
            wrong.append((frames, count))
        if not leaf:
            continue
        chain = own[2:own.index(leaf)]
        if leaf == "leaf_within_back" and chain[:1] == ["main"]:
            chain[1] = "within"  # several have it
        has_loop = any(f.split(" ")[0] in LOOP for f in frames)
        if chain == CHAINS[leaf[5:]] and has_loop == (leaf in CALLED) and (LATE not in frames or leaf in CALLED):
            right += count
        elif LATE in frames and has_loop and leaf != "leaf_callback" and chain == EARLY.get(leaf[5:], CHAINS[leaf[5:]][-1:]):
            early += count
        else:
            wrong.append((frames, count))
    return right, early, wrong


def convert(path, to):
    return subprocess.run([h.KRAIT, "convert", "-f", to, "-o", "-", "-i", path], capture_output=True,
                          encoding="utf-8", timeout=h.PATIENCE_SECS).stdout


def has_tasks(script):
    """For each sample of a task's leaf in order of time: tells whether it is below the tasks and not below the
    loop."""
    found = []
    for sample in script.split("\n\n"):
        frames = re.findall(r"^\t *[0-9a-f]+ (\S+)\+0x", sample, re.M)
        if any(f.startswith("leaf_") and f not in CALLED for f in frames):
            found.append(not any(f in LOOP for f in frames))
    return found


def check(tap, python, *args):
    name = " ".join((python.name,) + args)
    r = h.record("-F", "9973", *args, outputs=("x.folded", "x.data"), lines=False,
                 command=python.command(python.target("tasks.py"), str(SECONDS)))
    tap.equal(r.code, 0, name + ": exit code", r.err)
    with open(r.path("x.folded"), encoding="utf-8") as f:
        text = f.read()
    right, early, wrong = judge(stacks(text))
    # A frame that is unreadable for a moment (the kernel is moving its page) ends a stack with a mark.
    cut = [w for w in wrong if any(f.startswith("[truncated") for f in w[0])]
    wrong = [w for w in wrong if w not in cut]
    tap.ok(not wrong, name + ": no chain that is not", wrong[:3])
    tap.ok(sum(n for _, n in cut) <= 2 + right / 1000, name + ": hardly one is cut", cut[:3])
    # How long krait takes to learn the tasks depends on the other load; after that it knows them.
    known = has_tasks(convert(r.path("x.data"), "script"))
    later = known[known.index(True):] if True in known else []
    tap.ok(right > 10 * len(CHAINS) and later.count(True) > 100 * later.count(False),
           name + ": all have theirs once they are known", (right, early, len(later), later.count(False)))
    seen = {f for own, _, _ in stacks(text) for f in own if f.startswith("leaf_")}
    tap.equal(seen, {"leaf_" + case for case in CHAINS}, name + ": every way to await was met")
    chains = re.findall(r"^tasks\.(chains|cut) (\d+)$", r.err, re.M)
    late = sum(count for _, frames, count in stacks(text) if LATE in frames)
    tap.ok(("late", str(late)) in re.findall(r"^tasks\.(late) (\d+)$", r.err, re.M) and late >= early,
           name + ": those of before are counted", late, early, r.err)
    tap.ok(dict(chains).get("chains", "0") != "0", name + ": chains are counted", r.err)
    tap.equal(sorted(convert(r.path("x.data"), "folded").splitlines()), sorted(text.splitlines()), name + ": so does the capture")


def check_modes(tap, python):
    def record(option):
        r = h.record("-F", "997", "--no-native", option, outputs=("x.folded",), lines=False,
                     command=python.command(python.target("tasks.py"), str(SECONDS / 2), "plain"))
        with open(r.path("x.folded"), encoding="utf-8") as f:
            return [s for s in stacks(f.read()) if "leaf_plain" in s[0]]

    both = [s for s in record("--async=both") if "main" in s[0]]
    tap.ok(both and all(any(f.startswith(LOOP[1]) for f in frames) for _, frames, _ in both), "both: the loop's frames stay",
           both[:2])
    named = [" ".join(frames) for own, frames, _ in record("--task-names") if "main" in own]
    tap.ok(named and all(re.search(r" \[task Task-1\] main .* \[task Task-\d+\] work .* \[task Task-\d+\] step ", s)
                         for s in named), "--task-names: each task has its own", named[:2])
    alone = record("--no-async")
    tap.ok(alone and all("main" not in own for own, _, _ in alone), "--no-async: the thread's own stack", alone[:2])


def check_top(tap, python):
    """krait top shows the same stacks as soon as it knows the tasks. Two look at one target at once."""
    def show(args):
        return h.run_krait("top", "--batch", "-n", "4", "-i", "500ms", "-r", "997", "--view", "tree", "-l", "0", *args, "-p",
                           str(target.pid))

    cases = ((), ("--no-async",))
    with h.start(python, "tasks.py", "60", "plain") as target, concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
        for args, r in zip(cases, pool.map(show, cases)):
            rows = re.findall(r"^[ .\d]* [ +-]*([\w.]+) +(?:tasks|asyncio/events)\.py:", r.stdout, re.M)
            chain = ["main", "plain", "work", "step", "leaf_plain"]
            found = any(rows[i:i + len(chain)] == chain for i in range(len(rows)))
            tap.ok(found != bool(args) and (found or "Handle._run" in rows), "%s: krait top %s" % (python.name, " ".join(args)),
                   r.stdout[-3000:], r.stderr)


def check_attached(tap, python):
    """In a process that already exists, krait knows the tasks before the first sample."""
    with h.start(python, "tasks.py", "60", "plain") as target:
        r = h.record_work(target.pid, 0.3, "-F", "997", lines=False)
    late = re.search(r"^tasks\.late (\d+)$", r.err, re.M)
    tap.ok(r.samples() > 100 and late and late[1] == "0", python.name + ": none is of before it was known", late and late[0],
           r.samples(), r.err[-300:])


def check_old(tap, pythons):
    """A user who asks for tasks where none are possible is told so, by every command; nobody else is."""
    with contextlib.ExitStack() as stack:
        targets = [stack.enter_context(h.start(python, "asleep.py")) for python in pythons]
        pids = ",".join(str(target.pid) for target in targets)
        words = r"need CPython 3\.14 or later: %d process(es)? with an older one \((%s)\) ha(s|ve) " % (
            len(targets), "|".join(re.escape(python.version) for python in pythons))
        name = " ".join(python.minor for python in pythons)
        for args in (("--async=tasks",), ("--async=both",), ("--task-names",), ("--tasks",), ()):
            r = h.run_krait("record", "-F", "97", "-d", "300ms", "-p", pids, *args, "-o", "/dev/null", "-f", "folded")
            said = re.search(words, r.stderr) if args else "need CPython 3.14" not in r.stderr
            tap.ok(said, "%s: record %s" % (name, " ".join(args)), r.stderr)
        for python, target in zip(pythons, targets):
            r = subprocess.run([h.KRAIT, "dump", "--tasks", str(target.pid)], capture_output=True, encoding="utf-8",
                               timeout=h.PATIENCE_SECS)
            tap.ok("that needs CPython 3.14 or 3.15" in r.stdout and r.returncode == 3, python.name + ": dump --tasks", r.stdout)


def main():
    h.need_bpf()
    tap = h.Tap()
    new = [p for p in h.interpreters(tap, each_class=True) if version(p) >= FIRST]
    for python in new:
        check(tap, python)
    for python in new[:1]:
        check(tap, python, "--no-native")
        check_modes(tap, python)
        check_attached(tap, python)
        check_top(tap, python)
    old = {p.minor: p for p in h.all_interpreters() if (3, 8) <= version(p) < FIRST}
    if old:
        check_old(tap, list(old.values()))
    if not new:
        tap.skip("tasks", "no CPython 3.14 or later")
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
