# SPDX-License-Identifier: BSD-2-Clause
"""Results in the Test Anything Protocol, for prove."""
import sys


class Tap:
    """Prints results as they come, and the plan at the end."""

    def __init__(self):
        self.count = 0
        for stream in sys.stdout, sys.stderr:
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")

    def ok(self, good, name, *details):
        """Prints one result. If it is bad, repeats name and details on stderr, which prove always shows."""
        self.count += 1
        print("%sok %d - %s" % ("" if good else "not ", self.count, name.replace("#", "")))
        sys.stdout.flush()
        if not good:
            lines = [line for d in details for line in str(d).splitlines()[:40]]
            print("\n".join(["", "# failed %d: %s" % (self.count, name)] +
                            ["#   " + line[:2000] for line in lines]), file=sys.stderr, flush=True)
        return bool(good)

    def equal(self, got, want, name, *details):
        return self.ok(got == want, name, "got  %r" % (got,), "want %r" % (want,), *details)

    def skip(self, name, why):
        self.count += 1
        print("ok %d - %s # SKIP %s" % (self.count, name, why), flush=True)

    def done(self):
        print("1..%d" % self.count, flush=True)
