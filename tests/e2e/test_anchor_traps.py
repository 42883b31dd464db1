#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Anchors where they are most likely to fail: at the highest rates, on targets made of traps, beside other profilers,
killed at any moment; and what is left in the target afterwards.

`make check` runs each trap and each rate once, `make check-all` each trap at each rate. KRAIT_FULL=1 in the
environment: longer recordings, more kills, more threads.

"""
import os
import random
import re
import signal
import subprocess
import time

import harness as h
import recorders
import slots

FULL = os.environ.get("KRAIT_FULL") == "1"
SECS = "10s" if FULL else "250ms"
KILLS = 200 if FULL else 12 if h.is_all() else 4
RATES = ("997", "10000", "50000")
# For what any trap shows: this one has its stacks after a second; generators take three, and ten in a debug build.
QUICK = "coroutines"
SCENARIOS = ("direct", "callbacks", "generators", "coroutines", "exceptions")
MAX_RATE = "/proc/sys/kernel/perf_event_max_sample_rate"
# krait leaves younger threads alone.
AGE_SECS = 1.05
TRIES = 3
# If no prober got a CPU in time to place an anchor, or fewer samples came, record longer: the checks need some.
FEW, LONG = 100, "3s"
SEED = int(os.environ.get("KRAIT_SEED", "1"))


class RateLimit:
    """Allows the highest sampling rate, and restores the limit afterwards."""

    def __enter__(self):
        with open(MAX_RATE, encoding="ascii") as f:
            self.before = int(f.read())
        self.set(max(self.before, 2 * int(RATES[-1])))

    def __exit__(self, *exc):
        self.set(self.before)

    @staticmethod
    def set(rate):
        try:
            with open(MAX_RATE, "w", encoding="ascii") as f:
                f.write(str(rate))
        except OSError:
            pass


def record(target, rate, secs=SECS, ours=1, deltas=True):
    """ours: how many kraits of this test record at the same time. If another one interfered (it records the whole
    machine), or the target hardly ran, or deltas that there must be are not, records again."""
    for _ in range(TRIES):
        with recorders.Others(ours) as others:
            r = h.record("-p", str(target.pid), "-d", secs, "-F", rate, "--anchors", "on", *h.OWN_STACKS)
        r.others = others.cnt
        if not r.stats.get("delta") and (deltas and secs == SECS or r.samples() < FEW):
            secs = LONG if secs == SECS else secs
        elif not r.others or r.stats.get("delta") and not r.stats.get("foreign"):
            break
    return r


def check(tap, name, target, r, deltas=True):
    """Checks that from the root on no stack is impossible and nothing is missing."""
    illegal, _ = target.oracle.judge(r.stacks)
    tap.ok(r.stacks and not illegal, name + ": no impossible stack", h.show(illegal), r.err)
    wrong = {k: r.stats.get(k) for k in ("balance", "mismatched", "lost.no cache", "lost.cycle",
                                         "lost.bad frame")}
    tap.ok(r.code == 0 and not any(wrong.values()), name + ": the accounts agree", wrong, r.err)
    if deltas and r.others and not r.stats.get("delta"):
        tap.skip(name + ": there were deltas", "%d other krait at once" % r.others)
    elif deltas:
        tap.ok(r.stats.get("delta", 0) > 0, name + ": there were deltas", r.err)
    s = r.stats
    print("# %s: %d samples, %d deltas, %d audits, %d writes, %.0f new frames of %.0f a sample" % (
        name, r.samples(), s.get("delta", 0), s.get("audited", 0), s.get("writes", 0),
        s.get("frames_new", 0) / max(1, r.samples()),
        (s.get("frames_new", 0) + s.get("frames_reused", 0)) / max(1, r.samples())))


def check_left(tap, name, target):
    left = slots.written(target.pid)
    if left and recorders.recorders():
        tap.skip(name + ": the slots are empty afterwards", "another krait records")
        return
    tap.ok(target.alive() and not left, name + ": the slots are empty afterwards", left)


# ---- traps ---------------------------------------------------------------------------------------


def rates_of(scenario):
    """All rates for the first interpreter, one for each other in turn; all for all in a thorough run."""
    at = SCENARIOS.index(scenario)
    return RATES if h.is_all() or FULL or not at else (RATES[at % len(RATES)],)


def check_scenarios(tap, python):
    for scenario in SCENARIOS:
        with h.start(python, "traps.py", scenario) as target:
            h.age(target, AGE_SECS)
            for rate in rates_of(scenario):
                name = "%s: %s at %s Hz" % (python.name, scenario, rate)
                check(tap, name, target, record(target, rate))
                check_left(tap, name, target)


def greenlet_path(python):
    """Returns where scripts/pythons put the package for this interpreter, or None."""
    path = "/opt/krait/greenlet"
    return path if os.path.isdir(python.root.rstrip("/") + path) else None


def check_greenlets(tap, python):
    """Their stacks are complete without the thread's base, except while they switch; then the root is marked as
    missing."""
    path = greenlet_path(python)
    name = python.name + ": greenlets"
    if not path:
        tap.skip(name, "no package python3-greenlet for it")
        return
    command = ["chroot", python.root, "/usr/bin/env", "PYTHONPATH=" + path, python.path, "-B",
               python.target("traps.py"), "greenlets"]
    with h.Target(command) as target:
        h.age(target, AGE_SECS)
        for rate in RATES if h.is_all() or FULL else RATES[1:2]:
            part = "%s at %s Hz" % (name, rate)
            r = record(target, rate, deltas=False)
            whole = [(s, n) for s, n in r.stacks if not s[1].startswith("[truncated")]
            illegal, _ = target.oracle.judge(whole)
            tap.ok(whole and not illegal, part + ": no impossible stack", h.show(illegal), r.err)
            tap.equal((r.stats.get("balance"), r.stats.get("mismatched")), (0, 0),
                      part + ": the accounts agree", r.err)


# ---- threads that come and go --------------------------------------------------------------------


def check_threads(tap, python, rates, env=None):
    crowd = 10000 if FULL else 600 if h.is_all() else 300
    for rate in RATES[:2] if h.is_all() or FULL else rates:
        name = "%s: %d threads that come and go at %s Hz" % (python.name, crowd, rate)
        with h.start(python, "brief.py", str(crowd), "2", env=env) as target, recorders.Others(1) as others:
            krait = subprocess.Popen(
                [h.KRAIT, "record", *h.PYTHON_ONLY, *h.OWN_STACKS, "-q", "--stats", "-p", str(target.pid), "-F", rate,
                 "--anchors", "on", "--max-loss", "100", "-o", "-", "-f", "folded"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
            time.sleep(0.3)
            target.process.stdin.write(b"\n")
            line = h.read_line(target.process.stdout, time.monotonic() + 2 * h.PATIENCE_SECS)
            out, err = krait.communicate(timeout=h.PATIENCE_SECS)
            code = target.process.wait(h.PATIENCE_SECS)
        stats = h.parse_stats(err)
        tap.equal((line, code), ("DONE %d\n" % crowd, 0), name + ": the target ends well")
        tap.equal((krait.returncode, stats.get("balance"), stats.get("mismatched")), (0, 0, 0),
                  name + ": the accounts agree", err)
        if others.cnt and not stats.get("delta"):
            tap.skip(name + ": anchors were used", "%d other krait at once" % others.cnt)
        else:
            tap.ok(stats.get("delta", 0) > 0 and stats.get("writes", 0) > 0,
                   name + ": anchors were used", err)
        cut = [s for s in out.splitlines() if ";down (brief.py" in s and
               not re.match(r"[^;]*;(\[truncated[^;]*;)?Thread\._bootstrap ", s)]
        tap.ok(not cut and ";down (brief.py" in out,
               name + ": every stack has the root of its thread", *cut)
        print("# %s: %s" % (name, {k: stats.get(k) for k in ("delta", "full", "writes",
                                                             "writes_refused", "audited")}))


# ---- others --------------------------------------------------------------------------------------


def start_with_proc(python, script, *args):
    """Starts a target in its own mounts so that it sees /proc in its root folder, which lacks it. A process that
    inspects it through the root folder must share these mounts to see its files."""
    if python.root == "/":
        return h.start(python, script, *args)
    mounted = 'mount --bind /proc "$0/proc" && exec chroot "$0" "$@"'
    return h.Target(["unshare", "-m", "sh", "-c", mounted, python.root, python.path, "-B",
                     python.target(script), *args])


def run_sampling(python, pid, secs=1):
    """Runs CPython's own profiler."""
    inside = [] if python.root == "/" else ["nsenter", "-t", str(pid), "-m", "chroot", python.root]
    return subprocess.Popen(
        inside + [python.path, "-m", "profiling.sampling", "attach", "-d", str(secs),
                  "-r", "10khz", "--collapsed", "-o", "/dev/null", str(pid)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")


def check_sampling(tap, python):
    """Beside profiling.sampling, which writes to the same slot, and after it."""
    name = python.name + ": beside profiling.sampling"
    with start_with_proc(python, "traps.py", "callbacks") as target:
        h.age(target, AGE_SECS)
        for rate in RATES if FULL else RATES[:2] if h.is_all() else RATES[1:2]:
            part = "%s at %s Hz" % (name, rate)
            other = run_sampling(python, target.pid, 10 if FULL else 1)
            r = record(target, rate, "12s" if FULL else "800ms")
            said, _ = other.communicate(timeout=h.PATIENCE_SECS)
            tap.equal(other.returncode, 0, part + ": profiling.sampling ends well", said)
            check(tap, part, target, r, deltas=False)


def check_two(tap, python):
    name = python.name + ": two krait at once"
    with h.start(python, "traps.py", "generators" if h.is_all() or FULL else QUICK) as target:
        h.age(target, AGE_SECS)
        folder = h.tempfile.mkdtemp(prefix="krait-e2e-")
        h.folders.append(folder)
        other = subprocess.Popen(
            [h.KRAIT, "record", *h.PYTHON_ONLY, *h.OWN_STACKS, "-q", "--stats", "--lines", "-p", str(target.pid), "-d", "600ms",
             "-F", "7000", "--anchors", "on", "-o", os.path.join(folder, "x.folded")],
            stderr=subprocess.PIPE, encoding="utf-8")
        r = record(target, "10000", "600ms", ours=2)
        _, err = other.communicate(timeout=h.PATIENCE_SECS)
        check(tap, name + ", one", target, r, deltas=False)
        check(tap, name + ", the other", target,
              h.Recording(other.returncode, "", err, folder), deltas=False)


# ---- killed --------------------------------------------------------------------------------------


def check_kills(tap, python):
    """The target does not notice a kill, and later recordings work."""
    name = "%s: after %d kills (KRAIT_SEED=%d)" % (python.name, KILLS, SEED)
    rng = random.Random(SEED)
    with start_with_proc(python, "traps.py", "exceptions") as target:
        h.age(target, AGE_SECS)
        left = 0
        for _ in range(KILLS):
            krait = subprocess.Popen([h.KRAIT, "record", *h.PYTHON_ONLY, *h.OWN_STACKS, "-q", "-p", str(target.pid), "-F", "10000",
                                      "--anchors", "on", "-o", "/dev/null", "-f", "folded"],
                                     stderr=subprocess.DEVNULL)
            time.sleep(rng.uniform(0.01, 0.6))
            krait.send_signal(signal.SIGKILL)
            krait.wait()
            left += bool(slots.written(target.pid))
        tap.ok(target.alive(), name + ": the target runs on")
        tap.ok(left > 0, name + ": some have left an anchor behind", left)
        # The slot has another recorder's value: krait empties it, and 2 s later it is free. What the target does until then
        # does not matter.
        with h.part_time(target, 0.2):
            r = record(target, "997", "3500ms")
        check(tap, name + ", the next recording", target, r)
        check_left(tap, name, target)
        sampling = run_sampling(python, target.pid)
        said, _ = sampling.communicate(timeout=h.PATIENCE_SECS)
        tap.equal(sampling.returncode, 0, name + ": profiling.sampling works", said)
        check(tap, name + ", a recording after that", target, record(target, "997", deltas=False), deltas=False)


def check_debug(tap, pythons):
    """CPython's assertions and a guarded heap detect a stray write."""
    debug = [p for p in pythons if p.kind == "debug"]
    if not debug:
        tap.skip("3.15 debug", "no such interpreter (scripts/pythons)")
    for python in debug:
        check_threads(tap, python, RATES[1:2], env={**os.environ, "PYTHONMALLOC": "debug"})
        trap = "generators" if h.is_all() or FULL else QUICK
        with h.start(python, "traps.py", trap) as target:
            h.age(target, AGE_SECS)
            check(tap, "%s: %s at 10000 Hz" % (python.name, trap), target, record(target, "10000"))


def main():
    h.need_bpf()
    tap = h.Tap()
    pythons = [p for p in h.all_interpreters() if p.minor == "3.15"]
    for python in pythons:
        python.refresh_targets()
    one = [p for p in pythons if p.kind == "exe"][:1]
    if not one:
        tap.skip("3.15", "no such interpreter (scripts/pythons)")
    with RateLimit():
        for python in one:
            check_scenarios(tap, python)
            check_greenlets(tap, python)
            check_threads(tap, python, RATES[:1])
            check_sampling(tap, python)
            check_two(tap, python)
            check_kills(tap, python)
        check_debug(tap, pythons)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
