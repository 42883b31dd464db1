#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""perf record with krait beside it: perf's samples have Python's frames, and nothing else of perf changes.

Each way of recording (a command, a process, the whole machine; chains of frame pointers, of unwinding, none), each perf that
is here, and the three ways of riding along: krait perf, krait attach, krait inject.

"""
import collections
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import consumers  # noqa: E402
import harness  # noqa: E402
from consumers import run  # noqa: E402
from tap import Tap  # noqa: E402

HZ = 997
LINE = 8  # of leaf()'s loop, in targets/along.py
EVENTS = ["-F", str(HZ), "-e", "cpu-clock"]


class Script:
    """What perf script says of each sample: (thread, event, [frame, ...])."""

    def __init__(self, perf, data):
        done = run(*perf, "script", "--max-stack", "2100", "-F", "comm,tid,time,event,ip,sym", "-i", data)
        self.text, self.err = done.stdout, done.stderr
        self.samples = []
        for block in done.stdout.split("\n\n"):
            lines = block.strip("\n").splitlines()
            head = re.match(r"\s*(.*?)\s+(\d+)\s+[\d.]+:\s+(\S+?):", lines[0]) if lines else None
            if head:
                self.samples.append((head.group(1), head.group(3), [line.split(None, 1)[-1] for line in lines[1:]]))

    def python(self):
        return [frames for _, _, frames in self.samples if any(f.startswith("py::") for f in frames)]

    def marked(self):
        """Samples with a mark of krait's alone: the interpreter began, or ended."""
        return [frames for _, _, frames in self.samples if not any(f.startswith("py::") for f in frames)
                and any(re.match(r"\[(?!unknown\])", f) for f in frames)]

    def in_loop(self):
        """Samples in which a function of the interpreter's stands where Python's should."""
        return [frames for _, _, frames in self.samples if any("_PyEval_EvalFrameDefault" in f for f in frames)]


def said(err):
    """(samples that have frames, those of processes while they were Python) by krait's last line."""
    match = re.search(r": (\d+) of perf's (\d+) samples of Python processes have their Python frames", err)
    outside = sum(int(n) for n in re.findall(r"; (\d+) came (?:before krait's first|after krait's last)", err))
    return (int(match.group(1)), int(match.group(2)) - outside) if match else (0, 0)


def captured(err):
    match = re.search(r"\((\d+) samples\)", err)
    return int(match.group(1)) if match else -1


krait = harness.run_krait


def check_stacks(tap, name, script, done, share=0.98):
    got, of = said(done.stderr)
    tap.ok(of > 100 and got >= share * of, "%s: samples of Python have its frames" % name, got, of, done.stderr)
    shown = len(script.python()), len(script.marked())
    tap.ok(0.98 * got - 3 <= sum(shown) <= got, "%s: perf shows as many as krait says" % name, shown, got)
    tails = collections.Counter(tuple(f.split(":")[2] for f in reversed(frames) if f.startswith("py::"))[:3]
                                for frames in script.python())
    want = {("<module>", "worker", "mid"), ("<module>", "worker", "deep")}
    tap.ok(sum(tails[key] for key in want) > 0.2 * HZ * share / 2, "%s: from the root" % name, tails.most_common(6))
    deep = [frames for frames in script.python() if sum(":deep:" in ":" + f.split("::")[-1] for f in frames) == 201]
    tap.ok(len(deep) > 0, "%s: each frame of a recursion" % name)


def user_counts(report):
    """Of perf report's -F sample,symbol: ({function in user mode: samples}, all samples); without versions of symbols."""
    rows = re.findall(r"^\s*(\d+)\s+\[(.)\] (.*?)\s*$", report, re.M)
    counts = collections.Counter()
    for count, mode, symbol in rows:
        counts[consumers.function_of(symbol).split("@")[0]] += int(count) if mode == "." else 0
    return +counts, sum(int(count) for count, _, _ in rows)


FINISHED_ROUND = 68
MMAP, COMM, FORK, MMAP2 = 1, 3, 7, 10


def put_late(source, target):
    """In each of perf's rounds, what makes samples readable comes behind them. Returns how many such records there are."""
    with open(source, "rb") as f:
        data = bytearray(f.read())
    begin, size = struct.unpack_from("<QQ", data, 40)
    at, records, late, moved = begin, b"", b"", 0
    while at < begin + size:
        kind, _, length = struct.unpack_from("<IHH", data, at)
        record = bytes(data[at:at + length])
        at += length
        if kind in (MMAP, COMM, FORK, MMAP2):
            late += record
            moved += 1
        elif kind == FINISHED_ROUND:
            records, late = records + late + record, b""
        else:
            records += record
    data[begin:begin + size] = records + late
    with open(target, "wb") as f:
        f.write(data)
    # krait takes the kernel's names from the running one if the file is of this boot.
    shutil.copystat(source, target)
    return moved


def test_order(tap, data):
    """perf's records are in order only from round to round: each sample has what its time says."""
    late = data + ".late"
    moved = put_late(data, late)
    args = ("report", "--stdio", "-g", "none", "--no-children", "-F", "sample,symbol", "-n", "0", "-i")
    tap.ok(moved > 10, "records to put late", moved)
    tap.equal(user_counts(krait(*args, late).stdout), user_counts(krait(*args, data).stdout), "each record at its time")


def test_sums(tap, data):
    """Of perf's file krait's own reader and all others say the same of each function."""
    args = ("report", "--stdio", "-g", "none", "--no-children", "-F", "sample,symbol", "-i", data)
    want, total = user_counts(krait(*args, "-n", "0").stdout)
    functions = {name for name in want if name in ("leaf", "mid", "deep", "worker", "<module>")}
    tap.ok(total > 100 and "leaf" in functions, "krait reads perf's file", want)
    # Of native functions with several names each takes its own.
    readers = []
    for label, perf in consumers.perfs():
        if perf:
            done = run(*perf, *args)
            readers.append(("perf" + label, *user_counts(done.stdout), done.stderr))
    for label, parser in consumers.hotspots():
        if parser:
            done = run(*parser, "--input", data, "--output", data + ".out")
            counts = consumers.Hotspot(data + ".out").counts() if done.returncode == 0 else {}
            readers.append(("hotspot" + label, counts, sum(counts.values()), done.stderr))
    if consumers.samply():
        done = run(*consumers.samply(), "import", "-s", "-o", data + ".json", data)
        counts = consumers.samply_counts(consumers.samply(), data + ".json")[0]
        readers.append(("samply", counts, sum(counts.values()), done.stderr))
    for name, counts, cnt, err in readers:
        tap.equal(({f: counts.get(f) for f in functions}, cnt), ({f: want[f] for f in functions}, total),
                  name + ": each Python function, and all samples", err)


def command(python, seconds):
    return python.command(python.target("along.py"), str(seconds))


def test_command(tap, folder, python, label, perf, chains):
    name = "%s -- python%s %s" % (label, python.name, " ".join(chains) or "by default")
    data = os.path.join(folder, "x.data")
    done = krait("perf", "--", "record", *EVENTS, *chains, "-o", data, "--", *command(python, 0.3))
    script = Script(perf, data)
    tap.equal(done.returncode, 0, name + ": perf's exit code", done.stderr)
    check_stacks(tap, name, script, done)
    tap.equal(len(script.samples), captured(done.stderr), name + ": perf reads as many samples as it wrote", done.stderr)
    # Of 0.6 s of CPU time.
    tap.ok(len(script.python()) > 0.9 * 0.6 * HZ, name + ": all of the time", len(script.python()))
    tap.ok(len(script.in_loop()) <= 0.02 * len(script.samples), name + ": in place of the interpreter's functions",
           len(script.in_loop()))
    # Where native code is in a file that is not here under that name, addr2line ends, and with it perf script.
    if python.root == "/" or label != "perf":
        lines = run(*perf, "script", "-F", "ip,sym,srcline", "-i", data)
        tap.ok("along.py:%d" % LINE in lines.stdout, name + ": source lines", lines.stdout[:1000])


def test_delay(tap, folder, python, perf):
    """The user's own --delay: the command begins when krait is ready, and events count that long after."""
    data = os.path.join(folder, "d.data")
    done = krait("perf", "--", "record", "-D", "200", *EVENTS, "-o", data, "--", *command(python, 0.5))
    script = Script(perf, data)
    check_stacks(tap, "--delay", script, done)
    done = krait("perf", "--", "record", "-D", "3600000", *EVENTS, "-o", data, "--", *command(python, 0.1))
    tap.equal((done.returncode, Script(perf, data).samples), (0, []), "--delay: what comes before is not there", done.stderr)


def test_process(tap, folder, python, perf):
    data = os.path.join(folder, "p.data")
    with harness.Target([*command(python, 0.4), "wait"]) as target:
        recording = subprocess.Popen([harness.KRAIT, "perf", "--", "record", *EVENTS, "-p", str(target.pid), "-o", data],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        harness.wait_until(lambda: "enabled" in recording.stderr.readline(), recording)
        target.process.stdin.write(b"\n")
        _, err = recording.communicate(timeout=harness.PATIENCE_SECS)
    tap.equal(recording.returncode, 0, "-p: the end of the process is perf's", err)
    check_stacks(tap, "-p", Script(perf, data), subprocess.CompletedProcess([], 0, "", err))


def test_machine(tap, folder, python, perf):
    data = os.path.join(folder, "a.data")
    done = krait("perf", "--", "record", "-a", "-g", *EVENTS, "-o", data, "--", *command(python, 0.3))
    script = Script(perf, data)
    # perf -a also samples processes that tear down their memory, and other tests may start many.
    check_stacks(tap, "-a", script, done, share=0.8)
    # A process that begins or ends has no Python to read.
    rest = re.search(r"; of (\d+) krait has no stack", done.stderr)
    tap.ok(int(rest.group(1) if rest else 0) <= 0.01 * said(done.stderr)[1] + 2, "-a: misses are before the first or after the last stack of a process",
           done.stderr)
    tap.equal(script.text.count(" cpu-clock: "), captured(done.stderr), "-a: and all other samples are there")


# Pages are touched as long as it runs: when krait first meets it is not what decides how many have a stack.
FAULTS = """
import mmap, time
def touch():
    with mmap.mmap(-1, 1 << 16) as m:
        m.write(bytes(1 << 16))
end = time.process_time() + 0.3
while time.process_time() < end:
    touch()
    sum(range(100000))
"""


def test_events(tap, folder, python, perf):
    data = os.path.join(folder, "e.data")
    done = krait("perf", "--", "record", "-z", "-e", "cpu-clock/freq=%d/u" % HZ, "-e", "page-faults/period=1/", "-o", data, "--",
                 *python.command("-c", FAULTS))
    script = Script(perf, data)
    events = collections.Counter(event for _, event, frames in script.samples if any(f.startswith("py::") for f in frames))
    tap.ok(sum(count for event, count in events.items() if event.startswith("page-faults")) > 20, "several events, compressed: each has Python frames", events, done.stderr)
    group = os.path.join(folder, "g.data")
    done = krait("perf", "--", "record", "-F", str(HZ), "-e", "{cpu-clock,page-faults}:S", "-o", group, "--", *command(python, 0.2))
    script = Script(perf, group)
    got, of = said(done.stderr)
    tap.ok(of > 100 and got >= 0.95 * of and {event for _, event, frames in script.samples if any("py::" in f for f in frames)} >=
           {"cpu-clock"}, "a group that is read at its leader's samples", done.stderr)


def test_pipe(tap, folder, python, perf):
    data = os.path.join(folder, "pipe.data")
    with open(data, "wb") as out:
        done = subprocess.run([harness.KRAIT, "perf", "--", "record", *EVENTS, "-o", "-", "--", *command(python, 0.2)],
                              stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, encoding="utf-8",
                              timeout=harness.PATIENCE_SECS)
    got, of = said(done.stderr)
    report = run(*perf, "report", "--stdio", "-g", "none", "--no-children", "-i", data)
    tap.ok(of > 100 and got >= 0.98 * of and "py::leaf:" in report.stdout, "-o -: a stream has them, too", done.stderr,
           report.stdout[:500], report.stderr)


def check_foreign(tap, folder, content, stacks):
    """Captures of machines of another kind: what their programs had at an address, this machine's programs do not say
    (unless a build ID tells that they are the same, which newer perfs keep)."""
    path, out = os.path.join(folder, "f.data"), os.path.join(folder, "f.out.data")
    with open(path, "wb") as f:
        f.write(content[:8][::-1] + content[8:])
    for args in ("report", "-i", path), ("inject", "-i", path, "--stacks", stacks, "-o", out), ("convert", "-i", path, "-o", out):
        done = krait(*args)
        tap.ok(done.returncode and "other byte order" in done.stderr and not os.path.exists(out),
               "another byte order is refused: " + args[0], done.stderr)
    arch = os.uname().machine.encode() + b"\0"
    other = b"mips64"[:len(arch) - 1].ljust(len(arch), b"\0")
    for machine in arch, other:
        with open(path, "wb") as f:
            f.write(content.replace(arch, machine))
        folded = krait("convert", "-q", "-f", "folded", "-i", path, "-o", "-").stdout
        tap.equal("Py_RunMain" in folded, machine == arch, "names of this machine's programs are for it alone", folded[:500])


def test_late(tap, folder, python, perf):
    """krait attach, with and without -o, and krait inject, also as a filter."""
    data, stacks, out = (os.path.join(folder, name) for name in ("l.data", "l.stacks", "l.out"))
    for keeps in False, True:
        with harness.Target([*command(python, 0.4), "wait"]) as target, \
                subprocess.Popen(["perf", "record", "-q", "-g", "--no-buildid-mmap", *EVENTS, "-p", str(target.pid), "-o", data],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as recording:
            harness.wait_until(lambda: os.path.exists(data) and harness.has_events(recording.pid), None)
            with subprocess.Popen([harness.KRAIT, "attach", "--perf", str(recording.pid), *(["-o", stacks] if keeps else [])],
                                  stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8") as along:
                harness.wait_until(lambda: "riding along" in along.stderr.readline(), None)
                target.process.stdin.write(b"\n")
                _, err = along.communicate(timeout=harness.PATIENCE_SECS)
        if keeps:
            before = open(data, "rb").read()
            done = krait("inject", "-i", data, "--stacks", stacks, "-o", out)
            tap.equal(open(data, "rb").read(), before, "krait inject: leaves its input alone")
            check_stacks(tap, "krait inject", Script(perf, out), done)
            check_foreign(tap, folder, before, stacks)
        else:
            check_stacks(tap, "krait attach", Script(perf, data), subprocess.CompletedProcess([], 0, "", err))
        os.unlink(data)
    line = "%s record -q %s -g -p %d -o - | %s inject | %s report --stdio -g none --no-children -i -"
    with harness.Target([*command(python, 0.4), "wait"]) as target:
        with subprocess.Popen(["sh", "-c", line % ("perf", " ".join(EVENTS), target.pid, shlex.quote(harness.KRAIT), perf[0])],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8") as pipe:
            harness.wait_until(lambda: any(harness.has_programs_at_events(pid) for pid in children(pipe.pid)), None)
            target.process.stdin.write(b"\n")
            text, err = pipe.communicate(timeout=harness.PATIENCE_SECS)
    got, of = said(err)
    tap.ok(of > 100 and got >= 0.9 * of and "py::leaf:" in text, "a filter between two perfs", err, text[:500])


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as f:
        return [int(word) for word in f.read().split()]


def test_sudo(tap, folder, python):
    """perf's file is root's, and krait's are the user's."""
    home = os.path.join(folder, "home")
    os.mkdir(home)
    os.chmod(folder, 0o755)
    os.chown(home, 65534, 65534)
    data = os.path.join(home, "s.data")
    env = {**os.environ, "SUDO_UID": "65534", "SUDO_GID": "65534", "SUDO_USER": "nobody", "TMPDIR": home}
    done = krait("perf", "--", "record", *EVENTS, "-o", data, "--", *command(python, 0.6), env=env)
    tap.ok(done.returncode == 0 and said(done.stderr)[0] > 100, "under sudo", done.returncode, done.stderr)
    tap.equal([os.stat(path).st_uid for path in (data, data + ".krait")], [65534, 65534], "the files are the user's", os.listdir(home))
    # A folder of root's: the file stays his, and says so.
    data = os.path.join(folder, "root.data")
    done = krait("perf", "--", "record", *EVENTS, "-o", data, "--", *command(python, 0.1), env=env)
    tap.ok(done.returncode == 7 and os.stat(data).st_uid == 0 and "is as perf wrote it" in done.stderr, "in a folder of root's nothing is given away",
           done.returncode, done.stderr)


def test_perf_is_itself(tap, folder):
    data = os.path.join(folder, "s.data")
    done = krait("perf", "--", "record", "-o", data, "--", "sh", "-c", "echo out; exit 7")
    tap.equal((done.returncode, done.stdout), (7, "out\n"), "the command's exit code and output", done.stderr)
    tap.ok("is as perf wrote it" in done.stderr and not os.path.exists(data + ".krait"), "nothing to do without Python", done.stderr)
    done, own = krait("perf", "--", "record", "--no-such-option"), run("perf", "record", "--no-such-option")
    tap.equal((done.returncode, done.stderr), (own.returncode, own.stderr), "what perf refuses, in its words")
    done = krait("perf", "--", "record", "-o", data, "--", "/no/such/program")
    tap.ok(done.returncode and not os.path.exists(data + ".krait") and "krait: cannot" not in done.stderr,
           "a command that is not there", done.stderr)
    for args, why in ((("perf", "--", "report"), "with perf record"), (("perf",), "what shall perf do"),
                      (("perf", "record", "--switch-output", "true"), "--switch-output"),
                      (("attach", "--perf", str(os.getpid())), "no perf"), (("attach", "123"), "record -p"),
                      (("inject", "-i", data), "while perf records"),
                      (("inject", "-i", data, "--stacks", data), "krait attach --perf")):
        done = krait(*args)
        tap.ok(done.returncode and why in done.stderr and len(done.stderr.splitlines()) <= 2, "refused: krait " + " ".join(args[:2]),
               done.returncode, done.stderr)


def main():
    tap = Tap()
    harness.need_bpf()
    perfs = [(label, perf) for label, perf in consumers.perfs() if perf]
    if not perfs or perfs[0][0]:
        tap.skip("all", "no perf (linux-perf)")
        return tap.done()
    pythons = harness.interpreters(tap)
    with tempfile.TemporaryDirectory(prefix="krait-along-") as folder:
        own = perfs[0][1]
        temporary = os.path.join(folder, "tmp")
        os.mkdir(temporary)
        os.environ["TMPDIR"] = temporary
        summed = False
        for python in pythons:
            test_command(tap, folder, python, "perf", own, [])
            # perf finds native code only below /.
            if python.root == "/" and not summed:
                test_sums(tap, os.path.join(folder, "x.data"))
                test_order(tap, os.path.join(folder, "x.data"))
                summed = True
        test_command(tap, folder, pythons[0], "perf", own, ["--call-graph", "dwarf"])
        test_delay(tap, folder, pythons[0], own)
        test_process(tap, folder, pythons[0], own)
        test_machine(tap, folder, pythons[0], own)
        test_events(tap, folder, pythons[0], own)
        test_pipe(tap, folder, pythons[0], own)
        test_late(tap, folder, pythons[0], own)
        test_perf_is_itself(tap, folder)
        tap.equal(os.listdir(temporary), [], "nothing is left in $TMPDIR")
        test_sudo(tap, folder, pythons[0])
        for label, perf in perfs[1:]:
            # krait starts what is called perf.
            bin_ = os.path.join(folder, "bin")
            os.mkdir(bin_)
            with open(os.path.join(bin_, "perf"), "w", encoding="ascii") as f:
                f.write("#!/bin/sh\nexec %s \"$@\"\n" % " ".join(perf))
            os.chmod(f.name, 0o755)
            path, os.environ["PATH"] = os.environ["PATH"], bin_ + ":" + os.environ["PATH"]
            test_command(tap, folder, pythons[0], "perf" + label, perf, [])
            os.environ["PATH"] = path
    tap.done()


if __name__ == "__main__":
    main()
