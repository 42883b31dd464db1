#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""What krait agent takes from its environment: where to send (OTEL_EXPORTER_OTLP_*), with which certificates and
headers, like other OpenTelemetry exporters; and systemd's socket, to which it reports that it is ready and alive."""
import os
import shutil
import signal
import socket
import subprocess
import tempfile

import harness as h
from test_export import PATH, TOKEN, Server, certificate, profiles, wait_for

WATCHDOG_SECS = 1.5


def start(folder, log, env, *args):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("OTEL_")}
    with open(log, "ab") as f:
        return subprocess.Popen([h.KRAIT, "agent", "-i", "1s", "--cpu-budget", "100%", *args], stdin=subprocess.DEVNULL,
                                stdout=f, stderr=f, env=dict(clean, **env), cwd=folder)


def heard(listener):
    """Returns the lines received so far."""
    found = []
    while True:
        try:
            found += listener.recv(4096).decode().splitlines()
        except BlockingIOError:
            return found


def check_agent(tap, folder):
    log, notify = os.path.join(folder, "log"), os.path.join(folder, "notify")
    cert, key, context = certificate(folder)
    server = Server(context=context)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind(notify)
    listener.setblocking(False)
    said = []
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://127.0.0.1:%d/tls" % server.port,
           "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%%20%s,x-tenant=ours" % TOKEN,
           "OTEL_EXPORTER_OTLP_CERTIFICATE": cert, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": cert,
           "OTEL_EXPORTER_OTLP_CLIENT_KEY": key, "OTEL_EXPORTER_OTLP_COMPRESSION": "none",
           "NOTIFY_SOCKET": notify, "WATCHDOG_USEC": str(int(WATCHDOG_SECS * 1e6))}
    agent = start(folder, log, env)
    try:
        def enough():
            said.extend(heard(listener))
            return len(server.taken.get("tls", ())) >= 2 and said.count("WATCHDOG=1") >= 4

        wait_for(lambda: enough() or agent.poll() is not None)
        with open("/proc/%d/cmdline" % agent.pid, "rb") as f:
            command = f.read()
    finally:
        agent.send_signal(signal.SIGTERM)
        code = agent.wait(h.PATIENCE_SECS)
    said += heard(listener)
    with open(log, encoding="utf-8", errors="replace") as f:
        text = f.read()
    heads = {name.lower(): value for name, value in server.heads.get("tls", {}).items()}
    tap.ok(code == 0 and server.taken.get("tls"), "it sends where the environment says, by its certificates", code, text[-1500:])
    tap.ok(all(profiles(body) for body in server.taken.get("tls", [b""])), "what it sends are profiles")
    tap.equal((heads.get("path"), heads.get("authorization"), heads.get("x-tenant"), heads.get("content-encoding")),
              ("/tls" + PATH, "Bearer " + TOKEN, "ours", None), "with its headers, as they are")
    tap.ok(TOKEN not in text and TOKEN.encode() not in command, "and says none of them", text[-1500:])
    tap.equal(said.count("READY=1"), 1, "systemd is told once that it is ready", said)
    tap.ok(said.count("WATCHDOG=1") >= 4 and any(s.startswith("STATUS=window") for s in said), "and that it lives", said)
    server.shutdown()


def check_proxy(tap, folder):
    """A host without an address here: only a proxy can resolve it."""
    log, proxy = os.path.join(folder, "proxied"), Server()
    env = {"http_proxy": "http://127.0.0.1:%d" % proxy.port, "no_proxy": "", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://host.invalid:4318"}
    agent = start(folder, log, env)
    try:
        wait_for(lambda: proxy.taken or agent.poll() is not None)
    finally:
        agent.send_signal(signal.SIGTERM)
        code = agent.wait(h.PATIENCE_SECS)
    with open(log, encoding="utf-8", errors="replace") as f:
        text = f.read()
    paths = [head["path"] for head in proxy.heads.values()]
    tap.ok(code == 0 and paths == ["http://host.invalid:4318" + PATH], "a proxy of the environment is asked", code, paths, text[-1500:])
    proxy.shutdown()


def check_refused(tap, folder):
    """A mistake there gives one line, and nothing starts."""
    log = os.path.join(folder, "refused")
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_HEADERS": "no equals " + TOKEN}
    agent = start(folder, log, env, "--check-config")
    code = agent.wait(h.PATIENCE_SECS)
    with open(log, encoding="utf-8", errors="replace") as f:
        text = f.read()
    tap.ok(code == 2 and "OTEL_EXPORTER_OTLP_HEADERS" in text and TOKEN not in text, "a list that is none is refused", code, text)


def main():
    h.need_bpf()
    tap = h.Tap()
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    if shutil.which("openssl"):
        check_agent(tap, folder)
    else:
        tap.skip("it sends where the environment says", "no openssl")
    check_proxy(tap, folder)
    check_refused(tap, folder)
    shutil.rmtree(folder)
    h.cleanup()
    tap.done()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
