#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Interpreters inside other programs: linked as python3-config --embed says, statically, stripped, without PIE, and
run from a virtual environment. The stacks must be right each time, and the interpreter's own C functions are folded
whatever the program is called, an application's own are not."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

import harness as h

SOURCE = os.path.join(h.TARGETS, "embed.c")
OWN_SOURCE = os.path.join(h.TARGETS, "embed_own.c")
# CPython's functions that other files see, and some that they do not, which embed_own.py uses.
EXPORTED = re.compile(r"_?Py[A-Z_]")
STATIC = re.compile(r"(list_sort_impl|list\.sort|binarysort|binary_sort|count_run|merge_\w+|gallop_\w+|unsafe_\w+|list_sort|"
                    r"builtin_sorted|dict_\w+|insertdict|call_function|long_to_decimal_string\w*|unicode_\w+|set_\w+)$")


def static_library(ending):
    """Returns libpython3.X of the interpreter that runs this, and what must be linked with it."""
    folder = sysconfig.get_config_var("LIBPL") or ""
    found = glob.glob(os.path.join(folder, "libpython3*[0-9]" + ending))
    libraries = [word for name in ("LIBS", "SYSLIBS", "MODLIBS")
                 for word in (sysconfig.get_config_var(name) or "").split()]
    return found[:1] and [found[0], *libraries, "-Wl,--export-dynamic"]


def variants():
    """Yields name, compiler flags, and whether to strip."""
    config = shutil.which("python%d.%d-config" % sys.version_info[:2])
    if config:
        flags = subprocess.run([config, "--embed", "--ldflags"], capture_output=True,
                               encoding="utf-8", check=True).stdout.split()
        yield "shared library", flags, False
    # Debian has one archive for each kind of program.
    for name, flag, ending in (("PIE", "-pie", "-pic.a"), ("no PIE", "-no-pie", ".a")):
        static = static_library(ending)
        if static:
            yield "static, " + name, [flag, *static], False
            yield "static, %s, stripped" % name, [flag, *static], True


def check(tap, name, command):
    with h.Target([*command, "-B", os.path.join(h.TARGETS, "pairs.py")]) as target:
        recording = h.record_work(target.pid, 0.15, "-F", "4999")
        tap.equal(recording.code, 0, name + ": exit code", recording.err)
    tap.ok(recording.stacks and all(s[0].endswith("_[pairs.py]") for s, _ in recording.stacks), name + ": its script",
           recording.stacks[:1])
    h.check_accounts(tap, name, recording, complete=0.98)
    h.check_stacks(tap, name, recording, target.oracle)


def check_built(tap, folder, name, flags, stripped):
    program = os.path.join(folder, "app")
    built = subprocess.run([os.environ.get("CC", "cc"), "-O2", SOURCE, "-o", program, *flags],
                           capture_output=True, encoding="utf-8", check=False)
    if built.returncode:
        tap.skip(name, "cannot be linked: " + built.stderr.strip().splitlines()[-1])
        return
    if stripped:
        subprocess.run(["strip", "-s", program], check=True)
    check(tap, name, [program])


def check_venv(tap, folder, python):
    """Its python is a link: another file contains the interpreter."""
    name = python.name + " in a virtual environment"
    made = subprocess.run([python.path, "-m", "venv", "--without-pip", folder],
                          capture_output=True, check=False)
    if made.returncode:
        tap.skip(name, "venv cannot be made")
    else:
        check(tap, name, [os.path.join(folder, "bin", "python3")])


def work_shown(program, env=None):
    """Records the program; returns its stacks, with native frames and without files, and the recording."""
    with h.Target([program, "-B", os.path.join(h.TARGETS, "embed_own.py")], env) as target:
        recording = h.record_work(target.pid, 0.15, "--native", "-F", "4999", outputs=("x.folded", "x.data"), lines=False)
    return [([frame.partition(" (")[0] for frame in stack], count) for stack, count in recording.stacks], recording


def share(stacks, wanted):
    total = sum(count for _, count in stacks)
    return sum(count for stack, count in stacks if wanted(stack)) / total if total else 0


def check_folded(tap, name, stacks, program):
    """CPython's functions are not shown, and their time is that of the Python function that called them."""
    shown = sorted({frame for stack, _ in stacks for frame in stack
                    if EXPORTED.match(frame) or STATIC.match(frame) or frame == "[%s]" % os.path.basename(program)})
    tap.equal(shown, [], name + ": CPython's own functions are folded")
    at_leaf = share(stacks, lambda stack: stack[-1] == "interpreter")
    below = share(stacks, lambda stack: "interpreter" in stack)
    tap.ok(at_leaf > 0.6 * below > 0.1, name + ": their time is their caller's",
           "%.3f of %.3f at the leaf" % (at_leaf, below))


def check_own(tap, folder):
    """An application with functions of its own, statically linked."""
    program = os.path.join(folder, "own")
    for name, flag, ending in (("PIE", "-pie", "-pic.a"), ("no PIE", "-no-pie", ".a")):
        static = static_library(ending)
        built = subprocess.run([os.environ.get("CC", "cc"), "-O2", OWN_SOURCE, "-o", program, flag, *static],
                               capture_output=True, encoding="utf-8", check=False)
        if not static or built.returncode:
            tap.skip("an application's own functions, " + name, "cannot be linked")
            continue
        stacks, _ = work_shown(program)
        check_folded(tap, "application, " + name, stacks, program)
        for function in ("own_unseen", "own_seen"):
            seen = share(stacks, lambda stack, f=function: stack[-2:] == ["work", f])
            tap.ok(seen > 0.05, "application, %s: %s is shown" % (name, function), "%.3f" % seen)
        subprocess.run(["strip", "-s", program], check=True)
        stacks, _ = work_shown(program)
        seen = share(stacks, lambda stack: "own_seen" in stack)
        tap.ok(seen > 0.05, "application, %s, stripped: an exported function is shown" % name, "%.3f" % seen)
        exported = {frame for stack, _ in stacks for frame in stack if EXPORTED.match(frame)}
        tap.equal(exported, set(), "application, %s, stripped: CPython's exported functions are folded" % name)
        hidden = share(stacks, lambda stack: stack[-1] == "[own]")
        tap.ok(hidden > 0.05, "application, %s, stripped: what has no name is not CPython's" % name, "%.3f" % hidden)


def check_moved(tap, folder, python):
    """The interpreter's code was moved to anonymous memory (huge pages): at the start, or while the program runs."""
    name, library = python.name + ", code moved", os.path.join(folder, "moved.so")
    built = subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", os.path.join(h.TARGETS, "moved.c"), "-o", library,
                            "-lpthread"], capture_output=True, encoding="utf-8", check=False)
    if built.returncode:
        tap.skip(name, "cannot be built")
        return
    exe = os.path.basename(os.path.realpath(python.path))
    for when, after in ((" at the start", {}), (" during the recording", {"MOVED_AFTER_MS": "400"})):
        env = {**os.environ, "LD_PRELOAD": library, "MOVED_CODE": "libpython" if python.build == "shared" else "/" + exe, **after}
        with h.Target(python.command(python.target("embed_own.py")), env) as target:
            if after:
                recording = h.record("-p", str(target.pid), "-F", "997", "-d", "800ms", "--native", lines=False)
            else:
                recording = h.record_work(target.pid, 0.15, "--native", "-F", "4999", lines=False)
        stacks = [([frame.partition(" (")[0] for frame in stack], count) for stack, count in recording.stacks]
        check_folded(tap, name + when, stacks, "anonymous")
        cut = share(stacks, lambda stack: "[truncated]" in stack)
        tap.ok(stacks and cut < 0.1, name + when + ": stacks are whole", "%.3f" % cut)


def check_unopened(tap, folder):
    """krait may not open the interpreter's file: here for lack of a capability, in an AppImage since FUSE denies it to root."""
    if not shutil.which("setpriv") or os.getuid():
        tap.skip("a file that cannot be opened", "no setpriv, or not root")
        return
    with tempfile.TemporaryDirectory(prefix="krait-e2e-", dir="/var/tmp") as own:
        program, other = os.path.join(own, "unreadable"), os.path.join(own, "other")
        shutil.copy(sys.executable, program)
        script = shutil.copy(os.path.join(h.TARGETS, "embed_own.py"), own)
        source = "#include <sys/prctl.h>\n#include <unistd.h>\nint main(void) { prctl(PR_SET_DUMPABLE, 0); return pause(); }\n"
        subprocess.run([os.environ.get("CC", "cc"), "-x", "c", "-", "-o", other], input=source, encoding="utf-8", check=True)
        os.chmod(own, 0o755)
        for path in (program, other):
            os.chown(path, 65534, 65534)
            os.chmod(path, 0o500)
        user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        less = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
        # A process that is not dumpable: its folder in /proc belongs to root, so krait needs neither capability there.
        code = "import ctypes, runpy; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); runpy.run_path(%r)" % script
        with h.Target([*user, program, "-B", "-c", code], {"PYTHONHOME": sys.base_prefix, "PATH": os.environ["PATH"]}) as target:
            done = subprocess.run([*less, h.KRAIT, "record", "-q", "-d", "700ms", "-p", str(target.pid), "--no-kernel", "-o",
                                   os.path.join(folder, "unopened.folded")], capture_output=True, encoding="utf-8", check=False)
            tap.equal(done.returncode, 0, "a file that cannot be opened: exit code", done.stderr)
        stacks = h.parse_folded(os.path.join(folder, "unopened.folded"))
        python = share(stacks, lambda stack: any(frame.startswith("interpreter (") for frame in stack))
        tap.ok(python > 0.9, "a file that cannot be opened: its Python functions are there", "%.3f" % python)
        shown = share(stacks, lambda stack: "[unreadable]" in stack)
        tap.ok(shown < 0.02, "a file that cannot be opened: it is the interpreter", "%.3f" % shown)
        with subprocess.Popen([*user, other]) as sleeping:
            h.wait_until(lambda: os.stat("/proc/%d/mem" % sleeping.pid).st_uid == 0 and
                         os.readlink("/proc/%d/exe" % sleeping.pid) == other)
            done = subprocess.run([*less, h.KRAIT, "list", str(sleeping.pid)], capture_output=True, encoding="utf-8", check=False)
            sleeping.kill()
        tap.ok("other could not be opened (Permission denied), and its memory holds no Python runtime" in done.stdout and
               "inspected" not in done.stdout, "list says what could not be opened", done.stdout)


def check_renamed(tap, folder):
    """A copy of an interpreter is one, whatever it is called; each output says so."""
    program = os.path.join(folder, "myapp")
    shutil.copy(sys.executable, program)
    stacks, recording = work_shown(program, {**os.environ, "PYTHONHOME": sys.base_prefix})
    check_folded(tap, "a copy of another name", stacks, program)
    with h.Target([program, "-B", os.path.join(h.TARGETS, "embed_own.py")],
                  {**os.environ, "PYTHONHOME": sys.base_prefix}) as target:
        recording = h.record_work(target.pid, 0.2, "--native", "--interpreter-frames", outputs=("x.data", "x.pb.gz"),
                                  lines=False)
    done = h.run_krait("report", "-i", recording.path("x.data"), "--by", "origin")
    origins = [line.split()[-1] for line in done.stdout.splitlines() if re.match(r" *[0-9.]+%", line)]
    tap.ok("interpreter" in origins and "myapp" not in origins, "report --by origin knows it", done.stdout)


def check_two(tap, folder, pythons):
    """Two interpreters of different libraries: krait reads one, and says that the other one is missing."""
    shared = [p for p in pythons if p.build == "shared" and p.root == "/" and not p.free_threaded and
              int(p.minor.split(".")[1]) >= 8]
    program = os.path.join(folder, "two")
    if len(shared) < 2 or subprocess.run([os.environ.get("CC", "cc"), "-O2", "-o", program, os.path.join(h.TARGETS, "two.c"),
                                          "-ldl"], capture_output=True, check=False).returncode:
        tap.skip("two interpreters in one process", "no compiler, or not two shared ones")
        return
    command = [program]
    for python in (shared[0], shared[-1]):
        home = os.path.dirname(os.path.dirname(python.path))
        command += [glob.glob(os.path.join(home, "lib", "libpython3.*.so.1.0"))[0], home]
    with h.Target(command) as target, h.resting(target):
        row = json.loads(h.run_krait("list", "--json", str(target.pid)).stdout)[0]
        read = row["version"]
        other = next(p.version for p in (shared[0], shared[-1]) if p.version != read)
        name = "%s beside %s: " % (read, other)
        tap.ok("CPython " + other in row.get("second", ""), name + "list, JSON", row)
        second = "second interpreter"
        for words in (["list"], ["list", "-v"], ["dump", str(target.pid)], ["doctor"]):
            said = h.run_krait(*words).stdout
            tap.ok(second in said and "CPython " + other in said, name + " ".join(words[:2]), said)
        # Without -q, which leaves the summary out.
        done = h.run_krait("record", "-d", "200ms", "-o", os.path.join(folder, "two.folded"), "-p", str(target.pid))
        tap.ok(second in done.stderr and "CPython " + other in done.stderr, name + "record", done.stderr)


def main():
    h.need_bpf()
    tap = h.Tap()
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    for name, flags, stripped in variants():
        check_built(tap, folder, "embedded %d.%d, %s" % (*sys.version_info[:2], name), flags,
                    stripped)
    check_own(tap, folder)
    check_renamed(tap, folder)
    check_unopened(tap, folder)
    pythons = h.interpreters(tap)
    check_two(tap, folder, h.all_interpreters())
    for python in h.few([p for p in pythons if p.root == "/"]):
        check_moved(tap, folder, python)
        check_venv(tap, os.path.join(folder, "venv-" + python.version), python)
    shutil.rmtree(folder)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
