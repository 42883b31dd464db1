#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait list: every interpreter as it is, as a table and as JSON, with and without root; and record refuses what list
says cannot be profiled."""
import contextlib
import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios

import harness as h

WAIT = "import sys; print('READY', flush=True); sys.stdin.read()"


def listed(*args, **options):
    done = h.run_krait("list", "--json", *args, **options)
    return done, json.loads(done.stdout)


def check_each(tap, python):
    name = python.name
    minor = int(python.minor.split(".")[1])
    with h.Target(python.command("-c", WAIT)) as target:
        done, rows = listed(str(target.pid))
        row = rows[0]
        tap.equal(done.returncode, 0, name + ": exit code", done.stderr)
        tap.equal((row["schema"], row["schema_version"]), ("krait.list", 1), name + ": each row says what it is")
        tap.equal((row["pid"], row["ns_pid"], row["user"]), (target.pid, target.pid, "root"),
                  name + ": whose it is")
        tap.equal((row["version"], row["build"], row["free_threaded"]),
                  (python.version, python.build, python.free_threaded),
                  name + ": version and build")
        tap.equal(row["how"], "table" if minor < 13 else "published offsets", name + ": how")
        tap.ok(row["command"].endswith("-B -c " + WAIT), name + ": its command", row["command"])
        done = h.run_krait("list")
        short = re.search(r"^ *%d root +%s[td]* +[0-9.]+ +\d+[smhd] .*-B -c " % (target.pid, re.escape(python.version)),
                          done.stdout, re.M)
        tap.ok(short, name + ": a row", done.stdout)
        done = h.run_krait("list", "-v")
        lines = [line.split() for line in done.stdout.splitlines()]
        rows = [line for line in lines if line and line[0] == str(target.pid)]
        build = python.build + (",free-threaded" if python.free_threaded else "")
        tap.ok(len(rows) == 1 and rows[0][3:5] == [python.version, build],
               name + ": a row of the table with all", done.stdout)


def check_refused(tap):
    """An interpreter too old to be supported, and a process that is not Python, by name."""
    old = [p for p in h.all_interpreters() if int(p.minor.split(".")[1]) < 8]
    if not old:
        tap.skip("older than 3.8", "no such interpreter")
    for python in old[:1]:
        with h.Target(python.command("-c", WAIT)) as target:
            done, rows = listed(str(target.pid))
            tap.equal((done.returncode, rows[0]["how"], rows[0]["version"]),
                      (3, None, python.version), python.name + ": is refused")
            tap.ok("supports 3.8 to" in rows[0]["why"], python.name + ": and why", rows[0]["why"])
            recording = h.record("-p", str(target.pid), "-d", "1s")
            tap.equal(recording.code, 3, python.name + ": by record, too", recording.err)
            tap.ok("CPython " + python.version in recording.err, python.name + ": by name",
                   recording.err)
    with subprocess.Popen(["sleep", "60"]) as process:
        done, rows = listed(str(process.pid))
        tap.equal((done.returncode, rows[0]["how"]), (3, None), "sleep is no Python")
        tap.ok("Python runtime" in rows[0]["why"], "and list says so", rows[0]["why"])
        process.kill()
    gone = str(process.pid)
    done = h.run_krait("list", gone)
    tap.equal((done.returncode, done.stdout, done.stderr), (3, "", "krait: no process %s\n" % gone),
              "a process that is not there has no row")
    done, rows = listed(gone)
    tap.ok(done.returncode == 3 and rows == [] and "no process " + gone in done.stderr, "nor in JSON", rows, done.stderr)
    tap.equal(h.run_krait("list", "x").returncode, 2, "a PID is a number")


# A program without a library: it may be for a machine whose libraries are not here.
FOREVER = "void _start(void) { for (;;) __asm__ volatile(\"pause\"); }"


def check_other_pythons(tap):
    """PyPy, and a 32-bit Python, by stand-ins: they are said as such."""
    folder = tempfile.mkdtemp(prefix="krait-list-")
    source = os.path.join(folder, "forever.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(FOREVER)
    for name, options, said in [("pypy3.10", [], "PyPy is not CPython"), ("python3.11", ["-m32"], "a 32-bit Python"),
                                ("other", ["-m32"], "it is a 32-bit program")]:
        program = os.path.join(folder, name)
        if os.uname().machine != "x86_64" or \
                subprocess.run([os.environ.get("CC", "cc"), "-static", "-nostdlib", *options, source, "-o", program],
                               capture_output=True, check=False).returncode:
            tap.skip(said, "cannot be built here")
            continue
        with subprocess.Popen([program]) as process:
            done, rows = listed(str(process.pid))
            tap.ok(done.returncode == 3 and said in rows[0]["why"], said + ": list", rows)
            dumped = h.run_krait("dump", str(process.pid))
            tap.ok(said in dumped.stdout + dumped.stderr, said + ": dump", dumped.stdout, dumped.stderr)
            if name != "other":
                shown = h.run_krait("list")
                tap.ok(said in shown.stdout, said + ": list of all", shown.stdout)
                checked = h.run_krait("doctor")
                tap.ok(said in checked.stdout, said + ": doctor", checked.stdout)
            process.kill()
        if name != "other":
            done = h.run_krait("record", "-d", "200ms", "-o", os.path.join(folder, "x.data"), "--", program)
            tap.ok(said in done.stderr, said + ": record of a command", done.stderr)
    shutil.rmtree(folder)


def on_terminal(columns, *args):
    """Returns what krait list writes to a terminal of that width."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen([h.KRAIT, "list", *args], stdin=slave, stdout=slave, stderr=slave) as process:
        os.close(slave)
        text = b""
        with contextlib.suppress(OSError):  # the end of the output
            while more := os.read(master, 65536):
                text += more
        process.wait(h.PATIENCE_SECS)
    os.close(master)
    return text.decode().splitlines()


def check_terminal(tap):
    """80 columns: the script is visible, whatever its interpreter's folder."""
    name = "/a-folder-with-a-long-name" * 4 + "/python3"
    command = ["bash", "-c", 'exec -a "$0" "$@"', name, sys.executable, "-c", WAIT]
    with h.Target(command) as target:
        lines = on_terminal(80, str(target.pid))
        tap.ok(len(lines) == 2 and "python3 -c import sys; print(" in lines[1] and "folder" not in lines[1] and
               all(len(line) <= 80 for line in lines), "on a terminal of 80 columns the script is seen", lines)
        lines = on_terminal(400, str(target.pid))
        tap.ok(len(lines) == 2 and name in lines[1], "on a wide one all is seen", lines)


def check_namespaces(tap, python):
    """A process in a pid namespace has two numbers."""
    command = ["unshare", "--pid", "--fork", "--kill-child", *python.command("-c", WAIT)]
    try:
        target = h.Target(command)
    except (OSError, RuntimeError) as error:
        tap.skip("pid namespaces", error)
        return
    with target:
        rows = [r for r in listed()[1] if r["ns_pid"] == 1 and r["pid"] != 1 and
                r["command"].endswith(WAIT)]
        tap.ok(rows and rows[0]["how"], "a process in a pid namespace has its number there", rows)


def check_without_ptrace(tap, python, krait):
    """Root in a container that has not the right: each command names what it could not read, and why."""
    without = ["setpriv", "--bounding-set=-sys_ptrace", krait]
    with h.Target(python.command("-c", WAIT)):
        for command in (["list"], ["dump", "-a"], ["doctor"], ["record", "-a", "-d", "10ms", "-o", os.devnull, "-f", "folded"]):
            done = subprocess.run(without + command, capture_output=True, encoding="utf-8", check=False)
            tap.ok(re.search(r"\d+ process(es)? could not be inspected \(memory cannot be read: krait lacks CAP_SYS_PTRACE, which its "
                             r"container or unit must give it\) and may be Python: \d+ ", done.stdout + done.stderr),
                   "without CAP_SYS_PTRACE: %s names what it cannot read, and why" % command[0], done.stdout, done.stderr)


def check_unprivileged(tap, python):
    """Without root: shows what this user may read, and how many others exist."""
    if python.root != "/" or python.path.startswith("/root/"):
        tap.skip("without root", "nobody cannot run " + python.path)
        return
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    os.chmod(folder, 0o755)
    krait = shutil.copy(h.KRAIT, os.path.join(folder, "krait"))
    os.chmod(krait, 0o755)
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    with h.Target(python.command("-c", WAIT)) as other:
        own = subprocess.Popen([python.path, "-B", "-c", WAIT], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, **nobody)
        own.stdout.readline()
        done = subprocess.run([krait, "list", "--json"], capture_output=True, encoding="utf-8",
                              **nobody)
        rows = {r["pid"]: r for r in json.loads(done.stdout)}
        tap.equal(done.returncode, 0, "without root: exit code", done.stderr)
        tap.ok(rows.get(own.pid, {}).get("how"), "without root: one's own processes", rows)
        tap.ok(other.pid not in rows and re.search(r"processes could not be inspected \(memory cannot be read: run as root or with "
                                                   r"CAP_SYS_PTRACE\) and may be Python: \d+ \S+, ",
                                                   done.stderr), "without root: others are named", rows, done.stderr)
        tap.ok(not re.search(r"Python: 1 |, 1 ", done.stderr), "without root: not the machine's first one", done.stderr)
        done = subprocess.run([krait, "list", "-v"], capture_output=True, encoding="utf-8", **nobody)
        tap.ok(re.search(r"^ *%d .*\n +memory cannot be read: run as root" % other.pid, done.stdout, re.M),
               "without root: list -v has each with its reason", done.stdout)
        own.kill()
        own.communicate()
    check_without_ptrace(tap, python, krait)
    shutil.rmtree(folder)


def main():
    tap = h.Tap()
    if os.geteuid():
        tap.skip("list", "need root")
    else:
        pythons = h.interpreters(tap, each_class=True)
        for python in pythons:
            check_each(tap, python)
        check_refused(tap)
        check_other_pythons(tap)
        check_terminal(tap)
        if pythons:
            check_namespaces(tap, h.newest(pythons))
        for python in [p for p in pythons if p.path.startswith("/usr/bin/") and p.root == "/"][:1]:
            check_unprivileged(tap, python)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
