# SPDX-License-Identifier: BSD-2-Clause
"""OpenTelemetry's ebpf-profiler, an agent for the whole machine that sends its samples to a receiver
(otel/otlpfold.go). Samples of other processes are dropped afterwards."""
import contextlib
import os
import re
import signal
import socket
import subprocess

import roots
from profiler import Profile, Profiler, first_of, frame, h, is_python, rival

PYTHON, NATIVE = "cpython", "native"
# What it writes for the interpreter's own C calls.
NO_FRAME = PYTHON + ":+0x0"
SEND_SECS = 1


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Otel(Profiler):
    """It knows Python up to 3.14. Its line for a calling frame may be one that ran before the call: in 3.14 that of
    the surrounding loop."""

    # It looks for new processes as often as it sends.
    name, lines, tail = "OTel", False, 1.5 * SEND_SECS

    def python(self, pythons):
        return self.pick(pythons, "3.14", "3.13")

    def available(self, pythons):
        self.path, self.why = rival("otel", "ebpf-profiler")
        self.receiver, _ = rival("otel", "otlpfold")
        # The program does not tell its version.
        self.version = "v0.0.202633" if self.path else ""
        return bool(self.path and self.python(pythons))

    @contextlib.contextmanager
    def beside(self, out):
        self.seen = out + ".seen"
        self.address = "127.0.0.1:%d" % free_port()
        self.running = subprocess.Popen([self.receiver, self.address, out], stdin=subprocess.DEVNULL)
        try:
            yield
        finally:
            self.end_receiver()

    def end_receiver(self):
        if self.running.poll() is None:
            self.running.send_signal(signal.SIGTERM)
        self.running.wait(h.PATIENCE_SECS)

    def command(self, python, pid, rate, seconds, out):
        self.pids = set(str(pid).split(","))
        self.maps = roots.Maps(int(first_of(pid)))
        self.mark = os.path.basename(os.path.dirname(out))
        return [self.path, "-collection-agent", self.address, "-disable-tls", "-samples-per-second", str(rate),
                "-reporter-interval", "%ds" % SEND_SECS, "-reporter-jitter", "0",
                "-monitor-interval", "%ds" % SEND_SECS]

    def started(self, pid):
        """True once it has sent the first sample of its target: it needs some seconds to get to know a process."""
        with contextlib.suppress(OSError), open(self.seen, encoding="ascii") as f:
            return bool(self.pids & set(f.read().split()))
        return False

    def parse(self, out, text):
        self.end_receiver()
        size, spans, stacks = 0, {}, []
        with open(out, encoding="utf-8", errors="replace") as f:
            for line in f:
                words = line.split()
                if line.startswith("# bytes"):
                    size = int(words[2])
                elif line.startswith("# pid"):
                    spans[words[2]] = (int(words[3]), int(words[4]))
                else:
                    stack, _, count = line.rpartition(" ")
                    pid, *frames = stack.split(";")
                    stacks.append((pid, frames, int(count)))
        # Short-lived children are recognised by the target's files in their stacks.
        ours = self.pids | {pid for pid, frames, _ in stacks if any(self.mark in f for f in frames)}
        return self.profile([s for s in stacks if s[0] in ours], sum(n for *_, n in stacks), size,
                            [s for p, s in spans.items() if p in ours])

    def profile(self, stacks, of_all, size, spans):
        python, mixed, whole, native = [], [], 0, 0
        for _, frames, count in stacks:
            known = [self.known(f) for f in frames if f != NO_FRAME]
            mixed.append((known, count))
            ours = [f for f in known if is_python(f)]
            if ours:
                python.append((ours, count))
            native += count
            whole += count if frames and self.is_root(frames[0]) else 0
        delivered = sum(n for *_, n in stacks)
        seconds = (max(s[1] for s in spans) - min(s[0] for s in spans)) / 1e9 if spans else None
        return Profile(python, delivered, sum(n for _, n in python), seconds, (whole, native), mixed,
                       size * delivered // max(1, of_all))

    @staticmethod
    def known(text):
        """Returns a frame in the common form."""
        match = re.match(PYTHON + r":(.*):([^:]*):(\d+)$", text)
        if match:
            return frame(match[1], match[2], 0)
        match = re.match(NATIVE + r":(.*)\+0x[0-9a-f]+$", text)
        return "[%s]" % match[1] if match else text

    def is_root(self, text):
        match = re.match(NATIVE + r":(.*)\+0x([0-9a-f]+)$", text)
        return bool(match) and self.maps.is_root(match[1], int(match[2], 16))
