#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait exec of processes that cannot be asked or may not be: it refuses with a reason and writes nothing. Also what
other users, containers and a hostile process can do to it."""
import os
import re
import shutil
import signal
import subprocess
import tempfile

import exec_target as ex
import harness as h


def check_refused(tap, python):
    with subprocess.Popen(["sleep", "60"]) as process:
        with ex.Untouched(tap, "what is no Python", process.pid):
            done = h.run_krait("exec", str(process.pid), "-c", "1")
        process.kill()
        tap.equal(done.returncode, 3, "what is no Python is refused", done.stderr)
    for args in ((), ("1",), ("x", "-c", "1"), ("1", "a", "-c", "1"), ("1", "a", "b")):
        tap.equal(h.run_krait("exec", *args).returncode, 2, "usage: %s" % (args,))
    tap.equal(h.run_krait("exec", "1", "/nonexistent.py").returncode, 7, "a script that is not there")
    with ex.start(python) as target:
        with ex.Untouched(tap, "a thread of somebody else", target.pid):
            done = ex.run(target, "--thread", "1", code="1")
        tap.ok(done.returncode == 3 and "no thread 1" in done.stderr, "a thread of somebody else", done.stderr)
        with ex.Untouched(tap, "another user's process", target.pid):
            done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", h.KRAIT, "exec",
                                   str(target.pid), "-c", "1"], capture_output=True, encoding="utf-8")
        tap.ok(done.returncode == 4, "another user's process", (done.returncode, done.stderr))
        tap.ok(ex.is_well(target) and not ex.left_behind(python), "nothing is left")


def children_of(pid):
    """Returns gdb's shell, and what that runs."""
    return [int(child) for child in subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True,
                                                   encoding="utf-8").stdout.split()]


def check_traced(tap, python):
    if not shutil.which("gdb"):
        tap.skip("a process that gdb traces", "no gdb")
        return
    with ex.start(python) as target:
        with subprocess.Popen(["gdb", "-q", "-batch", "-p", str(target.pid), "-ex", "shell sleep 600"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as gdb:
            # Before gdb waits in its shell, it reads symbols and writes its own breakpoints.
            h.wait_until(lambda: children_of(gdb.pid) and {t for _, t in ex.states_of(target.pid)} != {0}, gdb)
            with ex.Untouched(tap, "a process that gdb traces", target.pid):
                done = ex.run(target, code="1")
            tap.ok(done.returncode == 4 and "traces it" in done.stderr and "gdb" in done.stderr,
                   "a process that gdb traces", (done.returncode, done.stderr))
            done = h.run_krait("dump", str(target.pid))
            tap.ok("asked.py" in done.stdout, "dump works there", done.stdout + done.stderr)
            children = children_of(gdb.pid)
            gdb.kill()
            for child in children:
                os.kill(child, signal.SIGKILL)
        tap.ok(target.alive() and not ex.left_behind(python), "nothing is left")


def check_other_user(tap, python):
    for tmpdir in (None, "/tmp", "/nonexistent"):
        before = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        if python.root != "/":
            # All of it runs as that user: chroot comes first.
            command = ["chroot", python.root, *before, python.path, "-B", python.target("asked.py")]
        else:
            command = [*before, *python.command(python.target("asked.py"))]
        if python.root != "/" and not os.path.exists(python.root + "/usr/bin/setpriv"):
            tap.skip("another user's process", "no setpriv in " + python.root)
            return
        with h.Target(command, oracle=ex.Said(), env=tmpdir and dict(os.environ, TMPDIR=tmpdir)) as target:
            done = ex.run(target, "--capture", code="import os; print(os.getuid())")
            tap.equal((done.returncode, done.stdout, done.stderr), (0, "65534\n", ""),
                      "nobody's process, TMPDIR=%s" % tmpdir)
            tap.ok(not ex.left_behind(python), "nothing is left")


def check_rights(tap, python):
    """Rights of krait's file that the caller lacks do not count."""
    if not shutil.which("setcap"):
        tap.skip("krait with capabilities of its file", "no setcap")
        return
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    try:
        os.chmod(folder, 0o755)
        krait = folder + "/krait"
        shutil.copy(h.KRAIT, krait)
        os.chmod(krait, 0o755)
        caps = "cap_sys_ptrace,cap_dac_read_search,cap_dac_override,cap_setuid,cap_setgid,cap_kill+ep"
        if subprocess.run(["setcap", caps, krait], stderr=subprocess.DEVNULL).returncode:
            tap.skip("krait with capabilities of its file", "setcap is refused")
            return
        with open(folder + "/secret.py", "w", encoding="utf-8") as f:
            f.write("print('secret')")
        os.chmod(folder + "/secret.py", 0o600)
        with ex.start(python) as target:
            before = ex.mailbox(python, target)
            for args, code in ((("exec", str(target.pid), "-c", "1"), 4),
                               (("exec", str(target.pid), folder + "/secret.py"), 7),
                               (("dump", "--pause", str(target.pid)), 4)):
                done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", krait, *args],
                                      capture_output=True, encoding="utf-8", timeout=h.PATIENCE_SECS)
                tap.equal(done.returncode, code, "nobody, with capabilities of the file: %s" % (args,), done.stderr)
            tap.ok(ex.mailbox(python, target) == before and ex.is_well(target), "nothing is written")
    finally:
        shutil.rmtree(folder)


def check_folders(tap, python):
    """krait does not use links, or folders in which others could put another script."""
    folder = python.scratch()
    try:
        os.chmod(folder, 0o755)
        os.mkdir(folder + "/open")
        os.chmod(folder + "/open", 0o777)
        os.mkdir(folder + "/good")
        os.mkdir(folder + "/others")
        os.chown(folder + "/others", 4242, 4242)
        os.symlink("good", folder + "/link")
        for name, used in (("good", True), ("open", False), ("link", False), ("others", False)):
            tmpdir = python.inside(folder) + "/" + name
            with ex.start(python, env={"TMPDIR": tmpdir}) as target:
                done = ex.run(target, code="1")
                asked = ex.line_of(target)
                tap.ok(done.returncode == 0 and asked.startswith(
                    "ASKED %s/krait-exec-" % (tmpdir if used else "/tmp")), "TMPDIR: " + name, asked, done.stderr)
    finally:
        shutil.rmtree(folder)


def check_container(tap, python):
    """Its own mounts, pids and /tmp."""
    root = python.root
    script = ("mount -t tmpfs none %s/tmp && exec chroot %s %s -B %s" %
              (root.rstrip("/"), root, python.path, python.target("asked.py")))
    with h.Target(["unshare", "-mpf", "--kill-child", "sh", "-c", script], oracle=ex.Said()) as target:
        with open("/proc/%d/task/%d/children" % (target.pid, target.pid), encoding="utf-8") as f:
            pid = int(f.read().split()[0])
        facts = target.oracle.facts
        tap.equal(facts["pid"], 1, "it has a pid of its own")
        done = h.run_krait("exec", str(pid), "--capture", "-c", "import os; print(os.getpid(), os.listdir('/tmp'))")
        tap.equal((done.returncode, done.stdout, done.stderr), (0, "1 []\n", ""), "in a container")
        tids = {}
        for tid in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/status" % (pid, tid), encoding="utf-8") as f:
                tids[int(re.search(r"^NSpid:.*\t(\d+)$", f.read(), re.M).group(1))] = tid
        done = h.run_krait("exec", str(pid), "--capture", "-t", tids[facts["worker"]], "-c",
                           "import threading; print(threading.get_native_id())")
        tap.equal(done.stdout, "%d\n" % facts["worker"], "a thread by our number", done.stderr)


def check_hostile(tap, python):
    """A process that writes arbitrary data into the report."""
    with ex.start(python) as target:
        done = ex.run(target, "--capture", "--timeout", "30s", code="""
import os
import stat
for fd in range(3, 64):
    try:
        if stat.S_ISFIFO(os.fstat(fd).st_mode):
            os.write(fd, b"O\\xff\\xff\\xff\\xff" + b"A" * 4000)
    except OSError:
        pass
""")
        tap.ok(done.returncode == 3 and "no sense" in done.stderr, "a report that makes no sense",
               (done.returncode, done.stderr, done.stdout[:100]))
        tap.ok(ex.is_well(target), "it lives")


def main():
    tap = h.Tap()
    able = [p for p in h.interpreters(tap) if p.minor not in ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")]
    if able:
        python = h.newest(able)
        for check in (check_refused, check_traced, check_other_user, check_rights, check_folders, check_container,
                      check_hostile):
            check(tap, python)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
