#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""A greenlet's stack begins with its parents: each function of tests/targets/greenwork.py that burns CPU ends exactly
one chain, which the program prints. At 10 kHz no sample contradicts it; the capture agrees with the recording; on
request, a greenlet has only its own stack. A program that starts using greenlets late has few samples from before
krait knew of them, one that only imports greenlet has none, and with greenlet 1.x each has a mark. KRAIT_GREENLETS
names more folders with the package, as for test_dump_greenlets.py."""
import json
import os
import re
import subprocess
import tempfile
import time

import harness as h
import test_opcodes as opcodes
from test_dump_greenlets import with_greenlet

SECONDS = 2 if h.is_all() else 0.35
LATE = "[greenlets not known yet]"
UNKNOWN = "[parents of greenlets not known]"
# Between two greenlets nobody can tell which parents apply.
TORN = "[truncated: greenlets that were changing]"


def start(python, folder, script="greenwork.py", *args):
    inside = python.command(python.target(script), *args)
    command = ["/usr/bin/env", "PYTHONPATH=" + folder]
    return h.Target(inside[:2] + command + inside[2:] if inside[0] == "chroot" else command + inside)


def truth(target):
    """Returns chains by the function at their end."""
    said, end = {}, time.monotonic() + h.PATIENCE_SECS
    while True:
        line = h.read_line(target.process.stdout, end)
        if line == "ALL\n":
            return said
        leaf, chain = json.loads(line)
        said["leaf_" + leaf] = chain


def last(frame):
    return frame.split(" (")[0].rsplit(".", 1)[-1]


def own(frames, script="greenwork.py"):
    """Returns the program's own functions."""
    return [last(f) for f in frames if f.endswith("(%s)" % script)]


def judge(stacks, said):
    """Counts samples by the function at their end: right ones, and those from before the greenlets were known; wrong
    and torn ones as stacks."""
    right, late, torn, wrong = {}, 0, [], []
    for frames, n in stacks:
        names = own(frames)
        leaf = next((f for f in names if f.startswith("leaf_")), None)
        if LATE in frames:
            late += n
        elif TORN in frames:
            torn.append((frames, n))
        elif leaf and names[:names.index(leaf)] == said[leaf]:
            right[leaf] = right.get(leaf, 0) + n
        elif leaf or not any(names == chain[:len(names)] for chain in said.values()):
            wrong.append((frames, n))
    return right, late, torn, wrong


def convert(path):
    return subprocess.run([h.KRAIT, "convert", "-f", "folded", "-o", "-", "-i", path], capture_output=True, encoding="utf-8",
                          timeout=h.PATIENCE_SECS).stdout


def check(tap, name, target, said, *args):
    name = " ".join((name, *args))
    r = h.record_work(target.pid, SECONDS, "-F", "9973", *args, outputs=("x.folded", "x.data"), lines=False)
    right, late, torn, wrong = judge(r.stacks, said)
    total, stats = sum(right.values()), dict(re.findall(r"^greenlets\.(\w+) (\d+)$", r.err, re.M))
    cut = [w for w in wrong if any(f.startswith("[truncated") for f in w[0])]
    wrong = [w for w in wrong if w not in cut]
    tap.ok(not wrong, "%s: no chain that is not, of %d samples" % (name, total), wrong[:3])
    tap.ok(total > 100 * SECONDS and set(right) == set(said), name + ": all of them were met", total, right, r.err)
    tap.ok(sum(n for _, n in torn) <= 2 + total / 20, "%s: %d between two" % (name, sum(n for _, n in torn)), torn[:3])
    tap.ok(sum(n for _, n in cut) <= 2 + total / 1000, name + ": hardly one is cut", cut[:3])
    tap.equal(late, int(stats.get("late", -1)), name + ": those of before are counted", r.err)
    tap.ok(int(stats.get("chains", 0)) >= total - right["leaf_main"] and int(stats.get("cut", 0)) >= sum(n for _, n in torn),
           name + ": chains are counted", stats)
    with open(r.path("x.folded"), encoding="utf-8") as f:
        tap.equal(sorted(convert(r.path("x.data")).splitlines()), sorted(f.read().splitlines()), name + ": so does the capture")


DIS = """
import dis, json, sys
found = []
def codes(code):
    yield code
    for const in code.co_consts:
        if hasattr(const, "co_code"):
            yield from codes(const)
with open(sys.argv[1]) as f:
    top = compile(f.read(), sys.argv[1], "exec")
for code in codes(top):
    lines = {at: line for start, end, line in code.co_lines() for at in range(start, end, 2)}
    found += [(lines.get(i.offset), i.offset, i.opname) for i in dis.get_instructions(code)]
print(json.dumps(found))
"""


def check_opcodes(tap, name, python, target):
    """Instructions of parents' frames, too: each is one that dis has there, apart from its form; few are
    unknown."""
    done = subprocess.run(python.command("-c", DIS, python.target("greenwork.py")), capture_output=True, encoding="utf-8",
                          timeout=h.PATIENCE_SECS)
    truth = {}
    for line, offset, op in json.loads(done.stdout or "[]"):  # two functions may share an offset on a line: accept either
        truth.setdefault((line, offset), set()).add(op)
    r = h.record_work(target.pid, SECONDS / 2, "-F", "9973", "--opcodes", outputs=("x.data",), lines=False)
    _, rows, said = opcodes.annotate(r.path("x.data"), what="greenwork.py")
    bases = {row[0]: row[1] for row in opcodes.tables()[int(python.minor.split(".")[1])].values()}
    wrong = {key: value for key, value in rows.items() if bases.get(key[2], key[2]) not in truth.get(key[:2], ())}
    tap.ok(len(rows) > 60 and not wrong, name + ": %d instructions, each where dis has it" % len(rows), list(wrong.items())[:8],
           [(key[:2], sorted(truth.get(key[:2], ()))) for key in list(wrong)[:8]], said.stderr[-500:])
    # Frames that wait: the time below such a call is in its total, not in its self.
    calls = {key[0] for key in rows if "CALL" in key[2]}
    with open(os.path.join(h.TARGETS, "greenwork.py"), encoding="utf-8") as f:
        switches = {n for n, line in enumerate(f, 1) if re.match(r" +(g|one|two)\.switch\(\)$", line)}
    tap.ok(len(switches & calls) >= 3, name + ": parents are at their calls of switch()", sorted(switches), sorted(calls))
    text = h.run_krait("report", "--by", "opcode", "-n", "0", r.path("x.data")).stdout
    unknown = re.search(r"^ *([\d.]+%)? +([\d.]+)% .*\[opcode not known\]", text, re.M)
    share = float(unknown[2]) - float((unknown[1] or "0%")[:-1]) if unknown else 0
    tap.ok(share < 1, name + ": in %.1f %% that of a parent is not known" % share, unknown and unknown[0])


def check_off(tap, name, target):
    r = h.record_work(target.pid, 0.3, "-F", "997", "--no-greenlets", lines=False)
    found = [own(frames) for frames, _ in r.stacks if "leaf_plain" in own(frames)]
    tap.ok(found and all(f == ["plain", "leaf_plain"] for f in found) and "greenlets." not in r.err,
           name + ": --no-greenlets: its own", found[:3], r.err[-500:])


def check_without(tap, python):
    """A process that has not mapped greenlet's module has no greenlets, even before krait has looked."""
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    h.folders.append(folder)
    path = os.path.join(folder, "short.folded")
    done = h.run_krait("record", "-q", "-F", "5000", "-o", path, "--", *python.command("-c", "import json, decimal, argparse"))
    with open(path, encoding="utf-8", errors="surrogateescape") as f:
        text = f.read()
    tap.ok(done.returncode == 0 and "<module>" in text and LATE not in text,
           "%s: a command of a moment has no mark of greenlets" % python.name, done.stderr, text[:1000])


def check_late(tap, name, python, folder):
    """By then krait looks once a second, unless a sample asks for a look."""
    with start(python, folder, "greenlate.py", "late", "0.75") as target:
        # It counts its own CPU time until it begins; krait's second is one of the wall clock.
        with h.part_time(target, 0.5):
            r = h.record_work(target.pid, 1.25, "-F", "997", lines=False)
    below = [(frames, n) for frames, n in r.stacks if "task" in own(frames, "greenlate.py")]
    late = sum(n for frames, n in below if LATE in frames)
    bare = [(frames, n) for frames, n in below if LATE not in frames and own(frames, "greenlate.py")[:2] != ["<module>", "serve"]]
    total = sum(n for _, n in below)
    tap.ok(total > 200 and late <= total / 3, "%s: it begins late: %d of %d not known yet" % (name, late, total), r.err[-600:])
    tap.ok(not bare, name + ": no other is without its parents", bare[:3])


def check_none(tap, name, python, folder):
    """The thread's first function is not one that threads usually begin with: until krait has looked, it may be a
    greenlet's."""
    with start(python, folder, "greenlate.py", "none", "1") as target:
        time.sleep(0.3)
        with h.part_time(target, 0.5):
            r = h.record_work(target.pid, 0.75, "-F", "997", lines=False)
    late = sum(n for frames, n in r.stacks if LATE in frames)
    tap.ok(r.samples() > 200 and late <= r.samples() / 3, "%s: nobody uses it: %d of %d marked" % (name, late, r.samples()),
           h.show(r.stacks))


def check_unknown(tap, name, target):
    """greenlet 1.x: each greenlet has its own stack and a mark that says so."""
    r = h.record_work(target.pid, 1.5, "-F", "1999", lines=False)
    inner = [(frames, n) for frames, n in r.stacks if own(frames)[:1] not in ([], ["<module>"])]
    bare = [(frames, n) for frames, n in inner
            if UNKNOWN not in frames and LATE not in frames and not any("_bootstrap" in f for f in frames)]
    unknown, stats = sum(n for frames, n in inner if UNKNOWN in frames), re.search(r"^greenlets.unknown (\d+)$", r.err, re.M)
    tap.ok(inner and not bare, name + ": each says that it has no parents", h.show(bare))
    tap.ok(unknown and stats and int(stats[1]) >= unknown, name + ": and is counted: %d" % unknown, r.err[-600:])


def main():
    h.need_bpf()
    tap = h.Tap()
    for python in h.interpreters(tap):
        check_without(tap, python)
    found = with_greenlet()
    if not found:
        tap.skip("parents of greenlets", "no package python3-greenlet")
    for python, folder in found:
        name = "%s, %s" % (python.name, folder.rsplit("/", 1)[-1])
        python.refresh_targets()
        with start(python, folder) as target:
            said = truth(target)
            if "/greenlet1-" in folder:
                check_unknown(tap, name, target)
                continue
            check(tap, name, target, said)
            check(tap, name, target, said, "--native")
            check_off(tap, name, target)
            if int(python.minor.split(".")[1]) >= 11:
                check_opcodes(tap, name, python, target)
        # What krait looks for, and when, hardly depends on the version.
        if h.is_all() or python is found[0][0]:
            check_late(tap, name, python, folder)
            check_none(tap, name, python, folder)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
