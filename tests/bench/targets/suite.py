# SPDX-License-Identifier: BSD-2-Clause
"""A real program: tests of the standard library, one after another, for ever. Its unit of work is
the nanosecond of CPU time that a test took before anybody looked."""
import os
import resource
import signal
import time
import unittest

import oracle
import work

MODULES = ["test.test_textwrap", "test.test_json.test_unicode", "test.test_json.test_scanstring",
           "test.test_json.test_indent", "test.test_string", "test.test_fractions",
           "test.test_difflib", "test.test_csv", "test.test_shlex", "test.test_htmlparser"]
# A longer one would be a large part of what is measured.
LONGEST_SECS = 0.01


def flat(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test


def too_long(number, frame):
    raise TimeoutError


def children_cost():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def passing(tests):
    """Those that pass here, quickly, without other processes."""
    signal.signal(signal.SIGPROF, too_long)
    for test in tests:
        result, before = unittest.TestResult(), children_cost()
        try:
            signal.setitimer(signal.ITIMER_PROF, LONGEST_SECS)
            test.run(result)
            signal.setitimer(signal.ITIMER_PROF, 0)
        except TimeoutError:
            continue
        if result.wasSuccessful() and not result.skipped and children_cost() == before:
            yield test
    signal.signal(signal.SIGPROF, signal.SIG_IGN)


def cost_of(test, result):
    before = time.process_time_ns()
    test.run(result)
    return time.process_time_ns() - before


def load():
    loader = unittest.TestLoader()
    for module in MODULES:
        suites = loader.loadTestsFromName(module)
        yield from flat(suites)


def main():
    result, done = unittest.TestResult(), work.pairs()
    tests = list(passing(load()))
    if not tests:
        raise SystemExit("this Python has no test suite (scripts/pythons --rivals)")
    costs = [min(cost_of(test, result), cost_of(test, result)) for test in tests]
    oracle.say_ready()
    # Nobody reads on; some tests print.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    while True:
        for test, cost in zip(tests, costs):
            test.run(result)
            done[0] += cost


if __name__ == "__main__":
    main()
