#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait record --memory: what is resident, by the stack that touched it last, equals what a program knows that it leaked,
cached, gave back, mapped anew and shares with a fork; rows and marks add up to the kernel's Rss. What was touched includes
what was freed. After the command's end: the last look before it."""
import json
import os
import re
import signal
import subprocess
import tempfile
import time

import harness as h

MIB = 1 << 20
ENV = dict(os.environ, MALLOC_MMAP_THRESHOLD_="1000000")



def rss(pid):
    with open("/proc/%s/smaps_rollup" % pid, encoding="utf-8") as f:
        return int(re.search(r"Rss:\s+(\d+)", f.read())[1]) << 10


def by_function(path, event, *args):
    """{name: bytes} of the innermost Python function or mark, and the sum."""
    said = h.run_krait("report", "--json", "-n", "0", "--event", event, path, *args)
    table, = json.loads(said.stdout)["events"]
    rows = {}
    for row in table["rows"]:
        rows[row["function"]] = rows.get(row["function"], 0) + (row["total"] if row["kind"] == "python" else row["self"])
    return rows, table["all"], table["unit"]


def near(got, expected, slack=256 << 10):
    return abs(got - expected) <= expected * 0.05 + slack


def record(path, target):
    """Until the work is done; also the pids of the target, its fork and the program that it started, and their Rss."""
    with subprocess.Popen([h.KRAIT, "record", "--memory", "-p", str(target.pid), "-o", path], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8") as krait:
        h.wait_until(lambda: h.is_sampling(krait), krait)
        target.process.stdin.write(b"\n")
        pids = [str(target.pid)] + h.read_line(target.process.stdout, time.monotonic() + h.PATIENCE_SECS).split()
        sizes = [rss(pid) for pid in pids]
        krait.send_signal(signal.SIGINT)
        return pids, sizes, krait.communicate(timeout=h.PATIENCE_SECS)


def at_end(tap, python, folder):
    path = folder + "/x.data"
    with h.Target(python.command(python.target("grows.py"), "all"), env=ENV) as target:
        pids, sizes, said = record(path, target)
    (found, total, unit), child, other = (by_function(path, "resident-memory", "--pid", pid) for pid in pids)
    expected = {"leak": 30, "cache": 10, "second": 16, "given_back": 8, "[resident before]": 24, "[no fault seen]": 16}
    for name, size in expected.items():
        slack = 12 * MIB if name == "[resident before]" else 256 << 10
        tap.ok(near(found.get(name, 0), size * MIB, slack), "%s: %s" % (python.name, name), found.get(name, 0) / MIB)
    tap.ok(not found.get("churn") and not found.get("first"), python.name + ": what is gone has no row", found)
    tap.ok(near(child[0].get("in_child", 0), 8 * MIB), python.name + ": a fork's own pages", child)
    tap.ok(child[0].get("[from its parent]", 0) > 60 * MIB, python.name + ": and what it has from its parent", child)
    tap.ok(near(other[0].get("in_other", 0), 16 * MIB), python.name + ": another program that it started", other)
    for pid, is_sum, kernel in zip(pids, (total, child[1], other[1]), sizes):
        tap.ok(near(is_sum, kernel, 0), "%s: all rows of %s are its Rss" % (python.name, pid), is_sum / MIB, kernel / MIB)
    touched = by_function(path, "touched-memory")[0]
    for name, size in {"leak": 30, "churn": 80, "cache": 30, "first": 16, "second": 16, "given_back": 16}.items():
        tap.ok(near(touched.get(name, 0), size * MIB), "%s: touched by %s" % (python.name, name), touched.get(name, 0) / MIB)
    tap.equal(unit, "bytes", python.name + ": JSON names the unit")
    said = h.run_krait("report", path).stdout
    tap.ok("Self size" in said and re.search(r"MiB\s+leak\s", said) and "memray" in said, python.name + ": the table shows sizes", said)


def after_end(tap, python, folder):
    # A look that comes in the last tenth of a second needs no word.
    for secs in 2.5, 2.2, 1.9:
        done = h.run_krait("record", "--memory", "-o", folder + "/y.data", "--",
                           *python.command(python.target("grows.py"), "short", str(secs)), env=ENV)
        if "before the end" in done.stderr:
            break
    found = by_function(folder + "/y.data", "resident-memory")[0]
    tap.ok(near(found.get("leak", 0), 30 * MIB) and done.returncode == 0, python.name + ": the last look at a command that has ended",
           found, done.stderr)
    tap.ok("before the end" in done.stderr, python.name + ": and says that it was before", done.stderr)
    done = h.run_krait("record", "--memory", "-o", folder + "/y.data", "--", *python.command("-c", "kept = bytearray(30 << 20)"), env=ENV)
    # It may have been looked at once, or never.
    text = done.stdout + done.stderr
    tap.ok(not re.search("^0 bytes resident", text, re.M) and ("there is no resident-memory" in text) == ("# event resident" not in text),
           python.name + ": a command that ends before a look has none, not 0 bytes", text)


def each_for_itself(tap, python, folder):
    """One process faults as quickly as it can, at a page that is chosen at any shift: that changes nothing for another one. It
    has hardly a chosen page itself then, and is counted nevertheless."""
    path = folder + "/z.data"
    with h.Target(python.command(python.target("grows.py"), "hammer")) as hammer, \
            h.Target(python.command(python.target("grows.py"), "calm"), env=ENV) as calm, \
            subprocess.Popen([h.KRAIT, "record", "--memory", "--stats", "-p", "%d,%d" % (hammer.pid, calm.pid), "-o", path],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8") as krait:
        h.wait_until(lambda: h.is_sampling(krait), krait)
        for target in hammer, calm:
            target.process.stdin.write(b"\n")
            h.read_line(target.process.stdout, time.monotonic() + h.PATIENCE_SECS)
        size = rss(hammer.pid)
        krait.send_signal(signal.SIGINT)
        said = krait.communicate(timeout=h.PATIENCE_SECS)[1]
    found = by_function(path, "resident-memory", "--pid", str(calm.pid))[0]
    tap.ok(near(found.get("in_other", 0), 16 * MIB), "another's faults do not thin a process's sample", found, said)
    total = by_function(path, "resident-memory", "--pid", str(hammer.pid))[1]
    tap.ok(near(total, size, 0), "a process without a chosen page has its Rss", total / MIB, size / MIB)
    shift = int(re.search(r"memory.shift (\d+)", said)[1])
    tap.ok(shift > 10, "and it thins its own", shift)


def main():
    tap = h.Tap()
    h.need_bpf()
    pythons = h.few(h.interpreters(tap))
    for python in pythons[:1]:
        with tempfile.TemporaryDirectory(prefix="krait-e2e-") as folder:
            each_for_itself(tap, python, folder)
    for python in pythons:
        with tempfile.TemporaryDirectory(prefix="krait-e2e-") as folder:
            at_end(tap, python, folder)
            after_end(tap, python, folder)
    for args in (("--thread", "x"), ("--gil",), ("--state", "cpu"), ("--log-inputs", "/dev/null")):
        tap.equal(h.run_krait("record", "--memory", "-p", "1", *args).returncode, 2, "--memory refuses " + args[0])
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
