#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Programs that falsely claim to be CPython (tests/targets/fake_runtime.c): what is recognisably wrong is refused by
name; what turns out wrong later is counted as such and never shown as a stack. Recorded as root, krait must
neither crash nor hang nor believe anything."""
import contextlib
import os
import shutil
import subprocess
import tempfile
import time

import harness as h

SOURCE = os.path.join(h.TARGETS, "fake_runtime.c")
TARGET, EMPTY = 3, 6
# CPU time of a fake in a recording: it never changes what it does.
WORK_SECS = 0.15 if h.is_all() else 0.06

# Compiler options, and what the refusal must name.
REFUSED = {
    "version 3.16": (["-DVERSION=0x031000f0"], "3.16"),
    "version 3.12": (["-DVERSION=0x030c05f0"], "3.12"),
    "version 4.0": (["-DVERSION=0x040000f0"], "4.0"),
    "wild version": (["-DVERSION=0xfffffffful"], "0xffffffff"),
    "version of 64 bits": (["-DVERSION=0x12345678030f00f0ul"], "CPython"),
    "version 0": (["-DVERSION=0"], "CPython"),
    "3.15.0b3": (["-DVERSION=0x030f00b3"], "3.15.0b3"),
    "3.15.0rc1": (["-DVERSION=0x030f00c1"], "3.15.0rc1"),
    "3.15.2 of no known level": (["-DVERSION=0x030f0230"], "3.15"),
    "no table behind the version": (["-DWORDS=3"], "debug offsets"),
    "nothing but a version": (["-DWORDS=2"], "debug offsets"),
    "a text in place of the table": (['-DTEXT="3.11.9"'], "3."),
    "free_threaded 7": (["-DPATCH=[16/8]=7"], "free_threaded"),
    "a struct of size 0": (["-DPATCH=[176/8]=0"], "thread_state"),
    "a struct of 16 EiB": (["-DPATCH=[176/8]=~0ul"], "thread_state"),
    "a field beyond its struct": (["-DPATCH=[208/8]=888"], "current_frame"),
    "a field beyond 32 bits": (["-DPATCH=[208/8]=0x100000048ul"], "current_frame"),
    "a negative field": (["-DPATCH=[208/8]=-8ul"], "current_frame"),
    "a field beyond the window": (["-DPATCH=[240/8]=512"], "thread_id"),
    "a misaligned field": (["-DPATCH=[320/8]=12"], "previous"),
    "two fields in one place": (["-DPATCH=[320/8]=56"], "overlaps"),
    "strings that cannot be": (["-DPATCH=[744/8]=8"], "unicode"),
}

LEAF, ROOT = "fake_leaf (fake.py:9)", "fake_root (fake.py:9)"
UNKNOWN = "<unknown function>"


def truncated(reason, *frames):
    return ["[truncated: %s]" % reason, *frames]


# What is wrong, the reason that every interrupt must have, and the only stack that may be shown.
BROKEN = {
    "sound": ("complete.python", [ROOT, LEAF]),
    "zero-runtime": ("complete.no runtime", ["[interpreter not running]"]),
    "zero-interp": ("complete.native thread", ["[native thread]"]),
    "zero-thread": ("lost.thread torn", None),
    "wild-interp": ("lost.runtime fault", None),
    "interp-cycle": ("lost.thread limit", None),
    "wild-thread": ("lost.thread fault", None),
    "kernel-thread": ("lost.thread fault", None),
    "misaligned-thread": ("lost.thread fault", None),
    "thread-cycle": ("lost.thread torn", None),
    "many-threads": ("lost.thread limit", None),
    "wild-current": ("truncated.frame fault", truncated("frame fault", "[no Python frame]")),
    "wild-frame": ("truncated.frame fault", truncated("frame fault", ROOT, LEAF)),
    "kernel-frame": ("truncated.frame fault", truncated("frame fault", ROOT, LEAF)),
    "frame-cycle": ("lost.cycle", None),
    "frame-itself": ("lost.cycle", None),
    "misaligned-frame": ("lost.bad frame", None),
    "bad-owner": ("lost.bad frame", None),
    "wild-owner": ("lost.bad frame", None),
    "no-base": ("truncated.no base", truncated("no base", ROOT, LEAF)),
    # As greenlet begins a stack.
    "greenlet": ("complete.greenlet", [ROOT, LEAF]),
    "wild-code": ("complete.python", [UNKNOWN, LEAF]),
    "kernel-code": ("complete.python", [UNKNOWN, LEAF]),
    "text-as-code": ("complete.python", [UNKNOWN, LEAF]),
    "other-type": ("complete.python", [UNKNOWN, UNKNOWN]),
    "odd-name": ("complete.python", [UNKNOWN, UNKNOWN]),
    "wild-name": ("complete.python", [UNKNOWN, UNKNOWN]),
    "huge-lines": ("complete.python", ["fake_root (fake.py)", "fake_leaf (fake.py)"]),
    "odd-lines": ("complete.python", None),
    "wild-instruction": ("complete.python", ["fake_root (fake.py)", "fake_leaf (fake.py)"]),
}


class Compiler:
    """Builds variants of the fake; without a compiler there are none."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="krait-e2e-")
        self.cc = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")

    def build(self, *options):
        program = tempfile.mktemp(prefix="fake-", dir=self.folder)
        subprocess.run([self.cc, "-O1", "-w", *options, "-o", program, SOURCE, "-lpthread"],
                       check=True)
        return program

    def clean(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def check_refused(tap, compiler):
    # tests/unit/test_py_offsets.c has each field; here each kind is met once, and all of them in a thorough run.
    for name, (options, word) in list(REFUSED.items())[::1 if h.is_all() else 3]:
        program = compiler.build(*options)
        with h.Target([program, "sound"]) as target:
            os.kill(target.pid, h.signal.SIGSTOP)  # it need not run to be looked at
            done = h.run_krait("record", *h.PYTHON_ONLY, "-p", str(target.pid), "-d", "100ms", "-o",
                               os.path.join(compiler.folder, "x.folded"))
            os.kill(target.pid, h.signal.SIGCONT)
            alive = target.alive()
        tap.equal(done.returncode, TARGET, name + ": exit code", done.stderr)
        lines = done.stderr.splitlines()
        tap.ok(len(lines) == 1 and str(target.pid) in lines[0] and word in lines[0],
               name + ": is refused by name", word, done.stderr)
        tap.ok(alive, name + ": the process runs on")


def together():
    """Returns [what is wrong]: those of one reason that are shown, each as a process of its own, in one recording; those of
    which nothing is shown each in one of their own."""
    groups = {}
    for what, (reason, _) in BROKEN.items():
        groups.setdefault(what if reason.startswith(h.LOST) else reason, []).append(what)
    return groups.values()


def check_broken(tap, compiler):
    program = compiler.build()
    process = os.path.basename(program)[:15]
    for group in together():
        with contextlib.ExitStack() as stack:
            targets = [stack.enter_context(h.Target([program, what])) for what in group]
            r = h.record_work([t.pid for t in targets], WORK_SECS, "--label", "pid", *h.OWN_STACKS)
            alive = [t.alive() for t in targets]
        names, reason = ", ".join(group), BROKEN[group[0]][0]
        h.check_accounts(tap, names, r)
        tap.ok(all(alive) and 0 < r.stats.get("interrupts", 0) == r.stats.get(reason),
               names + ": every interrupt is " + reason, r.err)
        if reason.startswith(h.LOST):
            tap.ok(r.code == EMPTY and not r.stacks and "lost" in r.err.splitlines()[-1],
                   names + ": nothing is shown, and krait says that all was lost", r.code, r.err)
            continue
        for what, target in zip(group, targets):
            frames, label = BROKEN[what][1], "%s_[pid_%d]" % (process, target.pid)
            shown = [stack for stack, _ in r.stacks if stack[0] == label]
            if frames:
                tap.equal(shown, [[label, *frames]], what + ": nothing else is shown", r.err)
            else:
                tap.ok(shown, what + ": it is shown", r.err)


def check_depth(tap, program):
    """More frames than krait follows: it shows the leaf side and a mark."""
    with h.Target([program, "many-frames"]) as target:
        r = h.record_work(target.pid, WORK_SECS, "--label", "command", *h.OWN_STACKS)
    h.check_accounts(tap, "many-frames", r)
    tap.ok(r.stacks and all(s[1] == "[truncated: depth]" and s[-1] == LEAF and len(s) > 1024 and
                            set(s[2:-1]) == {ROOT} for s, _ in r.stacks),
           "many-frames: the leaf side is shown", h.show(r.stacks))


def peak_kib(pid):
    """Returns a running process's peak memory so far."""
    with open("/proc/%d/status" % pid, encoding="utf-8") as f:
        return int(next(line for line in f if line.startswith("VmHWM")).split()[1])


def check_bounds(tap, compiler, program):
    """Impossible lengths are rejected: memory stays small."""
    for what in ("huge-name", "huge-lines", "many-frames"):
        with h.Target([program, what]) as target:
            krait = subprocess.Popen(
                [h.KRAIT, "record", "-q", "-p", str(target.pid), "-d", "30s", "-o",
                 os.path.join(compiler.folder, "x.folded")], stderr=subprocess.PIPE)
            time.sleep(0.7)
            peak = peak_kib(krait.pid)
            code = h.end_child(krait, h.signal.SIGINT)
            krait.stderr.close()
        tap.ok(code == 0 and peak < 256 * 1024, what + ": little memory is used",
               "code %d, %d KiB" % (code, peak))


def check_scribble(tap, program):
    """Pointers that change during the read, at full speed."""
    for attempt in range(3):
        name = "scribble %d" % (attempt + 1)
        with h.Target([program, "scribble"]) as target:
            r = h.record("-p", str(target.pid), "-d", h.moment(0.2), "-F", "10000", *h.OWN_STACKS)
            alive = target.alive()
        tap.ok(alive and r.code in (0, 6), name + ": krait and the process are well", r.code, r.err)
        h.check_accounts(tap, name, r)


def check_beside(tap, compiler):
    """A refused process is named and does not keep -a from recording the others."""
    program = compiler.build("-DVERSION=0x031000f0")
    sound = compiler.build()
    with h.Target([program, "sound"]) as odd, h.Target([sound, "sound"]) as good:
        done = h.run_krait("record", "-a", "-F", "997", "-d", h.moment(0.5), "-o",
                           os.path.join(compiler.folder, "x.script"))
    with open(os.path.join(compiler.folder, "x.script"), encoding="utf-8") as f:
        text = f.read()
    tap.ok(" %d/" % good.pid in text and " %d/" % odd.pid not in text,
           "-a: those that can be recorded are", done.stderr)
    tap.ok("not sampled" in done.stderr and "3.16" in done.stderr,
           "-a: those that cannot are named", done.stderr)


def check_corrupt_files(tap, compiler):
    """ELF files with overwritten bytes, mapped by a process: krait reads them to find a runtime."""
    with open(compiler.build("-static"), "rb") as f:
        program = bytearray(f.read())
    section_headers = int.from_bytes(program[40:48], "little")
    damages = {
        "section headers beyond the file": (40, b"\xff" * 8),
        "a section header size of 0": (58, b"\0\0"),
        "65535 sections": (60, b"\xff\xff"),
        "section names in no section": (62, b"\xfe\xff"),
        "section headers of noise": (section_headers, os.urandom(64 * 30)),
    }
    for name, (at, noise) in damages.items():
        path = os.path.join(compiler.folder, "damaged-%d" % at)
        damaged = bytearray(program)
        damaged[at:at + len(noise)] = noise
        with open(path, "wb") as f:
            f.write(damaged)
        os.chmod(path, 0o755)
        with h.Target([path, "sound"]) as target:
            r = h.record_work(target.pid, WORK_SECS, *h.OWN_STACKS)
        tap.ok(r.code in (0, TARGET) and r.err, "an ELF file with " + name, r.code, r.err)
        if r.code == 0:
            h.check_accounts(tap, "an ELF file with " + name, r)


def main():
    h.need_bpf()
    tap = h.Tap()
    compiler = Compiler()
    if not compiler.cc:
        print("1..0 # SKIP no C compiler")
        return
    program = compiler.build()
    check_refused(tap, compiler)
    check_broken(tap, compiler)
    check_depth(tap, program)
    check_bounds(tap, compiler, program)
    check_scribble(tap, program)
    check_beside(tap, compiler)
    check_corrupt_files(tap, compiler)
    compiler.clean()
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
