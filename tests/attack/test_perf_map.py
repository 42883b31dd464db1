#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""A3: --perf-map writes into each process's /tmp, and a user chooses what that is: a folder of root's, a link, a
FIFO, a file system that never answers. krait writes nothing that the process could not write itself."""
import os
import shutil
import stat
import subprocess

import attack
import harness as h

# Runs in a user's own mount namespace, before the program starts.
SHELL = 'mount --bind "$1" /tmp && shift && exec "$@"'
# A folder that a file may be made in, and nothing be written to.
FULL = ('mount -t tmpfs -o size=4k,mode=1777 full /tmp && head -c 4096 /dev/zero > /tmp/full && shift && '
        'exec "$@"')
# More than are given while a scene plays, even beside other tests.
NEXT_PIDS = 4000


def may_unshare():
    line = attack.as_user(attack.NOBODY) + ["unshare", "-Urm", "true"]
    return subprocess.run(line, stderr=subprocess.DEVNULL).returncode == 0


def play(tap, python, name, prepare, shell=SHELL):
    with attack.Scene(tap, "A3: /tmp is " + name, python) as scene:
        # Not below /tmp, which the attacker mounts over.
        folder = attack.tempfile.mkdtemp(prefix="krait-attack-", dir="/var/tmp")
        h.folders.append(folder)
        os.chmod(folder, 0o755)
        for program in "script_names.py", "bystander.py":
            shutil.copy(os.path.join(attack.PROGRAMS, program), folder)
        victim = os.path.join(folder, "tmp")
        os.mkdir(victim, 0o755)
        prepare(victim)
        before = state(victim)
        hostile = scene.run([*attack.as_user(attack.NOBODY), "unshare", "-Urm", "sh", "-c", shell, "sh", victim,
                             python.path, "-B", os.path.join(folder, "script_names.py")], rests=True)
        if prepare == open_folder:
            scene.ok("perf-%d.map" % hostile.pid in before, "there is a link for its process ID", hostile.pid)
        k = scene.record("-a", "--perf-map", outputs=("x.script", "x.data"))
        scene.ok(state(victim) == before, "nothing is made in there", before, state(victim))
        scene.ok(os.path.exists(k.path("x.data")), "the capture is there", k.words)
        if shell == FULL:
            scene.ok("is left empty: No space left" in k.words, "krait says whose map is not", k.words)
        for b in scene.programs:
            if isinstance(b, attack.Bystander):
                path = "/tmp/perf-%d.map" % b.pid
                if os.path.exists(path):
                    os.unlink(path)


def state(folder):
    """Returns the content of root's files there."""
    found = {}
    for at, _, files in os.walk(folder):
        for name in files:
            said = os.lstat(os.path.join(at, name))
            found[name] = (said.st_uid, said.st_size, stat.S_IFMT(said.st_mode))
    return found


def root_folder(path):
    with open(os.path.join(path, "of-root"), "w", encoding="ascii") as f:
        f.write("sourced by every shell")


def open_folder(path):
    # Neither sticky nor root's: anybody can put links there, for all process IDs that are given next.
    os.chown(path, attack.NOBODY, attack.NOBODY)
    os.chmod(path, 0o777)
    with open("/proc/sys/kernel/ns_last_pid", encoding="ascii") as f:
        last = int(f.read())
    with open("/proc/sys/kernel/pid_max", encoding="ascii") as f:
        largest = int(f.read())
    for pid in {(last + i) % largest for i in range(NEXT_PIDS)}:
        os.symlink("/etc/krait-attack-nobody-made-this", os.path.join(path, "perf-%d.map" % pid))


def main():
    tap = attack.begin()
    python = attack.python_of(tap, "A3", "3.11")
    if python and not may_unshare():
        tap.skip("A3", "users may not make namespaces here")
    elif python:
        play(tap, python, "a folder of root's", root_folder)
        play(tap, python, "full of links", open_folder)
        play(tap, python, "full", root_folder, FULL)
        made = os.path.exists("/etc/krait-attack-nobody-made-this")
        tap.ok(not made, "A3: no link was followed")
        if made:
            os.unlink("/etc/krait-attack-nobody-made-this")
    attack.end(tap)


if __name__ == "__main__":
    main()
