# SPDX-License-Identifier: BSD-2-Clause
"""krait agent and OpenTelemetry's ebpf-profiler, with the same Collector: what each costs once started, and how much
it shows of the same service (targets/fleet.py), one after the other on the same processes. Both with native and
kernel frames, since OTel's has no choice; krait agent with its defaults."""
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import collector
import harness as h
from profiler import rival

DEPTH, WINDOW_SECS, SECONDS, START_SECS = 30, 5, 15, 90
CELLS = [("3.14", 19, 1), ("3.14", 97, 1), ("3.14", 19, 100), ("3.14", 97, 100), ("3.14", 19, 300), ("3.14", 97, 300),
         ("3.13", 97, 100), ("3.11", 97, 100)]
HEAD = ["Python, Hz, processes", "agent", "CPU, % of one", "programs in the kernel, %", "MB resident", "CPU s to start",
        "KB a second sent", "bytes a sample", "delivered of due", "whole Python stacks", "at the work"]
BPF_STATS = "/proc/sys/kernel/bpf_stats_enabled"


class Relay:
    """Forwards connections to a port and counts the bytes."""

    def __init__(self, port):
        self.to, self.bytes = port, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", self.to))
                threading.Thread(target=self.copy, args=(client, server, True), daemon=True).start()
                threading.Thread(target=self.copy, args=(server, client, False), daemon=True).start()

    def copy(self, source, sink, counted):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self.bytes += len(data) if counted else 0
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def close(self):
        self.listener.close()


class Service:
    """targets/fleet.py in an interpreter that may have its own root."""

    def __init__(self, python, count):
        self.folder = python.scratch()
        script = os.path.join(self.folder, "fleet.py")
        shutil.copy(os.path.join(h.ROOT, "tests", "bench", "targets", "fleet.py"), script)
        self.process = subprocess.Popen(python.command(python.inside(script), str(count), str(DEPTH)),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdout.readline()

    def pids(self):
        with open("/proc/%d/task/%d/children" % (self.process.pid, self.process.pid), encoding="ascii") as f:
            return [int(x) for x in f.read().split()]

    def cpu(self):
        return sum(cpu_of(p) for p in self.pids())

    def stop(self):
        self.process.stdin.close()
        self.process.wait(h.PATIENCE_SECS)
        shutil.rmtree(self.folder)


def cpu_of(pid):
    try:
        return h.cpu_seconds(pid)
    except OSError:
        return 0.0


def family(pid):
    """Returns the process and its helpers."""
    found = [pid]
    for p in found:
        with contextlib.suppress(OSError):
            for task in os.listdir("/proc/%d/task" % p):
                with open("/proc/%d/task/%s/children" % (p, task), encoding="ascii") as f:
                    found += [int(x) for x in f.read().split()]
    return found


def used_by(pids):
    """Returns the CPU seconds of these and of their ended children: includes a helper that was replaced."""
    total = sum(map(cpu_of, pids))
    for pid in pids:
        with contextlib.suppress(OSError), open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as f:
            ended = f.read().rpartition(")")[2].split()[13:15]
            total += sum(map(int, ended)) / os.sysconf("SC_CLK_TCK")
    return total


def by_name(pids):
    """Returns {name of a process: CPU seconds, including its ended children}."""
    found = {}
    for pid in pids:
        with contextlib.suppress(OSError), open("/proc/%d/comm" % pid, encoding="utf-8", errors="replace") as f:
            name = f.read().strip()
            found[name] = found.get(name, 0) + used_by([pid])
    return found


def rss_mb(pids):
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError, AttributeError), open("/proc/%d/smaps_rollup" % pid, encoding="ascii") as f:
            total += int(re.search(r"Pss:\s+(\d+)", f.read())[1])
    return total / 1024


def programs_seconds(pids):
    """Returns the run time of the BPF programs that these hold; None if the kernel does not count it."""
    found = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            for fd in os.listdir("/proc/%d/fdinfo" % pid):
                with contextlib.suppress(OSError), open("/proc/%d/fdinfo/%s" % (pid, fd), encoding="ascii") as f:
                    said = dict(line.split(":\t", 1) for line in f.read().splitlines() if ":\t" in line)
                    if "prog_id" in said and "run_time_ns" in said:
                        found[said["prog_id"]] = int(said["run_time_ns"])
    return sum(found.values()) / 1e9 if any(found.values()) else None


def commands(rate, http, grpc):
    """Returns [(name, command)]."""
    krait = [h.KRAIT, "agent", "-i", "%ds" % WINDOW_SECS, "-r", str(rate), "--cpu-budget", "0", "--otlp-endpoint",
             "http://127.0.0.1:%d" % http]
    yield "krait", krait
    yield "krait --native --kernel", krait + ["--native", "--kernel"]
    path, _ = rival("otel", "ebpf-profiler")
    if path:
        yield "OTel", [path, "-collection-agent", "127.0.0.1:%d" % grpc, "-disable-tls", "-samples-per-second", str(rate),
                       "-reporter-interval", "%ds" % WINDOW_SECS, "-reporter-jitter", "0", "-monitor-interval",
                       "%ds" % WINDOW_SECS]


def is_whole(names):
    """Tells whether a request's stack has all Python frames: from the root to its work, or as far as it has come on
    its way there or back."""
    layers = sum(n.startswith("layer_") for n in names)
    return "<module>" in names and "serve" in names and \
        (layers == DEPTH + 1 if "work" in names else layers <= DEPTH + 1)


def samples_of(requests, pids, from_ns, to_ns):
    """Returns (samples of the service between two times, all samples, and of those in a request: their number, how
    many have all Python frames, and how many are in the request's work)."""
    ours = everything = asked = whole = at_work = 0
    for p in collector.decode(requests):
        if p.type != "samples/count":
            continue
        for i, (frames, attributes, _) in enumerate(p.samples):
            pid = p.resource.get("process.pid", attributes.get("process.pid"))
            times = [int(t) for t in p.data["samples"][i].get("timestampsUnixNano", [])]
            cnt = sum(from_ns <= t < to_ns for t in times)
            everything += cnt
            # Another such service may be running.
            if pid is not None and int(pid) not in pids:
                continue
            names = [f[0] for f in frames]
            layers = any(n.startswith("layer_") for n in names)
            ours += cnt if layers or "serve" in names else 0
            # Ignores what a process does between two requests.
            if not layers:
                continue
            asked += cnt
            whole += cnt if is_whole(names) else 0
            at_work += cnt if "work" in names else 0
    return ours, everything, asked, whole, at_work


def is_known(requests):
    return any("layer_" in f[0] for p in collector.decode(requests[-3:]) for frames, *_ in p.samples for f in frames)


def measure(service, name, command, c, relays):
    """Returns a row's figures, or why there are none."""
    with open(c.log + "." + name.split()[0], "wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + START_SECS
        known = len(c.requests())
        while not is_known(c.requests()[known:]):
            if process.poll() is not None or time.monotonic() > deadline:
                return "it sent nothing of the service in %d s" % START_SECS
            time.sleep(0.5)
        pids = family(process.pid)
        started, parts = used_by(pids), by_name(pids)
        sent = sum(r.bytes for r in relays)
        cpu, due, programs, at = started, service.cpu(), programs_seconds(pids), time.time_ns()
        time.sleep(SECONDS)
        pids = family(process.pid)
        took = (time.time_ns() - at) / 1e9
        figures = {"cpu": (used_by(pids) - cpu) / took, "due": service.cpu() - due, "rss": rss_mb(pids),
                   "start": started, "sent": sum(r.bytes for r in relays) - sent, "took": took,
                   "parts": {n: (c - parts.get(n, 0)) / took for n, c in by_name(pids).items()}}
        now = programs_seconds(pids)
        figures["programs"] = (now - programs) / took if now is not None and programs is not None else None
        # By then, windows that began in this period have arrived.
        time.sleep(WINDOW_SECS + 1)
        figures["samples"] = samples_of(c.requests(), set(service.pids()), at, at + int(took * 1e9))
        return figures
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(h.PATIENCE_SECS)


def row(cell, name, rate, f):
    ours, everything, asked, whole, at_work = f["samples"]
    due = f["due"] * rate
    return ["%s, %d, %d" % cell, name, "%.2f" % (100 * f["cpu"]),
            "-" if f["programs"] is None else "%.3f" % (100 * f["programs"]), "%.0f" % f["rss"], "%.2f" % f["start"],
            "%.2f" % (f["sent"] / f["took"] / 1024), "%.0f" % (f["sent"] / everything) if everything else "-",
            "%d of %d" % (ours, due), "%.1f %%" % (100 * whole / asked) if asked else "-",
            "%.1f %%" % (100 * at_work / asked) if asked else "-"]


def cells(only):
    """Returns those of the table; or all possible ones that match a part of a name: "3.11, 19, 300$"."""
    if not only:
        return CELLS
    every = [(minor, rate, count) for minor in ("3.11", "3.13", "3.14") for rate in (19, 97) for count in (1, 100, 300)]
    return [c for c in every if any(o in "%s, %d, %d$" % c for o in only)]


def run(pythons, say, only=()):
    """Returns (head, rows, notes)."""
    rows, notes = [], []
    why = collector.why_missing()
    if why:
        return HEAD, rows, [why]
    _, otel_why = rival("otel", "ebpf-profiler")
    if otel_why:
        notes.append("OTel: " + otel_why)
    with contextlib.suppress(OSError), open(BPF_STATS, "w", encoding="ascii") as f:
        f.write("1")
    for cell in cells(only):
        minor, rate, count = cell
        python = next((p for p in pythons if p.minor == minor and not p.free_threaded and p.kind == "exe"), None) or \
            next((p for p in pythons if p.minor == minor and not p.free_threaded), None)
        if not python:
            notes.append("no Python " + minor)
            continue
        folder = tempfile.mkdtemp(prefix="krait-bench-")
        service = Service(python, count)
        try:
            for number, (name, _) in enumerate(commands(rate, 0, 0)):
                say("%s, %d Hz, %d processes: %s" % (minor, rate, count, name))
                with collector.Collector(folder, "c%d" % number) as c:
                    relays = [Relay(c.http), Relay(c.grpc)]
                    command = dict(commands(rate, *(r.port for r in relays)))[name]
                    figures = measure(service, name, command, c, relays)
                    for r in relays:
                        r.close()
                if isinstance(figures, str):
                    notes.append("%s, %d Hz, %d processes, %s: %s" % (minor, rate, count, name, figures))
                else:
                    rows.append(row(cell, name, rate, figures))
                    say("  CPU, %% of one: %s" % ", ".join("%s %.2f" % (n, 100 * c) for n, c in
                                                          sorted(figures["parts"].items()) if c > 0.0005))
        finally:
            service.stop()
            shutil.rmtree(folder)
    notes.append("CPU: user and system time of the agent and its helpers while it sends, start apart; due: CPU time of the "
                 "service times the rate; delivered: all samples in it; whole: of those in which a request is answered; "
                 "at the work: of the same, those at the bottom of the request, where nearly all of its time goes: who "
                 "drops the leaves has fewer; sent: as it goes over the wire, compressed")
    return HEAD, rows, notes
