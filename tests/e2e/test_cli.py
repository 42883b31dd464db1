#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait record from outside: exit codes and messages for errors, unwritable outputs, signals, terminals, missing
permissions, and kernels that lack something."""
import glob
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

import bpf_objects
import harness as h

USAGE, TARGET, PERMISSION, KERNEL, EMPTY, OUTPUT = 2, 3, 4, 5, 6, 7


class Folder:
    """A working folder that is removed with the test."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="krait-e2e-")
        return self

    def __exit__(self, *exc):
        shutil.rmtree(self.path, ignore_errors=True)

    def __call__(self, name):
        return os.path.join(self.path, name)


def fails(tap, name, done, code, *words):
    """Expects the documented exit code, and one line on stderr with these words."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("krait")]
    tap.equal(done.returncode, code, name + ": exit code", done.stderr)
    tap.ok(lines and all(word in done.stderr for word in words), name + ": says why", words,
           done.stderr)


# ---- arguments ------------------------------------------------------------------------------------


def options_in(text):
    """What --help says of options: as it names each."""
    lines = re.findall(r"^  (?:    )?-.*", text, re.M)
    # What an option does is in a column of its own, or behind a name that reaches into it.
    return [(o[:28] if re.match(r".{28} \S", o) else re.split(r"(?<=\S) {3}", o)[0]).strip() for o in lines]


def check_install(tap):
    """Each command has a man page with each option of its --help; the agent's configuration has one with each key
    that krait takes; what was installed can be removed."""
    commands = re.findall(r"^  ([a-z]+) ", h.run_krait("--help").stdout.split("\n\n")[2], re.M) + ["agent snapshot"]
    helps = {c: h.run_krait(*c.split(), "--help").stdout for c in commands}
    with Folder() as folder:
        def make(target):
            # make knows no names with blanks, which the path of the repository may have.
            build = os.path.relpath(h.BUILD, h.ROOT)
            return subprocess.run(["make", "-s", "-C", h.ROOT, "-o", "all", "-o", build + "/krait", "O=" + build, "PREFIX=/usr",
                                   "DESTDIR=" + folder.path, target], capture_output=True, text=True, check=False)

        def page(name):
            path = folder("usr/share/man/man%s/%s" % (name[-1], name))
            if not os.path.exists(path):
                return ""
            with open(path, encoding="utf-8") as f:
                return f.read()

        def told(text):
            return [re.sub(r"^\.B ", "", line).replace("\\-", "-") for line in re.findall(r"^\.TP\n(.*)", text, re.M)]

        done = make("install")
        tap.equal(done.returncode, 0, "make install", done.stderr)
        tap.ok(os.access(folder("usr/bin/krait"), os.X_OK), "krait is installed")
        for command, text in helps.items():
            name = "krait-%s.1" % command.replace(" ", "-")
            tap.equal(told(page(name)), options_in(text), name + " has all options")
        tap.equal(told(page("krait.1")), [".BR krait-%s (1)" % c for c in commands if " " not in c], "krait.1 has all commands")

        keys = [re.sub(r"\\fR.*", "", k) for line in told(page("krait-agent.conf.5")) for k in line.split(r"\fR, \fB") if " = " in k]
        conf = folder("agent.conf")
        values = {"PATH": "/", "GLOB": "x", "NAME": "none", "TIME": "10s", "HZ": "19", "PERCENT": "1%", "SIZE": "256M", "DIR": "/tmp",
                  "FILE": "/x", "URL": "http://127.0.0.1:1", "ADDRESS": "9464", "NAME: VALUE": "a: b", "yes": "yes"}
        values_of = {"user": "root", "listen": "9464"}
        longs = set(re.findall(r"--([a-z][a-z-]+)(?=[=\[,]|\s|$)", "\n".join(options_in(helps["agent"]))))
        tap.equal({k.split(" = ")[0] for k in keys}, longs - {"config", "check-config", "help", "usage"},
                  "krait-agent.conf.5 has the long options of krait agent")
        lines = ["otlp-endpoint = http://127.0.0.1:1"]
        for key in keys:
            name, value = key.split(" = ")
            if not name.endswith("-file") and name != "cgroup":
                lines.append("%s = %s" % (name, values_of.get(name) or (value.split("|")[0] if "|" in value else values[value])))
        with open(os.open(conf, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
        done = h.run_krait("agent", "--check-config", "--config", conf)
        tap.ok(done.returncode == 0 and len(lines) > 25, "krait agent takes each of them", done.stderr, lines)
        os.unlink(conf)
        if shutil.which("mandoc"):
            pages = glob.glob(folder("usr/share/man/man*/*"))
            done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *pages], capture_output=True, text=True, check=False)
            said = [line for line in done.stdout.splitlines() if "missing date" not in line]
            tap.equal((len(pages), said), (len(commands) + 2, []), "mandoc has nothing to say")
        make("uninstall")
        tap.equal([n for _, _, files in os.walk(folder.path) for n in files], [], "make uninstall leaves nothing")
    tap.ok("--input" not in helps["diff"] and "-i" in helps["report"], "diff does not offer -i, which it refuses")


def check_version(tap):
    """What a report of a fault needs: compilers and libraries, those that are loaded at need included."""
    with open(os.path.join(h.ROOT, "Makefile"), encoding="utf-8") as f:
        number = re.search(r"(?m)^VERSION := (.*)", f.read())[1]
    for arguments in (["version"], ["--version"], ["-V"]):
        tap.equal(h.run_krait(*arguments).stdout, "krait " + number + "\n", "krait " + arguments[0])
    told = dict(line.split(None, 1) for line in h.run_krait("version", "-v").stdout.splitlines())
    tap.ok(told["krait"] == number and "clang version" in told["BPF"] and "libbpf" in told["libraries"] and
           "libcurl/" in told["sending"] and "libmicrohttpd" in told["listening"] and os.uname().release in told["kernel"],
           "krait version -v says what it is built of", told)


def check_usage(tap):
    cases = {
        "no target": ["record"],
        "two targets": ["record", "-a", "-p", "1"],
        "bad pid": ["record", "-p", "abc"],
        "negative pid": ["record", "-p", "-1"],
        "pid zero": ["record", "-p", "0"],
        "huge pid": ["record", "-p", "99999999999999999999"],
        "bad rate": ["record", "-a", "-F", "fast"],
        "rate zero": ["record", "-a", "-F", "0"],
        "bad time": ["record", "-a", "-d", "1 fortnight"],
        "unknown option": ["record", "--frobnicate"],
        "unknown format": ["record", "-a", "-o", "x.folded", "-f", "nonsense"],
        "unknown suffix": ["record", "-a", "-o", "x.unknown"],
        "unknown command": ["frobnicate"],
        "no command": [],
        "empty command": [""],
        "loss beyond 100 %": ["record", "-a", "--max-loss", "101"],
        "an agent for nobody": ["agent"],
    }
    with Folder() as folder:
        for name, arguments in cases.items():
            done = h.run_krait(*arguments, cwd=folder.path)
            tap.ok(done.returncode == USAGE and done.stderr, "usage: " + name, done)
        for arguments, word in ((("-o", "x.htlm"), "did you mean .html?"), (("-o", "-"), "the standard output has no suffix"),
                                (("-o", "x.json"), "did you mean .speedscope.json or .firefox.json?"),
                                (("-f", "folder"), "did you mean folded?")):
            done = h.run_krait("record", "-a", *arguments, cwd=folder.path)
            tap.ok(done.returncode == USAGE and word in done.stderr, "usage: a guess for " + " ".join(arguments), done)
        for arguments, word in ((("record", "--offcpu", "-a"), "did you mean --off-cpu?"),
                                (("report", "x.data", "--pid", "12", "34"), "--pid 12,34"),
                                (("attach", "12"), "krait record -p PID"), (("run", "app.py"), "krait record -- COMMAND"),
                                (("record", "-a", "-e", "page-fault"), "did you mean page-faults?"),
                                (("dump", "12 x"), 'such as 1234 or 12,34, not "x"')):
            done = h.run_krait(*arguments, cwd=folder.path)
            tap.ok(done.returncode == USAGE and word in done.stderr, "usage: help with " + " ".join(arguments), done)
        for arguments in (("record", "-a", "--frobnicate"), ("report", "--limit"), ("script", "-J"), ("convert", "x", "y"), ("list", "12x"),
                          ("dump", "--pause=1"), ("exec",), ("top", "12"), ("agent", "x"), ("agent", "snapshot", "x"), ("doctor", "x"),
                          ("annotate", "a", "b"), ("diff", "a", "b", "c"), ("clean", "--n")):
            done = h.run_krait(*arguments, cwd=folder.path)
            lines, command = done.stderr.splitlines(), "krait " + arguments[0]
            tap.ok(done.returncode == USAGE and len(lines) == 1 and lines[0].startswith("krait: ") and command in lines[0] and
                   "--help" in lines[0], "usage: krait %s: one line, which says where help is" % " ".join(arguments), done)
        # Words of other profilers for what krait does anyway, refused for nothing but the process.
        for arguments in (("--subprocesses",), ("--nonblocking", "-F", "max"), ("--all-threads", "-f", "flamegraph", "-o", "x")):
            done = h.run_krait("record", "-p", "999999", *arguments, cwd=folder.path)
            tap.equal(done.returncode, 3, "record " + " ".join(arguments), done)
        done = h.run_krait("dump", "999999 999998", cwd=folder.path)
        tap.ok(done.returncode == 3 and all(f"Process {pid}:" in done.stdout for pid in (999999, 999998)), "dump takes a list with blanks, as pgrep prints it", done)
        tap.equal(os.listdir(folder.path), [], "usage: errors leave no file behind")
        for arguments in (["--help"], ["record", "--help"], ["--version"]):
            done = h.run_krait(*arguments)
            tap.ok(done.returncode == 0 and done.stdout and not done.stderr,
                   "usage: " + " ".join(arguments), done)


COMMANDS = ("record", "report", "script", "convert", "list", "dump", "exec", "top", "agent", "doctor", "annotate", "diff", "clean")


def check_help(tap):
    """In 80 columns: no paragraph with only a word or two in its last line, no wrapped example, no empty line after
    an option's text."""
    for command in COMMANDS + ("agent snapshot",):
        lines = h.run_krait(*command.split(), "--help").stdout.splitlines()
        cut = [b for a, b, c in zip(lines, lines[1:], lines[2:])
               if len(a) > 60 and 0 < len(b) < 30 and c and not b.startswith(" ") and not c.startswith(" ")]
        cut += [line for line in lines if len(line) > 79 or (line and not line.strip())]
        examples = lines[lines.index("Examples:") + 1:] if "Examples:" in lines else []
        examples = examples[:examples.index("")] if "" in examples else examples
        cut += [line for line in examples if not line.startswith("  ")]
        tap.equal((cut, bool(examples)), ([], True), "usage: %s --help fits a terminal, and has examples" % command)


def commands_in(path):
    """Returns (subcommand, its options) for each krait command line in the page."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    blocks = re.findall(r"```[a-z]*\n(.*?)```", text, re.S)
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    lines = [line for block in blocks for line in block.splitlines()] + re.findall(r"^    (.*)", text, re.M)
    lines += [span.replace("\n", " ") for span in re.findall(r"`([^`]+)`", text)]
    for line in lines:
        for command, rest in re.findall(r"(?:^|[\s(])krait (agent snapshot|[a-z]+)((?: [^|;&#]*)?)", line):
            # What follows " -- " belongs to another program, and so does quoted text.
            words = re.sub(r"'[^']*'|\"[^\"]*\"", "", rest.split(" -- ")[0])
            if command.split()[0] in COMMANDS:
                yield command, re.findall(r"(?<!\S)(--[a-z][a-z-]*|-[A-Za-z])", words)


def check_pages(tap):
    """Each option in the manual's pages exists in the command."""
    helps, unknown, seen = {}, [], 0
    pages = ["README.md", *sorted(glob.glob("docs/*.md"))]
    for page in pages:
        for command, options in commands_in(page):
            text = helps.setdefault(command, h.run_krait(*command.split(), "--help").stdout)
            seen += len(options)
            unknown += [(os.path.basename(page), command, o) for o in options
                        if not re.search(r"(?<![\w-])%s(?![\w-])" % re.escape(o), text) and o != "--log-inputs"]
    with open("README.md", encoding="utf-8") as f:
        words = len(f.read().split())
    tap.ok(words <= 1200, "usage: README is read to its end", words)
    tap.ok(seen > 100 and not unknown, "usage: the pages of the manual show options that there are", seen, unknown)


# ---- targets --------------------------------------------------------------------------------------


def unused_pid():
    """Returns the pid of a process that has just ended and was waited for."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def check_targets(tap):
    with Folder() as folder:
        output = ("-d", "100ms", "-o", folder("x.folded"))
        pid = str(unused_pid())
        fails(tap, "a process that is not there", h.run_krait("record", "-p", pid, *output),
              TARGET, pid)
        sleep = subprocess.Popen(["sleep", "60"])
        time.sleep(0.1)
        try:
            fails(tap, "a process that is not Python",
                  h.run_krait("record", "-p", str(sleep.pid), *output), TARGET, str(sleep.pid),
                  "sleep")
        finally:
            h.end_child(sleep)
        fails(tap, "a kernel thread", h.run_krait("record", "-p", "2", *output), TARGET, "kernel")
        tap.equal(os.listdir(folder.path), [], "a target that cannot be recorded leaves no file")
        done = h.run_krait("record", "-o", folder("x.folded"), "--", "/nonexistent/command")
        fails(tap, "a command that is not there", done, 127, "/nonexistent/command")
        done = h.run_krait("record", "-o", folder("x.folded"), "--", "/etc/passwd")
        fails(tap, "a command that is not executable", done, 126, "/etc/passwd")
        done = h.run_krait("record", "-o", folder("x.folded"), "--", "true")
        tap.equal(done.returncode, 0, "a command that is not Python passes its code on: 0",
                  done.stderr)
        done = h.run_krait("record", "-o", folder("x.folded"), "--", "sh", "-c", "exit 33")
        tap.equal(done.returncode, 33, "a command that is not Python passes its code on: 33",
                  done.stderr)


def check_old(tap):
    """krait refuses every unsupported interpreter and names its version."""
    seen = set()
    with Folder() as folder:
        for python in h.all_interpreters():
            if python.minor in h.MINORS or python.minor in seen:
                continue
            seen.add(python.minor)
            script = "print('READY', flush=True); import sys; sys.stdin.read()"
            with h.Target(python.command("-c", script)) as target:
                done = h.run_krait("record", "-p", str(target.pid), "-d", "100ms", "-o",
                                   folder("x.folded"))
            # Before 3.11 nothing in the file tells the version with certainty.
            fails(tap, "CPython %s" % python.version, done, TARGET,
                  python.minor if python.minor in ("3.11", "3.12") else "3.")
    if "3.11" not in seen:
        tap.skip("CPython 3.11", "no such interpreter")


# ---- outputs --------------------------------------------------------------------------------------


def check_unwritable(tap):
    """krait reports an output that cannot be opened before it records."""
    begin = time.monotonic()
    done = h.run_krait("record", "-a", "-d", "50s", "-o", "/nonexistent/folder/x.folded")
    fails(tap, "an output in no folder", done, OUTPUT, "/nonexistent/folder/x.folded")
    tap.ok(time.monotonic() - begin < 40, "an output in no folder: nothing is recorded first")
    with Folder() as folder:
        fails(tap, "an output that is a folder",
              h.run_krait("record", "-a", "-d", "50s", "-f", "folded", "-o", folder.path), OUTPUT,
              folder.path)
        marker = folder("ran")
        done = h.run_krait("record", "-o", "/nonexistent/x.folded", "--", "touch", marker)
        tap.ok(done.returncode == OUTPUT and not os.path.exists(marker),
               "an output that cannot be opened: the command does not run", done.stderr)


def full_disk(target, kib, name):
    """Returns a shell line that records onto a file system of that size and reports the result."""
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    saved = tempfile.mkdtemp(prefix="krait-e2e-")
    line = 'mount -t tmpfs -o size=%dk none "$1" && head -c 1M /dev/zero >"$1/ballast"; ' \
           'TMPDIR="$2" "$3" record -p "$4" -d 500ms --lines --no-native --no-kernel --no-async -o "$1/%s"' % (kib, name)
    done = subprocess.run(["unshare", "-m", "sh", "-c", line, "sh", folder, saved, h.KRAIT,
                           str(target.pid)], capture_output=True, timeout=h.PATIENCE_SECS,
                          encoding="utf-8")
    os.rmdir(folder)
    return done, saved


def check_full(tap, python):
    """No room: exit code, message, and the complete recording saved elsewhere."""
    with h.start(python, "flow.py") as target:
        done, saved = full_disk(target, 64, "x.folded")
        fails(tap, "a full disk", done, OUTPUT, "No space left", "wrote " + saved)
        files = glob.glob(saved + "/*")
        tap.equal(len(files), 1, "a full disk: the recording is saved elsewhere", files)
        stacks = h.parse_folded(files[0]) if files else []
        illegal, _ = target.oracle.judge(stacks)
        tap.ok(stacks and not illegal, "a full disk: what is saved is right", h.show(illegal))
        shutil.rmtree(saved)
        done, saved = full_disk(target, 64, "x.script")
        fails(tap, "a full disk, format that streams", done, OUTPUT, "No space left")
        shutil.rmtree(saved)
        done = h.run_krait("record", "-p", str(target.pid), "-d", h.moment(0.2), "-f", "folded", "-o",
                           "/dev/full")
        fails(tap, "/dev/full", done, OUTPUT, "No space left")
        for saved in re.findall(r"wrote (\S+/krait-\S+)", done.stderr):
            os.unlink(saved)
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([h.KRAIT, "record", "-q", "-p", str(target.pid), "-d", h.moment(0.2),
                                   "-f", "folded", "-o", "-"], stdout=full, stderr=subprocess.PIPE,
                                  encoding="utf-8", timeout=h.PATIENCE_SECS)
        fails(tap, "standard output that is full", done, OUTPUT, "No space left")


def check_closed_pipe(tap, python):
    """A reader that has seen enough is no failure."""
    with h.start(python, "flow.py") as target:
        for form in ("folded", "script"):
            for seconds in ("0.3s", "5s"):
                read_fd, write_fd = os.pipe()
                os.close(read_fd)
                done = subprocess.run([h.KRAIT, "record", "-q", "-p", str(target.pid), "-d", seconds,
                                       "-f", form, "-o", "-"], stdout=write_fd,
                                      stderr=subprocess.PIPE, encoding="utf-8",
                                      timeout=h.PATIENCE_SECS)
                os.close(write_fd)
                # On a busy machine the target may have had no CPU in a moment.
                if done.returncode != EMPTY:
                    break
            tap.ok(done.returncode == 0 and not done.stderr, "a closed pipe: " + form, done)


# ---- signals and terminals ------------------------------------------------------------------------


def interrupted(target, number, path, *options):
    """Ends krait with a signal in the middle of its recording."""
    krait = subprocess.Popen([h.KRAIT, "record", "-p", str(target.pid), "--stats", "--lines",
                              *h.PYTHON_ONLY, "-o", path, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             encoding="utf-8")
    h.wait_until(lambda: h.is_sampling(krait), krait)
    end = h.cpu_seconds(target.pid) + 0.3
    h.wait_until(lambda: h.cpu_seconds(target.pid) >= end, krait)
    krait.send_signal(number)
    out, err = krait.communicate(timeout=h.PATIENCE_SECS)
    return subprocess.CompletedProcess([], krait.returncode, out, err)


def check_signals(tap, python):
    with h.start(python, "pairs.py") as target, Folder() as folder:
        for number in (signal.SIGINT, signal.SIGTERM):
            name = signal.Signals(number).name
            done = interrupted(target, number, folder("x.folded"))
            stacks = h.parse_folded(folder("x.folded"))
            stats = h.parse_stats(done.stderr)
            tap.equal(done.returncode, 0, name + ": code 0", done.stderr)
            tap.ok(stacks and sum(n for _, n in stacks) == stats["interrupts"] - sum(
                v for k, v in stats.items() if k.startswith(h.LOST)), name + ": the file is whole",
                   done.stderr)
            illegal, _ = target.oracle.judge(stacks)
            tap.ok(not illegal, name + ": every stack is right", h.show(illegal))
            tap.ok(folder("x.folded") in done.stderr, name + ": the last line names the file")


def check_killed(tap, python):
    """krait killed with SIGKILL: the target notices nothing, and nothing stays in the kernel."""
    with h.start(python, "pairs.py") as target, Folder() as folder:
        krait = subprocess.Popen([h.KRAIT, "record", "-q", "-p", str(target.pid), "-o",
                                  folder("x.script")])
        h.wait_until(lambda: h.is_sampling(krait), krait)
        held = bpf_objects.held_by(krait.pid)
        tap.ok(any(kind == "prog" for kind, _ in held), "killed: it was recording", held)
        h.end_child(krait)
        tap.equal(bpf_objects.left_of(held), set(), "killed: no BPF object is left")
        tap.ok(target.alive(), "killed: the target runs on")
        again = h.record("-p", str(target.pid), "-d", h.moment(0.3))
        tap.equal(again.code, 0, "killed: a second krait works", again.err)
        illegal, _ = target.oracle.judge(again.stacks)
        tap.ok(again.stacks and not illegal, "killed: and is right", h.show(illegal))


def on_terminal(*command):
    """Runs a command on a terminal of its own. Returns its exit code and output."""
    pid, fd = pty.fork()
    if pid == 0:
        try:
            os.execv(command[0], command)
        finally:
            os._exit(126)
    text = b""
    deadline = time.monotonic() + h.PATIENCE_SECS
    while time.monotonic() < deadline:
        if not select.select([fd], [], [], 1)[0]:
            continue
        try:
            more = os.read(fd, 65536)
        except OSError:
            break
        if not more:
            break
        text += more
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(fd)
    return code, text.decode("utf-8", "replace")


def check_terminal(tap, python):
    with h.start(python, "pairs.py") as target, Folder() as folder:
        line = ["record", "-p", str(target.pid), "-d", "600ms", "-o", folder("x.folded")]
        done = h.run_krait(*line)
        tap.ok(done.returncode == 0 and "\x1b" not in done.stderr + done.stdout and
               "\r" not in done.stderr, "no terminal: no progress line, no escape codes", done)
        krait = os.path.abspath(h.KRAIT)
        code, text = on_terminal(krait, *line)
        tap.ok(code == 0 and re.search(r"\r\x1b\[K.*samples", text),
               "on a terminal there is a progress line", repr(text))
        code, text = on_terminal(krait, *line, "-q")
        tap.ok(code == 0 and text == "", "on a terminal with -q there is nothing", repr(text))


# ---- permissions and kernels ----------------------------------------------------------------------


def check_memory(tap):
    """A control group that allows too little memory."""
    group, limit = "/sys/fs/cgroup/memory/krait-test-%d" % os.getpid(), "memory.limit_in_bytes"
    if not os.path.isdir(os.path.dirname(group)):
        group, limit = "/sys/fs/cgroup/krait-test-%d" % os.getpid(), "memory.max"
    try:
        os.mkdir(group)
        with open(os.path.join(group, limit), "w", encoding="ascii") as f:
            f.write("24M")
    except OSError as e:
        return tap.skip("too little memory", "no control group for it: %s" % e)
    done = subprocess.run(["sh", "-c", 'echo $$ >"$1/cgroup.procs"; exec "$2" record -a -d 200ms -f folded -o /dev/null',
                           "sh", group, h.KRAIT], capture_output=True, encoding="utf-8", timeout=h.PATIENCE_SECS)
    # krait's helpers end a moment after it.
    h.wait_until(lambda: not open(os.path.join(group, "cgroup.procs"), encoding="ascii").read())
    os.rmdir(group)
    return tap.ok(done.returncode == 5 and "krait's control group /krait-test-" in done.stderr and "only 24 MiB" in done.stderr and
                  "raise that limit" in done.stderr, "too little memory: whose limit, and what to do", done)


def shell(line, *arguments):
    return subprocess.run(["sh", "-c", line, "sh", *arguments], capture_output=True,
                          encoding="utf-8", timeout=h.PATIENCE_SECS)


def check_permissions(tap, python):
    with h.start(python, "pairs.py") as target, h.resting(target), Folder() as folder:
        os.chmod(folder.path, 0o777)
        # The user nobody may have no access to krait's folder.
        krait = shutil.copy(h.KRAIT, folder("krait"))
        pid, output = str(target.pid), folder("x.folded")
        done = shell('exec setpriv --reuid=65534 --regid=65534 --clear-groups "$1" record -p "$2" '
                     '-d 100ms -o "$3"', krait, pid, output)
        # With its path, since sudo looks in folders of its own only; and with all arguments, as a shell takes them.
        fails(tap, "as nobody", done, PERMISSION, "root", "(try: sudo %s record -p " % krait, "-o %s)" % output)
        tap.ok(not os.path.exists(output), "as nobody: no file is left behind")
        # A root without the right to read other processes, as in a container: krait does not tell it to become
        # root.
        sleep = subprocess.Popen(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sleep", "60"])
        try:
            done = shell('exec setpriv --bounding-set=-sys_ptrace "$1" record -p "$2" -d 1s -o "$3"', krait, str(sleep.pid), output)
            fails(tap, "as a root without CAP_SYS_PTRACE", done, PERMISSION, "not even by root", "krait doctor")
            tap.ok("sudo" not in done.stderr and "as root" not in done.stderr, "as a root without CAP_SYS_PTRACE: sudo is no advice",
                   done.stderr)
        finally:
            h.end_child(sleep)
        done = shell('exec unshare -m sh -c \'mount -t tmpfs none /sys/kernel/btf && '
                     'exec "$1" record -p "$2" -d 100ms -o "$3"\' sh "$@"', krait, pid, output)
        fails(tap, "no BTF", done, KERNEL, "BTF")
        done = shell('exec unshare -pf --mount-proc "$1" record -a -d 100ms -o "$2"', krait, output)
        fails(tap, "in a pid namespace of its own", done, PERMISSION, "namespace")
        tap.ok(target.alive(), "permissions: the target runs on")


def check_empty(tap, python):
    """An idle process gives no samples, and krait says so."""
    with Folder() as folder:
        script = "print('READY', flush=True); import sys; sys.stdin.read()"
        with h.Target(python.command("-c", script)) as target:
            time.sleep(0.5)
            done = h.run_krait("record", "-p", str(target.pid), "-d", "200ms", "-o",
                               folder("x.folded"))
        fails(tap, "a process that sleeps", done, EMPTY, "no samples")


def check_list(tap, python):
    """-p with several processes, together and separately; prefixes of the subcommand."""
    with h.start(python, "pairs.py") as one, h.start(python, "flow.py") as two, \
            h.resting(one), h.resting(two), Folder() as folder:
        pids = "%d,%d" % (one.pid, two.pid)
        done = h.run_krait("rec", "-q", "--stats", "-p", pids, "-d", h.moment(0.3), "-o",
                           folder("x.script"))
        with open(folder("x.script"), encoding="utf-8") as f:
            found = {int(pid) for pid in re.findall(r"^\S+ +(\d+)/\d+ +\[", f.read(), re.M)}
        tap.equal(done.returncode, 0, "several processes: exit code", done.stderr)
        tap.equal(found, {one.pid, two.pid}, "several processes: all are sampled")
        done = h.run_krait("record", "-p", "%s,%d" % (pids, unused_pid()), "-d", "100ms", "-o",
                           folder("y.folded"))
        fails(tap, "several processes, one of which is not there", done, TARGET)


def main():
    tap = h.Tap()
    check_version(tap)
    check_usage(tap)
    check_install(tap)
    check_help(tap)
    check_pages(tap)
    if os.environ.get("KRAIT_CAN_BPF", "1") != "1":
        tap.skip("recordings", "need root and BPF")
        tap.done()
        return
    python = h.newest(h.interpreters(tap))
    check_targets(tap)
    check_old(tap)
    check_unwritable(tap)
    check_memory(tap)
    if python:
        for check in (check_full, check_closed_pipe, check_signals, check_killed, check_terminal,
                      check_permissions, check_empty, check_list):
            check(tap, python)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
