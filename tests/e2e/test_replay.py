#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""A replay of a recording's input log gives the same stacks: forks, an exec and threads, on interpreters known by
fingerprints and by generations. On all interpreters (check-all) also with native and kernel frames: those depend
on when mappings became known, and in about one in a dozen recordings the replay knows them sooner or later than
the recording did. Every run tests naming and joining with a recorded log (tests/unit/test_replay_recorded.c)."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness as h  # noqa: E402

REPLAY = os.path.join(h.BUILD, "tests/unit/test_replay_log")

# Only in a run on all interpreters.
NATIVE = () if "KRAIT_MATRIX" in os.environ else ("--native", "--kernel")

SOURCE = """
import hashlib, os, sys, threading, time
def leaf(n):
    return sum(i * i for i in range(n))
def zeroes():
    with open("/dev/zero", "rb") as f:
        return hashlib.sha256(f.read(100000)).digest()
def work(seconds):
    end = time.time() + seconds
    while time.time() < end:
        leaf(2000)
        zeroes()
if len(sys.argv) > 1:
    work(0.3)
    sys.exit()
pid = os.fork()
if not pid:
    work(0.3)
    os._exit(0)
thread = threading.Thread(target=work, args=(0.3,))
thread.start()
work(0.3)
thread.join()
os.waitpid(pid, 0)
os.execv(sys.executable, [sys.executable, __file__, "again"])
"""


def check(tap, python, folder):
    script, log, out = (os.path.join(folder, name) for name in ("app.py", "inputs", "out.folded"))
    with open(script, "w", encoding="utf-8") as f:
        f.write(SOURCE)
    recording = h.record(*NATIVE, "--log-inputs", log, command=python.command(script), lines=False)
    done = subprocess.run([REPLAY, log, out], capture_output=True, encoding="utf-8",
                          timeout=h.PATIENCE_SECS)
    tap.ok(recording.code == 0 and done.returncode == 0, python.name + ": recorded and replayed",
           recording.err, done.stdout, done.stderr)
    with open(out, encoding="utf-8") as f:
        again = sorted(f)
    with open(recording.path("x.folded"), encoding="utf-8") as f:
        live = sorted(f)
    tap.ok(any("leaf" in line for line in live), python.name + ": there are stacks", live)
    tap.equal(again, live, python.name + ": the replay has the same stacks")
    could, cnt = map(int, re.search(r"# anchors: (\d+) of (\d+)", done.stdout).groups())
    tap.ok(cnt and could == (0 if python.minor != "3.15" else cnt),
           python.name + ": samples say whether anchors are possible", done.stdout)


def main():
    h.need_bpf()
    tap = h.Tap()
    for python in h.interpreters(tap):
        if python.root == "/":
            with tempfile.TemporaryDirectory() as folder:
                check(tap, python, folder)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
