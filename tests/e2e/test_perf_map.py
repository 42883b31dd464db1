#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""--perf-map: names for a capture's addresses, in the place where perf looks for those of the process, and never
through anything that a hostile process has put there."""
import bisect
import os
import re
import shutil
import subprocess
import tempfile

import harness as h

DSO_BASE = 0x100000000000
FIRST_LINE = "100000001000 4 [krait: no room]\n"


def read_map(path):
    """Returns [(start, end, name)], in order."""
    with open(path, encoding="utf-8") as f:
        lines = [line.rstrip("\n").split(" ", 2) for line in f]
    return [(int(a, 16), int(a, 16) + int(b, 16), name) for a, b, name in lines]


def check_names(tap, python):
    """A map names each address as the capture's own ELF file does for perf."""
    name = python.name + ": --perf-map"
    with h.start(python, "pairs.py") as target:
        path = "/tmp/perf-%d.map" % target.pid
        r = h.record_work(target.pid, 0.5, "--perf-map", outputs=("x.data",))
        again = h.record_work(target.pid, 0.2, "--perf-map", outputs=("x.data",))
        inside = python.root == "/" or not os.path.exists(python.root + path)
    tap.ok(r.code == again.code == 0 and os.path.exists(path) and inside,
           name + ": is where perf looks for it, and replaces an older one", r.err, again.err)
    entries = read_map(path)
    with open(path, encoding="utf-8") as f:
        tap.equal(f.readline(), FIRST_LINE, name + ": begins as all of krait's do")
    os.unlink(path)
    if not shutil.which("perf"):
        tap.skip(name + ": has perf's names", "no perf")
        return
    text = subprocess.run(["perf", "script", "-F", "ip,sym", "-i", again.path("x.data")],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8",
                          check=True).stdout
    starts, wrong, seen = [e[0] for e in entries], set(), 0
    for offset, symbol in re.findall(r"^\s+([0-9a-f]+) (py::.*)$", text, re.M):
        # perf 6.1 prints it as it is in the DSO, 6.12 as it is in the process.
        address = int(offset, 16) if int(offset, 16) >= DSO_BASE else DSO_BASE + int(offset, 16)
        entry = entries[bisect.bisect(starts, address) - 1]
        seen += 1
        if not (entry[0] <= address < entry[1] and entry[2] == symbol):
            wrong.add((offset, symbol, entry))
    tap.ok(seen > 50 and not wrong, name + ": has perf's names", seen, wrong)


class Contained:
    """A target in its own mount and pid namespaces, with a prepared /tmp."""

    def __init__(self, python, prepare):
        script = "mount -t tmpfs none /tmp && %s && exec \"$@\"" % prepare
        self.outer = subprocess.Popen(
            ["unshare", "-m", "-p", "-f", "--kill-child", "sh", "-c", script, "sh",
             *python.command("-c", "print('READY', flush=True)\nwhile True: sum(range(1000))")],
            stdout=subprocess.PIPE, encoding="utf-8")
        line = self.outer.stdout.readline()
        with open("/proc/%d/task/%d/children" % (self.outer.pid, self.outer.pid)) as f:
            self.pid = int((f.read().split() or ["0"])[0])
        if line != "READY\n":
            self.stop()
            raise RuntimeError("the contained target says %r" % line)

    def path(self, name):
        return "/proc/%d/root/tmp/%s" % (self.pid, name)

    def stop(self):
        self.outer.kill()
        self.outer.wait()
        self.outer.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.stop()


def check_namespace(tap, python):
    with Contained(python, "true") as target:
        r = h.record_work(target.pid, 0.3, "--perf-map", outputs=("x.data",))
        found = os.path.exists(target.path("perf-1.map"))
        text = open(target.path("perf-1.map"), encoding="utf-8").read() if found else ""
    tap.ok(r.code == 0 and text.startswith(FIRST_LINE) and "py::<module>:" in text,
           "in a container: the map is in its /tmp, by its own pid", r.err)
    tap.ok(not os.path.exists("/tmp/perf-1.map") and
           not os.path.exists("/tmp/perf-%d.map" % target.pid), "and not in ours")


def check_traps(tap, python):
    """Links out of the container, or to other users' files, are left alone."""
    folder = tempfile.mkdtemp(prefix="krait-e2e-", dir="/var/tmp")
    victim = os.path.join(folder, "victim")
    with open(victim, "w", encoding="utf-8") as f:
        f.write(FIRST_LINE)
    traps = {"a link in its place": "ln -s %s /tmp/perf-1.map" % victim,
             "a link to itself": "ln -s perf-1.map /tmp/perf-1.map",
             "CPython's own map": "echo 7f00 10 py::f:/f.py > /tmp/perf-1.map",
             "a pipe": "mkfifo /tmp/perf-1.map"}
    for name, prepare in traps.items():
        with Contained(python, prepare) as target:
            before = os.lstat(target.path("perf-1.map"))
            r = h.record_work(target.pid, 0.2, "--perf-map", outputs=("x.data",))
            after = os.lstat(target.path("perf-1.map"))
        tap.ok(r.code == 0 and (before.st_ino, before.st_size) == (after.st_ino, after.st_size),
               name + " stays as it is", r.err)
    with open(victim, encoding="utf-8") as f:
        tap.equal((f.read(), os.listdir(folder)), (FIRST_LINE, ["victim"]),
                  "nothing was written through a link")
    shutil.rmtree(folder)


def main():
    h.need_bpf()
    tap = h.Tap()
    pythons = h.interpreters(tap)
    if pythons:
        newest = h.newest(pythons)
        check_names(tap, newest)
        r = h.record("--perf-map", "-p", "1", outputs=("x.folded",))
        tap.ok(r.code == 2 and "perf.data" in r.err, "without a perf.data it is refused", r.err)
    ours = next((p for p in pythons if p.root == "/"), None)
    if ours and shutil.which("unshare"):
        check_namespace(tap, ours)
        check_traps(tap, ours)
    else:
        tap.skip("in a container", "no unshare, or no interpreter outside of a root folder")
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
