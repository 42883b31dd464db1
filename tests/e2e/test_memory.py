#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""What krait agent keeps: captures in a folder, which snapshots merge into one. A killed agent leaves what it had
flushed, and the next one continues there; krait, perf and others can read it."""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import harness as h


def start_agent(keep, *args):
    command = [h.KRAIT, "agent", "-i", "1s", "-r", "197", "--cpu-budget", "0", "--native", "--name", "split.py", "--keep",
               "1h", "--keep-dir", keep, *args]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8")


def captures(keep):
    return sorted(n for n in os.listdir(keep) if n.endswith(".data")) if os.path.isdir(keep) else []


def size(keep):
    found = captures(keep)
    return os.path.getsize(os.path.join(keep, found[-1])) if found else 0


def snapshot(keep, out, *args):
    return h.run_krait("agent", "snapshot", "--keep-dir", keep, "-o", out, *args)


def counts(path, *args):
    done = h.run_krait("report", "--stats", path, *args)
    found = re.search(r"(\d+) interrupts = (\d+) complete.*?(\d+) truncated.*?(\d+) lost", done.stdout)
    return [int(n) for n in found.groups()] if found else [], done


def flushed(keep):
    """Returns how many samples of the newest capture are on disk."""
    found = captures(keep)
    numbers = counts(os.path.join(keep, found[-1]))[0] if found and size(keep) else []
    return numbers[0] if numbers else 0


def check_killed(tap, keep, folder):
    """It flushes every 5 s: later samples are lost, but all on disk have their names."""
    process = start_agent(keep)
    deadline = time.monotonic() + h.PATIENCE_SECS
    while time.monotonic() < deadline and process.poll() is None and flushed(keep) <= 20:
        time.sleep(0.5)
    os.kill(process.pid, signal.SIGKILL)
    said = process.communicate(timeout=h.PATIENCE_SECS)[1]
    tap.ok(len(captures(keep)) == 1, "killed: one capture is there", captures(keep), said[-300:])
    tap.equal(os.stat(keep).st_mode & 0o777, 0o700, "the folder is its owner's")
    out = os.path.join(folder, "torn.data")
    done = snapshot(keep, out)
    tap.ok(done.returncode == 0 and "cut off" in done.stderr, "killed: a snapshot says that it was cut off", done.stderr)
    found, report = counts(out)
    tap.ok(found and found[0] > 20 and " hot" in report.stdout, "killed: and has what was flushed", found, report.stdout[:500],
           report.stderr)
    unnamed = re.findall(r"\[python 0x\w+\]", report.stdout)
    tap.ok(not unnamed, "killed: every function has its name", unnamed)


def check_living(tap, keep, folder):
    """Another agent continues; a snapshot taken while it runs contains everything."""
    process = start_agent(keep)
    out = os.path.join(folder, "both.data")
    try:
        h.wait_until(lambda: len(captures(keep)) > 1 and size(keep) > 0, process)
        time.sleep(2)
        began = time.monotonic()
        done = snapshot(keep, out)
        took = time.monotonic() - began
        second = start_agent(keep)
        code = second.wait(h.PATIENCE_SECS)
        refused = second.stderr.read()
    finally:
        process.terminate()
        said = process.communicate(timeout=h.PATIENCE_SECS)[1]
    tap.ok(done.returncode == 0 and re.search(r" [23] slices", done.stderr), "living: the snapshot has both agents'", done.stderr)
    tap.ok(took < 8, "living: the agent ends its capture when it is asked", took, done.stderr)
    tap.ok(code == 7 and "another krait agent" in refused, "living: a second agent does not write there", code, refused)
    tap.ok(process.returncode == 0, "living: the agent ends", process.returncode, said[-300:])
    # Everything up to now, including the agent's last samples.
    done = snapshot(keep, out)
    parts = [counts(os.path.join(keep, name))[0] for name in captures(keep)]
    whole, report = counts(out)
    tap.ok(whole and all(parts) and [sum(p) for p in zip(*parts)] == whole,
           "living: the accounts of the snapshot are the sums of its parts'", parts, whole, done.stderr, captures(keep), report.stderr)


def check_readers(tap, folder):
    """One function is one line, whatever captures it comes from."""
    out = os.path.join(folder, "both.data")
    script = h.run_krait("script", out).stdout
    tap.ok("hot" in script and "split.py" in script, "krait script reads it", script[:300])
    if not shutil.which("perf"):
        tap.skip("perf report", "no perf")
        return
    done = subprocess.run(["perf", "report", "-i", out, "--stdio", "--no-children", "-g", "none", "-F", "sample,sym", "-s",
                           "sym"], capture_output=True, encoding="utf-8", stdin=subprocess.DEVNULL, check=False)
    rows = re.findall(r"(?m)^\s*(\d+)\s+\[\.\] py::hot:", done.stdout)
    folded = h.run_krait("convert", out, "-f", "folded").stdout
    hot = sum(int(line.rpartition(" ")[2]) for line in folded.splitlines() if re.search(r";hot \([^;]*\) \d+$", line))
    # Not one per capture: two captures would have made three.
    tap.ok(0 < len(rows) < 3 and sum(map(int, rows)) == hot, "perf report: functions of all captures are one", rows, hot,
           done.stdout[:800], done.stderr[-300:])


def check_choice(tap, keep, folder):
    out = os.path.join(folder, "none.data")
    done = snapshot(keep, out, "--until", "2001-01-01T00:00:00Z")
    tap.ok(done.returncode == 6 and not os.path.exists(out), "nothing of that time: said, and no file", done.returncode,
           done.stderr)
    done = snapshot(keep, out, "--since", "yesterday")
    tap.ok(done.returncode == 2, "a time that is none", done.stderr)
    done = snapshot(keep, out, "--since", "-1h")
    tap.ok(done.returncode == 0 and os.path.exists(out), "an hour back: all of it", done.stderr)
    done = snapshot(os.path.join(folder, "nowhere"), out)
    tap.ok(done.returncode == 7 and "--keep" in done.stderr, "no folder", done.returncode, done.stderr)
    os.chmod(keep, 0o777)
    done = snapshot(keep, out)
    tap.ok(done.returncode == 4, "a folder in which anybody may write is not read", done.returncode, done.stderr)


def main():
    h.need_bpf()
    tap = h.Tap()
    python = h.newest([p for p in h.all_interpreters() if p.root == "/" and not p.free_threaded])
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    keep = os.path.join(folder, "keep")
    with h.start(python, "split.py", "rest"):
        check_killed(tap, keep, folder)
        check_living(tap, keep, folder)
    check_readers(tap, folder)
    check_choice(tap, keep, folder)
    shutil.rmtree(folder)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
