#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait agent: windows as OTLP files. Their samples add up to its accounts, processes have their names and
attributes, a new rate makes a new profile, a budget is kept, and unauthorised requests get nothing."""
import collections
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import harness as h
import otlp

BUILD_ID = "process.executable.build_id.gnu"
SECRET = "hunter2-in-the-environment"
# A byte that is not UTF-8, and half of a surrogate pair, in the form of os.fsencode().
ODD, ODD_SHOWN = "odd\udcff\udced\udca0\udc80", "odd\\xff\\xed\\xa0\\x80"


def write(path, text, mode=0o600):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)


def read_windows(folder):
    bodies = []
    for name in sorted(os.listdir(folder)):
        if not name.startswith("."):
            with open(os.path.join(folder, name), "rb") as f:
                bodies.append(f.read())
    return bodies


def wait_for(condition, seconds=h.PATIENCE_SECS):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)
    return condition()


class Agent:
    def __init__(self, folder, *args):
        self.folder = folder
        self.windows = os.path.join(folder, "windows")
        with open(os.path.join(folder, "log"), "ab") as log:
            self.process = subprocess.Popen([h.KRAIT, "agent", "-i", "1s", "--otlp-dir", self.windows, *args],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def log(self):
        with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as f:
            return f.read()

    def cnt(self):
        return len(os.listdir(self.windows)) if os.path.isdir(self.windows) else 0

    def wait_for_windows(self, more):
        want = self.cnt() + more
        return wait_for(lambda: self.cnt() >= want or self.process.poll() is not None)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(h.PATIENCE_SECS)


def check_bodies(tap, bodies, raw):
    protoc = shutil.which("protoc")
    if protoc:
        proto = os.path.join(h.ROOT, "user", "output", "otlp")
        bad = [subprocess.run([protoc, "--proto_path=" + proto, "--decode=krait.otlp.ExportProfilesServiceRequest", "otlp.proto"],
                              input=body, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False).stderr for body in raw]
        tap.ok(not any(bad), "protoc decodes every body", bad[:3])
    else:
        tap.skip("protoc decodes every body", "no protoc (protobuf-compiler)")
    profiles = [p for b in bodies for p in b.profiles]
    tap.ok(all(b.zeroes for b in bodies), "entry 0 of each table is empty")
    tap.ok(all(p.distinct for p in profiles), "a stack with its attributes is one sample")
    ids = [p.id for p in profiles]
    tap.ok(len(set(ids)) == len(ids) and all(len(i) == 16 for i in ids), "each profile has an id of its own")
    outside = [t - p.begin for p in profiles for _, _, times, _ in p.samples for t in times if not 0 <= t - p.begin < p.length]
    tap.ok(not outside, "times are in the profile's own", outside[:5])


def check_sums(tap, bodies):
    """The windows' samples add up to the windows' accounts."""
    windows, ticks = {}, 0
    for body in bodies:
        for p in body.profiles:
            windows[p.facts["krait.window.number"]] = p.facts
            ticks += p.ticks() if p.kind == otlp.TICKS else 0
    said = sum(f["krait.window.cpu.complete"] + f["krait.window.cpu.truncated"] for f in windows.values())
    interrupts = sum(f["krait.window.cpu.interrupts"] for f in windows.values())
    lost = sum(f["krait.window.cpu.lost"] for f in windows.values())
    numbers = sorted(windows)
    tap.equal(numbers, list(range(1, len(numbers) + 1)), "no window is missing")
    tap.equal(ticks, said, "as many samples as the accounts say")
    tap.equal(said + lost, interrupts, "and interrupts")


def check_processes(tap, bodies, named, plain, python):
    mine = collections.defaultdict(list)
    for body in bodies:
        for p in body.profiles:
            mine[p.resource["process.pid"]].append(p)
    who = mine[named.pid][-1].resource if mine[named.pid] else {}
    tap.equal(who.get("service.name"), "billing", "a process has the name that it claims", who)
    tap.equal(sorted(who.get("krait.claimed", [])), ["deployment.environment", "service.name", "team"],
              "what it claims is marked")
    tap.equal((who.get("team"), who.get("process.pid")), ("a,b", named.pid), "what it may not claim it is not")
    tap.equal(who.get("process.runtime.version", "").rpartition(".")[0], python.minor, "its interpreter's version")
    other = mine[plain.pid][-1].resource if mine[plain.pid] else {}
    tap.ok(other.get("service.name") and "krait.claimed" not in other, "without claims it has a name, too", other)
    leaves = collections.Counter()
    for p in mine[named.pid] if mine[named.pid] else []:
        for stack, attributes, times, _ in p.samples:
            if p.kind == otlp.TICKS:
                leaves[next((name for name, kind in stack if kind == "cpython"), "?")] += len(times)
                if attributes.get("thread.id") is None:
                    leaves["without a thread"] += 1
    both = leaves["hot"] + leaves["warm"]
    tap.ok(both > 20 and abs(leaves["hot"] / both - 0.75) < 0.2, "three quarters are hot's", leaves)
    tap.ok(not leaves["without a thread"], "samples have threads")


def plant_links(folder):
    """At the names of its first windows, plants links to a foreign file, whose path is returned."""
    theirs = os.path.join(folder, "theirs")
    write(theirs, "theirs\n")
    os.mkdir(os.path.join(folder, "windows"))
    for number in (1, 2, 3):
        name = os.path.join(folder, "windows", ".window-%08d-0.otlp.new" % number)
        (os.symlink if number == 1 else os.link)(theirs, name)
    return theirs


def odd(python, folder):
    """A process whose script and claims are not UTF-8."""
    script = os.path.join(folder, ODD + ".py")
    shutil.copy(python.target("split.py"), script)
    return h.Target(python.command(script, "nap"), dict(os.environ, OTEL_SERVICE_NAME=ODD, OTEL_RESOURCE_ATTRIBUTES="team=" + ODD))


def check_odd(tap, bodies, process):
    """The Collector refuses a whole request if a string is not UTF-8; so decode bodies strictly."""
    mine = [p for b in bodies for p in b.profiles if p.resource.get("process.pid") == process.pid]
    who = mine[-1].resource if mine else {}
    tap.equal((who.get("service.name"), who.get("team")), (ODD_SHOWN, ODD_SHOWN), "claims that are not UTF-8 are shown")
    files = {text for b in bodies for text in b.strings if "odd" in text and text.endswith(".py")}
    tap.ok(files, "so are paths")


def check_one_run(tap, python):
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    theirs = plant_links(folder)
    config = os.path.join(folder, "agent.conf")
    token = os.path.join(folder, "token")
    listener = os.path.join(folder, "http")
    text = "[sampling]\nrate = %d\noff-cpu = yes\ncpu-budget = 0\nlisten = 127.0.0.1:0\nlog-format = json\n"
    write(config, text % 97)
    write(token, "let-me-in\n")
    env = dict(os.environ, OTEL_SERVICE_NAME="billing", SECRET=SECRET,
               OTEL_RESOURCE_ATTRIBUTES="deployment.environment=prod,team=a%2Cb,process.pid=1,service.name=other")
    with h.start(python, "split.py", "rest", env=env) as named, h.start(python, "split.py", "nap") as plain, \
            odd(python, folder) as strange:
        agent = Agent(folder, "--config", config, "--listen", "unix:" + listener, "--listen-token-file", token)
        try:
            tap.ok(agent.wait_for_windows(3) and agent.process.poll() is None, "there are windows", agent.log()[-1500:])
            write(config, text.replace("rate", "rote") % 97)
            agent.process.send_signal(signal.SIGHUP)
            tap.ok(re.search(r"sampling at \d+ Hz, .*writing to " + re.escape(agent.windows), agent.log()), "it says that it runs, and where samples go",
                   agent.log()[-1500:])
            tap.ok(wait_for(lambda: "stays as it was" in agent.log()), "a mistake changes nothing", agent.log()[-1500:])
            write(config, text % 47)
            agent.process.send_signal(signal.SIGHUP)
            tap.ok(wait_for(lambda: "was read again" in agent.log()), "another rate is read", agent.log()[-1500:])
            agent.wait_for_windows(2)
        finally:
            code = agent.stop()
        tap.equal(code, 0, "a signal ends it", agent.log()[-1500:])
        raw = read_windows(agent.windows)
        bodies = [otlp.Body(body) for body in raw]
        check_bodies(tap, bodies, raw)
        check_sums(tap, bodies)
        check_processes(tap, bodies, named, plain, python)
        check_odd(tap, bodies, strange)
    with open(theirs, encoding="ascii") as f:
        tap.equal(f.read(), "theirs\n", "nothing is written through links")
    periods = {p.period for b in bodies for p in b.profiles if p.kind == otlp.TICKS}
    tap.equal(periods, {10**9 // 97, 10**9 // 47}, "a new rate is a new profile")
    waits = [p for b in bodies for p in b.profiles if p.kind == otlp.OFF_CPU]
    tap.ok(waits and all(len(times) == len(values) for p in waits for _, _, times, values in p.samples),
           "time off the CPU is a profile of its own")
    tap.ok(not any(SECRET.encode() in body for body in raw), "of an environment nothing else is there")
    tap.ok(all(line.startswith("{") for line in agent.log().splitlines() if "rote" not in line and "Try" not in line),
           "logs are JSON", agent.log()[-1500:])
    shutil.rmtree(folder)


def get(port, path, token=None, method="GET"):
    request = urllib.request.Request("http://127.0.0.1:%d%s" % (port, path), method=method)
    if token:
        request.add_header("Authorization", "Bearer " + token)
    try:
        with urllib.request.urlopen(request, timeout=h.PATIENCE_SECS) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as e:
        return e.code, e.read()
    except OSError as e:
        return 0, str(e).encode()


def listening_port(pid):
    """Returns the port on which a process or a child of it listens; 0: none yet."""
    inodes = set()
    for task in [pid] + [int(c) for t in os.listdir("/proc/%d/task" % pid)
                         for c in open("/proc/%d/task/%s/children" % (pid, t), encoding="ascii").read().split()]:
        try:
            for fd in os.listdir("/proc/%d/fd" % task):
                inodes.add(os.readlink("/proc/%d/fd/%s" % (task, fd)))
        except OSError:
            pass
    with open("/proc/net/tcp", encoding="ascii") as f:
        for line in f.read().splitlines()[1:]:
            part = line.split()
            if part[3] == "0A" and "socket:[%s]" % part[9] in inodes:
                return int(part[1].split(":")[1], 16)
    return 0


def check_build_ids(tap, bodies):
    """Native code has its file's build ID, as shown by readelf."""
    said, wrong = {}, {}
    for body in bodies:
        said.update({file: a[BUILD_ID] for file, a in body.mappings.items() if BUILD_ID in a})
    for file, number in said.items():
        notes = subprocess.run(["readelf", "-n", file], capture_output=True, encoding="utf-8", check=False).stdout
        if os.path.exists(file) and "Build ID: " + number + "\n" not in notes:
            wrong[file] = (number, notes)
    tap.ok(said and not wrong, "native code has its build ID", said, wrong)


def is_lower(status, metrics):
    return status == 200 and b"\nkrait_budget_level 0\n" not in metrics


def check_cpu_metrics(tap, target, metrics):
    """CPU time by service and process: the target's is not more than its own clock's, and both kinds add up to the same."""
    found = {}
    for kind, labels, number in re.findall(r"(?m)^krait_(service|process)_cpu_seconds_total\{(.*)\} ([0-9.]+)$", metrics):
        found.setdefault(kind, {})[labels] = float(number)
    labels = 'service="split.py",uid="0"'
    mine = found.get("process", {}).get(labels + ',pid="%d"' % target.pid, 0)
    tap.ok(0 < mine <= h.cpu_seconds(target.pid) * 1.1, "CPU time of a process, and not more than it had", mine, found)
    # Processes that have had no CPU time for long have no row any more.
    gone = dict(re.findall(r'(?m)^krait_cpu_seconds_left_out_total\{of="(\w+)"\} ([0-9.]+)$', metrics))
    sums = [sum(found[kind].values()) + float(gone[name]) for kind, name in (("service", "services"), ("process", "processes"))]
    tap.ok(found["service"].get(labels, 0) >= mine and abs(sums[0] - sums[1]) < 1e-6,
           "and of its service: both kinds add up to the same", sums, gone, found)


def check_budget(tap, python):
    """A budget that is too low makes it sample less, and it says so in its data and to clients."""
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    token = os.path.join(folder, "token")
    write(token, "let-me-in\n")
    with h.start(python, "split.py", "nap") as target:
        agent = Agent(folder, "-r", "997", "--native", "--cpu-budget", "0.05%", "--listen", "127.0.0.1:0",
                      "--listen-token-file", token, "--keep", "1h", "--keep-dir", os.path.join(folder, "kept"))
        try:
            agent.wait_for_windows(1)
            port = listening_port(agent.process.pid)
            tap.equal(get(port, "/debug/pprof/profile?seconds=1")[0], 401, "profiles need the token")
            status, profile = get(port, "/debug/pprof/profile?seconds=1", "let-me-in")
            tap.ok(status == 200 and profile[:2] == b"\x1f\x8b", "who has it gets one", status, profile[:80])
            tap.equal(get(port, "/burst?seconds=1&rate=2000", "let-me-in", "POST")[0], 400, "a burst has its bounds")
            tap.equal(get(port, "/burst?seconds=1&rate=499", method="POST")[0], 401, "and needs the token")
            tap.equal([get(port, "/burst?seconds=1&rate=499", "let-me-in")[0], get(port, "/metrics", method="POST")[0]], [405, 405],
                      "and POST, which nothing else takes")
            tap.equal(get(port, "/burst?seconds=1&rate=499", "let-me-in", "POST"), (200, b"499 Hz for 1 s\n"), "there is a burst")
            lower = wait_for(lambda: is_lower(*get(port, "/metrics")))
            metrics = get(port, "/metrics")[1].decode()
            tap.ok(lower, "beyond its budget it does less", metrics[:2000])
            check_cpu_metrics(tap, target, metrics)
            numbers = dict(re.findall(r"(?m)^(krait_(?:otlp|memory)_\w+) (\d+)$", metrics))
            tap.ok(int(numbers["krait_otlp_samples_total"]) > 0 and numbers["krait_otlp_failed_total"] == "0" and
                   int(numbers["krait_memory_captures"]) > 0, "it says what it has sent and kept", numbers)
            tap.equal(get(port, "/readyz")[0], 200, "it is ready")
            agent.wait_for_windows(2)
        finally:
            tap.equal(agent.stop(), 0, "it ends", agent.log()[-1500:])
    check_build_ids(tap, [otlp.Body(body) for body in read_windows(agent.windows)])
    facts = [p.facts for body in read_windows(agent.windows) for p in otlp.Body(body).profiles]
    rates = [f["krait.window.rate"] for f in facts]
    tap.ok(rates and max(rates) == 997 and min(rates) < 997, "its data say so", rates[:5], rates[-5:])
    periods = {p.period for body in read_windows(agent.windows) for p in otlp.Body(body).profiles}
    tap.ok(10**9 // 499 in periods and 10**9 // 997 in periods, "a burst is a profile of its own", sorted(periods))
    tap.ok(max(f["krait.window.budget.level"] for f in facts) > 0 and facts[-1]["krait.window.own.kernel_ns"] > 0,
           "and what it costs", facts[-1])
    tap.ok(any(f.get("krait.window.budget.starved_ns", 0) > 0 for f in facts), "first it did nothing that could wait", facts[-1])
    shutil.rmtree(folder)


def check_waits(tap, python):
    """Where waits are what costs, the shorter ones lose their stacks, before rate or depth go down."""
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    with h.start(python, "storm.py", "40"):
        agent = Agent(folder, "--off-cpu=1ms")
        try:
            wait_for(lambda: "waits from" in agent.log())
        finally:
            tap.equal(agent.stop(), 0, "waits: it ends", agent.log()[-1500:])
    first = (re.findall("krait: (used .*)", agent.log()) or [""])[0]
    tap.ok(re.match(r"used \d+\.\d% of a CPU, limit 1%: now 19 Hz, 2048 frames, native frames off, waits from \d+ ms$", first),
           "waits: only they are given up, and the limit is named", agent.log()[-1500:])
    facts = [p.facts for body in read_windows(agent.windows) for p in otlp.Body(body).profiles]
    tap.equal(facts[0]["krait.window.wait_ns"] if facts else None, 1000000, "waits: from which length on is said")
    shutil.rmtree(folder)


def main():
    h.need_bpf()
    tap = h.Tap()
    python = h.newest([p for p in h.all_interpreters() if p.root == "/" and not p.free_threaded])
    check_one_run(tap, python)
    check_budget(tap, python)
    check_waits(tap, python)
    h.cleanup()
    tap.done()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
