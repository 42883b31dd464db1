#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Profiles of krait agent as pprof: "go tool pprof" asks a running agent for some seconds, and is refused without the
token; a socket in the file system needs none; and each window goes to a server that accepts Pyroscope's /ingest,
by service."""
import contextlib
import gzip
import http.client
import http.server
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse

import collector
import consumers
import harness as h

PPROF = os.environ.get("KRAIT_PPROF") or consumers.pprof()
TOKEN = "0123456789abcdef0123456789abcdef"
PATH = "/debug/pprof/profile"


class Ingest(http.server.BaseHTTPRequestHandler):
    """A server that keeps what it receives."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        url = urllib.parse.urlsplit(self.path)
        self.server.taken.append((url.path, dict(urllib.parse.parse_qsl(url.query)), body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def pprof(folder, *args):
    env = dict(os.environ, PPROF_TMPDIR=folder, HOME=folder)
    return subprocess.run([PPROF, *args], capture_output=True, encoding="utf-8", env=env,
                          stdin=subprocess.DEVNULL, timeout=h.PATIENCE_SECS, check=False)


def share_of_hot(top):
    """Returns hot's share of hot and warm in "pprof -top -sample_index=samples", and the number of samples."""
    found = {name: int(flat) for flat, name in re.findall(r"(?m)^\s*(\d+)\s+\S+%.*\s(hot|warm)(?: |$)", top)}
    both = sum(found.values())
    return (found.get("hot", 0) / both if both else 0), both


def check_top(tap, name, done):
    share, cnt = share_of_hot(done.stdout)
    tap.ok(cnt > 15 and abs(share - 0.75) < 0.25, name + ": most of it is hot's", share, cnt, done.stdout[:600],
           done.stderr[-400:])


def ask(connection, headers=None):
    connection.request("GET", PATH + "?seconds=1", headers=headers or {})
    answer = connection.getresponse()
    return answer.status, answer.read()


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=h.PATIENCE_SECS)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def check_pull(tap, folder, port, name):
    url = "http://%s127.0.0.1:%d" + PATH + "?seconds=2&service=split.py"
    if PPROF:
        done = pprof(folder, "-top", "-sample_index=samples", url % ("krait:%s@" % TOKEN, port))
        check_top(tap, "go tool pprof", done)
        done = pprof(folder, "-top", url % ("", port))
        tap.ok(done.returncode != 0 and "401" in done.stderr, "go tool pprof: not without the token", done.stderr[-300:])
    else:
        tap.skip("go tool pprof", "it is not here (scripts/consumers)")
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=h.PATIENCE_SECS)
    status, _ = ask(connection)
    tap.ok(status == 401, "no profile without the token, on loopback either", status)
    status, body = ask(connection, {"Authorization": "Bearer " + TOKEN})
    tap.ok(status == 200 and b"hot" in gzip.decompress(body), "a profile with the token", status, body[:100])
    tap.equal(os.stat(name).st_mode & 0o777, 0o600, "the socket is its owner's")
    status, body = ask(UnixConnection(name))
    tap.ok(status == 200 and b"hot" in gzip.decompress(body), "a profile of the socket", status, body[:100])


def check_push(tap, folder, taken):
    ours = [(query, body) for path, query, body in taken
            if path == "/ingest" and query.get("name", "").startswith("split.py{host=")]
    tap.ok(len(ours) >= 2 and all(q["format"] == "pprof" for q, _ in ours), "push: windows of the service",
           [(p, q) for p, q, _ in taken][:5])
    whole = [(int(q["from"]), int(q["until"])) for q, _ in ours]
    tap.ok(all(0 < b - a <= 3 for a, b in whole), "push: each of its second", whole)
    if not PPROF:
        return
    names = []
    for i, (_, body) in enumerate(ours):
        names.append(os.path.join(folder, "%d.pb.gz" % i))
        with open(names[-1], "wb") as f:
            f.write(body)
    check_top(tap, "push", pprof(folder, "-top", "-sample_index=samples", *names))


def claimers(stack, python, folder):
    """Two users' processes that claim the same service; only one where nobody may run an interpreter."""
    env = dict(os.environ, OTEL_SERVICE_NAME="payments")
    script = os.path.join(folder, "split.py")
    shutil.copy(python.target("split.py"), script)
    os.chmod(folder, 0o755)
    stack.enter_context(h.Target(python.command(script, "nap"), env))
    if not os.path.exists("/usr/bin/python3"):
        return {0}
    stack.enter_context(h.Target(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-B",
                                  script, "nap"], env))
    return {0, 65534}


def check_claims(tap, taken, uids):
    """A name that a process claims is merged only within its user."""
    found = {}
    for _, query, body in taken:
        name = re.fullmatch(r"payments\{host=[^,}]*(?:,uid=(\d+))?\}", query.get("name", ""))
        if name:
            found.setdefault(name[1], []).append(gzip.decompress(body))
    tap.equal(set(found), {str(uid) for uid in uids}, "push: one profile of a claimed service for each user")
    tap.ok(all(b"claimed" in b and b"service.name" in b and b"uid" in b for bodies in found.values() for b in bodies),
           "push: samples say whose they are, and that the name is claimed")


def check_end(process, name):
    """Asks for a minute, and ends the agent meanwhile: returns what is answered."""
    said = []
    asker = threading.Thread(target=lambda: said.append(long_question(name)))
    asker.start()
    time.sleep(1)
    process.terminate()
    asker.join(h.PATIENCE_SECS)
    process.wait(h.PATIENCE_SECS)
    return said


def long_question(name):
    connection = UnixConnection(name)
    connection.request("GET", PATH + "?seconds=60")
    answer = connection.getresponse()
    return answer.status, answer.read()


def main():
    h.need_bpf()
    tap = h.Tap()
    python = h.newest([p for p in h.all_interpreters() if p.root == "/" and not p.free_threaded])
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    token, name, port = os.path.join(folder, "token"), os.path.join(folder, "http"), collector.free_port()
    with open(os.open(token, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as f:
        f.write(TOKEN + "\n")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ingest)
    server.taken = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with h.start(python, "split.py", "rest"), contextlib.ExitStack() as stack:
        uids = claimers(stack, python, folder)
        command = [h.KRAIT, "agent", "-i", "1s", "-r", "397", "--cpu-budget", "0", "--listen", "127.0.0.1:%d" % port,
                   "--listen", "unix:" + name, "--listen-token-file", token, "--pprof-endpoint",
                   "http://127.0.0.1:%d" % server.server_port]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8") as process:
            try:
                h.wait_until(lambda: os.path.exists(name) and server.taken, process)
                check_pull(tap, folder, port, name)
                tap.equal(check_end(process, name), [(503, b"krait agent is ending\n")], "at its end it answers who waits")
            finally:
                if process.poll() is None:
                    process.terminate()
                said = process.communicate(timeout=h.PATIENCE_SECS)[1]
        tap.ok(process.returncode == 0, "the agent ends", process.returncode, said[-500:])
    server.shutdown()
    check_push(tap, folder, server.taken)
    check_claims(tap, server.taken, uids)
    shutil.rmtree(folder)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
