#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait record -p of a process that is not Python itself: one that runs Python, one that becomes Python, and one that
does neither."""
import subprocess
import time

import harness as h

# A quarter of its time, which gives some tens of samples.
WORK = "import time\ndef work():\n    end = time.time() + 8\n    while time.time() < end:\n        began = time.thread_time()\n" \
    "        sum(range(50000))\n        time.sleep(3 * (time.thread_time() - began))\nwork()"


class Started:
    """A command in a session of its own, all of which ends with it."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, start_new_session=True)
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        subprocess.run(["pkill", "-KILL", "-s", str(self.pid)], check=False)
        self.process.wait()


def check(tap, name, *command):
    with Started(*command) as started:
        recording = h.record("-p", str(started.pid), "-d", h.moment(0.2), lines=False)
    tap.equal(recording.code, 0, name + ": exit code", recording.err)
    tap.ok(any("work" in frame for stack, _ in recording.stacks for frame in stack),
           name + ": the Python program is sampled", recording.err, h.show(recording.stacks))


def check_refused(tap, name, said, most_secs, *command):
    with Started(*command) as started:
        time.sleep(0.2)
        begin = time.monotonic()
        done = h.run_krait("record", "-p", str(started.pid), "-d", "1s", "-o", "-", "-f", "folded")
        secs = time.monotonic() - begin
    tap.equal(done.returncode, 3, name + ": exit code", done.stderr)
    tap.ok("process %d cannot be sampled: " % started.pid in done.stderr and said in done.stderr,
           name + ": the message says why", done.stderr)
    tap.ok(secs < most_secs, name + ": and soon", "%.1f s" % secs)


def main():
    h.need_bpf()
    tap = h.Tap()
    python = h.newest(h.interpreters(tap))
    if python:
        work = python.command("-c", WORK)
        shell = '"$@"; exit $?'
        check(tap, "timeout", "timeout", "20", *work)
        check(tap, "a shell below a shell", "sh", "-c", shell, "sh", "sh", "-c", shell, "sh", *work)
        check(tap, "a shell that starts it later", "sh", "-c", "sleep 0.6; " + shell, "sh", *work)
        check(tap, "what becomes Python", "sh", "-c", 'sleep 0.6; exec "$@"', "sh", *work)
        check(tap, "an interpreter that is just being started", *work)
        check_refused(tap, "a shell without Python", "neither it nor any of its children is Python", 4,
                      "sh", "-c", "sleep 20; true")
        check_refused(tap, "a program", "none holds a Python runtime", 4, "sleep", "20")
        with Started("sh", "-c", "sleep 20; true") as old:
            time.sleep(2.5)
            begin = time.monotonic()
            done = h.run_krait("record", "-p", str(old.pid), "-d", "1s", "-o", "-", "-f", "folded")
            tap.ok(done.returncode == 3 and time.monotonic() - begin < 1.5,
                   "what has run for a while is not waited for", done.stderr)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
