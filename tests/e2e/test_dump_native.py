#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait dump --native: native frames of waiting threads and of a running one are at their places among Python's, on
every interpreter; variables remain; a thread without Python has native frames only. Also with --pause."""
import json
import time

import harness as h

# C code that Python called and that calls Python, which waits; and threads that wait or run in C.
PROGRAM = """
import ctypes, hashlib, socket, threading, time
libc = ctypes.CDLL(None)
array = (ctypes.c_int * 2)(2, 1)
pair = socket.socketpair()
def waits(a, b):
    inner = "of the callback"
    time.sleep(1000)
    return 0
callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(waits)
def sorts():
    outer = "of the caller"
    libc.qsort(array, 2, 4, callback)
def receives():
    pair[0].recv(1)
def hashes():
    data = b"x" * 10000000
    while True:
        hashlib.sha256(data).digest()
for f in (sorts, receives, hashes):
    threading.Thread(target=f, daemon=True, name=f.__name__).start()
time.sleep(0.2)
# A thread that Python knows nothing of.
thread = ctypes.c_void_p()
libc.pthread_create(ctypes.byref(thread), None, ctypes.cast(libc.pause, ctypes.c_void_p), None)
def here():
    print('READY', flush=True)
    time.sleep(1000)
here()
"""


def dumped(*args):
    done = h.run_krait("dump", "--json", *args)
    return done, json.loads(done.stdout) if done.stdout.startswith("[") else None


def python_of(thread):
    return [(f["name"], f.get("line")) for f in thread["frames"] if not f.get("native") and not f.get("mark")]


def check(tap, python, *args):
    name = " ".join((python.name,) + args)
    with h.Target(python.command("-c", PROGRAM)) as target:
        _, plain = dumped(str(target.pid))
        # On a busy machine, libraries' symbols and unwind rows may come late; then the stack says so. And a thread that runs may
        # be between two of its calls.
        for _ in range(5):
            done, natives = dumped("--native", "--locals", *args, str(target.pid))
            if natives and not any(f["name"] in ("[truncated]", "[libc.so.6]") for t in natives[0]["threads"]
                                   for f in t["frames"]) and \
                    all(t["frames"][0].get("native") for t in natives[0]["threads"] if t.get("python_name") == "hashes"):
                break
        if not tap.ok(done.returncode == 0 and natives, name + ": is dumped", done.stdout + done.stderr):
            return
        before = {t["tid"]: t for t in plain[0]["threads"]}
        threads = natives[0]["threads"]
        known = {t.get("python_name", "?"): t for t in threads}
        for what in ("MainThread", "sorts", "receives"):
            thread = known[what]
            tap.equal(python_of(thread), python_of(before[thread["tid"]]), "%s: %s: Python is as without" % (name, what))
            tap.ok(thread["stack"] == "at rest" and thread["frames"][0].get("native") and
                   "libc" in thread["frames"][0]["file"] and not any(f.get("mark") for f in thread["frames"]),
                   "%s: %s: it waits in libc, and nothing is missing" % (name, what), thread["frames"])
        names = [f["name"] for f in known["sorts"]["frames"]]
        inner, outer = names.index("waits"), names.index("sorts")
        tap.ok(any("sort" in n for n in names[inner + 1:outer]), name + ": qsort lies between", names)
        values = {v["name"]: (v["value"], "changed" in v) for f in known["sorts"]["frames"]
                  for v in f.get("locals", [])}
        tap.equal((values.get("inner"), values.get("outer")), (("'of the callback'", False), ("'of the caller'", False)),
                  name + ": with variables", values)
        names = [f["name"] for f in known["receives"]["frames"]]
        tap.ok(any("recv" in n for n in names[:names.index("receives")]), name + ": recv", names)
        libs = {f.get("file", "") for f in known["hashes"]["frames"] if f.get("native")}
        tap.ok(python_of(known["hashes"])[0][0] == "hashes" and known["hashes"]["frames"][0].get("native") and
               any("crypto" in lib or "hash" in lib or "sha" in lib or "HACL" in lib or "python" in lib for lib in libs),
               name + ": one that runs", known["hashes"])
        foreign = [t for t in threads if t["stack"] == "native"]
        # All of it is in libc, and krait hides how a thread begins.
        tap.ok(len(foreign) == 1 and [f["name"] for f in foreign[0]["frames"]] == ["[native thread]"],
               name + ": one without Python", foreign)
        tap.ok(target.alive(), name + ": it lives")
        if "--pause" in args:
            check_paused(tap, name, natives[0], known)


def check_paused(tap, name, process, known):
    """All from one moment: even a running thread has a whole stack with variables, and none of them changed."""
    values = {v["name"]: v for f in known["hashes"]["frames"] for v in f.get("locals", [])}
    tap.ok(known["hashes"]["stack"] == "at rest" and values["data"]["value"].startswith("b'xxx") and
           not any("changed" in v for v in values.values()) and
           not any(f.get("mark") for f in known["hashes"]["frames"]), name + ": one that ran", known["hashes"])
    tap.ok(0 < process["paused_ms"] < 1000, "%s: paused for %.1f ms" % (name, process["paused_ms"]))


def check_many(tap, python):
    """All of 200 threads, and the time it takes."""
    script = ("import threading, time\nfor i in range(200):\n"
              "    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n"
              "time.sleep(0.5)\nprint('READY', flush=True)\ntime.sleep(1000)")
    with h.Target(python.command("-c", script)) as target:
        began = time.monotonic()
        done, processes = dumped("--native", str(target.pid))
        seconds = time.monotonic() - began
        threads = processes[0]["threads"]
        whole = [t for t in threads if t["frames"] and t["frames"][0].get("native") and
                 not any(f.get("mark") for f in t["frames"])]
        tap.ok(done.returncode == 0 and len(threads) == 201 and len(whole) == 201,
               "201 threads in %.2f s" % seconds, len(whole))


MOVES = """
import time
def one():
    time.sleep(0.004)
def two():
    time.sleep(0.004)
def outer():
    kept = "here"
    print('READY', flush=True)
    while True:
        one(); two()
outer()
"""


def check_moves(tap, python):
    """Its variables are read before its native frames: of the frames that are still there, they stay."""
    with h.Target(python.command("-c", MOVES)) as target:
        shown = []
        for _ in range(6):
            _, processes = dumped("--native", "--locals", str(target.pid))
            frames = processes[0]["threads"][0]["frames"]
            shown.append({f["name"]: [v["value"] for v in f.get("locals", ())] for f in frames})
        tap.ok(all(names.get("outer") == ["'here'"] for names in shown), python.name + ": one that goes on keeps its variables",
               shown)


def main():
    tap = h.Tap()
    h.need_bpf()
    pythons = h.interpreters(tap)
    for python, args in h.covering(pythons, [(), ("--pause",)]):
        check(tap, python, *args)
    if pythons:
        check_many(tap, h.newest(pythons))
        check_moves(tap, h.newest(pythons))
    done = h.run_krait("dump", "--native", "--tasks", "1")
    tap.ok(done.returncode == 2, "not with --tasks", done.stderr)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
