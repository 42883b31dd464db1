#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Several outputs of one recording agree sample for sample; perf script text is read by the rules of
stackcollapse-perf.pl."""
import collections
import os
import re
import stat
import tempfile

import harness as h

HEADER = re.compile(r"(\S.+?)\s+(\d+)/(\d+)\s+\[\d+\]\s+(\d+\.\d+):\s+(\d+)\s+(\S+):\s*$")
FRAME = re.compile(r"\s*(\w+)\s+(.+) \((\S*)\)$")
SOURCE_LINE = re.compile(r"  (\S+):(\d+)$")


def read_script(path):
    """Returns [(comm, pid, tid, time, period, [(symbol, dso, line)] root first)], and problems."""
    samples, problems, current = [], [], None
    with open(path, encoding="utf-8") as f:
        for text in f.read().split("\n"):
            if text.startswith("#"):
                continue
            header, frame = HEADER.match(text), FRAME.match(text)
            source = SOURCE_LINE.match(text)
            if not text:
                current = None
            elif current is None and header:
                comm, pid, tid, time, period, _ = header.groups()
                current = (comm, int(pid), int(tid), float(time), int(period), [])
                samples.append(current)
            elif current is not None and source:
                symbol, dso, _ = current[5][0]
                current[5][0] = (symbol, dso, int(source.group(2)))
            elif current is not None and frame:
                symbol = re.sub(r"\+0x[0-9a-f]+$", "", frame.group(2))
                current[5].insert(0, (symbol, frame.group(3), 0))
            else:
                problems.append("not understood: %r" % text)
    return samples, problems


def as_folded(samples):
    """Converts the script's counts to the form of the folded file, for names of ordinary letters."""
    counts = collections.Counter()
    for comm, _, _, _, _, frames in samples:
        # krait's own remarks about a stack are not code: they have no file.
        labels = [h.label(symbol, "" if dso == "krait" else dso, line)
                  for symbol, dso, line in frames]
        # perf knows only a process's command name.
        counts[";".join([comm + "_[pairs.py]", *labels])] += 1
    return counts


def check_agreement(tap, python):
    name = python.name + ": formats"
    with h.start(python, "pairs.py") as target:
        r = h.record_work(target.pid, 0.25, "-F", "2999", outputs=("x.folded", "x.script", "x.html"))
        pid = target.pid
    samples, problems = read_script(r.path("x.script"))
    tap.ok(samples and not problems, name + ": the script is understood", *problems[:5])
    tap.equal(len(samples), r.samples() + r.stats["not_sampled"], name + ": as many samples as in the folded file")
    tap.equal({(s[1], s[2]) for s in samples}, {(pid, pid)}, name + ": process and thread")
    times = [s[3] for s in samples]
    tap.equal(times, sorted(times), name + ": samples are in the order of time")
    tap.ok(all(s[4] > 0 for s in samples), name + ": every sample has its period")
    folded = {";".join(stack): count for stack, count in r.stacks}
    tap.equal(dict(as_folded(samples)), folded, name + ": the same stacks as in the folded file")
    with open(r.path("x.html"), encoding="utf-8") as f:
        page = f.read()
    tap.ok(page.rstrip().endswith("</html>") and "only_green" in page, name + ": the page is whole")
    tap.ok("%d interrupts" % r.stats["interrupts"] in page or str(r.stats["interrupts"]) in page,
           name + ": the page has the accounts")


def check_choices(tap, python):
    """-t, --no-process and -f, and - for standard output."""
    with h.start(python, "pairs.py") as target, h.resting(target):
        pid = str(target.pid)
        short = ("record", "-q", "--label", "command", "-d", h.moment(0.2), "-p", pid)
        threads = h.run_krait(*short, "-t", "-f", "folded", "-o", "-")
        merged = h.run_krait(*short, "--no-process", "-f", "folded", "-o", "-")
        script = h.run_krait(*short, "-f", "script", "-o", "-")
        plain = h.run_krait("record", "-d", h.moment(0.2), "-p", pid, "-f", "folded", "-o", "-")
    roots = {tuple(line.split(";")[:2]) for line in threads.stdout.splitlines()}
    tap.ok(len(roots) == 1 and all("%s/%s" % (process, pid) == thread for process, thread in roots),
           "-t: a frame for the thread below that of the process", roots, threads.stderr)
    tap.ok(all(line.startswith("<module> (pairs.py) ") or line.startswith("<module> (pairs.py);")
               for line in merged.stdout.splitlines()) and merged.stdout,
           "--no-process: stacks begin with the module", merged.stdout[:300])
    tap.ok(script.stdout.count("cpu-clock:") > 10 and script.stderr == "",
           "-f script -o -: samples on standard output and nothing else", script.stderr)
    tap.ok(re.search(r"^[\d,]+ samples, (none|\d+ of [\d,]+) lost", plain.stderr, re.M) and
           all(re.search(r" \d+$", line) for line in plain.stdout.splitlines()),
           "-o -: the summary goes to standard error", plain.stdout[-300:], plain.stderr)


def check_owner(tap, python):
    """Under sudo the file is made as the user, so the folder must be the user's."""
    environment = dict(os.environ, SUDO_UID="61234", SUDO_GID="62345")
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    h.folders.append(folder)
    path = os.path.join(folder, "x.folded")
    with h.start(python, "pairs.py") as target, h.resting(target):
        refused = h.run_krait("record", "-q", "-p", str(target.pid), "-d", "100ms", "-o", path,
                              env=environment)
        os.chown(folder, 61234, 62345)
        done = h.run_krait("record", "-q", "-p", str(target.pid), "-d", h.moment(0.3), "-o", path,
                           env=environment)
    tap.ok(refused.returncode == 7, "behind sudo a folder that the user may not write is refused",
           refused.returncode, refused.stderr)
    found = os.stat(path)
    tap.equal((found.st_uid, found.st_gid), (61234, 62345), "behind sudo the file is the user's",
              done.stderr)
    tap.ok(stat.S_ISREG(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o600,
           "and an ordinary file that nobody else reads", oct(found.st_mode))


def main():
    h.need_bpf()
    tap = h.Tap()
    pythons = h.interpreters(tap)
    for python in h.few(pythons):
        check_agreement(tap, python)
    if pythons:
        check_choices(tap, h.newest(pythons))
        check_owner(tap, h.newest(pythons))
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
