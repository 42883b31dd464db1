#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Five levels of C that calls Python that calls C, each hard to unwind in its own way, in a library without frame
pointers: alloca, signal handlers on the same and on another stack, longjmp, fibres (ucontext). At 10 kHz, each
native frame is at its place among Python's in every sample; frames hidden by a fibre have a mark."""
import collections
import os
import re
import shutil
import subprocess

import harness as h

RATE = "9973"
# The order of the ways in each tower, a letter per level; the last tower has no fibre.
TOWERS = ("asojf", "fjosa", "osjfa", "jafos", "sajoa")
WAYS = {"a": ["by_alloca"], "s": ["by_signal", "on_signal"], "o": ["by_other_stack", "on_other_stack"],
        "j": ["by_jump"], "f": ["by_fibre", "in_fibre"]}
LEVELS = ["level%d" % i for i in range(1, 6)]
MARK = "[truncated]"
NATIVE = {"work", "jump", "call_back", *(f for way in WAYS.values() for f in way)}
# The C library delivers signals and switches contexts; some of its switching code is wrongly described and leads
# nowhere.
BETWEEN = re.compile(r"[\[(](libc\.so|libc-|ld-|linux-vdso|vdso|libpthread)[^()]*[])]$|@plt \(|_\[k\]$|^\[(unknown|bridges_native\.so)\]$|^\[vdso\]")
# Applies there, and in the first instructions of a fibre, where nothing says what the caller was.
CUT_AT_MOST = 0.01


def build(python):
    """Returns a folder with the extension, as this machine sees it; None without a compiler."""
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")
    if not compiler:
        return None
    folder = python.scratch()
    subprocess.check_call([compiler, "-O2", "-fPIC", "-shared", "-fomit-frame-pointer",
                           *(["-DFREE_THREADED"] if python.free_threaded else []),
                           os.path.join(h.TARGETS, "bridges.c"), "-o", os.path.join(folder, "bridges_native.so")])
    return folder


def whole_stacks(tower):
    """Returns what can be running from the tower's function on, root first."""
    path, found = ["tower_" + tower], []
    for level, letter in enumerate(tower):
        for function in WAYS[letter]:
            path = path + [function]
            found += [path, path + ["work"]]
        if letter == "j":
            found += [path + ["jump"], path + ["jump", "work"]]
        path = path + ["call_back"]
        found.append(path)
        path = path + [LEVELS[level]]
        found += [path, path + ["spin"]]
    return [["tower_" + tower]] + found


def python_part(stack):
    return [f for f in stack if f not in NATIVE and f != MARK]


def cut_at(stack, i):
    """Returns how krait shows that native callers are unknown from there on, perhaps only for some frames: a frame
    pointer may lead to a caller further down."""
    return {tuple(stack[:k] + python_part(stack[k:i]) + [MARK] + stack[i:]) for k in range(i + 1)}


def legal_stacks():
    """Returns exact stacks, and those that are cut somewhere."""
    exact, cut = set(), set()
    for tower in TOWERS:
        for stack in whole_stacks(tower):
            fibre = stack.index("in_fibre") if "in_fibre" in stack else 0
            exact |= cut_at(stack, fibre) if fibre else {tuple(stack)}
            if fibre:
                # It is about to begin or has just ended: on the fibre's stack, in the C library.
                exact |= cut_at(stack[:fibre], fibre)
            ends = [i for i in range(fibre + 1, len(stack) + 1) if i == len(stack) or stack[i] in NATIVE]
            cut |= {s for i in ends for s in cut_at(stack, i)}
            if fibre:
                below, above = cut_at(stack[:fibre], fibre), stack[fibre:]
                cut |= {b + a for i in ends for a in cut_at(above, i - fibre) for b in below}
    return exact, cut


def plain(frame):
    """Strips the file, and the compiler's suffix for a copy of a function."""
    return re.sub(r"(\.(constprop|isra|part)\.\d+)* \([^()]*\)$", "", frame)


def shown(stack):
    """Returns the stack from the tower's function on, without frames that always lie between; None outside of
    towers."""
    names = [plain(f) for f in stack if not BETWEEN.search(f)]
    at = next((i for i, f in enumerate(names) if f.startswith("tower_")), None)
    return None if at is None else tuple(names[at:])


def check(tap, python, legal):
    folder = build(python)
    if not folder:
        tap.skip(python.name + ": bridges.py", "no C compiler")
        return
    try:
        with h.start(python, "bridges.py", python.inside(folder), *TOWERS) as target:
            r = h.record_work(target.pid, 0.3, "--native", "-F", RATE, lines=False)
    finally:
        shutil.rmtree(folder)
    counts = collections.Counter()
    for stack, n in r.stacks:
        counts[shown(stack)] += n
    counts.pop(None, None)
    judge(tap, python, counts, legal)


def is_old(python):
    """Before 3.11, Python frames have no address on the stack: krait pairs evaluations with them."""
    return int(python.minor.split(".")[1]) < 11


def judge(tap, python, counts, legal):
    exact, cut = legal
    total = sum(counts.values())
    if is_old(python):
        # If a fibre hides some, nothing tells which.
        counts = {s: n for s, n in counts.items() if MARK not in s}
        exact = {s for s in exact if MARK not in s}
    wrong = [(s, n) for s, n in counts.items() if s not in exact and s not in cut]
    tap.ok(total > 1000 and not wrong, "%s: the order is exact in each of %d samples" % (python.name, total),
           h.show(wrong))
    cuts = [(s, n) for s, n in counts.items() if s not in exact and s in cut]
    tap.ok(sum(n for _, n in cuts) <= CUT_AT_MOST * total,
           "%s: hardly one is cut short: %d" % (python.name, sum(n for _, n in cuts)), h.show(cuts))
    deep = {s[0] for s in counts if s[-1] == "spin" and "level4" in s}
    tap.ok(len(deep) >= (4 if not is_old(python) else 1), python.name + ": towers were seen from their top", deep)


GREEN = {("green_%s" % g, *rest) for g in "ab" for rest in ((), ("leaf",))}


def check_greenlets(tap, python):
    """Only its parents are below a greenlet's first function, whatever is on the C stack."""
    name, path = python.name + ": greens.py", "/opt/krait/greenlet"
    if not os.path.isdir(python.root.rstrip("/") + path):
        tap.skip(name, "no package python3-greenlet for it")
        return
    command = ["chroot", python.root, "/usr/bin/env", "PYTHONPATH=" + path, *python.command(python.target("greens.py"))[2:]]
    with h.Target(command) as target:
        r = h.record_work(target.pid, 0.5, "--native", "--no-greenlets", lines=False)
    running = [(s[1:], n) for s, n in r.stacks if any(f.startswith("green_") for f in s) and
               not any(re.search(r"greenlet|truncated|libc|ld-", f) for f in s)]
    wrong = [(s, n) for s, n in running if tuple(map(plain, s)) not in GREEN]
    tap.ok(sum(n for _, n in running) > 100 and not wrong, name + ": a stack begins where its greenlet does", h.show(wrong))
    # While it switches, nothing proves whose stack it is.
    cut = sum(n for s, n in r.stacks if any("truncated" in f and not any("_greenlet" in g for g in s) for f in s))
    tap.ok(cut <= CUT_AT_MOST * r.samples(), name + ": it is whole there", cut, h.show(r.stacks))


def main():
    h.need_bpf()
    tap = h.Tap()
    legal = legal_stacks()
    for python in h.interpreters(tap):
        check(tap, python, legal)
        if python.minor in ("3.14", "3.15"):
            check_greenlets(tap, python)
    tap.done()
    h.cleanup()


if __name__ == "__main__":
    main()
