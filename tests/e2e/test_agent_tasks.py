#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait agent: stacks of asyncio programs are those of their tasks, and stacks of greenlets begin with their
parents', as in krait record, in every output: OTLP windows, a requested or pushed pprof, a snapshot of its memory.
Its options and its configuration's keys can change that."""
import contextlib
import functools
import gzip
import http.server
import os
import re
import subprocess
import tempfile
import threading

import harness as h
import otlp
import test_greenlets as greenlets
from test_pprof_live import Ingest, UnixConnection, ask
from test_tasks import FIRST, LOOP, version

CHAIN = ["main", "plain", "work", "step", "leaf_plain"]
NAMES = r"\[task Task-1\] main plain \[task Task-\d+\] work \[task Task-\d+\] step leaf_plain"


def pprof_stacks(body):
    """Returns names, root first."""
    m = otlp.Message(gzip.decompress(body))
    strings = [bytes(s).decode() for s in m.all(6)]
    functions = {f.one(1): strings[f.one(2)] for f in m.messages(5)}
    places = {place.one(1): [functions[line.one(1)] for line in place.messages(4)] for place in m.messages(4)}
    return [[name for i in sample.numbers(1) for name in places[i]][::-1] for sample in m.messages(2)]


@functools.cache
def window_stacks(path, pid):
    with open(path, "rb") as f:
        return [[frame for frame, _ in stack][::-1] for p in otlp.Body(f.read()).profiles
                if p.kind == otlp.TICKS and p.resource.get("process.pid") == pid for stack, _, times, _ in p.samples for _ in times]


def otlp_stacks(folder, pid):
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return [stack for name in names if not name.startswith(".") for stack in window_stacks(os.path.join(folder, name), pid)]


def folded_stacks(path):
    text = h.run_krait("convert", path, "-f", "folded", "-o", "-").stdout
    return [[re.sub(r" \([^;]*\)$", "", f) for f in line.rpartition(" ")[0].split(";")] for line in text.splitlines()]


def ends(stack, chain):
    """Tells whether it ends with these, whatever is between the loop and them."""
    return stack[-len(chain):] == chain


def of_leaf(stacks, leaf):
    """Returns stacks cut at that leaf; its callees (a generator's frame) do not matter."""
    return [s[:s.index(leaf) + 1] for s in stacks if leaf in s]


@contextlib.contextmanager
def agent(folder, *args):
    command = [h.KRAIT, "agent", "-i", "1s", "-r", "797", "--cpu-budget", "0", "--otlp-dir", os.path.join(folder, "windows"), *args]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8") as process:
        try:
            yield process
        finally:
            process.terminate()
            process.said = process.communicate(timeout=h.PATIENCE_SECS)[1]


def enough(folder, pid, chosen):
    """Tells whether 20 chosen samples have arrived."""
    return len([s for s in otlp_stacks(os.path.join(folder, "windows"), pid) if chosen(s)]) >= 20


def check_all(tap, python, pid, chain, leaf, name):
    """With defaults, in every output; none has frames of the loop."""
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    h.folders.append(folder)
    listener, keep = os.path.join(folder, "http"), os.path.join(folder, "keep")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ingest)
    server.taken = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    push = "http://127.0.0.1:%d" % server.server_port
    with agent(folder, "--listen", "unix:" + listener, "--keep", "1h", "--keep-dir", keep, "--pprof-endpoint", push) as process:
        h.wait_until(lambda: enough(folder, pid, lambda s: ends(of_leaf([s], leaf)[0], chain) if leaf in s else False), process)
        connection = UnixConnection(listener)
        connection.request("GET", "/debug/pprof/profile?seconds=1&pid=%d" % pid)
        pulled = pprof_stacks(connection.getresponse().read())
    server.shutdown()
    tap.equal(process.returncode, 0, name + ": the agent ends", process.said[-800:])
    out = os.path.join(folder, "snapshot.data")
    done = h.run_krait("agent", "snapshot", "--keep-dir", keep, "-o", out)
    pushed = [s for path, _, body in server.taken if path == "/ingest" for s in pprof_stacks(body)]
    for what, stacks in (("windows", otlp_stacks(os.path.join(folder, "windows"), pid)), ("pulled", pulled), ("pushed", pushed),
                         ("snapshot", folded_stacks(out))):
        mine = of_leaf(stacks, leaf)
        right = [s for s in mine if ends(s, chain) and not any(f in LOOP for f in s)]
        late = [s for s in mine if any("not known yet]" in f for f in s)]
        wrong = [s for s in mine if s not in right and s not in late]
        tap.ok(right and not wrong, "%s: %s: its chain (%d stacks, %d before it was known)" % (name, what, len(right), len(late)),
               wrong[:3], len(stacks), done.stderr[-300:])


def check_option(tap, name, pid, args, right):
    """Waits until the windows show what the options ask for."""
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    h.folders.append(folder)
    with agent(folder, *args) as process:
        h.wait_until(lambda: enough(folder, pid, right), process)
    stacks = otlp_stacks(os.path.join(folder, "windows"), pid)
    tap.ok(len([s for s in stacks if right(s)]) >= 20 and process.returncode == 0, "%s: %s" % (name, " ".join(args)), stacks[-2:],
           process.said[-800:])
    return stacks


def config(text):
    path = os.path.join(tempfile.mkdtemp(prefix="krait-e2e-"), "agent.conf")
    h.folders.append(os.path.dirname(path))
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as f:
        f.write(text)
    return "--config=" + path


def check_tasks(tap, python):
    with h.start(python, "tasks.py", "600", "plain") as target, h.part_time(target):
        check_all(tap, python, target.pid, CHAIN, "leaf_plain", python.name)
        check_option(tap, python.name, target.pid, ("--async=both", "--task-names"),
                     lambda s: LOOP[1] in s and re.search(NAMES, " ".join(s)))
        stacks = check_option(tap, python.name, target.pid, (config("async = no\n"),),
                              lambda s: LOOP[1] in s and "leaf_plain" in s and "main" not in s)
        tap.ok(not [s for s in stacks if "leaf_plain" in s and "main" in s], python.name + ": async = no: none has a chain")


def check_greenlets(tap):
    found = greenlets.with_greenlet()
    if not found:
        tap.skip("greenlets", "no package python3-greenlet")
        return
    python, folder = next((p, f) for p, f in found if "/greenlet1-" not in f)
    python.refresh_targets()
    with greenlets.start(python, folder) as target, contextlib.ExitStack() as stack:
        said = greenlets.truth(target)
        stack.enter_context(h.part_time(target, 0.5))
        leaf = "leaf_nested"
        check_all(tap, python, target.pid, [*said[leaf], leaf], leaf, python.name + ": greenlets")
        stacks = check_option(tap, python.name, target.pid, (config("greenlets = no\n"),),
                              lambda s: "leaf_nested" in s and "nested_two" in s and "nested_one" not in s)
        tap.ok(not [s for s in stacks if leaf in s and "loop" in s], python.name + ": greenlets = no: none has parents")


def main():
    h.need_bpf()
    tap = h.Tap()
    new = [p for p in h.interpreters(tap) if version(p) >= FIRST]
    if new:
        check_tasks(tap, h.newest(new))
    else:
        tap.skip("tasks", "no CPython 3.14 or later")
    check_greenlets(tap)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
