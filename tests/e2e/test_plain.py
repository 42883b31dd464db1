#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait remembers an executable whose processes are never Python and looks at its later processes with delay. If a
library then starts an interpreter in one after all, krait finds it, counts it, and never remembers that executable
again. What a user's processes show counts only for that user; what root's show counts for all."""
import json
import os
import shutil
import subprocess
import tempfile

import bpf_objects
import harness as h
import otlp
from test_agent import Agent, get, listening_port, read_windows, wait_for
from test_late import build, library_of


ATTACKER_UID, VICTIM_UID = 65431, 65432


def bpftool(*args):
    done = subprocess.run(["bpftool", "-j", *args], stdout=subprocess.PIPE, encoding="utf-8", check=False,
                          env=dict(os.environ, PATH=os.environ["PATH"] + ":/usr/sbin"))
    return json.loads(done.stdout or "null")


class Plain:
    """A krait's map "plain"."""

    def __init__(self, pid):
        mine = {int(number) for kind, number in bpf_objects.held_by(pid) if kind == "map"}
        self.number, = (m["id"] for m in bpftool("map") if m["id"] in mine and m.get("name") == "plain")

    def says(self, path, uid):
        """Returns what that user's processes have shown: 1: plain, 2: sometimes Python, None: nothing."""
        inode = os.stat(path).st_ino
        for e in bpftool("map", "dump", "id", str(self.number)):
            key, value = (bytes(int(x, 16) for x in e[part]) for part in ("key", "value"))
            if int.from_bytes(key[:8], "little") == inode and int.from_bytes(key[32:36], "little") == uid:
                return int.from_bytes(value, "little")
        return None

    def __contains__(self, path):
        return self.says(path, 0) == 1


def metric(port, name):
    for line in get(port, "/metrics")[1].decode().splitlines():
        if line.startswith(name + " "):
            return float(line.split()[1])
    return None


def library_for_it(python, program):
    """Makes a library for it to load: from the same root, and a new file that no prober knows."""
    copy = os.path.join(os.path.dirname(program), "libpython-of-its-own.so")
    shutil.copy(os.path.join(python.root, library_of(python).lstrip("/")), copy)
    return python.inside(copy)


def has_samples(agent, name):
    return any(f[0] == name for body in read_windows(agent.windows) for stack in otlp.Body(body).stacks for f in stack)


def check_sleep(tap, plain, folder):
    quiet = os.path.join(folder, "quiet")
    shutil.copy("/bin/sleep", quiet)
    tap.ok(wait_for(lambda: subprocess.run([quiet, "0.05"], check=True) and quiet in plain),
           "a program that is never Python is remembered")


def check_users(tap, plain, folder):
    """Each lives a twentieth of a second, so a delayed look never sees it, and it shows nothing."""
    held, quiet = os.path.join(folder, "held"), os.path.join(folder, "quiet")
    shutil.copy("/bin/sleep", held)
    os.chmod(folder, 0o755)

    def run(uid, program):
        return subprocess.run([program, "0.05"], user=uid, group=uid, extra_groups=[], check=True)
    tap.ok(wait_for(lambda: run(ATTACKER_UID, held) and plain.says(held, ATTACKER_UID) == 1),
           "what a user runs is remembered for that user")
    tap.ok(held not in plain and plain.says(held, VICTIM_UID) is None, "and for nobody else")
    tap.ok(wait_for(lambda: run(VICTIM_UID, held) and plain.says(held, VICTIM_UID) == 1),
           "another user's processes of that file are looked at at once")
    for _ in range(12):
        run(VICTIM_UID, quiet)
    tap.ok(plain.says(quiet, VICTIM_UID) is None, "those of what root's have shown to be no Python are not")


def check_late(tap, agent, plain, port, python):
    name, folder = python.name, python.scratch()
    program = build(folder)
    if not program:
        tap.skip(name, "no C compiler")
        return
    run = ["chroot", python.root, "/usr/bin/env", "PYTHONHOME=/usr", python.inside(program)]
    in_vain = {"stderr": subprocess.DEVNULL, "check": False}
    tap.ok(wait_for(lambda: subprocess.run(run, **in_vain) and program in plain),
           name + ": a program that has not loaded its library yet is remembered, too")
    late, late_cpu = metric(port, "krait_late_processes_total"), metric(port, "krait_late_cpu_seconds_total")
    done = subprocess.run(run + [library_for_it(python, program)], stderr=subprocess.PIPE, check=False)
    tap.equal(done.returncode, 0, name + ": it runs", done.stderr)
    tap.ok(wait_for(lambda: program not in plain), name + ": when it is Python, it is no longer")
    # The endpoint's numbers may be some tenths of a second old.
    tap.ok(wait_for(lambda: metric(port, "krait_late_processes_total") > late and
                    metric(port, "krait_late_cpu_seconds_total") > late_cpu),
           name + ": what was missed is counted")
    for _ in range(3):
        subprocess.run(run, **in_vain)
    tap.ok(program not in plain, name + ": and never again")
    agent.wait_for_windows(2)
    tap.ok(has_samples(agent, "foreign_top"), name + ": its functions are there")
    shutil.rmtree(folder)


def main():
    h.need_bpf()
    tap = h.Tap()
    if not shutil.which("bpftool", path=os.environ["PATH"] + ":/usr/sbin"):
        tap.skip("plain executables", "no bpftool")
        tap.done()
        return
    folder = tempfile.mkdtemp(prefix="krait-plain-")
    agent = Agent(folder, "-r", "997", "--cpu-budget", "0", "--listen", "127.0.0.1:0")
    try:
        agent.wait_for_windows(1)
        port = listening_port(agent.process.pid)
        plain = Plain(agent.process.pid)
        check_sleep(tap, plain, folder)
        check_users(tap, plain, folder)
        for python in h.interpreters(tap):
            if python.kind == "shared" and python.root != "/" and library_of(python):
                check_late(tap, agent, plain, port, python)
    finally:
        tap.equal(agent.stop(), 0, "the agent ends", agent.log()[-1500:])
    h.cleanup()
    shutil.rmtree(folder)
    tap.done()


if __name__ == "__main__":
    main()
