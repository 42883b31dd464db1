# SPDX-License-Identifier: BSD-2-Clause
"""What a profiler is to the benchmark: how it is started on a running process, and what its output
says, in one form for all.

A profiler is attached to a process by its id and runs for SECONDS, or until SIGINT if that is None.
What it wrote becomes a Profile: Python's stacks, root first, without a frame for process or thread,
each frame "qualified.name (file.py:line)" with no more than the last part of the file's path, which
all of them know. That is the form in which labels of tests/e2e/harness.py are compared (short_oracle).

Some run inside the root folder of scripts/pythons, beside their target, and need /proc there: call
private_proc() once, before the targets are started.
"""
import contextlib
import ctypes
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
import harness as h  # noqa: E402

CLONE_NEWNS = 0x20000
# scripts/rivals puts them here.
RIVALS = os.environ.get("KRAIT_RIVALS", os.path.join(h.CACHE, "rivals"))


class Profile:
    """What one run of a profiler brought.

    stacks    [(frames, count)]; None where it cannot show Python's
    delivered samples that have a stack, each thread of a look for itself
    complete  of them, those said to be whole and named, and None where it does not say
    seconds   it was sampling for so long by its own account, or None
    native    (stacks that reach the thread's start, stacks with native frames), or None
    mixed     as stacks, with native frames between as "name (file)" or "[file]", or None
    size      bytes that it has sent, where it writes no file
    """

    def __init__(self, stacks, delivered, complete, seconds=None, native=None, mixed=None, size=None):
        self.stacks, self.delivered, self.complete = stacks, delivered, complete
        self.seconds, self.native, self.mixed, self.size = seconds, native, mixed, size


def private_proc(root):
    """From now on this process and its children have their own mount namespace, with /proc mounted in root; the rest
    of the machine is unaffected."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "unshare")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    if root != "/":
        subprocess.run(["mount", "-t", "proc", "proc", root.rstrip("/") + "/proc"], check=True)
    # OTel's profiler needs it; it may already be mounted.
    subprocess.run(["mount", "-t", "tracefs", "tracefs", "/sys/kernel/tracing"], check=False,
                   stderr=subprocess.DEVNULL)


def first_line(*command):
    """Returns the first line that a command prints to either stream, or ""."""
    try:
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace",
                              timeout=h.PATIENCE_SECS)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ((done.stdout.strip() or done.stderr.strip()).splitlines() or [""])[0]


def first_of(pids):
    """For profilers that find children themselves."""
    return str(pids).split(",", 1)[0]


def rival(name, program):
    """Returns (path, why not) of a program that scripts/rivals fetches."""
    path = os.path.join(RIVALS, name, "bin", program)
    if os.path.exists(path):
        return path, ""
    with contextlib.suppress(OSError), open(os.path.join(RIVALS, name + ".why"), encoding="utf-8") as f:
        return None, f.read().strip()
    return None, "not there (scripts/rivals)"


def is_python(text):
    """Tells whether a frame is Python's, with a file."""
    return bool(re.search(r"\.py(:\d+)?\)$", text))


def frame(name, path, line):
    return h.label(name, os.path.basename(path), int(line))


def short_oracle(document, qualified=True, lines=True):
    """Returns a target's own account (targets/oracle.py) in the form of a Profile's frames."""
    codes = [dict(code, file=os.path.basename(code["file"])) for code in document["codes"]]
    if not qualified:
        codes = [dict(code, name=code["short"]) for code in codes]
    if lines:
        return dict(document, codes=codes)
    return dict(document, codes=[dict(code, lines=[], suspends=0) for code in codes],
                nodes=[[parent, 0, code] for parent, _, code in document["nodes"]])


class Profiler:
    """One profiler. Subclasses say:

    name       as it is chosen and shown
    wall       it looks at every thread each time; if not, only at time on a CPU
    qualified  its names are qualified
    lines      its frames have the lines of their calls; if not, they have none in a Profile
    children   it follows the children of the process
    endless    it can be told to run until SIGINT
    tail       seconds that it needs to run on until it has sent what it has sampled
    """

    name, wall, qualified, lines, endless, children, tail = "", False, True, True, True, True, 0

    def __init__(self):
        self.why = ""  # why it cannot run here
        self.version = ""

    def python(self, pythons):
        """Returns the interpreter that it can look into, from harness.all_interpreters()."""
        return self.pick(pythons, "3.15")

    def pick(self, pythons, *minors):
        for minor in minors:
            for python in pythons:
                if (python.minor, python.kind) == (minor, "exe"):
                    return python
        self.why = self.why or "no Python %s (scripts/pythons)" % " or ".join(minors)
        return None

    def available(self, pythons):
        """Tells whether it can run here, and finds out the version or the reason."""
        raise NotImplementedError

    def command(self, python, pid, rate, seconds, out):
        """Returns the command line that profiles pid, a target run by python, into the file out, which both sides can
        write (python.scratch()). If that has long-lived children, pid is a text, "PARENT,CHILD,..."."""
        raise NotImplementedError

    def beside(self, out):
        """Returns a context for what must run beside it but does not count as part of it."""
        return contextlib.nullcontext()

    def parse(self, out, text):
        """Returns the Profile of a run that wrote out and printed text (both streams)."""
        raise NotImplementedError

    def started(self, pid):
        """Tells whether its process samples by now, as far as visible from outside."""
        return True

    def outputs(self, out):
        """Returns the files that a run wrote."""
        return [out] if os.path.exists(out) else []
