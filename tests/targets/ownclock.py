# SPDX-License-Identifier: BSD-2-Clause
"""How a target that accounts for itself reads its own clocks and reports the results."""
import json
import resource
import sys
import time


def cpu():
    """Returns ns of CPU time of this thread."""
    return time.clock_gettime_ns(time.CLOCK_THREAD_CPUTIME_ID)


def losses(who=resource.RUSAGE_SELF):
    """Returns how often the process, or thread, has lost its CPU."""
    usage = resource.getrusage(who)
    return usage.ru_nivcsw + usage.ru_nvcsw


def ready():
    """Call before work: with --wait, waits for a line on stdin, otherwise for half a second."""
    sys.stdout.write("READY\n")
    sys.stdout.flush()
    if "--wait" in sys.argv:
        sys.stdin.readline()
    else:
        time.sleep(0.5)


# A turn that takes so much longer than all similar ones, and at least so many ns more, was held up by the machine.
SLOWER, LEAST_NS = 1.25, 300000


def paused(turns, usual=None):
    """Of turns that are alike, (CPU ns, CLOCK_MONOTONIC ns at begin and end), those in which the machine stood still: a
    thread's clock may run on meanwhile, and no timer's interrupt can come."""
    usual = usual or sorted(t[0] for t in turns)[len(turns) // 2]
    return [t for t in turns if t[0] > SLOWER * usual + LEAST_NS]


def tell(document):
    """The line that the tests of truth read. In pieces that a pipe takes as a whole: what a profiler
    that stops its target by ptrace cuts short is lost."""
    text = "TRUTH %s\n" % json.dumps(document)
    for at in range(0, len(text), 4096):
        sys.stdout.write(text[at:at + 4096])
        sys.stdout.flush()
