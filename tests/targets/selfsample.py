# SPDX-License-Identifier: BSD-2-Clause
"""A sampler as many have been: a signal whose handler looks at its own process.

CPython runs the handler not where the signal came but at the next place where it looks for signals:
where a function begins, where a loop goes back, after some calls. So it is biased, and a test of
truth that takes its result for true is no test. For the main thread only.
"""
import signal


def start(period):
    """Returns a list that collects the observed stacks, as lists of names, root first."""
    seen = []

    def look(_, frame):
        names = []
        while frame:
            names.append(frame.f_code.co_name)
            frame = frame.f_back
        seen.append(names[::-1])

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, period, period)
    return seen


def stop(seen):
    signal.setitimer(signal.ITIMER_REAL, 0)
    return seen
