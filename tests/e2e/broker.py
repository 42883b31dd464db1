# SPDX-License-Identifier: BSD-2-Clause
"""For tests of krait broker: one with a socket of its own, and clients of ordinary users. Imported by the test_* files."""
import os
import signal
import subprocess
import tempfile
import time

import harness as h

# Of this test alone: others that run beside it have users' processes, too.
CLIENT = 62000 + os.getpid() % 1000 * 2
OTHER = CLIENT + 1


def as_user(uid):
    """Returns a prefix that makes a command an ordinary user's. Not setpriv: it has root's rights until the command runs,
    and finds it in folders that the user may not enter."""
    return ["chroot", "--skip-chdir", "--userspec=%d:%d" % (uid, uid), "--groups=%d" % uid, "/"]


class Broker:
    def __init__(self, *options, prefix=()):
        self.folder = tempfile.mkdtemp(prefix="krait-broker-")
        h.folders.append(self.folder)
        os.chmod(self.folder, 0o755)
        self.socket = os.path.join(self.folder, "socket")
        self.log_path = os.path.join(self.folder, "log")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen([*prefix, os.path.abspath(h.KRAIT), "broker", "--socket", self.socket, *options], stderr=log)
        self.pid = self.process.pid
        self.old = ()
        self.old = self.folders()
        if not wait_for(lambda: os.path.exists(self.socket) and os.stat(self.socket).st_mode & 0o666 == 0o666):
            raise RuntimeError("no broker: " + self.log)
        # What a client writes.
        self.home = tempfile.mkdtemp(prefix="krait-client-")
        h.folders.append(self.home)
        os.chmod(self.home, 0o1777)

    @property
    def log(self):
        with open(self.log_path, encoding="utf-8", errors="surrogateescape") as f:
            return f.read()

    @property
    def env(self):
        return {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": self.home, "LANG": "C.UTF-8", "KRAIT_SOCKET": self.socket}

    def start(self, *args, uid=CLIENT, prefix=(), env=None, **options):
        """Starts krait as that user."""
        return subprocess.Popen([*as_user(uid), *prefix, os.path.abspath(h.KRAIT), *args], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, encoding="utf-8", errors="surrogateescape",
                                cwd=self.home, env={**self.env, **(env or {})}, **options)

    def run(self, *args, timeout=h.PATIENCE_SECS, **options):
        process = self.start(*args, **options)
        out, err = process.communicate(timeout=timeout)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def path(self, name):
        return os.path.join(self.home, name)

    def stacks(self, name="x.folded"):
        return h.parse_folded(self.path(name))

    def recorders(self):
        """Returns the pids of the recordings that run."""
        return [int(p) for p in children(self.pid) if b"--own" in read("/proc/%s/cmdline" % p)]

    def spares(self):
        """Returns the pids of those that wait to be one."""
        return [int(p) for p in children(self.pid) if b"--spare" in read("/proc/%s/cmdline" % p)]

    def recording(self):
        """Waits until a recording samples. Returns whether one does."""
        return wait_for(lambda: any(h.has_programs_at_events(p) for p in self.recorders()))

    def folders(self):
        """Returns what recordings have left, besides those of other tests."""
        return [n for n in os.listdir("/var/tmp") if n.startswith("krait-") and len(n) == 22 and n not in self.old and
                uid_of("/var/tmp/" + n) in (CLIENT, OTHER)]

    def pss_kib(self):
        """Returns what it costs: pages of libraries that others have, too, only in part."""
        return int(read("/proc/%d/smaps_rollup" % self.pid).split(b"\nPss:")[1].split()[0])

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(10)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def uid_of(path):
    try:
        return os.stat(path).st_uid
    except FileNotFoundError:
        return None


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read()
    except OSError:
        return b""


def children(pid):
    return read("/proc/%d/task/%d/children" % (pid, pid)).decode().split()


def wait_for(test, seconds=10):
    """Returns whether the test becomes true in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if test():
            return True
        time.sleep(0.02)
    return False
