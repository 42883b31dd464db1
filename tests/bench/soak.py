# SPDX-License-Identifier: BSD-2-Clause
"""krait agent for an hour: 300 processes of a service (targets/fleet.py), 2,000 of them started anew, windows of 10 s
through a spool into a real Collector, memory on. Every ten seconds a line of what the agent has used and what else the
machine did; in the end what must hold, and by which figure. Exit code 1: something does not."""
import argparse
import collections
import contextlib
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import profiler  # makes the harness of the end-to-end tests known
import collector
import harness as h

PROCESSES, DEPTH, PART, RATE, WINDOW_SECS, STEP_SECS = 300, 30, 0.3, 19, 10, 10
GROWTH_MAX = 0.05
# Values that depend on the number of live processes, not on time.
WARM_SECS = 60
MB = 1 << 20
Line = collections.namedtuple("Line", "at rss helpers fds cpu programs starts load processes")


def arguments():
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--starts", type=int, default=2000, help="an hour, of the service (default 2000)")
    parser.add_argument("--budget", type=float, default=1.0, help="percent of a CPU (default 1)")
    parser.add_argument("--out", metavar="FILE", help="every line also there, separated by tabs")
    return parser.parse_args()


def read(path):
    try:
        with open(path, encoding="ascii") as f:
            return f.read()
    except OSError:
        return ""


def family(pid):
    """Returns the process and its helpers."""
    found = [pid]
    for p in found:
        with contextlib.suppress(OSError):
            for task in os.listdir("/proc/%d/task" % p):
                found += [int(x) for x in read("/proc/%d/task/%s/children" % (p, task)).split()]
    return found


def resident(pid):
    """Returns bytes. Not Pss: that grows when processes end with which it shares libraries."""
    match = re.search(r"^Rss:\s+(\d+)", read("/proc/%d/smaps_rollup" % pid), re.M)
    return int(match[1]) * 1024 if match else 0


def descriptors(pids):
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            total += len(os.listdir("/proc/%d/fd" % pid))
    return total


def metric(metrics, name):
    return float(re.search(r"^%s (\S+)" % re.escape(name), metrics, re.M)[1])


def starts():
    return int(re.search(r"^processes (\d+)", read("/proc/stat"), re.M)[1])


class Soak:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.socket = os.path.join(folder, "http")
        self.lines = []
        self.agent = None
        self.out = open(options.out, "w", encoding="ascii") if options.out else None
        # With lower priority than all other work of the machine.
        self.service = subprocess.Popen(
            ["chrt", "-i", "0", sys.executable, os.path.join(h.ROOT, "tests/bench/targets/fleet.py"), str(PROCESSES),
             str(DEPTH), str(options.starts), str(PART)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.service.stdout.readline()

    def command(self, port):
        at = os.path.join
        return [h.KRAIT, "agent", "-r", str(RATE), "-i", "%ds" % WINDOW_SECS, "--cpu-budget", "%g%%" % self.options.budget,
                "--otlp-endpoint", "http://127.0.0.1:%d" % port, "--spool", at(self.folder, "spool"), "--listen",
                "unix:" + self.socket, "--keep", "30m", "--keep-dir", at(self.folder, "keep")]

    def metrics(self):
        done = subprocess.run(["curl", "-sS", "--unix-socket", self.socket, "http://localhost/metrics"],
                              capture_output=True, encoding="utf-8", check=False)
        return done.stdout

    def look(self, began):
        metrics, pids = self.metrics(), family(self.agent.pid)
        if not metrics:
            return
        cpu = {part: metric(metrics, 'krait_own_cpu_seconds_total{part="%s"}' % part) for part in ("processes", "programs")}
        line = Line(time.monotonic() - began, resident(pids[0]), sum(map(resident, pids[1:])), descriptors(pids),
                    cpu["processes"], cpu["programs"], starts(), os.getloadavg()[0],
                    int(metric(metrics, "krait_tracked_processes")))
        self.lines.append(line)
        if self.out:
            print("\t".join("%.2f" % x for x in line), file=self.out, flush=True)

    def run(self):
        """Returns whether it ended well."""
        with collector.Collector(self.folder) as c:
            with open(os.path.join(self.folder, "log"), "wb") as log:
                self.agent = subprocess.Popen(self.command(c.http), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            began = time.monotonic()
            while time.monotonic() < began + self.options.seconds and self.agent.poll() is None:
                time.sleep(STEP_SECS)
                self.look(began)
            if self.agent.poll() is None:
                self.agent.send_signal(signal.SIGTERM)
            code = self.agent.wait(h.PATIENCE_SECS)
            c.stop()
            return code == 0, self.windows(c.profiles())

    def windows(self, profiles):
        """Returns {number: its own account}."""
        return {p.attributes["krait.window.number"]: p.attributes for p in profiles if "krait.window.number" in p.attributes}

    def close(self):
        if self.agent and self.agent.poll() is None:
            self.agent.kill()
            self.agent.wait()
        self.service.stdin.close()
        self.service.wait(h.PATIENCE_SECS)
        if self.out:
            self.out.close()


def slope(lines, value):
    """Returns its growth in an hour relative to its mean: fits a line through all values."""
    xs, ys = [x.at / 3600 for x in lines], [value(x) for x in lines]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    square = sum((x - mean_x) ** 2 for x in xs)
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys)) / square / mean_y if square else 0


def tenths(lines, value):
    """Returns the medians of the first and of the last tenth: while a helper is being replaced, it exists
    twice."""
    size = max(1, len(lines) // 10)
    return [statistics.median(map(value, part)) for part in (lines[:size], lines[-size:])]


def judge(lines, windows, ended, budget):
    """Returns [(whether it holds, what, by which figure)]."""
    warm = [x for x in lines if x.at >= WARM_SECS]
    first, last = warm[0], warm[-1]
    seconds = last.at - first.at
    memory = tenths(warm, lambda x: x.rss + x.helpers)
    fds = tenths(warm, lambda x: x.fds)
    cpu = (last.cpu + last.programs - first.cpu - first.programs) / seconds
    numbers = sorted(windows)
    began = last.starts - first.starts
    yield ended, "it ended well", ""
    yield memory[1] < memory[0] * (1 + GROWTH_MAX), "memory is flat", "%.1f MB in the first tenth, %.1f in the last: %+.1f %%; " \
        "line through all: %+.1f %% an hour; at most %.1f" % (
            memory[0] / MB, memory[1] / MB, 100 * (memory[1] / memory[0] - 1),
            100 * slope(warm, lambda x: x.rss + x.helpers), max(x.rss + x.helpers for x in warm) / MB)
    yield fds[1] < fds[0] * (1 + GROWTH_MAX), "descriptors are flat", "%.0f, %.0f; processes %d, %d" % (
        *fds, *tenths(warm, lambda x: x.processes))
    yield cpu <= budget / 100, "its budget is held", "%.2f %% of a CPU, %.2f of it programs; %.0f starts a second, load %.0f to %.0f" % (
        100 * cpu, 100 * (last.programs - first.programs) / seconds, began / seconds, min(x.load for x in warm),
        max(x.load for x in warm))
    yield numbers == list(range(1, len(numbers) + 1)) and len(numbers) >= lines[-1].at // WINDOW_SECS, "no window is missing", \
        "%d of 1 to %d" % (len(numbers), max(numbers, default=0))


def main():
    h.need_bpf()
    options = arguments()
    why = collector.why_missing()
    if why:
        raise SystemExit("krait: soak: " + why)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("krait: soak: terminated"))
    folder = tempfile.mkdtemp(prefix="krait-soak-")
    soak = Soak(options, folder)
    try:
        ended, windows = soak.run()
    finally:
        soak.close()
    found = list(judge(soak.lines, windows, ended, options.budget))
    for holds, what, figure in found:
        print("%s  %s%s" % ("holds" if holds else "DOES NOT HOLD", what, ": " + figure if figure else ""))
    if all(holds for holds, *_ in found):
        shutil.rmtree(folder)
    else:
        print("what there is of it: " + folder)
    return 0 if all(holds for holds, *_ in found) else 1


if __name__ == "__main__":
    sys.exit(main())
