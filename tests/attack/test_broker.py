#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Attacks on krait broker, and by its clients on others: whose processes it records, whom it serves, what a client may send and
leave undone, and what is left when somebody is killed. Everywhere a bystander of another user records its own process through
the same broker, and gets its samples."""
import os
import re
import shutil
import signal
import struct
import subprocess
import time

import attack
import broker as service
from broker import CLIENT, OTHER

h = attack.h
REQUEST, ANSWER = struct.Struct("=IIQII2024s"), struct.Struct("=IIQi236s")
# It takes a third of a CPU.
OWN = "import time\ndef %s(until):\n    while time.time() < until:\n        time.sleep(0.006)\n        for _ in range(100000): pass\n%s(time.time() + 60)"


HEAD = r"""
import os, signal, socket, struct, sys, time
REQUEST, ANSWER = struct.Struct((REQUEST)), struct.Struct((ANSWER))
path, args = sys.argv[1], sys.argv[2:]
def dial():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(15)
    s.connect(path)
    return s
def hello(s):
    return ANSWER.unpack(s.recv(256))
def request(nonce, pids, *words, version=2, command=0, flags=0, ms=500, rate=997, cnt=None, raw=None):
    words = ["--pid=" + ",".join(map(str, pids)), "--freq=%s" % rate, "--duration=%sms" % ms, *words]
    text = b"".join(w.encode() + b"\0" for w in words) if raw is None else raw
    return REQUEST.pack(version, command, nonce, flags, len(words) if cnt is None else cnt, text)
def answers(s):
    found = []
    while True:
        data = s.recv(256)
        if not data: return found
        found.append(ANSWER.unpack(data))
        if found[-1][1] in (4, 5): return found
"""


class Work:
    """A process of a user, in a function of that name."""

    def __init__(self, python, name, uid, prefix=()):
        self.process = subprocess.Popen([*service.as_user(uid), *prefix, *python.command("-c", OWN % (name, name))])
        self.pid = self.process.pid
        time.sleep(0.2)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.kill()
        self.process.wait()


def run_as(uid, code, *args, prefix=()):
    """Runs a Python client of a user; it has this file's structs."""
    head = HEAD.replace("(REQUEST)", repr(REQUEST.format)).replace("(ANSWER)", repr(ANSWER.format))
    return subprocess.Popen([*service.as_user(uid), *prefix, "/usr/bin/python3", "-c", head + code, *map(str, args)],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")


def said(process, timeout=40):
    try:
        return process.communicate(timeout=timeout)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return "HANGS " + process.communicate()[0]


def check_bystander(tap, b, python, name):
    """Another user records its own process meanwhile, and gets exactly that."""
    with Work(python, "bystander", OTHER) as work:
        done = b.run("record", "-q", "-p", str(work.pid), "-F", "997", "-d", h.moment(0.2), "-o", "b.folded", uid=OTHER)
    cnt = sum(n for stack, n in b.stacks("b.folded") if any(f.startswith("bystander") for f in stack))
    tap.ok(done.returncode == 0 and cnt > 20, name + ": a bystander of another user gets its samples", done.returncode,
           cnt, done.stderr, b.log[-600:])
    if os.path.exists(b.path("b.folded")):
        os.unlink(b.path("b.folded"))


def check_foreign(tap, b, python):
    """By pid: another user's, root's; beside one's own; and descendants of init."""
    for uid in OTHER, 0:
        with Work(python, "secret_of_%d" % uid, uid) as work:
            done = b.run("record", "-p", str(work.pid), "-d", "400ms", "-o", "f.data")
            tap.ok(done.returncode in (3, 4) and not os.path.exists(b.path("f.data")),
                   "a process of user %d is refused" % uid, done.returncode, done.stderr)
            tap.ok("secret" not in done.stderr, "and its names are not told", done.stderr)
    done = b.run("record", "-p", "1", "-d", "400ms", "-o", "f.data")
    tap.ok(done.returncode in (3, 4) and not os.path.exists(b.path("f.data")), "so is init", done.returncode, done.stderr)


def check_becoming(tap, b, python):
    """A client says that others' processes will execute what it wants recorded. They do, and run an interpreter that krait
    knows from the client's own process: the kernel side follows them, and takes no sample."""
    code = """
s = dial()
a = hello(s)
s.send(request(a[2], [int(p) for p in args], '--becoming', ms=900))
folder, kinds = -1, []
while 4 not in kinds and 5 not in kinds:
    data, fds, _, _ = socket.recv_fds(s, 256, 1)
    kinds.append(ANSWER.unpack(data)[1])
    folder = fds[0] if fds else folder
    if kinds[-1] == 3: print("BEGAN", flush=True)
os.fchdir(folder)
found = b"".join(open(os.path.join(d, f), "rb").read() for d, _, fs in os.walk(".") for f in fs)
print("own", b"own_work" in found, "secret", b"secret_work" in found or b"secret.py" in found, kinds)
"""
    folder = attack.Folder()
    for name in "own", "secret":
        with open(folder.outside(name + ".py"), "w", encoding="ascii") as f:
            f.write(OWN % (name + "_work", name + "_work"))
    runs = []
    for name, uid in ("own", CLIENT), ("secret", OTHER), ("secret", 0):
        runs.append(subprocess.Popen([*service.as_user(uid), "sh", "-c", 'read go; exec "$@"', "sh",
                                      *python.command(folder.inside(name + ".py"))], stdin=subprocess.PIPE))
    time.sleep(0.3)
    client = run_as(CLIENT, code, b.socket, *(p.pid for p in runs))
    began = client.stdout.readline()
    for p in runs:
        p.stdin.write(b"\n")
        p.stdin.flush()
    text = said(client)
    for p in runs:
        p.kill()
        p.wait()
    tap.ok(began == "BEGAN\n" and "own True secret False" in text, "others' commands are not recorded, one's own is", began, text)


def check_rights(tap, b, python):
    """exec of a set-uid program, and a process that is not dumpable: own() in samples, hidden() nowhere."""
    folder = attack.Folder()
    program = folder.add("rights.py")
    set_uid = folder.outside("set-uid-python")
    shutil.copy(os.path.realpath(python.path), set_uid)
    os.chmod(set_uid, 0o4755)
    for words in ("exec", set_uid), ("children", set_uid), ("undumpable",), ("namespace",):
        with h.Target([*service.as_user(CLIENT), *python.command(program, *words)]) as target:
            krait = b.start("record", "-p", str(target.pid), "-d", h.moment(0.8), "-F", "997", "-o", "r.folded", "-o", "r.data")
            b.recording()
            target.process.stdin.write(b"\n")
            krait.communicate(timeout=30)
        names = [f for stack, _ in b.stacks("r.folded") for f in stack]
        data = service.read(b.path("r.data")) + b"".join(
            service.read(os.path.join(b.path("r.data.krait"), n)) for n in os.listdir(b.path("r.data.krait")))
        tap.ok(any(f.startswith("own") for f in names), words[0] + ": own samples are taken", krait.returncode)
        tap.ok(b"hidden" not in data and b"set-uid-python" not in data and not any("hidden" in f for f in names),
               words[0] + ": nothing of what ran with other rights, not even its mappings",
               [data[max(0, m.start() - 60):m.end() + 40] for m in re.finditer(b"hidden|set-uid-python", data)],
               [n for n in names if "hidden" in n])
        for name in "r.folded", "r.data":
            os.unlink(b.path(name))
        shutil.rmtree(b.path("r.data.krait"))


def check_peers(tap, b, python):
    """Who is not served: root, other namespaces, sandboxes, set-uid programs, a socket that was handed on."""
    with Work(python, "own", CLIENT) as work:
        ask = "s = dial()\na = hello(s)\nprint(a[1], a[4].rstrip(b'\\0').decode())"
        cases = ("a user namespace", "user namespace", ["unshare", "-U"]), \
            ("a mapped root", "user namespace", ["unshare", "-r"]), \
            ("a pid namespace", "namespace", ["unshare", "-r", "-p", "-f"]), \
            ("no_new_privs", "sandbox", ["setpriv", "--no-new-privs"])
        for name, words, prefix in cases:
            text = said(run_as(CLIENT, ask, b.socket, prefix=prefix))
            tap.ok(text.startswith("5 ") and words in text or "unshare:" in text, name + " is refused", text)
        root = subprocess.run(["unshare", "-p", "-f", "--", "/usr/bin/python3", "-c",
                               "import socket\ns = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
                               "s.connect(%r)\nprint(s.recv(256)[4])" % b.socket], capture_output=True, encoding="utf-8")
        tap.ok(root.stdout.strip() == "5", "so is a container's root, with the socket mounted", root.stdout, root.stderr)
        done = b.run("record", "-p", str(work.pid), uid=65534)
        tap.ok(done.returncode == 4 and "nobody" in done.stderr, "an id without a mapping is refused", done.stderr)
        # One process connects, another one asks.
        handed = "s = dial()\na = hello(s)\npid = os.fork()\n" \
                 "if not pid: s.send(request(a[2], [int(args[0])])); os._exit(0)\n" \
                 "os.waitpid(pid, 0)\nprint(answers(s)[-1])"
        text = said(run_as(CLIENT, handed, b.socket, work.pid))
        tap.ok("another process" in text, "a request of another process than the one that connected is refused", text)
        early = "s = dial()\ns.send(request(0, [int(args[0])]))\na = hello(s)\nprint(answers(s)[-1])"
        text = said(run_as(CLIENT, early, b.socket, work.pid))
        tap.ok("another process" in text, "so is one from before the hello", text)
        gone = "s = dial()\na = hello(s)\npid = os.fork()\nif pid: os._exit(0)\ntime.sleep(0.3)\n" \
               "s.send(request(a[2], [int(args[0])]))\nprint(answers(s)[-1])"
        text = said(run_as(CLIENT, gone, b.socket, work.pid))
        tap.ok("(2, 5," in text, "and one whose process has ended", text)
    check_bystander(tap, b, python, "peers")


def check_protocol(tap, b, python):
    """Messages of other sizes and versions, numbers out of range, descriptors."""
    with Work(python, "own", CLIENT) as work:
        code = """
pid = int(args[0])
def one(name, make):
    s = dial()
    nonce = hello(s)[2]
    data = make(nonce)
    try:
        socket.send_fds(s, [data], [0, 1]) if name == "fds" else s.send(data)
        a = answers(s)
        print(name.replace(" ", "-"), a[-1][1] if a else 0, flush=True)
    except OSError as e:
        print(name.replace(" ", "-"), "0", e, flush=True)
one("short", lambda n: request(n, [pid])[:-4])
one("long", lambda n: request(n, [pid]) + b"1234")
one("huge", lambda n: b"x" * 60000)
one("one byte", lambda n: b"x")
one("version", lambda n: request(n, [pid], version=1))
one("command", lambda n: request(n, [pid], command=5))
one("number", lambda n: request(n + 1, [pid]))
one("rate", lambda n: request(n, [pid], rate=1001))
one("no rate", lambda n: request(n, [pid], rate=0))
one("length", lambda n: request(n, [pid], ms=3600001))
one("endless", lambda n: request(n, [pid], ms=2**64))
one("flags", lambda n: request(n, [pid], flags=1 << 31))
one("pids", lambda n: request(n, [pid] * 65))
one("pid 0", lambda n: request(n, [0]))
one("pid -1", lambda n: request(n, [-1]))
one("fewer words", lambda n: request(n, [pid], cnt=2))
one("more words", lambda n: request(n, [pid], cnt=4))
one("no end", lambda n: request(n, [pid], raw=b"x" * 2024))
for word in ("--output=/tmp/x", "-o/tmp/x", "--log-inputs=/tmp/x", "--perf-map", "--own", "--pause", "--event=cycles",
             "--event=cpu-clock,sched:sched_switch", "--ring-size=1G", "--user=0", "--cgroup=/", "--", "sh", "--name=" + "x" * 65,
             "--name=\\x01", "--thread=", "--pid=1,,2", "--pid=1;2", "--max-loss=nan", "--anchors=maybe", "--audit=-1", "--locals"):
    one(word[:9], lambda n: request(n, [pid], word))
for word in "--core=/tmp/x", "--root=/", "--pause", "--kernel":
    one(word[:9], lambda n: request(n, [], command=1, raw=("--pid=%d" % pid).encode() + b"\\0" + word.encode(), cnt=2))
one("source", lambda n: request(n, [], command=3, raw=b"--source=/", cnt=1))
one("fds", lambda n: request(n, [pid]))
# As many words and processes as a request may have.
s = dial()
n = hello(s)[2]
s.send(request(n, [], command=2, cnt=64, raw=b"--json\\0" * 63 + b"--pid=" + b",".join([b"%d" % pid] * 64)))
print("LONGEST", answers(s)[-1][1:4:2])
"""
        text = said(run_as(CLIENT, code, b.socket, work.pid))
        text, _, longest = text.partition("LONGEST ")
        tap.equal(longest.strip(), "(4, 0)", "the longest request is served", text)
        lines = text.splitlines()
        tap.ok(len(lines) == 46 and all(line.split(" ")[1] in ("0", "5") for line in lines),
               "each of 46 wrong requests is refused", text)
        tap.ok(not b.recorders(), "and none is a recording", b.recorders())
    check_bystander(tap, b, python, "protocol")


def check_floods(tap, b, python):
    """Connections that ask for nothing, ever more of them; recordings of one user; and rates."""
    silent = "held = []\nend = time.time() + float(args[0])\nwhile time.time() < end:\n" \
             "    try:\n        held.append(dial())\n    except OSError:\n        time.sleep(0.01)\n    held = held[-200:]\n" \
             "print(len(held))"
    flood = [run_as(CLIENT, silent, b.socket, 3) for _ in range(2)]
    time.sleep(0.5)
    check_bystander(tap, b, python, "floods of connections")
    for one in flood:
        said(one)
    with Work(python, "own", CLIENT) as work:
        runs = [b.start("record", "-q", "-p", str(work.pid), "-d", "1500ms", "-o", "q%d.folded" % i) for i in range(2)]
        service.wait_for(lambda: len(b.recorders()) == 2)
        done = b.run("record", "-p", str(work.pid), "-d", "1s", "-o", "q.folded")
        tap.ok(done.returncode == 4 and "run already" in done.stderr, "a third recording of one user is refused",
               done.returncode, done.stderr)
        check_bystander(tap, b, python, "two recordings of another user")
        for one in runs:
            one.communicate(timeout=30)
        tap.equal([one.returncode for one in runs], [0, 0], "the first two are complete")
    quiet = run_as(CLIENT, "s = dial()\nhello(s)\nprint(answers(s)[-1])", b.socket)
    text = said(quiet)
    tap.ok("no request came" in text, "who asks for nothing loses its place", text)


def check_frozen(tap, b, python):
    """A client that stops, one that never reads, and recorders that their user kills or stops."""
    with Work(python, "own", CLIENT) as work:
        krait = b.start("record", "-q", "-p", str(work.pid), "-d", "600ms", "-o", "z.folded")
        service.wait_for(b.recorders)
        krait.send_signal(signal.SIGSTOP)
        tap.ok(service.wait_for(lambda: not b.recorders()), "the recording of a frozen client ends when its time is over")
        check_bystander(tap, b, python, "a frozen client")
        krait.send_signal(signal.SIGCONT)
        krait.communicate(timeout=20)
        tap.ok(krait.returncode == 0 and b.stacks("z.folded"), "and is there when it wakes up", krait.returncode)
        for number in signal.SIGKILL, signal.SIGTERM:
            krait = b.start("record", "-q", "-p", str(work.pid), "-d", "5s", "-o", "z.folded")
            b.recording()
            time.sleep(0.3)
            for pid in b.recorders():
                os.kill(pid, number)
            krait.communicate(timeout=20)
            tap.ok(krait.returncode in (0, 137), "a recorder that its user ends with signal %d: the client ends" % number,
                   krait.returncode)
        # May its user look into it? It has rights that the user has not.
        krait = b.start("record", "-q", "-p", str(work.pid), "-d", "1s", "-o", "z.folded", "--no-native", "--no-async",
                        "--no-greenlets")
        b.recording()
        recorder = b.recorders()[0]
        kinds = re.findall(rb"(?m)^prog_type:\s*(\d+)", b"".join(
            service.read("/proc/%d/fdinfo/%s" % (recorder, fd)) for fd in os.listdir("/proc/%d/fdinfo" % recorder)))
        tap.ok(b"7" in kinds and b"2" not in kinds, "no probe in libraries, which other users' processes map, too", kinds)
        with open("/proc/%d/environ" % recorder, "rb") as f:
            env = dict(line.split(b"=", 1) for line in f.read().rstrip(b"\0").split(b"\0"))
        tap.ok(env.get(b"KRAIT_CONFIG") == b"" and env.get(b"HOME") == b"/nonexistent" and len(env) == 5,
               "a recorder reads none of its user's defaults", env)
        tap.equal(service.read("/proc/%d/oom_score_adj" % recorder).strip(), b"500", "where memory is short, it ends before the broker")
        look = "pid = args[0]\nfor name in 'mem', 'maps', 'environ', 'fd/3', 'cwd', 'root', 'ns/user', 'map_files':\n" \
               "    try:\n        p = '/proc/%s/%s' % (pid, name)\n" \
               "        os.listdir(p) if name == 'map_files' else os.readlink(p) if '/' in name or name in ('cwd', 'root') " \
               "else open(p, 'rb').read(1)\n        print('READS', name)\n    except OSError:\n        pass\n" \
               "import ctypes\nif not ctypes.CDLL(None).ptrace(0x4206, int(pid), 0, 0): print('TRACES')\nprint('ok')"
        text = said(run_as(CLIENT, look, b.socket, recorder))
        tap.ok(text.strip() == "ok", "its user cannot look into a recorder", text)
        status = attack.status(recorder)
        tap.ok(set(status["Uid"].split()) == {str(CLIENT)} and set(status["Gid"].split()) == {str(CLIENT)} and
               set(status["Groups"].split()) <= {str(CLIENT)} and status["NoNewPrivs"].strip() == "1", "it has the user's ids only", status)
        allowed = 1 << 38 | 1 << 39 | 1 << 40 | (1 << 21 if need_admin() else 0)
        tap.ok(not int(status["CapPrm"], 16) & ~allowed and not int(status["CapBnd"], 16) & ~allowed,
               "and no more than BPF, PERFMON and CHECKPOINT_RESTORE", status["CapPrm"], status["CapBnd"])
        workers = [attack.status(pid) for pid in attack.children(recorder)]
        tap.ok(workers and all(not int(w["CapPrm"], 16) & ~(1 << 40) for w in workers if w),
               "its workers have less", [w.get("CapPrm") for w in workers])
        krait.communicate(timeout=20)
    check_bystander(tap, b, python, "killed recorders")


def need_admin():
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
        return int(f.read()) > 2


def check_all(tap, python):
    """The second socket: a group sees the whole machine; nobody else can connect, and who is in the group has only its own
    processes on the first one."""
    folder = attack.Folder()
    path = folder.outside("all")
    member = ["chroot", "--skip-chdir", "--userspec=%d:%d" % (CLIENT, CLIENT), "--groups=%d,1" % CLIENT, "/"]
    with service.Broker("--all-socket", path, "--all-group", "daemon") as b, Work(python, "own", CLIENT) as own, \
            Work(python, "others", OTHER) as other, Work(python, "roots", 0) as root:
        st = os.stat(path)
        tap.equal((st.st_mode & 0o777, st.st_uid, st.st_gid), (0o660, 0, 1), "the second socket is the group's")

        def run(prefix, socket, *words):
            return subprocess.run([*prefix, os.path.abspath(h.KRAIT), *words], env={**b.env, "KRAIT_SOCKET": socket}, cwd=b.home,
                                  capture_output=True, encoding="utf-8", timeout=60)

        pids = "%d,%d,%d" % (own.pid, other.pid, root.pid)
        done = run(member, path, "record", "-q", "-p", pids, "-F", "997", "-d", "400ms", "-o", "a.folded")
        names = {f.split(" ")[0] for stack, _ in b.stacks("a.folded") for f in stack}
        tap.ok(done.returncode == 0 and {"own", "others", "roots"} <= names, "the group sees everybody's processes", done.returncode,
               done.stderr, sorted(names))
        tap.equal(os.stat(b.path("a.folded")).st_uid, CLIENT, "what it gets is the member's")
        done = run(member, path, "dump", "--native", str(other.pid))
        tap.ok(done.returncode == 0 and "others" in done.stdout, "dump, too", done.returncode, done.stderr)
        done = run(member, path, "dump", "--native", "--locals", str(other.pid))
        tap.ok(done.returncode == 4 and "--locals" in done.stderr, "but no values of variables", done.returncode, done.stderr)
        done = run(service.as_user(OTHER), path, "record", "-q", "-p", str(root.pid), "-d", "300ms", "-o", "n.folded")
        tap.ok(done.returncode == 4 and "Permission denied" in done.stderr, "who is not in the group cannot connect", done.returncode,
               done.stderr)
        done = run(member, b.socket, "record", "-q", "-p", str(other.pid), "-d", "300ms", "-o", "n.folded")
        tap.ok(done.returncode in (3, 4) and not b.stacks("n.folded"), "on the first socket a member has its own processes only",
               done.returncode, done.stderr)
        krait = subprocess.Popen([*member, os.path.abspath(h.KRAIT), "record", "-q", "-p", str(other.pid), "-d", "3s", "-o", "n.folded"],
                                 env={**b.env, "KRAIT_SOCKET": path}, cwd=b.home, stderr=subprocess.DEVNULL)
        started = service.wait_for(lambda: any(b"--own-all" in service.read("/proc/%d/cmdline" % p) for p in b.recorders()))
        recorder = (b.recorders() or [0])[0]
        look = "try:\n    open('/proc/%s/mem' % args[0], 'rb')\n    print('READS')\nexcept OSError:\n    pass\n" \
               "import ctypes\nprint('TRACES' if not ctypes.CDLL(None).ptrace(0x4206, int(args[0]), 0, 0) else 'ok')"
        text = said(run_as(CLIENT, look, b.socket, recorder))
        tap.ok(started and text.strip() == "ok", "its user cannot look into such a recorder", started, text)
        krait.terminate()
        krait.wait(20)
        check_bystander(tap, b, python, "a recording of the whole machine")
        tap.ok("(sees the whole machine): record" in b.log, "the log says it", b.log[-500:])


def check_killed(tap, python):
    """A broker that is killed leaves no recorder behind; the client keeps what was saved."""
    with service.Broker() as b, Work(python, "own", CLIENT) as work:
        krait = b.start("record", "-p", str(work.pid), "-d", "20s", "-o", "k.data")
        b.recording()
        time.sleep(1.5)
        recorders = b.recorders()
        b.stop(signal.SIGKILL)
        out, err = krait.communicate(timeout=20)
        tap.ok(krait.returncode == 5 and "has ended" in err and "wrote k.data" in err, "a killed broker: the client says it",
               krait.returncode, err)
        tap.ok(recorders and service.wait_for(lambda: not any(os.path.exists("/proc/%d" % p) for p in recorders)),
               "its recorders end", recorders)
        done = b.run("report", "-i", "k.data")
        tap.ok("own" in done.stdout, "what was saved can be read", done.stdout, done.stderr)
        for name in b.folders():
            shutil.rmtree("/var/tmp/" + name)
    with service.Broker() as b, Work(python, "own", CLIENT) as work:
        krait = b.start("record", "-q", "-p", str(work.pid), "-d", "20s", "-o", "k.folded")
        b.recording()
        time.sleep(0.4)
        code = b.stop()
        krait.communicate(timeout=20)
        tap.ok(code == 0 and krait.returncode == 0 and b.stacks("k.folded") and not b.folders(),
               "one that is told to end gives its clients what there is", code, krait.returncode, b.folders())


CUT = """
import ctypes, os, time
path = 'cut-%%d.so' %% os.getpid()
def own(until):
    n = 0
    while time.time() < until:
        n += 1
        if n %% 2000 == 0:
            os.truncate(path, 4096 if n %% 4000 else 1 << 20)
with open(path, 'wb') as f: f.write(open('%s', 'rb').read())
lib = ctypes.CDLL('./' + path)
own(time.time() + 60)
"""


def check_cut(tap, b, python):
    """A process of the client's own whose mapped file becomes shorter and longer while krait reads its rows and symbols."""
    libm = next(line.split()[-1] for line in open("/proc/self/maps", encoding="utf-8") if "/libc.so" in line).replace("libc.so", "libm.so")
    process = subprocess.Popen([*service.as_user(CLIENT), *python.command("-c", CUT % libm)], cwd=b.home, stdin=subprocess.DEVNULL)
    time.sleep(0.3)
    codes = []
    for _ in range(3):
        done = b.run("record", "-q", "-p", str(process.pid), "-F", "997", "-d", "300ms", "-o", "t.folded")
        codes.append((done.returncode, sum(n for stack, n in b.stacks("t.folded") if any(f.startswith("own") for f in stack)) > 20))
    alive = process.poll() is None
    process.kill()
    process.wait()
    tap.ok(codes == [(0, True)] * 3 and alive, "a mapped file that is cut: its owner's recordings have their samples", codes, alive)
    check_bystander(tap, b, python, "a mapped file that is cut")


MAPS = """
import mmap, os, time
def own(until):
    while time.time() < until:
        for _ in range(100000): pass
f = os.open("%s", os.O_RDONLY)
held = mmap.mmap(f, 1 << 20, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)
print("READY", flush=True)
own(time.time() + 60)
"""


def check_never_comes(tap, b, python):
    """Processes of the client's own whose memory and code are files of a file system that never answers. Who reads them
    cannot be killed: that holds neither the service nor another user's recording."""
    if attack.why_no_fuse():
        return tap.skip("FUSE", attack.why_no_fuse())
    with attack.Scene(tap, "FUSE", python) as scene:
        mount = scene.mount_point()
        os.chmod(mount, 0o755)
        scene.run([scene.folder.build("stuck_fs.c"), mount])
        program, file = scene.folder.build("late_page.c", "-lpthread"), mount + "/page"
        user = service.as_user(CLIENT)
        targets = [scene.run([*user, program, what, file]) for what in ("runtime", "thread")]
        targets.append(scene.run([*user, *python.command("-c", MAPS % file)]))
        begin = time.monotonic()
        runs = [b.start("record", "-q", "-p", ",".join(str(t.pid) for t in some), "-F", "499", "-d", "1s", "-o", "n%d.folded" % i)
                for i, some in enumerate((targets[:2], targets[2:]))]
        service.wait_for(lambda: len(b.recorders()) == 2)
        check_bystander(tap, b, python, "FUSE")
        said = [(r.communicate(timeout=60)[1], r.returncode) for r in runs]
        scene.ok(time.monotonic() - begin < 30 and all(code in (0, 1, 3, 4) for _, code in said), "recordings of them end",
                 time.monotonic() - begin, said)
        scene.ok(any(f.startswith("own") for stack, _ in b.stacks("n1.folded") for f in stack), "one with such code has its samples", said)
        for words in ("list",), ("dump", "--native", str(targets[0].pid)), ("top", "-b", "-n", "1", "-i", "500ms"):
            begin = time.monotonic()
            done = b.run(*words)
            scene.ok(time.monotonic() - begin < 30, words[0] + " ends", done.returncode, done.stderr)
        check_bystander(tap, b, python, "FUSE, while readers hang")
        for target in targets:
            target.process.kill()
    return tap.ok(service.wait_for(lambda: not b.recorders() and not b.folders()), "FUSE: nothing is left behind", b.recorders(), b.folders())


def check_pid_reuse(tap, b, python):
    """A client names a pid that is somebody else's by the time it is looked at."""
    with open("/proc/sys/kernel/ns_last_pid", encoding="ascii") as f:
        last = int(f.read())
    if not os.access("/proc/sys/kernel/ns_last_pid", os.W_OK):
        return tap.skip("pid reuse", "ns_last_pid cannot be set")
    with Work(python, "own", CLIENT) as work:
        pid = work.pid
    for _ in range(50):
        with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as f:
            f.write(str(pid - 1))
        process = subprocess.Popen(python.command("-c", OWN % ("secret", "secret")))
        if process.pid == pid:
            break
        process.kill()
        process.wait()
    with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as f:
        f.write(str(last))
    done = b.run("record", "-p", str(pid), "-d", "300ms", "-o", "u.folded")
    reused = process.pid == pid
    process.kill()
    process.wait()
    if not reused:
        return tap.skip("pid reuse", "others were quicker")
    return tap.ok(done.returncode in (3, 4) and not b.stacks("u.folded"), "a reused pid is its new owner's",
                  done.returncode, done.stderr)


def main():
    tap = attack.begin()
    python = attack.python_of(tap, "broker", "3.11", "3.13", "3.12")
    if python and python.root == "/":
        with service.Broker() as b:
            for check in (check_foreign, check_becoming, check_rights, check_peers, check_protocol, check_floods, check_frozen,
                          check_cut, check_never_comes, check_pid_reuse):
                check(tap, b, python)
            tap.ok(b.process.poll() is None, "the broker still runs", b.log)
            tap.ok(not b.recorders() and service.wait_for(lambda: not b.folders()), "and nothing is left behind",
                   b.recorders(), b.folders())
            kib = b.pss_kib()
            tap.ok(kib < 5 << 10, "it stays below 5 MiB", kib)
        check_killed(tap, python)
        check_all(tap, python)
    return attack.end(tap)


main()
