#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait dump --greenlets lists what greenlet itself reports for its greenlets (gr_frame), each below its parent,
before and after greenlet relinked their frames for that; also thousands of them; and for a program that switches
all the time, stacks that each of them really has. KRAIT_GREENLETS names more folders with the package:
3.12=/tmp/x,3.8=/tmp/y."""
import glob
import json
import os
import re
import subprocess
import time

import harness as h

MANY = 5000
# Where a greenlet of the program's churn can be, by its outermost function.
CHURN = {
    "endless_a": {("endless_a", "endless_a2")},
    "endless_b": {("endless_b", "endless_b2", "endless_b3"), ("endless_b", "<listcomp>", "endless_b2", "endless_b3")},
}


def krait(*args):
    return subprocess.run([h.KRAIT, "dump", "--greenlets", *args], capture_output=True, encoding="utf-8",
                          timeout=h.PATIENCE_SECS)


def take(pid):
    r = krait("--json", str(pid))
    return json.loads(r.stdout)[0] if r.stdout else {"error": r.stderr}


def short(frames):
    """Returns [function, line] with the last part of the qualified name."""
    return [[f["name"].rsplit(".", 1)[-1], f["line"]] for f in frames]


def with_greenlet():
    """Returns interpreters, each with a folder that has the package."""
    found = []
    more = [p.split("=") for p in os.environ.get("KRAIT_GREENLETS", "").split(",") if p]
    # Fetched by scripts/wheels for make check-all.
    wheels = os.path.join(h.CACHE, "wheels")
    more.append(("3.12", os.path.join(wheels, "venv/lib/python3.12/site-packages")))
    more += [(path.rsplit("-", 1)[1], path) for path in glob.glob(wheels + "/g*-3.*[0-9]") if h.is_all()]
    for python in h.all_interpreters():
        folder = "/opt/krait/greenlet"
        if python.kind == "exe" and os.path.isdir(python.root.rstrip("/") + folder) and python.minor in ("3.14", "3.15"):
            found.append((python, folder))
        found += [(python, path) for minor, path in more
                  if python.minor == minor and python.kind in ("exe", "shared") and os.path.isdir(python.root.rstrip("/") + path)]
    return found


def start(python, folder, *args):
    inside = python.command(python.target("greentree.py"), *args)
    command = ["/usr/bin/env", "PYTHONPATH=" + folder]
    if inside[0] == "chroot":
        return h.Target(inside[:2] + command + inside[2:])
    return h.Target(command + inside)


def ask(target, word):
    target.process.stdin.write(word.encode() + b"\n")
    return h.read_line(target.process.stdout, time.monotonic() + h.PATIENCE_SECS)


def by_id(document):
    return {g["id"]: g for g in document.get("greenlets", ())}


def check_tree(tap, name, target):
    before, truth, after = take(target.pid), json.loads(ask(target, "look")), take(target.pid)
    for when, got in ("", before), (" once more", after):
        greenlets = by_id(got)
        stacks = sorted(short(g["frames"]) for g in greenlets.values() if g["thread"] == target.pid and g["frames"])
        # The one within nested() is missing from the program's own list.
        want = sorted(truth + [[["straight", line_of("straight")], ["leaf", line_of("hub.switch()")]]])
        tap.equal(stacks, want, name + ": what gr_frame says" + when, got.get("error"))
    hubs = [g for g in greenlets.values() if g["name"] == "Hub"]
    tap.ok(len(hubs) == 1 and hubs[0]["running"] and len(hubs[0]["children"]) == len(truth), name + ": the hub runs", hubs)
    roots = [g for g in greenlets.values() if hubs[0]["id"] in g["children"]]
    tap.ok(len(roots) == 1 and roots[0]["name"] == "greenlet (main)" and short(roots[0]["frames"])[-1][0] == "<module>",
           name + ": below the main one", roots)
    inner = [greenlets[c] for g in greenlets.values() if g["frames"] and short(g["frames"])[0][0] == "nested" for c in g["children"]]
    tap.ok([short(g["frames"])[0][0] for g in inner] == ["straight"], name + ": one below another", inner)
    tap.equal(sum(not g["begun"] for g in greenlets.values()), 1, name + ": one has not begun")
    tap.equal(len({g["thread"] for g in greenlets.values()}), 2, name + ": in two threads")
    tap.ok(got["whole"] and not any(g["changed"] for g in greenlets.values()) and len(greenlets) == len(truth) + 5, name + ": nothing else", len(greenlets))


def line_of(text):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../targets/greentree.py"), encoding="utf-8") as f:
        return next(i for i, line in enumerate(f, 1) if line.startswith("    " + text) or line == "def %s():\n" % text) + \
            (text == "straight")


def check_churn(tap, name, target):
    """Nothing stands still: a stack is one of those, or it is marked."""
    tap.equal(ask(target, "churn"), "CHURN\n", name + ": it switches all the time")
    seen, looks, wrong = 0, 0, []
    # Most stacks that are read while they run are cut somewhere: repeat until we have seen some whole.
    while looks < (20 if h.is_all() else 8) or (seen < 3 and looks < 100):
        looks += 1
        r = krait(str(target.pid))
        for mark, frames in trees(r.stdout):
            if not frames or frames[0] not in CHURN:
                continue
            seen += 1
            if tuple(frames) not in CHURN[frames[0]] and "[changed while it was read]" not in mark:
                wrong.append(frames)
    tap.ok(seen and not wrong, name + ": no stack that it never had, of %d" % seen, wrong)


def trees(text):
    """Returns (head, functions) for each greenlet of a tree."""
    found = []
    for line in text.splitlines():
        match = re.match(r"^[│ ]*(?:├──|└──) (.*)$", line)
        if match and match[1].startswith("(G) "):
            found.append((match[1], []))
        elif match and found:
            found[-1][1].append(match[1].split()[0].rsplit(".", 1)[-1])
    return found


def main():
    h.need_bpf()
    tap = h.Tap()
    found = with_greenlet()
    if not found:
        tap.skip("dump --greenlets", "no package python3-greenlet")
    for python, folder in found:
        name = "%s, %s" % (python.name, os.path.basename(folder))
        with start(python, folder) as target:
            check_tree(tap, name, target)
            check_churn(tap, name, target)
    for python, folder in found[:1]:
        with start(python, folder, str(MANY)) as target:
            begin = sum(os.times()[2:4])
            got = take(target.pid)
            tap.equal(len(got.get("greenlets", ())), MANY + 13, "%d greenlets" % MANY, got.get("error"))
            took = sum(os.times()[2:4]) - begin
            tap.ok(took < 15, "in seconds of CPU time", took)
    for python in h.interpreters(tap)[:1]:
        with h.start(python, "asleep.py") as target:
            r = krait(str(target.pid))
            tap.ok("greenlet was never imported" in r.stdout and r.returncode == 3, "a program without greenlet", r.stdout)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
