#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""record --opcodes: what samples say of instructions matches dis on the live code in the target
(tests/targets/opcodes.py), in offset and specialised form, for leaves and callers. Reports and annotations agree;
without the option there is nothing. The name tables match the interpreters, for the standard library's code."""
import functools
import itertools
import json
import os
import re
import shutil
import subprocess

import harness as h

SECONDS = 0.35
ROW = re.compile(r"^ *(?:([\d.]+)% +(\d+))? +(?:([\d.]+)%)? +@(\d+) +(\S+) *(not specialised|specialised|instrumented|jit)?")
LINE = re.compile(r"^[ \d.%]{24} *(\d+)  ")


def version(python):
    return tuple(int(part) for part in python.minor.split("."))


def pairs(text):
    """Returns {(line, offset, name): (self, form)} from annotate --instructions."""
    found, line = {}, 0
    for row in text.splitlines():
        if at := ROW.match(row):
            found[line, int(at[4]), at[5]] = (int(at[2] or 0), at[6] or "")
        elif at := LINE.match(row):
            line = int(at[1])
    return found


def live(document):
    """Returns {(line, offset): names}; if two functions share an offset on a line, both names are accepted."""
    found = {}
    for places in document.values():
        for offset, (line, names) in places.items():
            found.setdefault((line, int(offset)), set()).update(names)
    return found


def annotate(path, *args, what="opcodes.py"):
    done = h.run_krait("annotate", "--instructions", "-C", "1", *args, "-i", path, what)
    return done.returncode, pairs(done.stdout), done


def record(python, *args, env=None):
    with h.start(python, "opcodes.py", *args, env=env) as target:
        r = h.record_work(target.pid, SECONDS, "-F", "9973", "--opcodes", outputs=("x.data",), lines=False)
        target.process.stdin.write(b"\n")
        document = json.loads(h.read_line(target.process.stdout, h.time.monotonic() + h.PATIENCE_SECS))
    return r, live(document), document


def check_listing(tap, name, text, document):
    """Functions with samples list all instructions, including those without samples."""
    listed = {key[:2] for key in pairs(text)}
    bare = len(re.findall(r"^ +@\d+ ", text, re.M))
    lacking = {}
    for function in ("attributes", "calls", "containers", "flow"):
        places = next(places for key, places in document.items() if key.startswith(function + ":"))
        # Instructions without a line of their own are missing from the source.
        missing = [(line, int(at), names) for at, (line, names) in places.items() if line and (line, int(at)) not in listed]
        if missing:
            lacking[function] = missing[:4]
    tap.ok(bare > 20 and not lacking, name + ": %d instructions without samples are listed" % bare, lacking)


def check(tap, python, *args, env=None):
    name = " ".join((python.name, *args, *("%s=%s" % e for e in (env or {}).items())))
    r, truth, document = record(python, *args, env=env and dict(os.environ, **env))
    tap.equal(r.code, 0, name + ": recorded", r.err)
    code, found, done = annotate(r.path("x.data"))
    tap.equal(code, 0, name + ": annotated", done.stderr)
    lines = {line for name, places in document.items() if not name.startswith("<module>") for line, _ in places.values()}
    # The module's own lines, and functions that nobody dumps, are not compared.
    known = {key: value for key, value in found.items() if key[0] in lines}
    wrong = {key: value for key, value in known.items() if key[2] not in truth.get(key[:2], ())}
    samples = sum(own for own, _ in known.values())
    # An instruction respecialised between two looks at the target is another form of the same one.
    base = {row[0]: row[1] for row in tables()[version(python)[1]].values()}
    anew = {key for key in wrong if base[key[2]] in {base[name] for name in truth.get(key[:2], ())}}
    wrong = {key: value for key, value in wrong.items()
             if key not in anew or sum(known[other][0] for other in anew) > samples / 100}
    tap.ok(not wrong, name + ": offset and opcode as dis has them", list(wrong.items())[:8],
           [(key[:2], sorted(truth.get(key[:2], ()))) for key in list(wrong)[:8]])
    tap.ok(samples > 2000 and len(known) > 120, name + ": of many instructions", samples, len(known))
    if not args and not env:
        whole = h.run_krait("annotate", "--instructions", "-C", "0", "-i", r.path("x.data"), "opcodes.py")
        check_listing(tap, name, whole.stdout, document)
    # A caller is at a call: it appears because of its callees, without samples of its own.
    callers = [key for key in known if re.match(r"(INSTRUMENTED_)?(CALL|PRECALL)", key[2])]
    tap.ok(len(callers) >= 8, name + ": callers are at their calls", callers)
    # 3.13 specialises nothing without the GIL (Python/specialize.c).
    if version(python) >= (3, 11) and (python.minor != "3.13" or "nogil" not in python.kind):
        special = sum(own for own, form in known.values() if form == "specialised")
        tap.ok(special > samples / 5, name + ": many are specialised", special, samples)
    unknown = re.search(r"^ *([\d.]+)% .*\[opcode not known\]", h.run_krait("report", "--by", "opcode", "-n", "0",
                                                                           r.path("x.data")).stdout, re.M)
    tap.ok(not unknown or float(unknown[1]) < (6 if python.minor in ("3.11", "3.12") else 4),
           name + ": few are not known", unknown and unknown[0])
    return r


def check_report(tap, r, python):
    done = h.run_krait("report", "--by", "opcode", "-n", "0", r.path("x.data"))
    tap.ok(done.returncode == 0 and re.search(r"^ *[\d.]+% +[\d.]+% .*  LOAD_ATTR_INSTANCE_VALUE +specialised$",
                                              done.stdout, re.M), "report: rows", done.stdout, done.stderr)
    tap.ok("in instructions that have special forms" in done.stdout, "report: forms are summed up", done.stdout)
    if shutil.which("perf"):
        script = subprocess.run(["perf", "script", "-F", "ip,sym", "-i", r.path("x.data")], capture_output=True,
                                encoding="utf-8", errors="replace", timeout=h.PATIENCE_SECS).stdout
        tap.ok(script.count(" py::") > 1000 and "[unknown]" not in script, "perf finds the names of all places",
               script.count(" py::"), [line for line in script.splitlines() if "[unknown]" in line][:3])
    one = h.run_krait("report", "--by", "opcode", "-n", "0", "--function", "flow", r.path("x.data")).stdout
    tap.ok("RAISE_VARARGS" in one and "YIELD_VALUE" not in one, "report: of one function", one)
    page = r.path("x.html")
    done = h.run_krait("annotate", "-i", r.path("x.data"), "-o", page, "opcodes.py")
    with open(page, encoding="utf-8") as f:
        text = f.read()
    tap.ok(re.search(r'"opcodes":\[[^\]]*"LOAD_ATTR_PROPERTY"', text) and
           re.search(r'"opcodeForms":\[[^\]]*"specialised"', text) and re.search(r'"instructions":\[\d+(,-?\d+){4}', text),
           "annotate: a page has columns and instructions", done.stderr, text[:300])
    _, found, done = annotate(r.path("x.data"), "-C", "50", what="numbers")
    with open(python.target("opcodes.py"), encoding="utf-8") as f:
        text = f.read().splitlines()
    first = text.index("def numbers(n):") + 1
    end = first + text[first:].index("")
    tap.ok(found and {line for line, _, _ in found} <= set(range(first, end + 1)) and "MAKE_FUNCTION" not in done.stdout,
           "annotate: only the instructions of that function", done.stdout[:2000])
    done = h.run_krait("annotate", "--columns", "-i", r.path("x.data"), "-C", "1", "calls")
    below = done.stdout.split("called(called(i, i), called(i))")[-1].splitlines()[1:]
    marks = [re.search(r"\^~*$", row) for row in below]
    marks = {at[0] for at in itertools.takewhile(bool, marks)}
    tap.ok({"^" + "~" * (len(text) - 1) for text in ("called(i, i)", "called(i)", "called(called(i, i), called(i))")} <= marks,
           "annotate --columns: each call of a line by itself", done.stdout, marks)


def check_without(tap, python):
    with h.start(python, "opcodes.py") as target:
        r = h.record_work(target.pid, 0.3, "-F", "997", outputs=("x.data",), lines=False)
    done = h.run_krait("report", "--by", "opcode", r.path("x.data"))
    tap.ok(done.returncode != 0 and "record --opcodes" in done.stderr, "without --opcodes: report says so", done.stderr)
    code, _, done = annotate(r.path("x.data"))
    tap.ok(code != 0 and "record --opcodes" in done.stderr, "without --opcodes: annotate says so", done.stderr)


DEEP = """
import sys, time
sys.setrecursionlimit(10000)
# A thread gets no anchor in its first second, so it rests most of that; what comes then takes CPU time, which a busy
# machine gives late.
begin = time.monotonic()
def g(n):
    if n:
        return g(n - 1) + 1
    while time.monotonic() < begin + 2.5 or time.process_time() < 1.5:
        for i in range(2000):
            len(str(i))
        if time.monotonic() < begin + 1:
            time.sleep(0.002)
    return 0
g(200)
"""


def check_deep(tap, python):
    """Callers below an anchor are not walked again: their opcodes are those of the last walk."""
    r = h.record("-F", "997", "--opcodes", "--anchors=on", outputs=("x.data",), lines=False, command=python.command("-c", DEEP))
    deltas = re.search(r"^delta (\d+)$", r.err, re.M)
    found = pairs(h.run_krait("annotate", "--instructions", "-C", "1", "-i", r.path("x.data"), "g").stdout)
    callers = {key[1:] for key in found if key[0] == 9 and key[2].startswith("CALL")}
    tap.ok(deltas and int(deltas[1]) > 10 and len(callers) == 1 and "PY_EXACT_ARGS" in next(iter(callers))[1],
           python.name + ": callers below an anchor keep theirs", deltas and deltas[0], callers, list(found)[:20])


@functools.lru_cache(None)
def tables():
    """Returns {minor: {opcode: (name, name of what it is a form of, caches)}} as krait has them."""
    found = {}
    with open(os.path.join(h.ROOT, "user", "profile", "opcode_tables.c"), encoding="utf-8") as f:
        for name, caches, row, base in re.findall(r'\t\{ "(\w+)", (\d+), \w+, \{ (.*) \} \},(?: /\* (\w+))?', f.read()):
            for minor, byte in enumerate(row.split(", "), 8):
                if byte != "0":
                    found.setdefault(minor, {})[int(byte)] = (name, base or name, int(caches))
    return found


CORPUS = """
import dis, json, os, sys
table, limit = json.loads(sys.argv[1]), int(sys.argv[2])
table = {int(op): row for op, row in table.items()}
names = getattr(dis, "_all_opname", dis.opname)
folder, done, units, wrong = os.path.dirname(os.__file__), 0, 0, []
def codes(code):
    yield code
    for const in code.co_consts:
        if hasattr(const, "co_code"):
            yield from codes(const)
def walk(code):
    at = 0
    while at < len(code):
        name, base, caches = table.get(code[at], ("<%d>" % code[at], "", 0))
        yield at, name
        at += 2 * (1 + caches)
for path, folders, files in os.walk(folder):
    folders[:] = sorted(f for f in folders if f not in ("site-packages", "dist-packages"))
    for file in sorted(files):
        if not file.endswith(".py") or done >= limit:
            continue
        done += 1
        try:
            with open(os.path.join(path, file), "rb") as f:
                top = compile(f.read(), file, "exec")
        except (SyntaxError, ValueError):
            continue
        for code in codes(top):
            # After some thousands what get_instructions() takes its instructions from, which is ten times as fast.
            places = [i.offset for i in dis.get_instructions(code)] if units < 5000 else \\
                [i[0] for i in dis._unpack_opargs(code.co_code)]
            want = [(at, names[code.co_code[at]]) for at in places]
            units += len(want)
            if want != list(walk(code.co_code)):
                wrong.append(file + ":" + code.co_name)
            live = getattr(code, "_co_code_adaptive", None)
            if live and [at for at, _ in walk(live)] != [at for at, _ in want]:
                wrong.append(file + ":" + code.co_name + " (adaptive)")
print(json.dumps([done, units, wrong[:5]]))
"""


def check_tables(tap, python, whole):
    """Positions and names of instructions in the standard library's code: in make check-all in all of it, including
    its tests, once per version."""
    table = tables().get(version(python)[1], {})
    done = subprocess.run(python.command("-c", CORPUS, json.dumps(table), "100000" if whole else "25"),
                          capture_output=True, encoding="utf-8", timeout=600)
    files, units, wrong = json.loads(done.stdout or '[0, 0, ["nothing"]]')
    tap.ok(files >= 25 and units > 10000 and not wrong,
           "%s: the standard library's code as dis has it: %d instructions of %d files" % (python.name, units, files), wrong,
           done.stderr[-500:])


JIT = """
import sys
def hot(n):
    t = 0
    for i in range(n):
        t += i * i
    return t
hot(100000)
print("READY", flush=True)
if not sys._jit.is_enabled():
    sys.stdin.readline()
while True:
    hot(100000)
"""


def check_traces(tap, python):
    """A trace of the JIT is marked as such."""
    with h.Target(python.command("-c", JIT), dict(os.environ, PYTHON_JIT="1")) as target:
        r = h.record_work(target.pid, 0.5, "-F", "4999", "--opcodes", outputs=("x.data",), lines=False)
    text = h.run_krait("report", "--by", "opcode", r.path("x.data")).stdout
    if not r.stats.get("interrupts"):
        tap.skip(python.name + ": JIT", "it has none")
        return
    tap.ok(re.search(r"ENTER_EXECUTOR +jit", text) and "in traces of the JIT" in text, python.name + ": a trace of the JIT", text)


def main():
    h.need_bpf()
    tap = h.Tap()
    whole = set()
    for python in h.interpreters(tap, each_class=True):
        check_tables(tap, python, h.is_all() and python.minor not in whole)
        whole.add(python.minor)
    pythons = h.interpreters(tap)
    for python in pythons:
        r = check(tap, python)
        if python.root == "/" and python.minor == "3.12":  # its sources are where it says
            check_report(tap, r, python)
            check_without(tap, python)
    for python in [p for p in pythons if p.minor == "3.15"][:1]:
        check_deep(tap, python)
    # Debian's builds have a JIT that must be turned on. Otherwise nothing changes.
    for python in [p for p in pythons if version(p) >= (3, 14)]:
        check(tap, python, env={"PYTHON_JIT": "1"})
        check_traces(tap, python)
    new = [p for p in pythons if version(p) >= (3, 12)]
    for python in new if h.is_all() else new[:1]:
        check(tap, python, "instrumented")
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
