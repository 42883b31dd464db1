#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait agent -> (Collector ->) gate -> Collector. The gate answers 429, 503, 400 or late for a while; the last
Collector's disk is full, or the agent's. Nothing that fits into the spool is lost, and final refusals are counted."""
import collections
import contextlib
import gzip
import http.client
import http.server
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

import collector
import harness as h
import otlp
from test_agent import listening_port
from test_collector import agent, check_all_there, kept, log_of, run, wait_for

MOOD_SECS = 2.5


class Gate:
    """A server in front of a Collector. mood: how it treats requests: "pass", "slow", or a status to answer
    with."""

    def __init__(self, port):
        gate = self
        self.to, self.mood, self.passed, self.answered = port, "pass", 0, collections.Counter()
        self.lost, self.taken = [], []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, answer, extra = gate.answer(self.path, dict(self.headers), body)
                self.send_response(status)
                for key, value in extra.items():
                    self.send_header(key, value)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(answer)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path, headers, body):
        mood = self.mood
        self.answered[mood] += 1
        plain = gzip.decompress(body) if headers.get("Content-Encoding") == "gzip" else body
        if mood == 400:
            self.lost.append(plain)
        if isinstance(mood, int):
            return mood, b"", {"Retry-After": "1"} if mood == 429 else {}
        if mood == "slow":
            time.sleep(1.5)
        c = http.client.HTTPConnection("127.0.0.1", self.to, timeout=20)
        try:
            c.request("POST", path, body, {k: v for k, v in headers.items() if k.lower().startswith("content-")})
            r = c.getresponse()
            self.passed += 1
            if r.status == 200:
                self.taken.append(plain)
            return r.status, r.read(), {k: v for k, v in r.getheaders() if k in ("Content-Type", "Retry-After")}
        except OSError:
            return 503, b"", {}
        finally:
            c.close()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def leaves(bodies):
    """Like collector.leaves(), for requests as sent; a repeated profile counts once."""
    found, seen = collections.Counter(), set()
    for p in (p for data in bodies for p in otlp.Body(data).profiles):
        if p.id in seen:
            continue
        seen.add(p.id)
        for stack, _, times, values in p.samples:
            found[collector.folded(stack[0][0] if stack else "")] += sum(values) if values else len(times)
    return found


def number(process, name):
    with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % process.port, timeout=10) as r:
        found = re.search(r"^%s(?:\{[^}]*\})? (\S+)$" % name, r.read().decode(), re.M)
    return float(found[1])


def is_ready(port):
    """Before, the agent has no numbers to give and answers 503."""
    with contextlib.suppress(urllib.error.URLError):
        with urllib.request.urlopen("http://127.0.0.1:%d/readyz" % port, timeout=10):
            return True
    return False


@contextlib.contextmanager
def sending(folder, port, spool=None):
    with agent(folder, "--otlp-endpoint", "http://127.0.0.1:%d" % port, "--spool", spool or os.path.join(folder, "spool"),
               "--listen", "127.0.0.1:0") as process:
        process.port = wait_for(lambda: listening_port(process.pid))
        assert wait_for(lambda: is_ready(process.port)), log_of(folder)
        yield process


def end(tap, name, folder, process, last, lost=None):
    """Everything kept has arrived at the last one or was refused for good, function by function."""
    process.send_signal(signal.SIGTERM)
    code = process.wait(h.PATIENCE_SECS)
    tap.ok(code == 0, name + ": the agent ends", code, log_of(folder))
    lost = lost or collections.Counter()
    wait_for(lambda: sum(collector.leaves(last.profiles()).values()) + sum(lost.values()) >=
             sum(kept(folder, process.keep)[0].values()), 10)
    last.stop()
    if not lost:
        check_all_there(tap, name, folder, process.keep, last.requests())
        return
    expected, said = kept(folder, process.keep)
    found = collector.leaves(last.profiles()) + lost
    wrong = {f: (found[f], expected[f]) for f in found.keys() | expected.keys() if found[f] != expected[f]}
    tap.ok(not wrong, name + ": what arrived and what was refused is what was kept", wrong, said, log_of(folder))
    print("# %s: %d samples arrived, %d were refused for good" % (name, sum(found.values()) - sum(lost.values()), sum(lost.values())))


def behind_gate(stack, python, folder):
    """Provides, until the stack is left, a process to sample and a Collector behind a gate: (Collector, gate)."""
    stack.enter_context(h.start(python, "split.py", "nap"))
    last = stack.enter_context(collector.Collector(folder, "last"))
    gate = Gate(last.http)
    stack.callback(gate.close)
    return last, gate


def check_answers(tap, python, through):
    """Tries each mood for a while. through: a real Collector is in front of the gate and reports how it takes the
    answers."""
    name, folder = "through a Collector" if through else "from the gate", tempfile.mkdtemp(prefix="krait-e2e-")
    with contextlib.ExitStack() as stack:
        last, gate = behind_gate(stack, python, folder)
        port = gate.port
        if through:
            # It gives up after a moment and reports that.
            port = stack.enter_context(collector.Collector(folder, "middle", gate.port, env={
                "KRAIT_WAIT_FOR_RESULT": "true", "KRAIT_RETRY_TIME": "1s", "KRAIT_RETRY_INTERVAL": "1s", "KRAIT_QUEUE": "2"})).http
        process = stack.enter_context(sending(folder, port))
        tap.ok(wait_for(last.requests), name + ": the first window is there", log_of(folder))
        for mood in (429, 503, "slow", 400):
            gate.mood = mood
            tap.ok(wait_for(lambda m=mood: gate.answered[m] > 0), "%s: %s: it is asked" % (name, mood), log_of(folder))
            time.sleep(MOOD_SECS)
            gate.mood, cnt = "pass", len(last.requests())
            tap.ok(wait_for(lambda c=cnt: len(last.requests()) > c), "%s: %s: then it goes on" % (name, mood), log_of(folder))
        lost = leaves(gate.lost)
        tap.ok(sum(lost.values()) > 0, name + ": 400 is not tried again", gate.answered, log_of(folder))
        # The sending process reports its numbers once a second.
        wait_for(lambda: number(process, "krait_export_rejected_samples_total") == sum(lost.values()), 5)
        tap.equal(number(process, "krait_export_rejected_samples_total"), sum(lost.values()), name + ": and counted", log_of(folder))
        end(tap, name, folder, process, last, lost)
    shutil.rmtree(folder)


@contextlib.contextmanager
def small_disk(folder, size):
    """Returns the path of a disk of that size; None if nothing can be mounted."""
    disk = os.path.join(folder, "disk")
    os.mkdir(disk, 0o700)
    mounted = not subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=700,size=" + size, "none", disk],
                                 stderr=subprocess.DEVNULL, check=False).returncode
    try:
        yield disk if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", "-l", disk], check=False)


def check_full_disk_there(tap, python):
    """A Collector that cannot write answers 503, and what it refused is sent again. What it accepts and then loses is
    its own fault."""
    name, folder = "its disk is full", tempfile.mkdtemp(prefix="krait-e2e-")
    with small_disk(folder, "64k") as disk, contextlib.ExitStack() as stack:
        if not disk:
            tap.skip(name, "nothing can be mounted here")
            return
        last, gate = behind_gate(stack, python, disk)
        process = stack.enter_context(sending(folder, gate.port))
        tap.ok(wait_for(lambda: gate.taken), name + ": it is taken first", log_of(folder))
        tap.ok(wait_for(lambda: "no space left" in log_of(folder)), name + ": then it is not", log_of(folder))
        last.kill()
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        last.start()
        cnt = len(gate.taken)
        tap.ok(wait_for(lambda: len(gate.taken) > cnt), name + ": it goes on when there is room", log_of(folder))
        process.send_signal(signal.SIGTERM)
        tap.equal(process.wait(h.PATIENCE_SECS), 0, name + ": the agent ends", log_of(folder))
        expected, found = kept(folder, process.keep)[0], leaves(gate.taken)
        tap.equal(found, expected, name + ": it has taken all that was kept", log_of(folder))
        last.stop()
        print("# %s: %d samples taken, %d in its file" % (name, sum(found.values()), sum(collector.leaves(last.profiles()).values())))
    shutil.rmtree(folder)


def check_full_disk_here(tap, python):
    """The spool's disk is full and nobody accepts anything: data stays in memory, krait reports that, and it arrives
    later."""
    name, folder = "the spool's disk is full", tempfile.mkdtemp(prefix="krait-e2e-")
    with small_disk(folder, "64k") as disk, contextlib.ExitStack() as stack:
        if not disk:
            tap.skip(name, "nothing can be mounted here")
            return
        last, gate = behind_gate(stack, python, folder)
        gate.mood = 503
        process = stack.enter_context(sending(folder, gate.port, os.path.join(disk, "spool")))
        with open(os.path.join(disk, "filler"), "wb", buffering=0) as f, contextlib.suppress(OSError):
            while True:
                f.write(bytes(512))
        tap.ok(wait_for(lambda: number(process, "krait_spool_disk_full") == 1), name + ": it says so", log_of(folder))
        time.sleep(MOOD_SECS)
        gate.mood = "pass"
        tap.ok(wait_for(lambda: len(gate.taken) > 3), name + ": all goes on", log_of(folder))
        end(tap, name, folder, process, last)
    shutil.rmtree(folder)


def check_all(tap, python):
    for through in (False, True) if h.is_all() else (False,):
        check_answers(tap, python, through)
    if h.is_all():
        check_full_disk_there(tap, python)
    check_full_disk_here(tap, python)


if __name__ == "__main__":
    raise SystemExit(run(check_all))
