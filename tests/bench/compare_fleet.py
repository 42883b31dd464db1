# SPDX-License-Identifier: BSD-2-Clause
"""A fleet calculated and in small: what an agent sends, by rate, depth and processes; then its windows replayed as
those of HOSTS hosts to one real Collector (scripts/collector, deploy/collector.yaml)."""
import contextlib
import gzip
import http.client
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time

import collector
import harness as h
import otlp_wire

WINDOW_SECS, WINDOWS = 5, 3
HOSTS, REPLAY_SECS, FLAT_OUT_SECS, SENDERS = 200, 20, 5, 4
PATH = "/v1development/profiles"
# As long as each name that replaces it.
HOST = "host-0000"
CELLS = [(19, 10, 30), (19, 40, 100), (19, 100, 100), (97, 40, 100), (97, 100, 300)]
HEAD = ["Hz", "frames deep", "processes", "samples a window", "stacks a window", "KB a window", "gzip'ed",
        "bytes a sample, gzip'ed", "KB a host and hour at full load"]


@contextlib.contextmanager
def service(python, count, depth):
    script = os.path.join(h.ROOT, "tests", "bench", "targets", "fleet.py")
    with subprocess.Popen(python.command(script, str(count), str(depth)), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        try:
            yield
        finally:
            process.stdin.close()
            process.wait(h.PATIENCE_SECS)


def record(folder, rate, *args):
    """Returns the bodies of an agent on a host with that name: whole windows only."""
    command = ["unshare", "-u", "sh", "-c", 'hostname "$0" && exec "$@"', HOST, h.KRAIT, "agent", "-r", str(rate), "-i",
               "%ds" % WINDOW_SECS, "--cpu-budget", "0", "--otlp-dir", folder, "-d",
               "%ds" % (WINDOW_SECS * WINDOWS + 1), *args]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found = {}
    for name in sorted(os.listdir(folder)):
        number = int(name.split("-")[1])
        with open(os.path.join(folder, name), "rb") as f:
            found.setdefault(number, []).append(f.read())
    # The first one contains the start, and the last one is cut.
    return [bodies for number, bodies in sorted(found.items()) if 1 < number <= WINDOWS]


def stack_cnt(body):
    return sum(1 for _ in otlp_wire.below(body, otlp_wire.below(body, [(0, len(body))], 2), 7))


def size_row(rate, depth, count, windows):
    bodies = [b for w in windows for b in w]
    cnt = len(windows)
    samples = sum(map(otlp_wire.sample_cnt, bodies))
    zipped = sum(len(gzip.compress(b, 6)) for b in bodies)
    plain = sum(map(len, bodies))
    if not samples:
        return None, 0
    per_sample = zipped / samples
    # This includes what does not depend on samples, spread over them: with more CPUs, each sends less.
    hour = per_sample * rate * 2 * 3600 / 1024
    return ["%d" % rate, "%d" % depth, "%d" % count, "%.0f" % (samples / cnt),
            "%.0f" % (sum(map(stack_cnt, bodies)) / cnt), "%.0f" % (plain / cnt / 1024),
            "%.0f" % (zipped / cnt / 1024), "%.0f" % per_sample, "%.0f" % hour], samples


# ---- replay ---------------------------------------------------------------------------------------


class Host:
    """One of the simulated hosts: its windows have its name and unique ids."""

    def __init__(self, number, windows):
        self.number, self.windows = number, windows
        self.name = (HOST[:-4] + "%04d" % number).encode()
        self.connection = None

    def body(self, round_number):
        found = []
        for body in self.windows[round_number % len(self.windows)]:
            data = bytearray(body)
            for at in otlp_wire.id_offsets(body):
                data[at:at + 8] = (self.number << 32 | round_number + 1).to_bytes(8, "big")
            found.append(gzip.compress(bytes(data).replace(HOST.encode(), self.name), 1))
        return found

    def send(self, port, body):
        """Returns the status."""
        if not self.connection:
            self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.connection.request("POST", PATH, body, {"Content-Type": "application/x-protobuf",
                                                     "Content-Encoding": "gzip"})
        answer = self.connection.getresponse()
        answer.read()
        return answer.status


class Tally:
    def __init__(self):
        self.lock = threading.Lock()
        self.sent = self.bytes = self.refused = 0
        self.took = []

    def add(self, status, size, took):
        with self.lock:
            self.sent += status == 200
            self.refused += status != 200
            self.bytes += size if status == 200 else 0
            self.took.append(took)


def send_all(hosts, port, tally, until, paced):
    """One sender's hosts: each sends a window every WINDOW_SECS, or as fast as they are accepted."""
    ready = [(host, i, body) for host in hosts for i in range(REPLAY_SECS // WINDOW_SECS) for body in host.body(i)]
    if paced:
        ready.sort(key=lambda r: (r[1], r[0].number))
    began = time.monotonic()
    sent = 0
    for host, i, body in ready:
        due = began + (i + host.number / HOSTS) * WINDOW_SECS if paced else 0
        if time.monotonic() > until:
            break
        if due > time.monotonic():
            time.sleep(due - time.monotonic())
        at = time.monotonic()
        try:
            status = host.send(port, body)
        except OSError:
            status, host.connection = 0, None
        tally.add(status, len(body), time.monotonic() - at)
        sent += 1
    return sent


def replay(port, windows, paced, seconds):
    tally = Tally()
    hosts = [Host(i + (0 if paced else HOSTS), windows) for i in range(HOSTS)]
    until = time.monotonic() + seconds + 30 * paced + 5
    threads = [threading.Thread(target=send_all, args=(hosts[i::SENDERS], port, tally, until, paced))
               for i in range(SENDERS)]
    began = time.monotonic()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    tally.seconds = time.monotonic() - began
    return tally


def rss_mb(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        text = f.read()
    return [int(re.search(name + r":\s+(\d+)", text)[1]) // 1024 for name in ("VmRSS", "VmHWM")]


def simulate(windows, notes, say):
    folder = tempfile.mkdtemp(prefix="krait-bench-")
    say("%d hosts into one Collector" % HOSTS)
    with collector.Collector(folder) as c:
        started = rss_mb(c.process.pid)[0]
        for paced, name in ((True, "a window of %d s each, for %d s" % (WINDOW_SECS, REPLAY_SECS)),
                            (False, "as fast as it takes them, %d senders" % SENDERS)):
            cpu = h.cpu_seconds(c.process.pid)
            tally = replay(c.http, windows, paced, REPLAY_SECS if paced else FLAT_OUT_SECS)
            cpu = h.cpu_seconds(c.process.pid) - cpu
            took = sorted(tally.took)
            notes.append("%d hosts, %s: %d requests taken (%.1f a second, %.2f MB a second of gzip), %d refused or "
                         "failed; answer after %.0f ms (median), %.0f ms (99 %%); Collector: %.2f s of CPU in %.0f s, "
                         "%d MB resident, %d at most (%d at its start)" %
                         (HOSTS, name, tally.sent, tally.sent / tally.seconds, tally.bytes / tally.seconds / 1e6,
                          tally.refused, 1000 * took[len(took) // 2], 1000 * took[len(took) * 99 // 100], cpu,
                          tally.seconds, *rss_mb(c.process.pid), started))
            if paced:
                sent = tally.sent
        c.stop()
        with open(c.file, encoding="utf-8") as f:
            hosts = set()
            ids = cnt = 0
            for line in f:
                cnt += 1
                ids += line.count('"profileId"')
                hosts.update(re.findall(HOST[:-4] + r"\d{4}", line))
        notes.append("in the Collector's file: %d requests (%d of them sent in the first part), %d profiles, %d hosts; "
                     "%.0f MB of JSON" % (cnt, sent, ids, len([x for x in hosts if int(x[-4:]) < HOSTS]),
                                          os.path.getsize(c.file) / 1e6))
    shutil.rmtree(folder)


def run(pythons, say):
    """Returns (head, rows, notes)."""
    rows, notes, replayed = [], [], None
    why = collector.why_missing()
    python = next(p for p in pythons if p.root == "/" and not p.free_threaded)
    for rate, depth, count in CELLS:
        say("%d Hz, %d frames, %d processes" % (rate, depth, count))
        folder = tempfile.mkdtemp(prefix="krait-bench-")
        with service(python, count, depth):
            windows = record(folder, rate, "--name", "fleet.py")
        shutil.rmtree(folder)
        row, samples = size_row(rate, depth, count, windows)
        if row:
            rows.append(row)
            # The last one has most.
            replayed = windows
        else:
            notes.append("%d Hz, %d frames, %d processes: no samples" % (rate, depth, count))
    if why or not replayed:
        notes.append("no simulation: " + (why or "nothing to replay"))
    else:
        simulate(replayed, notes, say)
    return HEAD, rows, notes
