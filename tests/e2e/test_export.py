#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait agent's exporter against servers that fail in the usual ways: each window arrives once or is counted, no
secret is printed, and what a kill -9 leaves in the spool is sent in order and with its times."""
import contextlib
import glob
import gzip
import http.client
import http.server
import os
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time

import harness as h

TOKEN = "t0ken-that-nobody-may-see"
PATH = "/v1development/profiles"


# ---- protobuf, as much of it as is needed ----------------------------------------------------------


def fields(data):
    """Returns [(number, value)]: bytes or an int."""
    at, found = 0, []

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            value = varint()
        elif key & 7 == 1:
            value = struct.unpack_from("<Q", data, at)[0]
            at += 8
        else:
            size = varint()
            value = data[at:at + size]
            at += size
        found.append((key >> 3, value))
    return found


def profiles(body):
    """Returns [(profile_id, time_unix_nano)] of a request."""
    found = []
    for number, resource in fields(body):
        for n, scope in fields(resource) if number == 1 else ():
            for k, profile in fields(scope) if n == 2 else ():
                if k == 2:
                    p = dict(fields(profile))
                    found.append((p.get(7), p.get(3)))
    return found


# ---- a server ------------------------------------------------------------------------------------


class Server(http.server.ThreadingHTTPServer):
    """The path's first part says what to answer, and possibly how often. taken: what it has accepted, by that
    part."""
    daemon_threads = True

    def __init__(self, port=0, context=None):
        super().__init__(("127.0.0.1", port), Handler)
        if context:
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.port = self.server_address[1]
        self.lock = threading.Lock()
        self.taken, self.asked, self.heads = {}, {}, {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # clients that reject our certificate or do not wait


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def take(self, way, body):
        with self.server.lock:
            self.server.taken.setdefault(way, []).append(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        way = self.path.split("/")[1]
        with self.server.lock:
            times = self.server.asked.setdefault(way, [])
            times.append(time.monotonic())
            self.server.heads[way] = dict(self.headers, path=self.path)
            turn = len(times)
        if way == "down" and turn <= 2:
            self.reply(503)
        elif way == "later" and turn == 1:
            self.reply(429, Retry_After="2")
        elif way == "never":
            self.reply(400, b"wrong: " + self.headers.get("Authorization", "").encode())
        elif way == "slow" and turn == 1:
            time.sleep(4)
        elif way == "cut" and turn == 1:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\nno more")
            self.close_connection = True
        elif way == "giant":
            self.take(way, body)
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
            with contextlib.suppress(OSError):
                for _ in range(1000):
                    self.wfile.write(b"x" * 100000)
            self.close_connection = True
        elif way == "part":
            self.take(way, body)
            self.reply(200, b"\x0a\x09\x08\x02\x12\x05nope\x1b")
        else:
            self.take(way, body)
            self.reply(200)


# ---- the agent -----------------------------------------------------------------------------------


class Agent:
    def __init__(self, folder, *args):
        self.log = os.path.join(folder, "agent.log")
        self.socket = os.path.join(folder, "metrics")
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [h.KRAIT, "agent", "-i", "1s", "--cpu-budget", "100%", "--listen", "unix:" + self.socket, *args],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def metrics(self):
        """Returns {name{labels}: value}."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(10)
            s.connect(self.socket)
            connection = http.client.HTTPConnection("krait")
            connection.sock = s
            connection.request("GET", "/metrics")
            answer = connection.getresponse()
            text = answer.read().decode()
        if answer.status != 200:
            raise OSError(text)  # no window has ended yet
        return {k: float(v) for k, v in (line.rsplit(" ", 1) for line in text.splitlines() if line and line[0] != "#")}

    def metric(self, name, way):
        try:
            return sum(v for k, v in self.metrics().items() if k.startswith(name + "{") and "/%s/" % way in k)
        except OSError:
            return -1

    def children(self):
        """Returns {role: pid}."""
        found = {}
        for path in glob.glob("/proc/%d/task/*/children" % self.process.pid):
            with open(path, encoding="ascii") as f:
                for pid in f.read().split():
                    with open("/proc/%s/comm" % pid, encoding="utf-8") as comm:
                        found[comm.read().strip()] = int(pid)
        return found

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(h.PATIENCE_SECS)


def wait_for(condition, seconds=h.PATIENCE_SECS):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)
    return condition()


def certificate(folder):
    """Makes a self-signed certificate, its key, and a server that presents it and requires it from clients."""
    cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    context.verify_mode = ssl.CERT_REQUIRED  # the client presents the same one
    context.load_verify_locations(cert)
    return cert, key, context


def status_of(pid):
    with open("/proc/%d/status" % pid, encoding="utf-8") as f:
        return dict(line.split(":\t", 1) for line in f.read().splitlines() if ":\t" in line)


def check_rights(tap, agent):
    roles = agent.children()
    for role in ("krait-exporter", "krait-server"):
        tap.ok(role in roles, role + ": is there", roles)
        if role not in roles:
            continue
        s = status_of(roles[role])
        tap.ok(int(s["CapPrm"], 16) == int(s["CapEff"], 16) == int(s["CapInh"], 16) == 0 and s["NoNewPrivs"] == "1" and
               s["Seccomp"] == "2" and "0" not in s["Uid"].split() + s["Gid"].split() and not s["Groups"].strip(),
               role + ": no capability, no new ones, a filter, a user of its own",
               {k: s[k] for k in ("CapPrm", "CapInh", "NoNewPrivs", "Seccomp", "Uid", "Groups")})


def check_trouble(tap, folder):
    cert, key, context = certificate(folder)
    token = os.path.join(folder, "token")
    with open(os.open(token, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as f:
        f.write(TOKEN + "\n")
    server, tls = Server(), Server(context=context)
    args = ["--export-timeout", "2s", "--spool", os.path.join(folder, "spool")]
    for way in ("down", "later", "never", "slow", "cut", "giant", "part"):
        args += ["--otlp-endpoint", "http://127.0.0.1:%d/%s" % (server.port, way)]
        if way == "never":
            args += ["--export-token-file", token, "--export-header", "X-Scope-OrgID: tenant-of-ours"]
    args += ["--otlp-endpoint", "https://127.0.0.1:%d/tls" % tls.port, "--export-ca-file", cert, "--export-token-file",
             token, "--export-compression", "none", "--export-cert-file", cert, "--export-key-file", key]
    agent = Agent(folder, *args)

    def all_has_happened():
        return len(tls.taken.get("tls", ())) >= 4 and all(
            len(server.taken.get(way, ())) >= 2 for way in ("down", "later", "slow", "cut", "giant", "part"))

    try:
        tap.ok(wait_for(all_has_happened), "trouble: it goes on", {k: len(v) for k, v in server.taken.items()},
               len(tls.taken.get("tls", ())), agent.said()[-1500:])
        check_rights(tap, agent)
        commands = subprocess.run(["ps", "axeww", "-o", "args"], capture_output=True, check=True).stdout
        tap.ok(TOKEN.encode() not in commands, "trouble: no token in ps")
        # Its numbers are of finished windows: ask until they agree.
        tap.ok(wait_for(lambda: agent.metric("krait_export_rejected_batches_total", "never") >= 2),
               "trouble: refusals are counted", agent.said()[-500:])
        tap.ok(wait_for(lambda: agent.metric("krait_export_failed_tries_total", "down") == 2),
               "trouble: tries are counted", agent.said()[-500:])
        tap.ok(wait_for(lambda: agent.metric("krait_export_partial_rejected_profiles_total", "part") >= 2 * 2),
               "trouble: what was refused of a batch is counted", agent.said()[-500:])
        code = agent.stop()
    finally:
        h.end_child(agent.process)
    tap.ok(code == 0, "trouble: the agent ends", code, agent.said()[-1500:])
    said = agent.said()
    tap.ok(TOKEN not in said and "tenant-of-ours" not in said, "trouble: no secret is said")
    tap.ok("refuses profiles: HTTP 400: wrong: Bearer ****" in said, "trouble: the refusal is said, with its reason", said)
    tap.ok("except for 2 profiles" in said and "\x1b" not in said, "trouble: the part that was refused is said", said)
    everything = tls.taken["tls"]
    tap.ok(len(set(everything)) == len(everything), "tls: each window once", len(everything))
    times = [p[0][1] for p in map(profiles, everything) if p]
    tap.ok(len(times) > 2 and times == sorted(times), "tls: in their order", times)
    tap.ok(tls.heads["tls"].get("Authorization") == "Bearer " + TOKEN and tls.heads["tls"]["path"] == "/tls" + PATH,
           "tls: with the token", tls.heads["tls"])
    tap.ok(server.heads["never"].get("X-Scope-OrgID") == "tenant-of-ours", "trouble: with its header")
    tap.ok("Authorization" not in server.heads["down"], "trouble: the token is for one of them only", server.heads["down"])
    for way in ("down", "later", "slow", "cut", "giant", "part"):
        taken = server.taken[way]
        cnt = min(len(taken), len(everything))
        tap.ok(taken[:cnt] == everything[:cnt] and len(set(taken)) == len(taken),
               way + ": the same windows, in their order, each once", len(taken), len(everything))
    first, second = server.asked["later"][:2]
    tap.ok(second - first >= 1.9, "later: it waits as long as it is asked to", second - first)
    server.shutdown()
    tls.shutdown()


def check_kill(tap, folder):
    """Nobody listens; krait is killed, and restarted once somebody listens."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    args = ["--spool", os.path.join(folder, "kept"), "--otlp-endpoint", "http://127.0.0.1:%d/x" % port]
    agent = Agent(folder, *args)
    try:
        tap.ok(wait_for(lambda: agent.metric("krait_export_pending_batches", "x") >= 3), "kill: windows wait",
               agent.said()[-1000:])
        pending = agent.metric("krait_export_pending_batches", "x")
    finally:
        h.end_child(agent.process)  # SIGKILL
    killed_ns = time.time_ns()
    server = Server(port)
    agent = Agent(folder, *args)
    try:
        tap.ok(wait_for(lambda: len(server.taken.get("x", ())) >= pending + 2), "kill: all of it arrives", pending,
               len(server.taken.get("x", ())), agent.said()[-1000:])
        agent.stop()
    finally:
        h.end_child(agent.process)
    taken = server.taken.get("x", [])
    found = [profiles(body) for body in taken]
    times = [p[0][1] for p in found if p]
    old = [t for t in times if t < killed_ns]
    tap.ok(len(old) >= pending and times == sorted(times), "kill: in its order, with the times that it had", pending, times)
    ids = [i for p in found for i, _ in p]
    tap.ok(len(set(ids)) == len(ids) and all(ids), "kill: each once", len(ids))
    server.shutdown()


def main():
    h.need_bpf()
    tap = h.Tap()
    python = h.newest([p for p in h.all_interpreters() if p.root == "/" and not p.free_threaded])
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    with h.start(python, "split.py", "rest"):
        check_trouble(tap, folder)
        check_kill(tap, folder)
    shutil.rmtree(folder)
    tap.done()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
