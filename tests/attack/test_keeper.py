#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""E: root reads a capture that a stranger may have written. The process that parses it has no rights, and what it may ask
of the one that has is little, even if an attacker controls it; all that worked in one process still works."""
import array
import ctypes
import http.server
import os
import platform
import signal
import socket
import struct
import subprocess
import threading
import time

import attack

FOLDED = b"main;work 90\nmain;rest 10\n"
READ = "63" if platform.machine() == "aarch64" else "0"
PIDFD_OPEN, PIDFD_GETFD = 434, 438
NAMED, IS_CAPTURE, OBJECT, _, SOURCE, BELOW, WORKER, _, _, _, _, _, BROWSER, OUTPUT, _, _, STORE = range(17)


def reads_stdin(pid):
    return attack.proc_text(pid, "syscall").split()[:2] == [READ, "0x0"]


class Reading:
    """krait while it waits for the rest of its standard input."""

    def __init__(self, folder, *args, launch=()):
        self.process = subprocess.Popen([*launch, attack.h.KRAIT, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, cwd=folder, encoding="utf-8")
        self.process.stdin.write("main;work 9")
        self.process.stdin.flush()
        attack.h.wait_until(self.find, self.process)

    def find(self):
        """The process that parses."""
        self.parser = next((p for p in [self.process.pid] + attack.children(self.process.pid) if reads_stdin(p)), None)
        return self.parser

    def end(self):
        self.out, self.err = self.process.communicate("0\n", timeout=20)
        return self.process.returncode


def check_rights(scene, folder):
    """Each command, while it parses."""
    with open(os.path.join(folder, "a.folded"), "wb") as f:
        f.write(FOLDED)
    for args, wanted in (["report", "-"], 0), (["script", "-"], 2), (["annotate", "-i", "-"], 6), (["diff", "a.folded", "-"], 0), \
            (["convert", "-", "-o", "x.html"], 0):
        k = Reading(folder, *args)
        said = attack.status(k.parser)
        links = attack.h.descriptors(k.parser)
        code = k.end()
        scene.ok(code == wanted, "%s works" % args[0], code, k.err)
        scene.ok(all(int(said[c], 16) == 0 for c in ("CapEff", "CapPrm", "CapInh", "CapAmb")), "what parses for %s has no capability" % args[0],
                 said.get("CapEff"))
        scene.ok("0" not in said["Uid"].split() and "0" not in said["Gid"].split() and not said["Groups"].strip(),
                 "it is nobody else's user", said["Uid"], said["Gid"], said["Groups"])
        scene.ok(said["NoNewPrivs"].strip() == "1" and said["Seccomp"].strip() == "2", "it gains no rights by exec", said["NoNewPrivs"],
                 said["Seccomp"])
        rest = [link for fd, link in links.items() if int(fd) > 2 and not link.startswith("socket:")]
        scene.ok(all(link.endswith("(deleted)") and folder in link for link in rest) and len(rest) <= 1,
                 "it has its output and nothing else", links)


# ---- an attacker in the place of the parser -------------------------------------------------------


def channel_of(pid):
    pidfd = attack.LIBC.syscall(PIDFD_OPEN, pid, 0)
    fd = attack.LIBC.syscall(PIDFD_GETFD, pidfd, 3, 0)
    os.close(pidfd)
    return socket.socket(fileno=fd) if fd >= 0 else None


def ask(channel, job, path=b"", folder=b"", number=0, more=b"", fd=None):
    """Returns the result, and whether a descriptor came."""
    request = struct.pack("<III256s4096s4096s", job, number, len(more), more, path, folder)
    channel.sendmsg([request], [] if fd is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
    answer, control, _, _ = channel.recvmsg(8192, 256)
    for _, _, data in control:
        for given in array.array("i", data):
            os.close(given)
    return (struct.unpack_from("<i", answer)[0] if answer else None), bool(control)


def check_questions(scene, folder):
    secret, core = os.path.join(folder, "secret"), os.path.join(folder, "core")
    with open(secret, "wb") as f:
        f.write(b"of-roots-alone\n")
    os.chmod(secret, 0o600)
    with open(core, "wb") as f:
        f.write(b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<H", 4) + bytes(100))
    k = Reading(folder, "diff", "a.folded", "-", "-o", "x.html")
    channel = channel_of(k.parser)
    scene.ok(channel, "its channel can be taken over", ctypes.get_errno())
    here = open(secret, "rb")
    refused = {
        "a file that the command line does not name": (NAMED, secret),
        "whether that is a capture": (IS_CAPTURE, secret),
        "a file that is no ELF file": (OBJECT, secret),
        "a core": (OBJECT, core),
        "a device": (OBJECT, "/dev/zero"),
        "source that not everybody may read": (SOURCE, secret),
        "source in a folder of its choice": (BELOW, "secret", folder),
        "a worker with rights": (WORKER, "prober"),
        "a worker with the network": (WORKER, "fetcher"),
        "a page of its choice": (BROWSER, os.path.join(folder, "made.html")),
        "an output of its choice": (OUTPUT, os.path.join(folder, "made")),
        "an input as an output": (OUTPUT, "a.folded"),
        "one elsewhere": (OUTPUT, "made", "", 3),
        "libraries beside a file of its choice": (STORE, "", "", 0, b"", here.fileno()),
    }
    for what, (job, path, *rest) in refused.items():
        result, given = ask(channel, job, path.encode(), *(r.encode() if isinstance(r, str) else r for r in rest))
        scene.ok(result is not None and result < 0 and not given, "refused: " + what, result, given)
    made = set(os.listdir(folder)) - {"a.folded", "secret", "core", "x.html"}
    scene.ok(not made, "and nothing was made", made)
    result, given = ask(channel, OBJECT, os.path.realpath("/bin/true").encode())
    scene.ok(result == 0 and given, "a library is given", result)
    channel.send(b"not a request")
    scene.ok(channel.recv(10) == b"", "what is no request ends it")
    channel.close()
    k.process.kill()
    k.process.communicate()


# ---- what works as in one process -----------------------------------------------------------------


def check_crash(scene, folder):
    page = os.path.join(folder, "x.html")
    with open(page, "w", encoding="ascii") as f:
        f.write("old")
    before = set(os.listdir(folder))
    k = Reading(folder, "convert", "-", "-o", "x.html")
    os.kill(k.parser, signal.SIGABRT)
    code = k.end()
    scene.ok(code == 10 and k.err.count("\n") == 1 and "signal 6" in k.err, "a parser that crashes: one line, and its own code", code, k.err)
    with open(page, encoding="ascii") as f:
        scene.ok(f.read() == "old" and set(os.listdir(folder)) == before, "the old output is as it was, and no new one there",
                 os.listdir(folder))


class Servers(http.server.ThreadingHTTPServer):
    """Has something for every build ID, and notes what it is asked."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Servers.Handler)
        self.asked = []

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", "9")
            self.end_headers()
            self.wfile.write(b"something")

        def log_message(self, *_):
            pass


def check_outputs(scene, python, folder):
    """All in a folder of root's alone: source, capture, outputs."""
    script, source, library = (os.path.join(folder, "own" + suffix) for suffix in (".py", ".c", ".so"))
    with open(source, "w", encoding="ascii") as f:
        f.write("volatile long n;\nvoid spin(void)\n{\n\tfor (long i = 0; i < 100000; i++)\n\t\tn++;\n}\n")
    subprocess.run([attack.compiler(), "-shared", "-fPIC", "-s", "-Wl,--build-id", "-o", library, source], check=True)
    with open(script, "w", encoding="ascii") as f:
        f.write("import ctypes\nspin = ctypes.CDLL('%s').spin\n\ndef own():\n    while True:\n        spin()  # the hot line\n\n"
                "print('READY', flush=True)\nown()\n" % library)
    os.chmod(script, 0o600)
    target = scene.run([python.path, "-B", script])
    k = attack.krait("record", "-p", str(target.pid), "-d", "300ms", "-o", os.path.join(folder, "x.data"), timeout=30)
    target.stop()
    scene.ok(k.code == 0, "it is recorded", k.code, k.words)

    def run(*args, code=0, **options):
        done = subprocess.run([attack.h.KRAIT, *args], cwd=folder, capture_output=True, encoding="utf-8", timeout=30, check=False,
                              **options)
        scene.ok(done.returncode == code, " ".join(args)[:60], done.returncode, done.stderr)
        return done.stdout + done.stderr

    scene.ok("the hot line" in run("annotate", "x.data"), "root's own source is shown")
    scene.ok(all(name in run("report", "x.data") for name in ("own.py", "spin")), "and its functions, C's, too")
    run("convert", "-i", "x.data", "-o", "n.html", "-o", "n.data", "-s", folder)
    with open(os.path.join(folder, "n.html"), encoding="utf-8") as f:
        scene.ok("own.py" in f.read(), "a page is made")
    scene.ok("own" in run("report", "n.data") and os.listdir(os.path.join(folder, "n.data.krait")), "a capture is copied with its names")
    with open(os.path.join(folder, "x.data"), "rb") as f:
        scene.ok("own" in run("report", "-", stdin=f), "it is read from stdin")
    scene.ok("is the input" in run("convert", "x.data", "-o", "./x.data", code=2), "it does not replace its input")
    scene.ok("No such file" in run("report", "nosuch", code=7), "what is missing is said")
    scene.ok("own" in run("--complete", "annotate", "-i", "x.data", "ow"), "its functions are completed")
    with Servers() as servers:
        env = dict(os.environ, DEBUGINFOD_URLS="http://127.0.0.1:%d" % servers.server_port,
                   DEBUGINFOD_CACHE_PATH=os.path.join(folder, "cache"))
        run("report", "x.data", env=env)
        first = len(servers.asked)
        run("report", "x.data", env=env)
        scene.ok(first and len(servers.asked) == first, "symbols are fetched and kept, in root's folder", first, servers.asked[first:])
    with open("/dev/full", "wb") as full:
        code = subprocess.run([attack.h.KRAIT, "report", os.path.join(folder, "x.data")], stdout=full, stderr=subprocess.DEVNULL,
                              timeout=30, check=False).returncode
    scene.ok(code == 7, "a full output is an error", code)


def check_plain(scene):
    """A user without rights needs no second process."""
    folder = attack.Folder().path
    k = Reading(folder, "report", "-", launch=attack.as_user(attack.NOBODY))
    scene.ok(k.parser == k.process.pid and not attack.children(k.process.pid), "a plain user's krait is one process", k.parser)
    scene.ok(k.end() == 0 and "work" in k.out, "and reports", k.err)


def main():
    tap = attack.begin()
    python = attack.h.newest([p for p in attack.h.all_interpreters() if p.root == "/" and not p.free_threaded])
    with attack.Scene(tap, "E: reading a capture", python) as scene:
        # /tmp is everybody's; what is in this folder is root's alone.
        folder = os.path.join(attack.Folder().path, "own")
        os.mkdir(folder, 0o700)
        check_rights(scene, folder)
        check_questions(scene, folder)
        check_crash(scene, folder)
        check_plain(scene)
        check_outputs(scene, python, folder)
    attack.end(tap)


if __name__ == "__main__":
    main()
