#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""B1: memory and files that never arrive (userfaultfd, FUSE). A reader waits for ever and cannot be killed; krait
goes on, ends, and names the process."""
import contextlib
import os
import subprocess
import time

import attack

SAYS = r"(?s)reading it h[au]ng.*%d|%d.*reading it h[au]ng"


def check_list(scene, *pids):
    """pids: at least one of them must be named."""
    done = attack.krait("list", timeout=attack.END_SECS)
    scene.ok(not done.hung and (not pids or any(str(pid) in done.said for pid in pids)),
             "krait list ends%s" % (", and names a process" if pids else ""),
             "%s after %.1f s" % (done.code, done.seconds), done.words, getattr(done, "stacks", ""))


def check(tap, python, what, fuse):
    """With a page of a file, the reader waits in state D. With userfaultfd, reading /proc/PID/mem only fails, and
    process_vm_readv() waits."""
    name = "B1: %s never comes, by %s" % (what, "FUSE" if fuse else "userfaultfd")
    why_not = attack.why_no_fuse() if fuse else attack.why_no_userfaultfd()
    if why_not:
        tap.skip(name, why_not)
        return
    with attack.Scene(tap, name, python) as scene:
        host = scene.folder_of_host()
        program, files = host.build("late_page.c", "-lpthread"), []
        if fuse:
            files = [scene.mount_point() + "/page"]
            scene.run([host.build("stuck_fs.c"), os.path.dirname(files[0])])
        hostile = scene.native(program, what, *files, uid=0, rests=True)
        # A process whose memory is unreadable from the start is not recognised as Python.
        check_list(scene, *([hostile.pid] if fuse else []))
        k = scene.record("-a")
        if fuse and what == "runtime":  # the kernel never reads a command line from files
            scene.says(k, SAYS % (hostile.pid, hostile.pid), "whose memory does not come")
            # Ends before krait gives up on anything.
            short = attack.krait("record", *attack.h.PYTHON_ONLY, "-a", "-d", "300ms", "-o", "x.script")
            scene.says(short, SAYS % (hostile.pid, hostile.pid), "it after a moment, too")


@contextlib.contextmanager
def stuck_scene(tap, name, python):
    """Returns (scene, start), or None without FUSE: start(WHAT) starts a process whose memory of that kind never
    arrives."""
    if attack.why_no_fuse():
        tap.skip(name, attack.why_no_fuse())
        yield None
        return
    with attack.Scene(tap, name, python) as scene:
        host, mount = scene.folder_of_host(), scene.mount_point()
        scene.run([host.build("stuck_fs.c"), mount])
        program = host.build("late_page.c", "-lpthread")
        yield scene, lambda what: scene.native(program, what, mount + "/page", uid=0)


def check_flood(tap, python, cnt):
    """More of them than krait may have helpers: others must not wait."""
    with stuck_scene(tap, "B1: %d processes that hang their readers" % cnt, python) as stuck:
        if not stuck:
            return
        scene, start = stuck
        pids = [start("runtime").pid for _ in range(cnt)]
        for pid in pids:
            os.kill(pid, attack.signal.SIGSTOP)  # their CPU time does not matter
        check_list(scene, *pids)
        # krait looks at one after the other before it gets to the bystanders.
        scene.record("-a", work=2 * attack.WORK_MS)


def states(pid):
    """Returns its threads' states as the kernel reports them."""
    found = ""
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/stat" % (pid, tid), encoding="utf-8", errors="surrogateescape") as f:
            found += f.read().rpartition(")")[2].split()[0]
    return found


def check_pause(tap, python):
    """dump --pause stops a process while reading it. If that takes too long, the process must resume, whatever
    happens to the unkillable reader."""
    with stuck_scene(tap, "B1: a process that is paused, and whose memory never comes", python) as stuck:
        if not stuck:
            return
        scene, start = stuck
        hostile = start("thread")
        with subprocess.Popen([attack.h.KRAIT, "dump", "--pause", str(hostile.pid)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, encoding="utf-8", errors="replace") as dump:
            began, stopped, last = time.monotonic(), 0, None
            while dump.poll() is None and time.monotonic() - began < attack.END_SECS:
                if "t" in states(hostile.pid):
                    stopped, last = stopped + 1, time.monotonic()
                time.sleep(0.01)
            took = time.monotonic() - began
            scene.ok(dump.poll() is not None, "krait dump --pause ends", "%.1f s" % took)
            dump.kill()
            said = dump.stdout.read()
        scene.ok(stopped > 0, "it was stopped", said)
        # A second without progress, plus slack for a busy machine.
        scene.ok(stopped and last - began < 6 and "t" not in states(hostile.pid), "and goes on, though its reader hangs",
                 "stopped until %.1f s of %.1f s" % ((last or began) - began, took), said)
        scene.ok("too long" in said, "which is said", said)


def main():
    tap = attack.begin()
    python = attack.python_of(tap, "B1", "3.15")
    if python and attack.compiler():
        for what in ("runtime", "argv", "thread") if attack.FULL else ("runtime", "thread"):
            check(tap, python, what, True)
        check(tap, python, "runtime", False)
        check_pause(tap, python)
        check_flood(tap, python, 50 if attack.FULL else 12)
    attack.end(tap)


if __name__ == "__main__":
    main()
