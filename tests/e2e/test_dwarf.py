#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Interpreters that no table describes: krait uses their debug information, in the file itself or from a debuginfod
server, and keeps sampling while it waits for a server. The interpreters are tests/targets/fake_unpublished.c and,
if scripts/pythons-nogil has built it, CPython 3.11 with Py_TRACE_REFS."""
import ctypes
import http.server
import json
import os
import shutil
import subprocess
import tempfile
import threading

import harness as h

SOURCE = os.path.join(h.TARGETS, "fake_unpublished.c")
TARGET = 3
STACK = ["fake_root (fake.py:9)", "fake_leaf (fake.py:9)"]
NO_SERVERS = {k: v for k, v in os.environ.items() if not k.startswith("DEBUGINFOD_")}


def compiler():
    return shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc")


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, encoding="utf-8",
                           check=True).stdout
    return next(line.split()[-1] for line in notes.splitlines() if "Build ID:" in line)


class Files:
    """The fake with its debug information, without it, and the debug information alone."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="krait-e2e-")
        self.whole, self.stripped = self.path("fake"), self.path("fake-stripped")
        self.debug = self.path("debug")
        subprocess.run([compiler(), "-O1", "-g", "-w", "-rdynamic", "-Wl,--build-id", "-o",
                        self.whole, SOURCE, "-lpthread"], check=True)
        self.split(self.whole, self.stripped)

    def path(self, name):
        return os.path.join(self.folder, name)

    def split(self, whole, stripped):
        subprocess.run(["objcopy", "--only-keep-debug", whole, self.debug], check=True)
        # Also strips symbols, as distributions do; those for the dynamic linker stay.
        subprocess.run(["strip", "-o", stripped, whole], check=True)

    def clean(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class Server(http.server.ThreadingHTTPServer):
    """Serves GET /buildid/ID/debuginfo on a local port; waits until it may answer."""
    daemon_threads = True

    def __init__(self, files, path, patient=True):
        with open(files.debug, "rb") as f:
            self.content = f.read()
        self.wanted = "/buildid/%s/debuginfo" % build_id(path)
        self.asked, self.may_answer = threading.Event(), threading.Event()
        self.served = 0
        if patient:
            self.may_answer.set()
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.env = {**NO_SERVERS, "DEBUGINFOD_URLS": "http://127.0.0.1:%d" % self.server_port,
                    "DEBUGINFOD_CACHE_PATH": tempfile.mkdtemp(dir=files.folder)}

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.may_answer.set()
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path != self.server.wanted:
            self.send_error(404)
            return
        self.server.asked.set()
        self.server.may_answer.wait(h.PATIENCE_SECS)
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.content)))
        self.end_headers()
        try:
            self.wfile.write(self.server.content)
            self.server.served += 1
        except OSError:
            pass  # krait has ended meanwhile

    def log_message(self, *args):
        pass


def has_client():
    try:
        return bool(ctypes.CDLL("libcurl.so.4"))
    except OSError:
        return False


def listed(pid, env=None):
    done = h.run_krait("list", "--json", str(pid), env=env or NO_SERVERS)
    return done.returncode, json.loads(done.stdout)[0]


def check_recorded(tap, name, target, path, env=NO_SERVERS):
    r = h.record_work(target.pid, 0.3, *h.OWN_STACKS, env=env)
    h.check_accounts(tap, name, r, complete=1.0)
    tap.equal([s for s, _ in r.stacks], [[os.path.basename(path)[:15], *STACK]],
              name + ": its stack", r.err)


def check_local(tap, files):
    """Debug information in the file itself, and none at all."""
    with h.Target([files.whole]) as target:
        tap.equal(listed(target.pid)[1]["how"], "DWARF", "debug information in the file: list")
        check_recorded(tap, "debug information in the file", target, files.whole)
    with h.Target([files.stripped]) as target:
        code, row = listed(target.pid)
        tap.equal((code, row["how"]), (TARGET, None), "no debug information: is refused")
        tap.ok("no debug information for it" in row["why"] and "3.12.7" in row["why"],
               "no debug information: and why", row)


def check_split(tap, files):
    """Compilers can put it into other files."""
    path = files.path("fake-split")
    built = subprocess.run([compiler(), "-O1", "-g", "-gsplit-dwarf", "-w", "-rdynamic", "-Wl,--build-id", "-o", path, SOURCE,
                            "-lpthread"], cwd=files.folder, capture_output=True)
    if built.returncode:
        tap.skip("split DWARF", "not by this compiler")
        return
    with h.Target([path]) as target:
        code, row = listed(target.pid)
        tap.ok(code == TARGET and ".dwo" in row["why"], "split DWARF: is refused, and why", row)


def check_server(tap, files):
    with Server(files, files.stripped) as server, h.Target([files.stripped]) as target:
        code, row = listed(target.pid, server.env)
        tap.equal((code, row["how"], server.served), (0, "DWARF", 1), "debuginfod: list", row)
        check_recorded(tap, "debuginfod", target, files.stripped, server.env)
        tap.equal(server.served, 1, "debuginfod: what was fetched is kept")
    with Server(files, files.stripped) as server, h.Target([files.stripped]) as target:
        server.wanted = "/elsewhere"
        code, row = listed(target.pid, server.env)
        tap.ok(code == TARGET and "nor do debuginfod servers" in row["why"],
               "debuginfod without an answer: is refused, and why", row)


def check_silent_server(tap, files):
    """While a server does not answer, krait samples what it can, and it ends when told to."""
    with Server(files, files.stripped, patient=False) as server, \
            h.Target([files.stripped]) as odd, h.Target([files.whole]) as good:
        r = h.record("-a", "-F", "997", "-d", h.moment(1.5), outputs=("x.folded", "x.script"),
                     env=server.env)
        tap.ok(server.asked.is_set() and not server.may_answer.is_set() and r.code == 0,
               "a silent server: krait ends without its answer", r.code, r.err)
        h.check_accounts(tap, "a silent server", r)
        seen = count_by_pid(r)
        tap.ok(seen.get(good.pid, 0) > 100 and odd.pid not in seen,
               "a silent server: another process is sampled meanwhile", seen, r.err)
        server.asked.clear()
        krait = subprocess.Popen([h.KRAIT, "record", *h.PYTHON_ONLY, "-q", "-p", str(odd.pid), "-o",
                                  files.path("x.folded")], stderr=subprocess.PIPE, env=server.env)
        server.asked.wait(h.PATIENCE_SECS)
        krait.send_signal(h.signal.SIGINT)
        _, err = krait.communicate(timeout=h.PATIENCE_SECS)
        tap.ok(krait.returncode == TARGET and b"debug information" in err,
               "a silent server: Ctrl-C ends the wait for the only process", krait.returncode, err)


def check_late_server(tap, files):
    """An answer arrives during a recording: from then on the process is sampled."""
    with Server(files, files.stripped, patient=False) as server, \
            h.Target([files.stripped]) as target:
        krait = subprocess.Popen([h.KRAIT, "record", *h.PYTHON_ONLY, *h.OWN_STACKS, "-a", "-q", "-F", "997", "-f", "folded", "-o",
                                  "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 encoding="utf-8", env=server.env)
        server.asked.wait(h.PATIENCE_SECS)
        server.may_answer.set()
        pause(2)
        krait.send_signal(h.signal.SIGINT)
        out, err = krait.communicate(timeout=h.PATIENCE_SECS)
        tap.ok("fake-stripped;fake_root (fake.py);fake_leaf (fake.py) " in out,
               "a late server: the process is sampled from the answer on", out[-500:], err,
               target.alive())


def pause(seconds):
    threading.Event().wait(seconds)


def count_by_pid(recording):
    """Returns {pid: samples} of its script."""
    counts = {}
    with open(recording.path("x.script"), encoding="utf-8") as f:
        for line in f:
            if "/" in line and not line.startswith(("\t", " ")):
                pid = line.split("/")[0].split()[-1]
                if pid.isdigit():
                    counts[int(pid)] = counts.get(int(pid), 0) + 1
    return counts


def check_interpreter(tap, python, files):
    """A real interpreter: with debug information in the file; then without, from a server."""
    name = python.name + ": names.py"
    with h.start(python, "names.py", env=NO_SERVERS) as target:
        tap.equal(listed(target.pid)[1]["how"], "DWARF", name + ": list")
        r = h.record_work(target.pid, 2, *h.OWN_STACKS, env=NO_SERVERS)
    h.check_accounts(tap, name, r, complete=0.99)
    h.check_stacks(tap, name, r, target.oracle)
    # In the same folder, so that it finds its library.
    stripped = python.path + "-%d" % os.getpid()
    try:
        files.split(python.path, stripped)
        bare = h.Interpreter(python.version, python.kind, python.root, stripped)
        with Server(files, stripped) as server, h.start(bare, "pairs.py") as target:
            r = h.record_work(target.pid, 2, *h.OWN_STACKS, env=server.env)
        name = python.name + " with debuginfod: pairs.py"
        h.check_accounts(tap, name, r, complete=0.99)
        h.check_stacks(tap, name, r, target.oracle)
    finally:
        os.unlink(stripped)


def main():
    h.need_bpf()
    tap = h.Tap()
    if not compiler():
        print("1..0 # SKIP no C compiler")
        return
    files = Files()
    check_local(tap, files)
    check_split(tap, files)
    if has_client():
        check_server(tap, files)
        check_silent_server(tap, files)
        check_late_server(tap, files)
    else:
        tap.skip("debuginfod", "no libcurl.so.4")
    refs = [p for p in h.all_interpreters() if p.kind == "refs"]
    if not refs:
        tap.skip("3.11 refs", "no such interpreter (scripts/pythons-nogil)")
    for python in refs:
        check_interpreter(tap, python, files)
    files.clean()
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
