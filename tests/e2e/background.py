# SPDX-License-Identifier: BSD-2-Clause
"""A krait record that runs while a test does something else; also how long tests run."""
import os
import re
import signal
import subprocess
import tempfile
import time

import harness as h

FULL = os.environ.get("KRAIT_FULL") == "1"


def scale(short, full, longer=None):
    """short in make check, longer in make check-all (or as short), full where it is asked for."""
    return full if FULL else longer if longer and h.is_all() else short


class Krait:
    """krait record in the background."""

    def __init__(self, *args):
        self.folder = tempfile.mkdtemp(prefix="krait-e2e-")
        h.folders.append(self.folder)
        self.err = open(os.path.join(self.folder, "err"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [h.KRAIT, "record", *h.PYTHON_ONLY, "-q", "--stats", "--max-loss", "100", "-o",
             os.path.join(self.folder, "x.folded"), *args],
            stdout=subprocess.DEVNULL, stderr=self.err)
        self.pid = self.process.pid
        time.sleep(0.7)

    def status(self, key):
        """Returns a line of /proc/PID/status in kB."""
        with open("/proc/%d/status" % self.pid, encoding="utf-8") as f:
            return int(re.search(r"^%s:\s+(\d+)" % key, f.read(), re.M).group(1))

    def end(self, number=signal.SIGINT):
        code = h.end_child(self.process, number)
        self.err.seek(0)
        return h.Recording(code, "", self.err.read(), self.folder)
