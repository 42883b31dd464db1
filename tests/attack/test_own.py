#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""record --own, with which krait broker records for an ordinary user: only what that user could trace without krait, at
each sample. Its own processes change their rights, in all ways; other users' processes are asked for by pid."""
import glob
import os
import shutil
import subprocess
import time

import attack

CLIENT, OTHER = 61001, 61002
RIGHTS = "+bpf,+perfmon,+checkpoint_restore"
if os.path.exists("/proc/sys/kernel/perf_event_paranoid"):
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as _f:
        RIGHTS += ",+sys_admin" if int(_f.read()) > 2 else ""
# As krait broker starts it: the client's ids, and what the kernel's samples need.
AS_CLIENT = ["setpriv", "--reuid=%d" % CLIENT, "--regid=%d" % CLIENT, "--clear-groups", "--inh-caps=-all," + RIGHTS,
             "--ambient-caps=-all," + RIGHTS, "--bounding-set=-all," + RIGHTS]


def set_uid_python(folder, python):
    """Returns a copy of the interpreter that runs with root's rights, whoever starts it."""
    path = folder.outside("set-uid-python")
    shutil.copy(os.path.realpath(python.path), path)
    os.chmod(path, 0o4755)
    return path


class Own:
    """One recording with --own."""

    def __init__(self, scene, target, secs=1.2):
        folder = attack.Folder().path
        os.chown(folder, CLIENT, CLIENT)
        self.k = attack.Krait("--own", "record", "--no-source", "--no-kernel", "-F", "997", "-p", str(target.pid), "-o", "x.data", "-o", "x.folded",
                              folder=folder, launch=AS_CLIENT, env={**os.environ, "HOME": folder})
        self.k.recording()
        target.process.stdin.write(b"\n")
        time.sleep(secs)
        self.k.interrupt()
        self.words = self.k.words
        path = self.k.path("x.folded")
        self.folded = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
        # All that it has written, which a user may read byte by byte.
        self.bytes = b"".join(open(p, "rb").read() for p in glob.glob(folder + "/**", recursive=True)
                              if os.path.isfile(p))
        scene.ok(not self.k.hung, "it ends", self.words)


def samples(folded, name):
    return sum(int(line.rpartition(" ")[2]) for line in folded.splitlines() if ";" + name in line)


def check(tap, python, name, *args, least=20):
    with attack.Scene(tap, "own: " + name, python) as scene:
        words = [set_uid_python(scene.folder_of_host(), python) if a == "PYTHON" else a for a in args]
        target = scene.attacker("rights.py", *words, uid=CLIENT)
        run = Own(scene, target)
        scene.ok(samples(run.folded, "own") >= least, "its samples are taken while it is the user's", run.words, run.folded[:1000])
        scene.ok(";hidden" not in run.folded and b"hidden" not in run.bytes and b"set-uid-python" not in run.bytes, "and none while it is not", run.words,
                 run.folded[:1000])
        # A set-uid interpreter that krait does not know yet has no interrupts that it could count.
        scene.ok(args[0] != "undumpable" or "left out" in run.words, "it says that some were left out", run.words)


def check_others(tap, python):
    """Others' processes, by pid."""
    with attack.Scene(tap, "own: another user's process", python) as scene:
        for uid in OTHER, 0:
            other = scene.attacker("rights.py", "spin", uid=uid)
            run = Own(scene, other, secs=0.5)
            scene.ok(not run.folded and run.k.code in (3, 4) and b"own" not in
                     run.bytes.replace(b"your own", b"").replace(b"--own", b"").replace(run.words.encode(), b""),
                     "it is refused (uid %d)" % uid, run.k.code, run.words)


def main():
    tap = attack.begin()
    if not shutil.which("setpriv"):
        tap.skip("own", "no setpriv")
        return attack.end(tap)
    # A copy of it is made, which must find its library.
    python = next((p for p in attack.pythons("3.11", "3.13", "3.12", "3.14") if p.root == "/"), None)
    if not python:
        tap.skip("own", "no interpreter in / that nobody may run")
    else:
        check(tap, python, "an ordinary process", "spin")
        check(tap, python, "exec of a set-uid program", "exec", "PYTHON")
        check(tap, python, "children that execute one", "children", "PYTHON", least=5)
        check(tap, python, "a process that is not dumpable", "undumpable")
        check(tap, python, "a set-uid program that drops root's rights", "drop", "PYTHON")
        check(tap, python, "a user namespace", "namespace")
        check_others(tap, python)
    return attack.end(tap)


main()
