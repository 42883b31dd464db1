#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait doctor: works here; elsewhere says what is missing, with a recording's exit code. krait PID records; krait
alone on a terminal shows what exists."""
import json
import os
import pty
import re
import shutil
import subprocess
import tempfile
import termios

import harness as h

WAIT = "import sys; print('READY', flush=True); sys.stdin.read()"


def examined(*args, **options):
    done = h.run_krait("doctor", "--json", *args, **options)
    findings = json.loads(done.stdout) if done.stdout.startswith("[") else []
    return done, {f["name"]: f for f in findings}


def check_good(tap, python):
    with h.Target(python.command("-c", WAIT)) as target:
        done, found = examined(str(target.pid))
        tap.equal(done.returncode, 0, "a Python that can be recorded", done.stdout, done.stderr)
        tap.equal({(f["schema"], f["schema_version"]) for f in found.values()}, {("krait.doctor", 1)}, "each finding says what it is")
        for name in ("capabilities", "namespaces", "type information", "sampling", "process"):
            tap.equal(found.get(name, {}).get("level"), "ok", "it is well: " + name, done.stdout)
        done = h.run_krait("doctor")
        lines = [line for line in done.stdout.splitlines() if line and line[0] != " "]
        tap.ok(done.returncode == 0 and
               all(line.split()[0] in ("ok", "limited") for line in lines),
               "the machine, as text", done.stdout)


def check_bad(tap):
    with subprocess.Popen(["sleep", "60"]) as process:
        done, found = examined(str(process.pid))
        process.kill()
        tap.equal((done.returncode, found["process"]["level"]), (3, "broken"),
                  "a process that is no Python", done.stdout)
    done = subprocess.run(["unshare", "--pid", "--fork", h.KRAIT, "doctor", "--json"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                          timeout=h.PATIENCE_SECS)
    found = {f["name"]: f for f in json.loads(done.stdout)}
    tap.equal((done.returncode, found["namespaces"]["level"]), (4, "broken"),
              "a pid namespace of its own", done.stdout, done.stderr)
    tap.ok("--pid=host" in found["namespaces"]["remedy"], "and what mends it", done.stdout)


def check_unprivileged(tap, python):
    """Says what users may not do and how to fix it; a failing recording mentions doctor."""
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    os.chmod(folder, 0o755)
    krait = os.path.join(folder, "krait")
    shutil.copy2(h.KRAIT, krait)
    nobody = {"user": 65534, "group": 65534, "extra_groups": [], "encoding": "utf-8",
              "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": "/",
              "timeout": h.PATIENCE_SECS}
    done = subprocess.run([krait, "doctor", "--json"], **nobody)
    found = {f["name"]: f for f in json.loads(done.stdout)}
    tap.equal((done.returncode, found["sampling"]["level"]), (4, "broken"), "without rights",
              done.stdout)
    tap.ok("sudo" in found["capabilities"]["remedy"], "and what mends it", done.stdout)
    bare = [n for n, f in found.items() if f["level"] != "ok" and not f.get("remedy")]
    tap.ok(set(bare) <= {"hardware counters"}, "each line that is not ok has a command that mends it", bare)
    with h.Target(python.command("-c", "import time\nprint('READY', flush=True)\ntime.sleep(1000)")) as target:
        pid = str(target.pid)
        for args in (("record", "-a", "-d", "1s", "-f", "folded", "-o", "/dev/null"), (pid, "-f", "folded", "-o", "/dev/null"),
                     ("top", "-p", pid, "-n", "1"), ("dump", pid), ("dump", "--native", pid), ("dump", "--tasks", pid),
                     ("list", pid), ("exec", pid, "-c", "1"), ("agent", "--otlp-dir", folder)):
            done = subprocess.run([krait, *args], **nobody)
            tap.ok(done.returncode == 4 and "krait doctor" in done.stderr, "it is named by: krait " + " ".join(args),
                   done.returncode, done.stderr)
        done = subprocess.run([krait, "doctor", "--json", pid], **nobody)
        found = {f["name"]: f for f in json.loads(done.stdout)}
        tap.ok("sudo" in found["process"].get("remedy", ""), "of one process, too", found["process"])
    shutil.rmtree(folder)


def on_terminal(*args, columns=80):
    """Returns what krait writes to a terminal of that width, and how it ends."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, columns))
    with subprocess.Popen([h.KRAIT, *args], stdin=slave, stdout=slave, stderr=slave) as process:
        os.close(slave)
        text = b""
        try:
            while True:
                more = os.read(master, 65536)
                if not more:
                    break
                text += more
        except OSError:
            pass  # the terminal has ended
    os.close(master)
    return process.returncode, text.decode().replace("\r\n", "\n")


def check_terminal(tap):
    code, text = on_terminal()
    tap.ok(code == 0 and "krait dump PID" in text, "alone on a terminal", text[:2000])
    for columns in 80, 100:
        code, text = on_terminal("doctor", columns=columns)
        # A fix is there to be pasted, so it stays one line.
        long = [line for line in text.splitlines() if len(line) > columns and "fix: " not in line]
        tap.ok(not long, "%d columns break no word" % columns, long)
        whole = re.sub(r"[0-9]+", "#", " ".join(h.run_krait("doctor").stdout.split()))
        tap.equal(re.sub(r"[0-9]+", "#", " ".join(text.split())), whole, "%d columns: all that is there is said" % columns)


def check_pid(tap, python):
    with h.Target(python.command("-c", "import sys, threading\nprint('READY', flush=True)\n"
                                 "while True: pass")) as target:
        folder = tempfile.mkdtemp(prefix="krait-e2e-")
        out = os.path.join(folder, "x.folded")
        done = h.run_krait(str(target.pid), "-d", h.moment(0.3), "-o", out)
        tap.ok(done.returncode == 0 and os.path.getsize(out), "krait PID records", done.stderr)
        shutil.rmtree(folder)


def main():
    tap = h.Tap()
    h.need_bpf()
    pythons = h.interpreters(tap)
    if pythons:
        check_good(tap, h.newest(pythons))
        check_pid(tap, h.newest(pythons))
    check_bad(tap)
    if pythons:
        check_unprivileged(tap, h.newest(pythons))
    check_terminal(tap)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
