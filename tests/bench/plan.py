# SPDX-License-Identifier: BSD-2-Clause
"""What is measured: the targets, and which of them at which rates."""


class Workload:
    """A target of targets/.

    stacks  what a profiler that looks at every thread finds in one look
    family  it has children: "live", they live as long as it; "brief", they come and go
    """

    def __init__(self, name, what, script, *args, stacks=1, family=""):
        self.name, self.what, self.script, self.args = name, what, script, args
        self.stacks, self.family = stacks, family


WORKLOADS = [
    Workload("calls", "recursive calls and little else", "calls.py"),
    Workload("deep", "short calls on top of 900 frames", "deep.py", "900"),
    Workload("threads-1", "one thread that works, one that waits", "threads.py", "1", stacks=2),
    Workload("threads-50", "50 threads that work", "threads.py", "50", stacks=51),
    Workload("threads-200", "200 threads that work", "threads.py", "200", stacks=201),
    Workload("native", "hashlib and zlib in two threads, without the GIL", "native.py", stacks=3),
    Workload("callbacks", "sqlite3, sort keys, re.sub that call Python back, zlib, numpy if there is one",
             "callbacks.py"),
    Workload("server", "asyncio server and its clients", "server.py"),
    Workload("forks", "fork storm, 4 children at a time", "forks.py", "4", stacks=5,
             family="brief"),
    Workload("processes", "100 processes, one CPU busy in all", "processes.py", "100", stacks=101,
             family="live"),
    Workload("suite", "tests of the standard library", "suite.py"),
]
RATES = (99, 997, 10000, 50000)

# All targets at krait's default rate, beside every rival; other rates where they tell something new.
USUAL_RATE = 997
DEFAULT = [(w.name, USUAL_RATE) for w in WORKLOADS] + [
    ("calls", 99), ("threads-200", 99), ("processes", 99),
    ("calls", 10000), ("deep", 10000), ("threads-50", 10000),
    ("calls", 50000), ("deep", 50000),
]
QUICK = [("calls", 997), ("deep", 10000), ("threads-50", 997), ("native", 997), ("callbacks", 997), ("forks", 997),
         ("processes", 99)]
# Those of docs/MEASUREMENTS.md, and beside whom.
PAGE = [("calls", 997), ("deep", 997), ("threads-200", 997), ("native", 997), ("server", 997), ("forks", 997),
        ("processes", 997), ("calls", 10000), ("deep", 10000)]
PAGE_RIVALS = ("profiling.sampling", "py-spy", "austin", "OTel", "perf record -g")
# Variants of a rival that are left out at other rates, to save time.
ONLY_USUALLY = ("perf record -g", "perf --call-graph dwarf", "profiling.sampling --blocking", "py-spy --nonblocking",
                "py-spy --native", "krait, native")


def workload(name):
    return next(w for w in WORKLOADS if w.name == name)


def cells(quick, targets, rates, page=False):
    """Returns [(target, rate)]: the usual ones; or the requested rates for all targets or the requested ones."""
    usual = PAGE if page else QUICK if quick else DEFAULT
    if rates:
        return [(w.name, r) for w in WORKLOADS for r in rates if not targets or w.name in targets]
    if targets:
        return [c for c in usual if c[0] in targets] or [(t, USUAL_RATE) for t in targets]
    return usual
