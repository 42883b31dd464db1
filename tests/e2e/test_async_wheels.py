#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""uvloop and anyio use asyncio's tasks, so stacks are those of tasks. trio has its own tasks, so its samples have the
thread's own stack, without a mark. gevent's stacks begin with main and its hub, and krait dump --greenlets lists
those that wait. Libraries as PyPI ships them, on the 3.14 that uv installs; gevent on all other versions, too.
Part of make check-all, which fetches them (scripts/wheels)."""
import json
import os
import re
import shutil
import time

import harness as h

WHEELS = os.path.join(h.CACHE, "wheels")
PYTHON = os.path.join(WHEELS, "uv-3.14.6/bin/python3")
SECONDS = 2
CHAIN = ["main", "boss", "work", "leaf"]


def why_missing():
    if not h.is_all():
        return "only in make check-all"
    missing = [f for f in ("uv-3.14.6", "async") if not os.path.exists(os.path.join(WHEELS, f, "recipe"))]
    return "not there (scripts/wheels): " + ", ".join(missing) if missing else ""


def start(kind, seconds, python=None, folder=None):
    if python:
        inside = python.command(python.target("asyncs.py"), kind, str(seconds))
        command = ["/usr/bin/env", "PYTHONPATH=" + folder]
        return h.Target(inside[:2] + command + inside[2:] if inside[0] == "chroot" else command + inside)
    env = dict(os.environ, PYTHONPATH=os.path.join(WHEELS, "async"))
    return h.Target([PYTHON, "-B", os.path.join(h.TARGETS, "asyncs.py"), kind, str(seconds)], env)


def own(frames):
    """Returns the program's own functions, by the last part of their names."""
    return [f.split(" (")[0].rsplit(".", 1)[-1] for f in frames if f.endswith("(asyncs.py)")]


def record(kind, *where):
    with start(kind, 60, *where) as target:
        time.sleep(0.5)
        r = h.record_work(target.pid, SECONDS, "-F", "4999", lines=False)
    return r, [(frames, own(frames), n) for frames, n in r.stacks if "leaf" in own(frames)]


def check_tasks(tap, kind):
    """Expects the chain without the loop; while a task begins or ends, its own functions may be missing at the
    end."""
    r, found = record(kind)
    # Until krait knows where the tasks are, it says so.
    found = [f for f in found if "[tasks not known yet]" not in f[0]]
    wrong = [(frames, n) for frames, names, n in found if names[-4:] != CHAIN]
    loop = [(frames, n) for frames, _, n in found if any(re.match(r"(BaseEventLoop|Handle)\.", f) for f in frames)]
    tap.ok(len(found) and not wrong and not loop, "%s: the chain of tasks, %d samples" % (kind, sum(n for *_, n in found)),
           h.show(wrong or loop), r.err[-500:])


def check_own(tap, kind, below):
    """Expects the thread's own stack: the running task below its loop, no mark about tasks."""
    r, found = record(kind)
    wrong = [(frames, n) for frames, names, n in found
             if names[-2:] != CHAIN[-2:] or not any(re.search(below, f) for f in frames) or any(f.startswith("[task") for f in frames)]
    tap.ok(len(found) and not wrong, "%s: the thread's own stack, %d samples" % (kind, sum(n for *_, n in found)),
           h.show(wrong), r.err[-500:])


def check_gevent(tap, name, *where):
    r, found = record("gevent", *where)
    found = [f for f in found if "[greenlets not known yet]" not in f[0]]
    torn = sum(n for frames, _, n in found if "[truncated: greenlets that were changing]" in frames)
    # Up to 3.10, functions have no qualified names.
    wrong = [(frames, n) for frames, names, n in found
             if names[-2:] != CHAIN[-2:] or "main" not in names or not any(re.match(r"(Hub\.)?run \(.*hub\.py\)", f) for f in frames)]
    tap.ok(len(found) and sum(n for _, n in wrong) <= torn, name + ": main, its hub, and the greenlet that runs",
           h.show(wrong), r.err[-500:])
    with start("gevent", 0.2, *where) as target:
        h.read_line(target.process.stdout, time.monotonic() + h.PATIENCE_SECS)
        time.sleep(0.3)
        done = h.run_krait("dump", "--greenlets", "--json", str(target.pid))
    found = {g["id"]: g for g in json.loads(done.stdout)[0].get("greenlets", ())}
    hubs = [g for g in found.values() if g["name"] == "Hub"]
    # The hub itself waits for events in C: it is the running one.
    tap.ok(len(hubs) == 1 and hubs[0]["running"], name + ": its hub", done.stdout[:2000], done.stderr)
    children = [found[c] for g in hubs for c in g["children"]]
    tap.equal(sum(any(f["name"].endswith("wait") and f["file"].endswith("asyncs.py") for f in g["frames"]) for g in children), 5,
              name + ": five that wait")
    roots = [g for g in found.values() if any(h_["id"] in g["children"] for h_ in hubs)]
    tap.ok(len(roots) == 1 and "main" in [f["name"].rsplit(".", 1)[-1] for f in roots[0]["frames"]], name + ": below main", roots)


def check_gevents(tap):
    """Checks each interpreter for which scripts/wheels has gevent."""
    check_gevent(tap, "gevent on 3.14")
    for python in h.interpreters(tap):
        folder = os.path.join(WHEELS, "gevent-" + python.minor)
        if not os.path.exists(os.path.join(folder, "recipe")) or python.free_threaded:
            continue
        scratch = None if python.root == "/" else python.scratch()
        if scratch:
            folder = shutil.copytree(folder, os.path.join(scratch, "gevent"))
        try:
            check_gevent(tap, "gevent on " + python.name, python, python.inside(folder))
        finally:
            if scratch:
                shutil.rmtree(scratch)


def main():
    h.need_bpf()
    tap = h.Tap()
    why = why_missing()
    if why:
        tap.skip("asyncio's relatives", why)
    else:
        check_tasks(tap, "uvloop")
        check_tasks(tap, "uvloop-eager")
        check_tasks(tap, "anyio")
        check_own(tap, "trio", r"^unrolled_run \(_run.py\)")
        check_own(tap, "anyio-trio", r"^unrolled_run \(_run.py\)")
        check_gevents(tap)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
