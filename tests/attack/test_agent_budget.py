#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""S4: what strangers make krait agent do is theirs to pay. Whoever asks its HTTP server for pages leaves the rate and the
budget alone, and keeps nobody else from asking. Whoever runs ever new code, with names however long, has them left out
and leaves rate, names and kept history of others alone."""
import json
import os
import re
import socket
import time
import urllib.request

import attack
import otlp

FIRST_SECS = 6.5  # the first seconds are not judged
FLOOD_SECS, CODE_SECS = 4, 6
LEFT_OUT = "[name left out]"
KEEP_BYTES = 16 << 20
RATE = 19
# The gentle variant: it costs its owner a tenth of a CPU.
CALLS_PER_SEC = 700
HEALTHY_MS = 500


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Agent:
    """krait agent with windows of a second, and a memory."""

    def __init__(self, folder, *args):
        self.port, self.windows = free_port(), folder.outside("windows")
        self.keep = folder.outside("keep")
        self.krait = attack.Krait("agent", "-i", "1s", "--otlp-dir", self.windows, "--listen", str(self.port), "--keep", "1h",
                                  # Of deep stacks of ever new code the kernel reads the contents at each sample (18 to 21 ms
                                  # a second here, at 19 Hz), which nobody is charged for yet: with 1% the rate gave way by a step.
                                  "--cpu-budget", "3", "--keep-bytes", str(KEEP_BYTES), "--keep-dir", self.keep, *args)
        self.read = {}

    def get(self, page):
        with urllib.request.urlopen("http://127.0.0.1:%d/%s" % (self.port, page), timeout=10) as answer:
            return answer.read().decode()

    def health_ms(self):
        began = time.monotonic()
        try:
            self.get("healthz")
        except OSError:
            return 10000
        return 1000 * (time.monotonic() - began)

    def metric(self, name):
        found = re.search("(?m)^%s ([0-9.]+)$" % re.escape(name), self.get("metrics"))
        return float(found[1]) if found else None

    def bodies(self):
        """All OTLP bodies so far."""
        for name in sorted(os.listdir(self.windows)) if os.path.isdir(self.windows) else []:
            if not name.startswith(".") and name not in self.read:
                with open(os.path.join(self.windows, name), "rb") as f:
                    self.read[name] = otlp.Body(f.read())
        return self.read.values()

    def facts(self):
        """What each window says about itself, in their order."""
        found = {p.facts["krait.window.number"]: p.facts for b in self.bodies() for p in b.profiles}
        return [found[n] for n in sorted(found)]


def is_left_alone(facts):
    """No window sampled less than it should."""
    return facts and all(f["krait.window.rate"] == RATE and f["krait.window.budget.level"] == 0 for f in facts)


def brief(facts):
    keys = ("rate", "budget.level", "budget.starved_ns", "own.cpu_ns", "own.kernel_ns", "own.server_ns")
    return [json.dumps({k: f.get("krait.window." + k) for k in keys}) for f in facts]


def flood(scene, agent):
    before = len(agent.facts())
    program = scene.attacker("asker.py", agent.port, CALLS_PER_SEC)
    slow = []
    until = time.monotonic() + FLOOD_SECS
    while time.monotonic() < until:
        time.sleep(0.3)
        slow.append(agent.health_ms())
    cost = agent.metric('krait_own_cpu_seconds_total{part="server"}')
    program.stop()
    facts = agent.facts()[before:]
    scene.ok(is_left_alone(facts), "the rate stays", brief(facts))
    scene.ok(cost and cost > 0, "what the server costs is told", cost)
    scene.ok(sorted(slow)[len(slow) // 2] < HEALTHY_MS and max(slow) < 10000, "others are answered", slow)


def folder_bytes(folder):
    found = 0
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                found += os.lstat(os.path.join(path, name)).st_blocks * 512
            except OSError:  # it has been replaced meanwhile
                pass
    return found


def names_of(agent, pid, first):
    """All names in a process's stacks, from that window on."""
    return {name for b in agent.bodies() for p in b.profiles if p.facts["krait.window.number"] >= first and
            p.resource.get("process.pid") == pid for stack, _, _, _ in p.samples for name, _ in stack}


def code(scene, agent, by):
    """Ever new code objects of two users: many, and with long names."""
    before, kept = len(agent.facts()), sorted(os.listdir(agent.keep))
    oldest = [n for n in kept if n.endswith(".data")][0]
    programs = {"new code": scene.attacker("newcode.py", 900, 20, 20),
                "long names": scene.attacker("newcode.py", 400, 900, 300, uid=attack.SPARE_UID)}
    until, peak = time.monotonic() + CODE_SECS, 0
    newcomer, rounds = None, 0
    # 30 ms of CPU each: of 20 rounds 11 samples are to be expected, however busy the machine is.
    while time.monotonic() < until or (rounds < 20 and time.monotonic() < until + 3 * CODE_SECS):
        by.work(30)
        by.tell()
        if not newcomer and time.monotonic() > until - CODE_SECS / 2:
            newcomer = scene.bystander()
        if newcomer:
            newcomer.work(30)
            newcomer.tell()
            rounds += 1
        time.sleep(0.1)
        peak = max(peak, folder_bytes(agent.keep))
    for program in programs.values():
        program.stop()
    time.sleep(1.2)  # the last window
    facts = agent.facts()[before:]
    scene.ok(is_left_alone(facts), "new code: the rate stays", brief(facts))
    left_out = sum(f.get("krait.window.names.left_out", 0) for f in facts)
    for what, program in programs.items():
        theirs = names_of(agent, program.pid, before + 1)
        scene.ok(left_out and LEFT_OUT in theirs, what + ": names are left out, marked and counted", left_out, len(theirs))
        scene.ok(max(map(len, theirs)) <= 512, what + ": none is long", max(map(len, theirs)))
    for who, one in ("the bystander", by), ("a newcomer", newcomer):
        names = names_of(agent, one.pid, before + 1)
        scene.ok("bystander_work" in names and not [n for n in names if n == LEFT_OUT or n.startswith("<unknown")],
                 "new code: %s has its names" % who, names)
    scene.ok(os.path.exists(os.path.join(agent.keep, oldest)) and peak < 3 * KEEP_BYTES / 4,
             "new code: what was kept of others stays", oldest, "peak %.1f MB" % (peak / 1e6), sorted(os.listdir(agent.keep)))


def main():
    tap = attack.begin()
    python = attack.python_of(tap, "S4", "3.11", "3.15")
    if python:
        with attack.Scene(tap, "S4: an agent under attack", python) as scene:
            by = scene.bystander()
            agent = Agent(scene.folder_of_host())
            scene.ok(agent.krait.recording(), "it begins to sample", agent.krait.words)
            by.work(1000)
            by.tell()
            time.sleep(FIRST_SECS - 1)
            flood(scene, agent)
            code(scene, agent, by)
            agent.krait.seconds = agent.krait.interrupt()
            scene.judge_krait(agent.krait, (0,), attack.END_SECS)
    attack.end(tap)


if __name__ == "__main__":
    main()
