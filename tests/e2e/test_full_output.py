#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""A standard output that cannot be written: on a full disk each command reports that with code 7, as with a closed
standard output; a reader that has left is no failure. Covers every command that krait --help lists."""
import os
import re
import shutil
import subprocess
import tempfile

import harness as h

OUTPUT = 7
FULL, CLOSED = "No space left on device", "Bad file descriptor"
# Some exceed a stream's buffer, others do not; --version is one line.
HELPS = ["--help"], ["help"], ["--version"], ["agent", "snapshot", "--help"]


def run(arguments, where):
    """where: full, closed, gone."""
    redirect = {"full": ">/dev/full", "closed": ">&-", "gone": ""}[where]
    reader, out = os.pipe()
    os.close(reader)
    try:
        return subprocess.run(["sh", "-c", 'exec "$@" %s' % redirect, "sh", h.KRAIT, *arguments], stdout=out,
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8", timeout=h.PATIENCE_SECS)
    finally:
        os.close(out)


def judge(tap, arguments, name, others=(0,)):
    """others: codes of a run that could print."""
    for where, why in (("full", FULL), ("closed", CLOSED)):
        done = run(arguments, where)
        tap.ok(done.returncode == OUTPUT and done.stderr.count(why) == 1,
               "%s: %s: code 7, and why, once" % (name, where), done.returncode, done.stderr)
    done = run(arguments, "gone")
    tap.ok(done.returncode in others and "cannot write" not in done.stderr, "%s: a reader that has gone is no failure" % name,
           done.returncode, done.stderr)


def commands():
    text = h.run_krait("--help").stdout
    return re.findall(r"^  (\w+) +\w", text.split("COMMAND [OPTION...]")[1].split('"krait PID"')[0], re.M)


def check_texts(tap, names):
    for arguments in HELPS:
        judge(tap, arguments, " ".join(arguments))
    for name in names:
        if name != "version":
            judge(tap, [name, "--help"], name + " --help")


def check_captures(tap, seen, folder):
    """Commands that read a capture."""
    path = os.path.join(folder, "x.folded")
    # More than a stream's buffer holds: the failure is known before the end.
    with open(path, "w", encoding="utf-8") as f:
        f.writelines("a;b;function_%d 1\n" % n for n in range(3000))
    golden = os.path.join(os.environ.get("KRAIT_ROOT", "."), "tests/golden/capture-0.1.0/old.data")
    for arguments in (["report", path], ["report", "-n", "0", path], ["report", "--tree", path], ["script", golden],
                      ["convert", path, "-f", "folded", "-o", "-"], ["convert", path, "-f", "speedscope", "-o", "-"],
                      ["annotate", golden], ["diff", path, path], ["clean", "-n"]):
        seen.add(arguments[0])
        shown = " ".join(os.path.basename(a) for a in arguments)
        judge(tap, arguments, shown)


def check_live(tap, seen, python, folder):
    with h.start(python, "pairs.py") as target, h.part_time(target, 0.5):
        pid = str(target.pid)
        for arguments, codes in ((["list"], (0,)), (["list", "--json"], (0,)), (["dump", pid], (0, 1)),
                                 (["dump", "--json", pid], (0, 1)), (["dump", "-n", "2", "-i", "50ms", pid], (0, 1)),
                                 (["setup"], (0,)), (["doctor"], (0, 5)), (["doctor", "--json"], (0, 5)),
                                 (["top", "--batch", "-n", "1", "-i", "300ms", "-p", pid], (0,)),
                                 (["record", "-q", "-p", pid, "-d", h.moment(0.25), "-f", "folded", "-o", "-"], (0,))):
            seen.add(arguments[0])
            judge(tap, arguments, " ".join("PID" if a == pid else a for a in arguments), codes)
        check_summary(tap, pid, folder)
    seen.add("exec")  # it prints what the process prints: --capture
    if python.minor in ("3.14", "3.15"):
        with h.start(python, "pairs.py") as target:
            arguments = ["exec", "--capture", str(target.pid), "-c", "print('there')"]
            judge(tap, arguments, "exec --capture")


def check_stream(tap, seen):
    """perf into inject into a full disk."""
    seen.add("inject")
    if not shutil.which("perf"):
        tap.skip("inject", "no perf (Debian package linux-perf)")
        return
    done = subprocess.run(["sh", "-c", 'perf record -q -F 99 -o - -- sleep 0.3 | "$1" inject >/dev/full', "sh", h.KRAIT],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8",
                          timeout=h.PATIENCE_SECS, check=False)
    tap.ok(done.returncode == OUTPUT and "cannot write what is made of standard input: " + FULL in done.stderr,
           "inject: code 7, and why", done.returncode, done.stderr)


def check_summary(tap, pid, folder):
    """The file is what matters to record: it is complete, whatever happened to the summary."""
    path = os.path.join(folder, "x.data")
    for where, code, said in (("full", OUTPUT, "the summary could not be printed: " + FULL), ("closed", 0, None), ("gone", 0, None)):
        done = run(["record", "-p", pid, "-d", h.moment(0.25), "-o", path], where)
        tap.ok(done.returncode == code and (said or "wrote") in done.stderr and "cannot write" not in done.stderr,
               "record: the summary: " + where, done.returncode, done.stderr)
        tap.ok(os.path.exists(path) and h.run_krait("report", path).stdout, "record: the capture is whole: " + where, done.stderr)


def main():
    tap = h.Tap()
    if not os.path.exists("/dev/full"):
        tap.skip("all", "no /dev/full")
        tap.done()
        return
    names, seen = commands(), {"version", "agent", "broker", "perf", "attach"}  # they print nothing there
    tap.ok({"record", "report", "agent", "version"} <= set(names), "krait --help names the commands", names)
    check_texts(tap, names)
    with tempfile.TemporaryDirectory(prefix="krait-e2e-") as folder:
        check_captures(tap, seen, folder)
        python = os.environ.get("KRAIT_CAN_BPF", "1") == "1" and h.newest(h.interpreters(tap))
        if python:
            check_live(tap, seen, python, folder)
            check_stream(tap, seen)
            tap.equal(sorted(set(names) - seen), [], "no command is left out")
        else:
            tap.skip("recordings", "need root and BPF, and an interpreter")
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
