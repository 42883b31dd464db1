#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait agent sends to a real OpenTelemetry Collector over HTTP and gRPC: function by function, it receives what the
agent keeps on its host. Also through two of them, the first of which is paused and killed: everything arrives
once."""
import collections
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time

import collector
import harness as h


def name_of(frame):
    """Returns the name in "name (file:line)", where the file may also contain parentheses; or a mark."""
    depth = 0
    for at in range(len(frame) - 1, 0, -1):
        depth += (frame[at] == ")") - (frame[at] == "(")
        if not depth:
            return frame[:at - 1] if frame[at - 1:at + 1] == " (" else frame
    return frame


def kept(folder, keep):
    """Returns {leaf: samples} of what the agent has kept, and krait's output about it."""
    out = os.path.join(folder, "kept.data")
    done = h.run_krait("agent", "snapshot", "--keep-dir", keep, "-o", out)
    if done.returncode:
        return collections.Counter(), done.stderr
    text = h.run_krait("convert", out, "-f", "folded", "--no-process").stdout
    found = collections.Counter()
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        found[name_of(stack.split(";")[-1])] += int(count)
    return found, done.stderr


@contextlib.contextmanager
def agent(folder, *args, seconds=None, rate=97):
    """Starts an agent that samples this machine in windows of a second and keeps the samples."""
    keep = os.path.join(folder, "keep")
    command = [h.KRAIT, "agent", "-i", "1s", "-r", str(rate), "--cpu-budget", "100%", "--keep", "1h", "--keep-dir", keep, *args]
    if seconds:
        command += ["-d", h.moment(seconds)]
    with open(os.path.join(folder, "agent.log"), "ab") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    process.keep = keep
    try:
        yield process
    finally:
        if process.poll() is None:
            h.end_child(process)


def log_of(folder):
    with open(os.path.join(folder, "agent.log"), encoding="utf-8", errors="replace") as f:
        return f.read()[-1500:]


def check_all_there(tap, name, folder, keep, requests):
    """Everything kept was sent: function by function, each profile once."""
    expected, said = kept(folder, keep)
    everything = list(collector.all_profiles(requests))
    profiles = collector.decode(requests)
    tap.ok(sum(expected.values()) > 0, name + ": something was sampled", said, log_of(folder))
    found = collector.leaves(profiles)
    wrong = {f: (found[f], expected[f]) for f in found.keys() | expected.keys() if found[f] != expected[f]}
    tap.ok(not wrong, name + ": as many samples of each function as were kept", wrong, said, log_of(folder))
    tap.ok(all(p.begin <= t < p.end for p in profiles for t in p.times), name + ": times within their profile")
    print("# %s: %d samples in %d profiles, %d came again" %
          (name, sum(found.values()), len(profiles), len(everything) - len(profiles)))
    return profiles


def check_protocol(tap, python, protocol):
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    with h.start(python, "split.py", "rest") as target, collector.Collector(folder) as c:
        port = c.grpc if protocol == "grpc" else c.http
        with agent(folder, "--otlp-endpoint", "http://127.0.0.1:%d" % port, "--export-protocol", protocol,
                   seconds=4, rate=397) as process:
            code = process.wait(h.PATIENCE_SECS)
        tap.ok(code == 0, protocol + ": the agent ends by itself", code, log_of(folder))
        c.stop()
        profiles = check_all_there(tap, protocol, folder, process.keep, c.requests())
        ours = [p for p in profiles if p.resource.get("process.pid") == target.pid]
        tap.ok(ours and all(p.resource["service.name"] == "split.py" for p in ours), protocol + ": whose it is",
               [p.resource for p in ours[:2]])
        found = collector.leaves(ours)
        both = found["hot"] + found["warm"]
        tap.ok(both > 50 and abs(found["hot"] / both - 0.75) < 0.15, protocol + ": three quarters are hot's", found)
    shutil.rmtree(folder)


def wait_for(condition, seconds=h.PATIENCE_SECS):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)
    return condition()


def check_chain(tap, python):
    """krait -> Collector -> Collector: the first one confirms data only when the second one has it."""
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    with contextlib.ExitStack() as stack:
        stack.enter_context(h.start(python, "split.py", "rest"))
        last = stack.enter_context(collector.Collector(folder, "last"))
        middle = stack.enter_context(collector.Collector(folder, "middle", last.http,
                                                         env={"KRAIT_WAIT_FOR_RESULT": "true"}))
        process = stack.enter_context(agent(folder, "--otlp-endpoint", "http://127.0.0.1:%d" % middle.http,
                                            "--spool", os.path.join(folder, "spool")))
        tap.ok(wait_for(last.requests), "chain: the first window is there", log_of(folder), middle.tail())
        middle.pause()
        time.sleep(2)
        middle.resume()
        cnt = len(last.requests())
        tap.ok(wait_for(lambda: len(last.requests()) > cnt), "chain: it goes on after a pause", log_of(folder))
        middle.kill()
        time.sleep(1.5)
        middle.start()
        cnt = len(last.requests())
        tap.ok(wait_for(lambda: len(last.requests()) > cnt), "chain: it goes on after a death", log_of(folder))
        process.send_signal(signal.SIGTERM)
        code = process.wait(h.PATIENCE_SECS)
        tap.ok(code == 0, "chain: the agent ends", code, log_of(folder))
        wait_for(lambda: sum(collector.leaves(last.profiles()).values()) >=
                 sum(kept(folder, process.keep)[0].values()), 10)
        last.stop()
        check_all_there(tap, "chain", folder, process.keep, last.requests())
    shutil.rmtree(folder)


def run(check):
    """The frame of a test that needs Collectors: calls check(tap, python) if they are available."""
    h.need_bpf()
    why = collector.why_missing()
    if why:
        print("1..0 # SKIP " + why)
        return 0
    tap = h.Tap()
    check(tap, h.newest([p for p in h.all_interpreters() if p.root == "/" and not p.free_threaded]))
    h.cleanup()
    tap.done()
    return 0


def check_all(tap, python):
    for protocol in ("http/protobuf", "grpc"):
        check_protocol(tap, python, protocol)
    check_chain(tap, python)


if __name__ == "__main__":
    raise SystemExit(run(check_all))
