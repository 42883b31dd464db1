#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait record -- COMMAND on every interpreter: krait follows children that fork, spawn and exec, and the command
notices nothing. Each process says which stacks it can have while it works; what runs before and after (imports,
interpreter shutdown) is not checked."""
import glob
import json
import os
import re
import shutil
import signal
import subprocess

import bpf_objects
import harness as h
import otlp

# What to start, its exit code, and the functions that must appear.
CASES = [
    ("work", 7, {"parent_leaf"}),
    ("fork", 3, {"parent_leaf", "child_leaf"}),
    ("mp-fork", 0, {"parent_leaf", "child_leaf"}),
    ("mp-spawn", 0, {"parent_leaf", "child_leaf"}),
    ("exec", 9, {"parent_leaf", "successor_leaf"}),
    ("kill", 128 + signal.SIGKILL, {"parent_leaf"}),
]
LEFT_IN_MEMORY = ("fork", "exec")


def read_oracles(folder):
    oracle = h.Oracle()
    for path in glob.glob(os.path.join(folder, "oracle-*")):
        with open(path, encoding="utf-8") as f:
            oracle.add(json.load(f))
    return oracle


def leaf_name(stack):
    return stack[-1].split(" (")[0]


def check_case(tap, python, what, code, hot, wrap=lambda command: command):
    """Stacks that end in a working function must be among those that their process noted."""
    name = "%s: children.py %s" % (python.name, what)
    folder = python.scratch()
    command = python.command(python.target("children.py"), what, python.inside(folder))
    recording = h.record("-F", "997", command=wrap(command))
    oracle = read_oracles(folder)
    shutil.rmtree(folder)
    tap.equal(recording.code, code, name + ": exit code", recording.err)
    h.check_accounts(tap, name, recording, complete=0.95)
    working = [s for s in recording.stacks if leaf_name(s[0]) in hot]
    illegal, leaves = oracle.judge(working)
    tap.ok(not illegal, name + ": every stack is one the target can have", h.show(illegal))
    tap.equal(set(leaves), hot, name + ": every process was seen at work", recording.err)
    return recording


def check_shell(tap, python):
    """The interpreter is started by a shell that waits for it."""
    def wrap(command):
        return ["sh", "-c", 'true; "$@"; exit $?', "sh", *command]

    check_case(tap, python, "work", 7, {"parent_leaf"}, wrap)


def check_short_lives(tap, python):
    """Processes and threads that end at once: none is counted twice or forgotten."""
    name = python.name + ": children.py exit"
    recording = h.record("-F", "5000", command=python.command(
        python.target("children.py"), "exit", "/tmp"))
    tap.equal(recording.code, 0, name + ": exit code", recording.err)
    h.check_accounts(tap, name, recording)


def check_end_during_recording(tap, python):
    """If a process of -p ends, the recording ends too, completely and with code 0."""
    name = python.name + ": -p of a process that ends"
    with h.start(python, "pairs.py") as target:
        folder = h.tempfile.mkdtemp(prefix="krait-e2e-")
        h.folders.append(folder)
        path = os.path.join(folder, "x.folded")
        with subprocess.Popen([h.KRAIT, "record", *h.PYTHON_ONLY, "--stats", "--lines", "-q", "-o", path,
                               # Only 3.12 loses about 1 % if C calls Python all the time (bpf/python/walk.h).
                               "--max-loss", "5", "-p", str(target.pid)],
                              stderr=subprocess.PIPE, encoding="utf-8") as krait:
            h.wait_until(lambda: h.is_sampling(krait), krait)
            end = h.cpu_seconds(target.pid) + 0.6
            h.wait_until(lambda: h.cpu_seconds(target.pid) >= end, krait)
            target.stop()
            _, err = krait.communicate(timeout=h.PATIENCE_SECS)
        recording = h.Recording(krait.returncode, "", err, folder)
        tap.equal(recording.code, 0, name + ": exit code", err)
        h.check_accounts(tap, name, recording, complete=h.complete_part(python))
        # The kernel takes its memory away while it still runs.
        stacks = [s for s in recording.stacks if s[0][1:] != ["[exiting]"]]
        illegal, _ = target.oracle.judge(stacks)
        tap.ok(stacks and not illegal, name + ": every stack is one the target can have", h.show(illegal))


FORKER = """
import os, sys, time
sys.stdin.readline()
for _ in range(3):
    if not os.fork():
        time.sleep(0.5)
        os._exit(0)
for _ in range(3):
    os.wait()
end = time.process_time() + 0.1
while time.process_time() < end:
    pass
"""


def krait_ends(tap, name, krait, pattern):
    """Its target has ended: so does krait, soon, and says that."""
    try:
        _, err = krait.communicate(timeout=h.PATIENCE_SECS / 2)
    except subprocess.TimeoutExpired:
        krait.send_signal(signal.SIGINT)
        err = "still recorded: " + krait.communicate(timeout=h.PATIENCE_SECS)[1]
        tap.ok(False, name + ": it ends", err)
    tap.equal(krait.returncode, 0, name + ": exit code", err)
    tap.ok(re.search(pattern, err), name + ": it says so", err)


def check_full_table(tap, python):
    """If children find no room in the kernel's table, krait says so, and ends with those that it follows."""
    name = python.name + ": -p of a parent while the table of processes is full"
    with subprocess.Popen(python.command("-c", FORKER), stdin=subprocess.PIPE) as target, \
         subprocess.Popen([h.KRAIT, "record", *h.PYTHON_ONLY, "-F", "997", "-f", "folded", "-o", "/dev/null",
                           "-p", str(target.pid)], stderr=subprocess.PIPE, encoding="utf-8") as krait:
        h.wait_until(lambda: h.is_sampling(krait), krait)
        bpf_objects.fill_table(krait.pid, "procs")
        target.communicate(b"\n", timeout=h.PATIENCE_SECS)
        krait_ends(tap, name, krait, r"\b3 processes began when there were too many to follow \(16384 at most")


# More events than a small ring buffer holds, its own end last.
SHOWER = """
import os, sys
sys.stdin.readline()
for _ in range(400):
    if not os.fork():
        os._exit(0)
    os.wait()
"""


def check_lost_end(tap, python):
    """krait notices that its target has ended though the ring buffer had no room for that event."""
    name = python.name + ": -p of a process whose end found no room"
    with subprocess.Popen(python.command("-c", SHOWER), stdin=subprocess.PIPE) as target, \
         subprocess.Popen([h.KRAIT, "record", *h.PYTHON_ONLY, "-F", "997", "--ring-size", "64K", "-f", "folded",
                           "-o", "/dev/null", "--max-loss", "100", "-p", str(target.pid)],
                          stderr=subprocess.PIPE, encoding="utf-8") as krait:
        h.wait_until(lambda: h.is_sampling(krait), krait)
        krait.send_signal(signal.SIGSTOP)
        target.communicate(b"\n", timeout=h.PATIENCE_SECS)
        krait.send_signal(signal.SIGCONT)
        krait_ends(tap, name, krait, r"\b\d+ process events found no room")


def check_family(tap, python):
    """-p includes children that already exist, also below a shell, and later ones, but no process with another
    parent."""
    name = python.name + ": -p of a parent"
    leaves = {"parent_leaf", "forked_leaf", "grandchild_leaf", "later_leaf", "from_shell_leaf"}
    with h.start(python, "family.py"), h.start(python, "family.py") as target:
        folder = h.tempfile.mkdtemp(prefix="krait-e2e-")
        h.folders.append(folder)
        krait = subprocess.Popen([h.KRAIT, "record", *h.PYTHON_ONLY, "--stats", "-q", "-F", "997", "-d", "1100ms",
                                  "--label", "pid", "-o",
                                  os.path.join(folder, "x.folded"), "-p", str(target.pid)],
                                 stderr=subprocess.PIPE, encoding="utf-8")
        try:
            krait.communicate(timeout=0.5)
        except subprocess.TimeoutExpired:
            target.process.stdin.write(b"\n")
        _, err = krait.communicate(timeout=h.PATIENCE_SECS)
    recording = h.Recording(krait.returncode, "", err, folder)
    tap.equal(recording.code, 0, name + ": exit code", err)
    h.check_accounts(tap, name, recording, complete=0.98)
    found = {}
    for stack, _ in recording.stacks:
        for frame in stack[1:]:
            found.setdefault(frame.split(" (")[0], set()).add(stack[0])
    tap.equal({leaf: len(found.get(leaf, ())) for leaf in leaves}, dict.fromkeys(leaves, 1),
              name + ": one process at each work, and all were seen", err, h.show(recording.stacks))
    tap.equal(len(set().union(*found.values())), len(leaves), name + ": processes have their pids")


def check_untouched(tap, python):
    """The command's arguments, standard input and output, and environment are its own."""
    script = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read() * 2); " \
             "sys.stdout.write(repr(sys.argv[1:])); sys.stderr.write('own error'); sys.exit(42)"
    arguments = ["-p", "--lines", "", "a b", "--", "ü\n", "$HOME"]
    command = python.command("-X", "utf8", "-c", script, *arguments)
    plain = subprocess.run(command, input=b"\0in\xff\n", capture_output=True)
    folder = h.tempfile.mkdtemp(prefix="krait-e2e-")
    h.folders.append(folder)
    path = os.path.join(folder, "x.folded")
    krait = subprocess.run([h.KRAIT, "record", *h.PYTHON_ONLY, "-q", "-o", path, "--", *command],
                           input=b"\0in\xff\n", capture_output=True)
    name = python.name + ": the command of record"
    tap.equal(krait.stdout, plain.stdout, name + " has its output and its arguments")
    tap.equal(krait.returncode, 42, name + " has its exit code", krait.stderr)
    tap.ok(b"own error" in krait.stderr, name + " has its standard error", krait.stderr)


def programs(stacks):
    """Returns {script: pids} of folded stacks with --label script,pid."""
    found = {}
    for stack, _ in stacks:
        # NAME_[pid_12,_script]
        match = re.fullmatch(r"\S+_\[pid_(\d+)(?:,_(.*))?\]", stack[0])
        found.setdefault(match.group(2) if match else stack[0], set()).add(match.group(1) if match else "")
    return found


def check_commands(tap, python):
    """Until its exec a fork is its parent's program: a command that a service starts is no program of its own."""
    for how in ("run", "preexec", "fork", "posix"):
        name = "%s: commands.py %s" % (python.name, how)
        folder = python.scratch()
        recording = h.record("-F", "4999", "--label", "script,pid", lines=False,
                             command=python.command(python.target("commands.py"), how, "0.35", python.inside(folder)))
        shutil.rmtree(folder)
        found = programs(recording.stacks)
        tap.ok(set(found) == {"commands.py"} and len(found["commands.py"]) > 2, name + ": one program, many processes",
               {k: len(v) for k, v in found.items()}, recording.err)
    name = python.name + ": commands.py python"
    folder = python.scratch()
    recording = h.record("-F", "4999", lines=False,
                         command=python.command(python.target("commands.py"), "python", "0.6", python.inside(folder)))
    shutil.rmtree(folder)
    of = {what: {s[0] for s, _ in recording.stacks if what in s[-1]} for what in ("before_exec", "child_work")}
    tap.ok(all("commands.py" in p for p in of["before_exec"]) and of["before_exec"] and
           all("child.py" in p for p in of["child_work"]) and of["child_work"],
           name + ": another script is another program, from its exec on", of)


def services_in(folder):
    """The services, and the executables' names, in the windows that an agent has written there."""
    found = set()
    for path in glob.glob(folder + "/*"):
        with open(path, "rb") as f:
            found |= {(p.resource.get("service.name"), p.resource.get("process.executable.name"))
                      for p in otlp.Body(f.read()).profiles}
    return found


def check_services(tap, python):
    """The same for top, and for an agent's services."""
    folder = python.scratch()
    with h.Target(python.command(python.target("commands.py"), "run", "0", python.inside(folder)),
                  dict(os.environ, OTEL_SERVICE_NAME="commander")) as target:
        done = h.run_krait("top", "--batch", "-F", "4999", "-n", "2", "-i", "500ms", "--view", "processes", "-p", str(target.pid))
        tap.ok("[commands.py]" in done.stdout and "mytool" not in done.stdout, python.name + ": top", done.stdout, done.stderr)
        with h.tempfile.TemporaryDirectory(prefix="krait-e2e-") as windows:
            with subprocess.Popen([h.KRAIT, "agent", "-i", "1s", "-F", "4999", "--cpu-budget", "0", "--otlp-dir", windows],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as agent:
                # On a busy machine the program may have no turn for a while.
                h.wait_until(lambda: len(glob.glob(windows + "/*")) >= 2 and
                             "commander" in {service for service, _ in services_in(windows)}, agent)
                agent.send_signal(signal.SIGTERM)
                agent.wait(h.PATIENCE_SECS)
            found = services_in(windows)
    shutil.rmtree(folder)
    mine = {service for service, _ in found}
    tap.ok("commander" in mine and not {"mytool", "sh", "dash"} & {x for pair in found for x in pair} and
           "commands.py" not in mine, python.name + ": services of an agent", sorted(map(str, found)))


# The command ends once the daemon is there, so that krait's list of who is left names it and not its parent.
DAEMON = """
import os, sys, time
there, begun = os.pipe()
if os.fork():
    os.read(there, 1)
    os._exit(0)
os.setsid()
parent = os.getpid()
if os.fork():
    os._exit(0)
while os.getppid() == parent:
    time.sleep(0.01)
print(os.getpid(), flush=True)
os.write(begun, b"x")
os.close(1)
os.close(2)
while True:
    time.sleep(0.01)
"""


def check_daemon(tap, python):
    """A command that leaves a daemon behind: who still runs, and how to record it."""
    reader, writer = os.pipe()
    with os.fdopen(reader) as pipe:
        done = subprocess.run([h.KRAIT, "record", "-f", "folded", "-o", "/dev/null", "--", *python.command("-c", DAEMON)],
                              stdout=writer, stderr=subprocess.PIPE, encoding="utf-8", timeout=h.PATIENCE_SECS)
        os.close(writer)
        pid = int(re.search(r"^\d+$", pipe.read(), re.M)[0])
    os.kill(pid, signal.SIGKILL)
    tap.ok(re.search(r"has ended, and so has the recording, but \d process(es)? that it started still runs?; .* krait record -p [\d,]*\b%d\b" % pid,
                     done.stderr), python.name + ": a daemon is left behind", pid, done.stderr)
    done = h.run_krait("record", "-f", "folded", "-o", "/dev/null", "--", *python.command("-c", "import os; os.wait() if os.fork() else 0"))
    tap.ok("still run" not in done.stderr, python.name + ": nobody is left behind", done.stderr)


def main():
    h.need_bpf()
    tap = h.Tap()
    pythons = h.interpreters(tap)
    # Parenthood does not depend on the version: one executable and, in a thorough run, one library suffice.
    for python in pythons[:2 if h.is_all() else 1]:
        check_family(tap, python)
        check_full_table(tap, python)
        check_lost_end(tap, python)
    # Starting and ending depends on the kernel; what processes leave in memory depends on the version.
    for python, case in h.covering(pythons, [c for c in CASES if c[0] in LEFT_IN_MEMORY] + [None]):
        if case:
            check_case(tap, python, *case)
        else:
            check_end_during_recording(tap, python)
    for python in pythons if h.is_all() else pythons[:1]:
        for case in CASES:
            if case[0] not in LEFT_IN_MEMORY:
                check_case(tap, python, *case)
        check_shell(tap, python)
        check_short_lives(tap, python)
        check_untouched(tap, python)
        check_daemon(tap, python)
        check_services(tap, python)
    for python in h.few(pythons):
        check_commands(tap, python)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
