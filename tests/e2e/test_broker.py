#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait record without rights, through krait broker: exact stacks, outputs, a command, Ctrl-C, exit codes, and what is left
afterwards."""
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import termios
import time

import broker as service
import harness as h

# Works a third of the time.
REST = "import time\ndef %s():\n    end = time.time() + 0.02\n    while time.time() < end: pass\n" \
       "while True:\n    %s()\n    time.sleep(0.04)"
WORK = "import sys, time\ndef inner(until):\n    while time.process_time() < until: pass\n" \
       "def outer(seconds): inner(time.process_time() + seconds)\nouter(%s)\nsys.exit(%d)"


def may_run(python):
    return python.root == "/" and not subprocess.run([*service.as_user(service.CLIENT), *python.command("-c", "pass")],
                                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def browser(b):
    """Returns an environment in which pages are shown by a file that says so."""
    tool = b.path("xdg-open")
    with open(tool, "w", encoding="ascii") as f:
        f.write("#!/bin/sh\n: >'%s'\n" % b.path("opened"))
    os.chmod(tool, 0o755)
    return {"PATH": b.home + ":" + b.env["PATH"]}


def check_stacks(tap, b, python):
    """Exactly the stacks that the program can have, and about as many samples as its clock says."""
    command = [*service.as_user(service.CLIENT), *python.command(python.target("flow.py"))]
    with h.Target(command) as target, h.resting(target):
        with h.working():
            before = h.cpu_seconds(target.pid)
            done = b.run("record", "-p", str(target.pid), "-F", "997", "-d", h.moment(0.5), "--lines", "--no-native",
                         *h.OWN_STACKS, "-o", "x.folded", "-o", "x.data", "-o", "x.html", "--open", env=browser(b))
            used = h.cpu_seconds(target.pid) - before
        tap.equal(done.returncode, 0, "exit code", done.stderr)
        illegal, leaves = target.oracle.judge(b.stacks())
        cnt = sum(n for _, n in b.stacks())
        tap.ok(not illegal and leaves, "each stack is one of the program's", illegal[:5], sorted(leaves))
        tap.ok(100 < cnt <= used * 997 * 1.05 + 20, "as many samples as its clock allows", cnt, used)
    tap.ok(service.wait_for(lambda: os.path.exists(b.path("opened"))), "--open shows the page", done.stderr)
    tap.ok("samples" in done.stdout and re.search(r"^ *[0-9.]+%", done.stdout, re.M), "a summary", done.stdout[:500])
    for name in "x.folded", "x.data", "x.html":
        st = os.stat(b.path(name))
        tap.ok(st.st_uid == service.CLIENT and st.st_mode & 0o777 == 0o600, "%s is the user's" % name, oct(st.st_mode))
    again = b.run("convert", "-i", "x.data", "-f", "folded", "--lines", "-o", "-")
    tap.equal(sorted(again.stdout.splitlines()), sorted(open(b.path("x.folded"), encoding="utf-8").read().splitlines()),
              "the capture has the same stacks", again.stderr)


def check_command(tap, b, python):
    done = b.run("record", "-F", "997", "-o", "c.folded", "--", *python.command("-c", WORK % ("0.4", 7)))
    cnt = sum(n for stack, n in b.stacks("c.folded") if any(f.startswith("inner") for f in stack))
    tap.equal(done.returncode, 7, "a command's own exit code", done.stderr)
    tap.ok(cnt > 100 and not done.stdout, "its samples", cnt, done.stderr, done.stdout)
    done = b.run("record", "-d", "500ms", "-o", "d.folded", "--", *python.command("-c", WORK % ("60", 0)))
    tap.ok(done.returncode == 0 and "warning: warning" not in done.stderr, "a command that outlives -d is ended, which is no failure",
           done.returncode, done.stderr)
    done = b.run("record", "-o", "e.folded", "--", "/no/such/program")
    tap.equal(done.returncode, 127, "a command that does not exist", done.stderr)


def check_interrupt(tap, b, python):
    work = subprocess.Popen([*service.as_user(service.CLIENT), *python.command("-c", WORK % ("20", 0))])
    try:
        for name, end in ("Ctrl-C", lambda p: p.send_signal(signal.SIGINT)), ("SIGTERM", lambda p: p.terminate()):
            krait = b.start("record", "-p", str(work.pid), "-o", "i.folded", "-q")
            tap.ok(b.recording(), name + ": it records")
            time.sleep(0.4)
            end(krait)
            out, err = krait.communicate(timeout=20)
            tap.ok(krait.returncode == 0 and b.stacks("i.folded"), name + " ends it, and the file is complete",
                   krait.returncode, err)
            os.unlink(b.path("i.folded"))
        krait = b.start("record", "-p", str(work.pid), "-o", "k.folded", "-q")
        b.recording()
        krait.kill()
        krait.communicate()
        tap.ok(service.wait_for(lambda: not b.recorders()), "the recording ends with a killed client")
        tap.ok(service.wait_for(lambda: not b.folders()), "nothing is left in /var/tmp", b.folders())
    finally:
        work.kill()
        work.wait()
    work = subprocess.Popen([*service.as_user(service.CLIENT), *python.command("-c", WORK % ("20", 0))])
    krait = b.start("record", "-p", str(work.pid), "-o", "g.folded")
    b.recording()
    time.sleep(0.2)
    work.kill()
    work.wait()
    krait.communicate(timeout=20)
    tap.ok(krait.returncode == 0 and b.stacks("g.folded"), "it ends with its last process", krait.returncode)


def check_commands(tap, b, python):
    """Other commands than record, each in the same way; nothing tells of another user's process."""
    own, other = (subprocess.Popen([*service.as_user(uid), *python.command("-c", REST % (name, name))])
                  for uid, name in ((service.CLIENT, "of_client"), (service.OTHER, "of_other")))
    try:
        h.age(own, 0.5)
        pid = str(own.pid)
        cases = ("record -a", ("record", "-a", "-F", "499", "-d", "600ms", "-o", "-", "-f", "folded", "-q")), \
            ("record --wall", ("record", "--wall", "-p", pid, "-d", "600ms", "-o", "-", "-f", "folded", "-q")), \
            ("record, with options", ("record", "--off-cpu=2ms", "--anchors", "off", "--ring-size", "1M", "--max-loss", "50", "-p", pid,
                                      "-d", "600ms", "-o", "-", "-f", "folded", "-q")), \
            ("dump --native", ("dump", "--native", pid)), \
            ("dump -a", ("dump", "--native", "-a", "--json")), \
            ("top", ("top", "-b", "-n", "1", "-i", "700ms", "-F", "499")), \
            ("top -p", ("top", "--json", "-n", "1", "-i", "700ms", "-F", "499", "-p", pid))
        for name, words in cases:
            done = b.run(*words)
            tap.ok(done.returncode == 0 and "of_client" in done.stdout and "of_other" not in done.stdout + done.stderr and
                   str(other.pid) not in done.stderr, name + ": one's own, and nobody else's", done.returncode, done.stdout[-1500:],
                   done.stderr)
        done = b.run("doctor")
        tap.ok(done.returncode == 0 and re.search(r"^ok +sampling", done.stdout, re.M) and "1 Python process " in done.stdout,
               "doctor: it samples, and counts one's own", done.stdout, done.stderr)
        done = b.run("dump", "--native", str(other.pid))
        tap.ok(done.returncode == 4 and "GIL" not in done.stdout and "Thread" not in done.stdout, "another's is refused", done.returncode,
               done.stdout, done.stderr)
        for words in ("-p", pid), ():
            text = screen(b, "top", "-F", "499", "-i", "300ms", *words)
            tap.ok("of_client" in text and "of_other" not in text and "code 0 after q: True" in text,
                   "top on a terminal, which ends with q " + " ".join(words[:1]), text[-1500:])
    finally:
        for process in own, other:
            process.kill()
            process.wait()


def screen(b, *words):
    """Returns what krait shows on a terminal until somebody presses q, after it has shown the client's function."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    krait = subprocess.Popen([*service.as_user(service.CLIENT), os.path.abspath(h.KRAIT), *words], stdin=slave, stdout=slave,
                             stderr=slave, env={**b.env, "TERM": "xterm"}, cwd=b.home, start_new_session=True)
    os.close(slave)
    text, deadline, asked = b"", time.monotonic() + 20, False
    while time.monotonic() < deadline:
        if select.select([master], [], [], 0.2)[0]:
            try:
                text += os.read(master, 65536)
            except OSError:
                break
        if b"of_client" in text and not asked:
            os.write(master, b"q")
            asked = True
    os.close(master)
    code = krait.wait(10)
    return text.decode("utf-8", "replace") + "\nexit code %d after q: %s" % (code, asked)


def check_together(tap, b, python):
    """The user's recording and top, root's recording and an agent at the same time: each has its own programs and its own
    rate, and stacks that the program can have."""
    command = [*service.as_user(service.CLIENT), *python.command(python.target("flow.py"))]
    folder = tempfile.mkdtemp(prefix="krait-together-")
    h.folders.append(folder)
    krait = os.path.abspath(h.KRAIT)
    shown = ("--lines", "--no-native", "--no-kernel", *h.OWN_STACKS)
    with h.Target(command) as target, h.resting(target):
        agent = subprocess.Popen([krait, "agent", "--otlp-dir", folder, "-F", "19", "-i", "1s"],
                                 stderr=subprocess.PIPE, encoding="utf-8")
        with h.working():
            mine = b.start("record", "-q", "-p", str(target.pid), "-F", "997", "-d", "1500ms", *shown[:2], *h.OWN_STACKS, "-o", "m.folded")
            top = b.start("top", "-b", "-n", "1", "-i", "1200ms", "-F", "97", "-p", str(target.pid))
            roots = os.path.join(folder, "r.folded")
            subprocess.run([krait, "record", "-q", "-p", str(target.pid), "-F", "499", "-d", "1500ms", *shown, "-o", roots], check=False)
            out, err = top.communicate(timeout=30)
            said = mine.communicate(timeout=30)
        agent.send_signal(signal.SIGINT)
        words = agent.communicate(timeout=20)[1]
        for name, path in ("the user's", b.path("m.folded")), ("root's", roots):
            stacks = h.parse_folded(path)
            illegal, leaves = target.oracle.judge(stacks)
            tap.ok(stacks and not illegal and leaves, "four at once: each stack of %s recording is one of the program's" % name,
                   illegal[:5], said)
        cnt = [sum(n for _, n in h.parse_folded(p)) for p in (b.path("m.folded"), roots)]
        tap.ok(1.4 < cnt[0] / max(cnt[1], 1) < 2.8, "each at its own rate", cnt)
        tap.ok(top.returncode == 0 and "flow.py" in out, "top shows the program", out[-800:], err)
        tap.ok(any(os.path.getsize(os.path.join(folder, n)) for n in os.listdir(folder) if n != "r.folded"), "the agent has windows",
               os.listdir(folder), words[-600:])


NOTEBOOK = """
import sys, types
sys.path.insert(0, sys.argv[1])
class Shell:
    compile = types.SimpleNamespace(get_code_name=lambda raw, code, number: "/nonexistent/cell.py")
    execution_count, history_manager = 1, types.SimpleNamespace(input_hist_raw=[""])
    def run_cell(self, cell): exec(compile(cell, "/nonexistent/cell.py", "exec"), {})
    def register_magic_function(self, function, kind, name): self.magic = function
ipython, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
shell = Shell()
ipython.get_ipython = lambda: shell
display.HTML, display.display = lambda text: text, lambda text: print("SHOWN", "in_cell" in text)
sys.modules.update({"IPython": ipython, "IPython.display": display})
import krait, krait.notebook
krait.program = krait.notebook.program = lambda: sys.argv[2]
krait.load_ipython_extension(shell)
shell.magic("-F 499", '''import time
def in_cell():
    end = time.process_time() + 0.4
    while time.process_time() < end: pass
in_cell()''')
"""


def check_notebook(tap, b, python):
    """%%krait in a notebook of an ordinary user, and tests that it runs."""
    done = subprocess.run([*service.as_user(service.CLIENT), *python.command("-c", NOTEBOOK, os.path.join(h.ROOT, "deploy", "python"),
                                                                             os.path.abspath(h.KRAIT))],
                          env=b.env, cwd=b.home, capture_output=True, encoding="utf-8", timeout=60)
    tap.ok("SHOWN True" in done.stdout, "%%krait: the page has the cell's function", done.stdout, done.stderr)
    test = b.path("test_it.py")
    with open(test, "w", encoding="ascii") as f:
        f.write("import time, unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n        end = time.process_time() + 0.3\n"
                "        while time.process_time() < end: pass\n")
    done = b.run("record", "-F", "499", "-o", "t.folded", "--", *python.command("-m", "unittest", "test_it"))
    tap.ok(done.returncode == 0 and any("test_it" in f for stack, _ in b.stacks("t.folded") for f in stack),
           "record -- python -m unittest", done.returncode, done.stderr)


def check_later(tap, b, python):
    """--name, and a shell that executes an interpreter while the recording runs: the kernel has its new name then."""
    shell = subprocess.Popen([*service.as_user(service.CLIENT), "sh", "-c", 'read go; exec "$@"', "sh",
                              *python.command("-c", WORK % ("20", 0))], stdin=subprocess.PIPE)
    # The interpreter is known by its file then.
    with h.Target([*service.as_user(service.CLIENT), *python.command(python.target("idler.py"))]):
        krait = b.start("record", "-q", "--name", "python*", "-F", "499", "-o", "later.folded")
        b.recording()
        time.sleep(0.3)
        shell.stdin.write(b"\n")
        shell.stdin.flush()
        service.wait_for(lambda: h.cpu_seconds(shell.pid) > 0.5)
        krait.send_signal(signal.SIGINT)
        said = krait.communicate(timeout=20)
    shell.kill()
    shell.wait()
    cnt = sum(n for stack, n in b.stacks("later.folded") if any(f.startswith("inner") for f in stack))
    tap.ok(cnt > 20, "--name: an interpreter that a shell executes later is in it", cnt, said)


def fdinfos(pid):
    try:
        return b"".join(service.read("/proc/%d/fdinfo/%s" % (pid, fd)) for fd in os.listdir("/proc/%d/fdinfo" % pid))
    except OSError:
        return b""


def spare_of(b):
    """Returns the pid of its spare, which has loaded programs; 0: none."""
    return next((p for p in b.spares() if b"prog_type" in fdinfos(p)), 0)


def check_warm(tap, b, python):
    """After a recording a spare waits, with programs that are attached to nothing; the next recording is it, of whom it may be."""
    own, other = (subprocess.Popen([*service.as_user(uid), *python.command("-c", REST % (name, name))])
                  for uid, name in ((service.CLIENT, "of_client"), (service.OTHER, "of_other")))

    def rights(pid):
        """What must be the same in a recorder that was a spare and in one that was not."""
        status = dict(re.findall(r"(?m)^(\w+):\t(.*)", service.read("/proc/%d/status" % pid).decode()))
        names = {fd: re.sub(r"krait-\w+|\d+", "", to) for fd, to in h.descriptors(pid).items() if int(fd) < 4}
        return {**{k: status.get(k) for k in ("Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs",
                                              "SigBlk", "SigIgn")},
                "descriptors": names, "environment": service.read("/proc/%d/environ" % pid),
                "oom_score_adj": service.read("/proc/%d/oom_score_adj" % pid),
                "limits": re.findall(rb"(?m)^Max (?:core )?file size.*", service.read("/proc/%d/limits" % pid))}

    def record(uid, *words):
        """Records that user's process. Returns (was it the spare, the recorder's rights, names in stacks)."""
        service.wait_for(lambda: spare_of(b))
        spare = spare_of(b)
        krait = b.start("record", "-q", "-p", str(own.pid if uid == service.CLIENT else other.pid), "-F", "499", "-d", h.moment(0.6),
                        *words, "-o", "v.folded", uid=uid)
        b.recording()
        recorder = (b.recorders() or [0])[0]
        has = rights(recorder)
        left = spare in b.spares()
        err = krait.communicate(timeout=30)[1]
        names = {f.split(" ")[0] for stack, _ in b.stacks("v.folded") for f in stack}
        os.unlink(b.path("v.folded"))
        return (bool(spare) and recorder == spare, left), has, names, err

    try:
        done = b.run("record", "-q", "-p", str(own.pid), "-d", "200ms", "-o", "w.folded")
        tap.ok(done.returncode == 0 and service.wait_for(lambda: spare_of(b)), "a spare has loaded programs", done.returncode, done.stderr)
        spare = spare_of(b)
        # The last recording has ended, and the kernel lets go of what was attached.
        tap.ok(b"link_type" not in fdinfos(spare) and not h.has_programs_at_events(spare) and
               service.uid_of("/proc/%d/task" % spare) == 0, "they are attached to nothing, and it is root's")
        tap.equal(service.read("/proc/%d/oom_score_adj" % spare).strip(), b"500", "where memory is short, it ends before the broker")
        # Two users in turns.
        turns = [(uid, *record(uid)) for uid in (service.OTHER, service.CLIENT, service.OTHER)]
        tap.equal([used for _, used, *_ in turns], [(True, False)] * 3, "each of two users' recordings is the spare of before", turns)
        tap.ok(all(("of_other" in names, "of_client" in names) == (uid == service.OTHER, uid == service.CLIENT)
                   for uid, _, _, names, _ in turns), "and records that user's process only", [t[3] for t in turns])
        used, plain, names, err = record(service.OTHER, "--off-cpu", "--no-native")
        tap.ok(used == (False, True) and "of_other" in names, "other options load their own programs, and leave the spare", used, names, err)
        tap.equal(turns[0][2], plain, "a recorder that was a spare has the ids, rights, descriptors and limits of another")
        tap.equal(set(plain["Uid"].split()) | set(plain["Gid"].split()), {str(service.OTHER)}, "which are the user's")
        done = b.run("record", "-q", "-p", str(own.pid), "-d", "200ms", "-o", "u.folded", uid=service.OTHER)
        tap.ok(done.returncode in (3, 4) and not b.stacks("u.folded"), "another's process is refused as ever", done.returncode, done.stderr)
        for uid in service.OTHER, 0:
            done = subprocess.run([*(service.as_user(uid) if uid else ()), os.path.abspath(h.KRAIT), "--spare", "record", "--pid=1"],
                                  capture_output=True, encoding="utf-8", timeout=20)
            tap.ok(done.returncode == 2 and "for krait broker alone" in done.stderr, "krait --spare by hand is refused, by user %d" % uid,
                   done.returncode, done.stderr)
        service.wait_for(lambda: spare_of(b))
        spare = spare_of(b)
        if spare:
            os.kill(spare, signal.SIGKILL)
        tap.ok(spare and service.wait_for(lambda: "spare recorder has ended" in b.log) and not b.spares(),
               "the log says when a spare ends by itself", b.log[-400:])
    finally:
        for process in own, other:
            process.kill()
            process.wait()


def check_killed_warm(tap, python):
    """A broker that is killed leaves no spare; nor does one that is told to end. Then at YAMA's scope 1, which this kernel may not have: a
    file in its place, in a mount namespace of the broker's own."""
    yama = 'd=$1; shift; mkdir "$d/kernel" && mount --make-rprivate / && mount --bind /proc/sys/kernel "$d/kernel" && ' \
           'mount -t tmpfs none /proc/sys/kernel && ln -s "$d"/kernel/* /proc/sys/kernel && rm -rf /proc/sys/kernel/yama && ' \
           'mkdir /proc/sys/kernel/yama && echo 1 >/proc/sys/kernel/yama/ptrace_scope && exec "$@"'
    folder = tempfile.mkdtemp(prefix="krait-yama-")
    h.folders.append(folder)
    own = subprocess.Popen([*service.as_user(service.CLIENT), *python.command("-c", REST % ("of_client", "of_client"))])
    line = "-q", "-p", str(own.pid), "-F", "499", "-d", h.moment(0.4), "-o", "y.folded"
    try:
        for number, prefix in (signal.SIGKILL, ()), (signal.SIGTERM, ("unshare", "-m", "sh", "-c", yama, "sh", folder)):
            with service.Broker(prefix=prefix) as b:
                done = b.run("record", *line)
                service.wait_for(lambda b=b: spare_of(b))
                spare = spare_of(b)
                if prefix:
                    krait = b.start("record", *line)
                    b.recording()
                    openers = [p for p in service.children(spare) if service.read("/proc/%s/comm" % p) == b"krait-opener\n"]
                    status = service.read("/proc/%s/status" % (openers or [0])[0]).decode()
                    tap.ok(b.recorders() == [spare] and re.search(r"CapPrm:\t0*80000\n", status) and re.search(r"CapEff:\t0+\n", status) and
                           re.search(r"Uid:\t%d\t" % service.CLIENT, status), "ptrace_scope 1: a spare gets the opener of its user",
                           b.recorders(), spare, status, done.stderr, b.log)
                    krait.communicate(timeout=20)
                    tap.ok(krait.returncode == 0 and any("of_client" in f for stack, _ in b.stacks("y.folded") for f in stack),
                           "and records", krait.returncode, b.log)
                    service.wait_for(lambda b=b: spare_of(b))
                    spare = spare_of(b)
                b.stop(number)
                tap.ok(spare and service.wait_for(lambda p=spare: not os.path.exists("/proc/%d" % p)),
                       "a broker that ends by signal %d leaves no spare" % number, spare, done.stderr)
    finally:
        own.kill()
        own.wait()


def check_kernel(tap, b, python):
    """Frames of the kernel: only where it shows its symbols to everybody, and even there without its addresses."""
    knob = "/proc/sys/kernel/perf_event_paranoid"
    with open(knob, encoding="ascii") as f:
        before = f.read()
    work = subprocess.Popen([*service.as_user(service.CLIENT), *python.command("-c", "f = open('/dev/urandom', 'rb', 0)\n"
                                                                                "while True: f.read(1 << 18)")])
    try:
        for level, allowed in ("2", False), ("1", True):
            with open(knob, "w", encoding="ascii") as f:
                f.write(level)
            done = b.run("record", "-q", "--kernel", "-p", str(work.pid), "-F", "997", "-d", h.moment(0.4), "-o", "k.data", "-o", "k.folded")
            tap.equal(done.returncode, 0 if allowed else 4, "--kernel at perf_event_paranoid %s" % level, done.stderr)
    except OSError as e:
        tap.skip("the kernel's frames", str(e))
        return
    finally:
        with open(knob, "w", encoding="ascii") as f:
            f.write(before)
        work.kill()
        work.wait()
    found = [frame for stack, _ in b.stacks("k.folded") for frame in stack if "vfs_read" in frame]
    tap.ok(found, "the kernel's functions have names", b.stacks("k.folded")[:5])
    again = b.run("convert", "-q", "-i", "k.data", "-f", "folded", "-o", "-")
    tap.equal(sorted(again.stdout.splitlines()), sorted(open(b.path("k.folded"), encoding="utf-8").read().splitlines()),
              "and in the capture", again.stderr)
    raw = []
    for folder, _, names in os.walk(b.path("")):
        for name in names:
            data = service.read(os.path.join(folder, name)) if name.startswith("k.data") or "k.data" in folder else b""
            # Stand-ins, perf's markers and small negative numbers are above.
            raw += ["%s %x" % (name, w) for w, in struct.iter_unpack("=Q", data[:len(data) // 8 * 8])
                    if 0xffff800000000000 <= w < 0xffffffffffe00000]
            raw += re.findall(r"\bffff[0-9a-f]{12}\b", re.sub(r"\bffffffffff[ef]", "", data.decode("latin-1")))
    tap.ok(not raw, "without an address of the kernel's", raw[:10])


def check_limits(tap, python):
    """What the service limits for all together."""
    with service.Broker("--duration-limit", "300ms") as b:
        done = b.run("record", "-F", "499", "-d", "1h", "-o", "l.folded", "--", *python.command("-c", WORK % ("60", 0)))
        tap.ok(done.returncode == 0 and "time limit has ended it" in done.stderr and b.stacks("l.folded"),
               "a recording that the service's limit has shortened says so", done.returncode, done.stderr)
    with service.Broker("--rate-limit", "1500", "--memory-limit", "300M") as b:
        for words, args in ("rate limit", ("-e", "cpu-clock", "-e", "task-clock", "-F", "997")), \
                ("memory limit", ("--ring-size", "64M", "--unwind-memory", "256M")):
            done = b.run("record", "-q", *args, "-d", "1s", "-o", "n.folded", "--", *python.command("-c", "pass"))
            tap.ok(done.returncode == 4 and words in done.stderr, "the %s leaves too little" % words, done.returncode, done.stderr)


def check_settings(tap):
    """A file of limits, metrics."""
    folder = tempfile.mkdtemp(prefix="krait-settings-")
    h.folders.append(folder)
    conf, metrics = os.path.join(folder, "conf"), os.path.join(folder, "m.prom")
    with open(conf, "w", encoding="ascii") as f:
        f.write("[limits]\nrecordings = 0\nmetrics = %s\n" % metrics)
    os.chmod(conf, 0o644)
    other = os.path.join(folder, "other")
    with open(other, "w", encoding="ascii") as f:
        f.write("other")
    os.chmod(other, 0o600)
    os.symlink(other, metrics + ".new")
    with service.Broker("--config", conf) as b:
        done = b.run("record", "-p", "1", "-o", "n.folded")
        tap.ok(done.returncode == 4 and "0 recordings of yours" in done.stderr, "a limit of the file's holds", done.stderr)
        service.wait_for(lambda: os.path.exists(metrics))
        with open(metrics, encoding="ascii") as f:
            tap.ok("krait_broker_refused_total 1\n" in f.read(), "and is in the metrics")
        tap.ok(os.path.getsize(other) == 5 and os.stat(other).st_mode & 0o777 == 0o600 and not os.path.islink(metrics),
               "a link that lies there leads nowhere", os.stat(other))
    os.chmod(conf, 0o666)
    done = subprocess.run([os.path.abspath(h.KRAIT), "broker", "--config", conf], capture_output=True, encoding="utf-8")
    tap.ok(done.returncode == 2 and "others can write" in done.stderr, "a file that others may write is refused", done.stderr)


def check_codes(tap, b):
    cases = (3, "no process", ("-p", "4194300", "-d", "1s")), \
        (4, "does not serve --user", ("--user", "0", "-d", "1s")), \
        (4, "does not serve --perf-map", ("--perf-map", "-p", "1")), \
        (4, "does not serve --ring-size=1G", ("--ring-size", "1G", "-p", "1")), \
        (4, "does not serve --event=cycles", ("-e", "cycles", "-p", "1")), \
        (4, "at most 1000", ("-F", "5000", "-p", "1")), \
        (4, "an hour at most", ("-d", "2h", "-p", "1"))
    for code, words, args in cases:
        done = b.run("record", "-q", *args, "-o", "n.folded")
        tap.ok(done.returncode == code and words in done.stderr, "exit code %d: %s" % (code, words), done.returncode,
               done.stderr)
        tap.ok(not os.path.exists(b.path("n.folded")), "and no file")
    sleep = subprocess.Popen([*service.as_user(service.CLIENT), "sleep", "20"])
    done = b.run("record", "-p", str(sleep.pid), "-d", "1s", "-o", "n.folded")
    sleep.kill()
    sleep.wait()
    tap.ok(done.returncode == 3 and "Python" in done.stderr, "not Python", done.returncode, done.stderr)
    done = b.run("record", "-p", "1", "-o", "n.folded", env={"KRAIT_SOCKET": "/no/such/socket"})
    tap.ok(done.returncode == 4 and "/no/such/socket" in done.stderr, "no service there", done.returncode, done.stderr)


def check_without(tap, b):
    if os.path.exists("/run/krait-broker/socket"):
        return tap.skip("without a service", "this machine has one")
    env = {k: v for k, v in b.env.items() if k != "KRAIT_SOCKET"}
    done = subprocess.run([*service.as_user(service.CLIENT), os.path.abspath(h.KRAIT), "record", "-p", "1", "-o", "n.folded"],
                          env=env, cwd=b.home, capture_output=True, encoding="utf-8")
    tap.ok(done.returncode == 4 and "krait setup" in done.stderr, "without a service, it says how to get one", done.stderr)
    done = subprocess.run([os.path.abspath(h.KRAIT), "setup"], capture_output=True, encoding="utf-8")
    tap.ok(done.returncode == 0 and ("krait broker" in done.stdout or "systemctl" in done.stdout), "setup says it, too",
           done.stdout)
    done = subprocess.run([*service.as_user(service.CLIENT), os.path.abspath(h.KRAIT), "setup", "--check"], env=env,
                          capture_output=True, encoding="utf-8")
    tap.ok(done.returncode == 4 and "no service" in done.stderr, "setup --check: there is none", done.stderr)
    done = b.run("setup", "--check")
    return tap.ok(done.returncode == 0 and "without sudo" in done.stdout, "setup --check: it works", done.stdout, done.stderr)


def check_activated(tap, python):
    """As systemd starts it: a socket as descriptor 3, the unit's capabilities, and a file system in which only /var/tmp can be
    written to."""
    with open(os.path.join(h.ROOT, "deploy", "krait-broker.service"), encoding="utf-8") as f:
        caps = re.search(r"(?m)^CapabilityBoundingSet=(.*)", f.read())[1].split()
    if not shutil.which("setpriv"):
        tap.skip("the unit", "no setpriv")
        return
    with service.Broker() as b:
        b.stop()
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.bind(b.socket)
        os.chmod(b.socket, 0o666)
        s.listen(8)
        line = "exec 3<&%d; export LISTEN_PID=$$ LISTEN_FDS=1; mount --make-rprivate / && mount --bind /var/tmp /var/tmp && " \
               'mount -o remount,bind,ro / && exec "$@"' % s.fileno()
        broker = subprocess.Popen(["unshare", "-m", "sh", "-c", line, "sh", "setpriv", "--no-new-privs", "--inh-caps=-all",
                                   "--bounding-set=-all," + ",".join("+" + c[4:].lower() for c in caps),
                                   os.path.abspath(h.KRAIT), "broker"],
                                  pass_fds=[s.fileno()], stderr=subprocess.PIPE, encoding="utf-8")
        done = b.run("record", "-q", "-o", "a.folded", "--", *python.command("-c", WORK % ("0.2", 0)))
        tap.ok(done.returncode == 0 and b.stacks("a.folded"), "with a socket and the rights that systemd gives it", done.stderr)
        broker.terminate()
        words = broker.communicate(timeout=10)[1]
        tap.ok("user %d" % service.CLIENT in words and os.path.exists(b.socket), "whose it stays", words)


def main():
    h.need_bpf()
    tap = h.Tap()
    pythons = [p for p in h.few(h.interpreters(tap)) if may_run(p)] or [p for p in h.all_interpreters() if may_run(p)][:1]
    if not pythons:
        tap.skip("broker", "no Python that everybody may run")
        return tap.done()
    with service.Broker() as b:
        check_stacks(tap, b, pythons[0])
        check_command(tap, b, pythons[0])
        check_interrupt(tap, b, pythons[0])
        check_commands(tap, b, pythons[0])
        check_together(tap, b, pythons[0])
        check_notebook(tap, b, pythons[0])
        check_later(tap, b, pythons[0])
        check_warm(tap, b, pythons[0])
        check_kernel(tap, b, pythons[0])
        check_codes(tap, b)
        check_without(tap, b)
        kib = b.pss_kib()
        tap.ok(kib < 5 << 10, "the broker stays below 5 MiB", kib)
        tap.ok(len(re.findall(r"record of 1 process", b.log)) >= 6, "a line for each recording", b.log)
        tap.equal(b.stop(), 0, "SIGTERM ends it")
        tap.ok(not os.path.exists(b.socket), "and its socket")
    check_killed_warm(tap, pythons[0])
    check_limits(tap, pythons[0])
    check_settings(tap)
    check_activated(tap, pythons[0])
    h.cleanup()
    return tap.done()


if __name__ == "__main__":
    main()
