#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait record -- COMMAND ends before its command: it leaves nothing behind and never kills anybody's work
silently."""
import os
import signal
import subprocess
import time

import harness as h

WORK = "import os, signal, sys, time\n%sprint(os.getpid(), flush=True)\nwhile True: sum(range(1000))"
OTHER = "os.setresuid(65533, 65533, 65533)\n"
IGNORES = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
SAYS = "signal.signal(signal.SIGINT, lambda *a: (print('interrupted', flush=True), sys.exit(5)))\n"
# 150 processes that work until told to end.
STARTS = """import subprocess
running = []
def end(*args):
    for one in running: one.kill()
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
print(os.getpid(), flush=True)
for i in range(150):
    running.append(subprocess.Popen([sys.executable, "-c", "import time\\ne = time.time() + 12\\nwhile time.time() < e: pass"],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
"""


class Run:
    """krait with a command that prints its pid and works for ever."""

    def __init__(self, python, before, *args):
        folder = h.tempfile.mkdtemp(prefix="krait-e2e-")
        h.folders.append(folder)
        self.output = os.path.join(folder, "x.folded")
        self.begin = time.monotonic()
        self.krait = subprocess.Popen(
            [h.KRAIT, "record", *h.PYTHON_ONLY, *args, "-o", self.output, "--",
             *python.command("-c", WORK % before)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", start_new_session=True)
        self.pid = int(self.krait.stdout.readline())

    def is_alive(self):
        try:
            with open("/proc/%d/stat" % self.pid, encoding="utf-8", errors="replace") as f:
                return f.read().rpartition(")")[2].split()[0] not in "ZX"
        except OSError:
            return False

    def end(self, patience=20):
        """Waits until krait itself has ended; the command shares its output and may live on."""
        deadline = time.monotonic() + patience
        while self.krait.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        self.secs = time.monotonic() - self.begin
        alive = self.is_alive()
        for pid in {self.pid, self.krait.pid}:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        self.out, self.err = self.krait.communicate()
        return alive


def check(tap, name, run, alive):
    tap.equal(run.end(), alive, name + ": the command %s" % ("goes on" if alive else "has ended"), run.err)
    tap.equal(run.krait.returncode, 0, name + ": exit code", run.err)
    tap.ok(h.parse_folded(run.output), name + ": the profile is there", run.err)
    tap.equal("goes on as process %d" % run.pid in run.err, alive, name + ": krait says when it does", run.err)


def check_many(tap, python):
    """More processes start during the recording than there are processors: it still ends in time."""
    run = Run(python, STARTS, "-d", "1s")
    alive = run.end(60)
    tap.ok(not alive and run.secs < 4, "-d 1s with 150 started processes", "%.1f s" % run.secs, run.err)


def main():
    h.need_bpf()
    tap = h.Tap()
    python = h.newest(h.interpreters(tap))
    if python:
        check(tap, "-d", Run(python, "", "-d", h.moment(0.3)), False)
        check(tap, "-d, a command of another user",
              Run(python, OTHER, "-d", h.moment(0.3)), False)
        check(tap, "-d, a command that ignores SIGTERM", Run(python, IGNORES, "-d", h.moment(0.3)), True)
        run = Run(python, "")
        time.sleep(0.35)
        run.krait.send_signal(signal.SIGTERM)
        check(tap, "SIGTERM to krait alone", run, False)
        run = Run(python, SAYS)
        time.sleep(0.35)
        run.krait.send_signal(signal.SIGINT)
        check(tap, "SIGINT to krait alone", run, False)
        tap.equal(run.out, "interrupted\n", "SIGINT to krait alone: the command gets it, too")
        check_many(tap, python)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
