#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait recognises interpreters by their content: under another name, deleted or replaced while running, in other
namespaces, without a first thread, all of a machine at once. The stacks must be right each time."""
import json
import os
import re
import shutil
import subprocess
import sys

import harness as h


def check(tap, name, target, pid=None):
    """Checks the stacks of a target that runs pairs.py."""
    recording = h.record_work(pid or target.pid, 0.1, "-F", "1999")
    tap.equal(recording.code, 0, name + ": exit code", recording.err)
    h.check_accounts(tap, name, recording, complete=0.97)
    illegal, leaves = target.oracle.judge(recording.stacks)
    tap.ok(leaves and not illegal, name + ": every stack is one the target can have",
           h.show(illegal))


def copied(python, name):
    """Copies the interpreter under another name, next to the original's root."""
    folder = python.scratch()
    path = os.path.join(folder, name)
    shutil.copy2(python.root.rstrip("/") + python.path, path)
    return folder, path


def check_files(tap, python):
    """The name says nothing, and the file may by now be gone or replaced."""
    folder, path = copied(python, "no_snake (1)")
    other = h.Interpreter(python.version, python.kind, python.root, python.inside(path))
    environment = dict(os.environ, PYTHONHOME="/usr")
    try:
        with h.start(other, "pairs.py", env=environment) as target:
            check(tap, python.name + " under another name", target)
            os.unlink(path)
            check(tap, python.name + ", deleted", target)
            shutil.copy2("/bin/true", path)
            check(tap, python.name + ", replaced", target)
    finally:
        shutil.rmtree(folder)


def child_of(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="utf-8") as f:
        return int(f.read().split()[0])


def check_namespaces(tap, python):
    """A target in its own pid and mount namespaces, as in a container."""
    command = ["unshare", "-mpf", "--kill-child", *python.command(python.target("pairs.py"))]
    with h.Target(command) as target:
        check(tap, python.name + " in namespaces of its own", target, child_of(target.pid))


def check_names(tap, python):
    """A process's name breaks neither the parsing of /proc nor lines of output."""
    # argv[0] does not count; the name is that of the file, or what the process sets.
    script = "import ctypes; ctypes.CDLL(None).prctl(15, %r); import sys; sys.argv = [%r]; " \
             "import runpy; sys.path.insert(0, %r); runpy.run_path(%r, run_name='__main__')"
    target = python.target("pairs.py")
    for comm in (b"a) R 1 (b", b"semi;colon 7", b"\n\x1b[31m\xff"):
        line = script % (comm, target, python.targets, target)
        with h.Target(python.command("-c", line)) as running:
            check(tap, "%s named %r" % (python.name, comm), running)


def check_leaderless(tap, python):
    """The first thread has ended, so the process looks like a zombie, and others work."""
    name = python.name + ", its first thread has ended"
    with h.start(python, "leaderless.py") as target, h.resting(target):
        pid = str(target.pid)
        h.wait_until(lambda: h.proc_state(target.pid) == "Z")
        listed = h.run_krait("list", "--json", pid)
        tap.equal([p.get("version") for p in json.loads(listed.stdout or "[]")], [python.version], name + ": list", listed.stdout)
        dumped = h.run_krait("dump", "--json", pid)
        threads = {t["tid"]: t for t in json.loads(dumped.stdout or "[{}]")[0].get("threads", [])}
        first = threads.pop(target.pid, {})
        tap.equal((first.get("state"), first.get("frames")), ("ended", []), name + ": dump says so", dumped.stdout + dumped.stderr)
        tap.ok([t for t in threads.values() if "goes_on" in [f["name"] for f in t["frames"]]], name + ": dump shows the others",
               dumped.stdout)
        for option in (["-p", pid], ["-a"]):
            recording = h.record(*option, "-d", h.moment(0.2), "-F", "997", "--native", lines=False)
            seen = sum(n for stack, n in recording.stacks if any("goes_on (" in frame for frame in stack))
            tap.ok(seen > 20, name + ": record " + option[0], "%d samples of %d" % (seen, recording.samples()))


def check_all(tap, pythons):
    """All interpreters in one recording of the machine."""
    targets = [h.start(python, "pairs.py") for python in pythons]
    try:
        done = h.record("-a", "-F", "997", "-d", "700ms", outputs=("x.folded", "x.script"))
    finally:
        for target in targets:
            target.stop()
    h.check_accounts(tap, "-a", done)
    with open(done.path("x.script"), encoding="utf-8") as f:
        seen = {int(pid) for pid in re.findall(r"^\S+ +(\d+)/\d+ +\[", f.read(), re.M)}
    for python, target in zip(pythons, targets):
        tap.ok(target.pid in seen, "-a: %s was seen" % python.name, done.err)


def check_start(tap, python):
    """A process that starts during -a is sampled from its first milliseconds on."""
    line = 'sleep 0.3; exec "$@"'
    krait = subprocess.Popen([h.KRAIT, "record", *h.PYTHON_ONLY, "-a", "-q", "-F", "997", "-d", "1200ms", "-f",
                              "folded", "-o", "-"], stdout=subprocess.PIPE, encoding="utf-8")
    late = subprocess.Popen(["sh", "-c", line, "sh",
                             *python.command(python.target("pairs.py"))],
                            stdout=subprocess.DEVNULL)
    out, _ = krait.communicate(timeout=h.PATIENCE_SECS)
    h.end_child(late)
    tap.ok("pairs (pairs.py)" in out, "-a: %s that starts meanwhile was seen" % python.name)


def main():
    h.need_bpf()
    tap = h.Tap()
    pythons = h.interpreters(tap, each_class=True)
    # What matters is from where the interpreter's file is visible, not which one it is.
    inside, outside = ([p for p in pythons if (p.root != "/") == is_in] for is_in in (True, False))
    for python in inside if h.is_all() else inside[:1]:
        check_files(tap, python)
    for python in pythons if h.is_all() else inside[:1] + outside[:1]:
        check_namespaces(tap, python)
    if pythons:
        check_names(tap, h.newest(pythons))
        for python in h.few(pythons):
            check_leaderless(tap, python)
        check_all(tap, pythons)
        check_start(tap, h.newest(pythons))
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    sys.exit(main())
