#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""S4: what strangers make krait agent do is theirs to pay. Whoever asks its HTTP server for pages leaves the rate and the
budget alone, and keeps nobody else from asking."""
import json
import os
import re
import socket
import time
import urllib.request

import attack
import otlp

FIRST_SECS = 6.5  # the first seconds are not judged
ATTACK_SECS = 5
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
                                  "--keep-bytes", "16M", "--keep-dir", self.keep, *args)
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
    until = time.monotonic() + ATTACK_SECS
    while time.monotonic() < until:
        time.sleep(0.3)
        slow.append(agent.health_ms())
    cost = agent.metric('krait_own_cpu_seconds_total{part="server"}')
    program.stop()
    facts = agent.facts()[before:]
    scene.ok(is_left_alone(facts), "the rate stays", brief(facts))
    scene.ok(cost and cost > 0, "what the server costs is told", cost)
    scene.ok(sorted(slow)[len(slow) // 2] < HEALTHY_MS and max(slow) < 10000, "others are answered", slow)


def main():
    tap = attack.begin()
    python = attack.python_of(tap, "S4", "3.11", "3.15")
    if python:
        with attack.Scene(tap, "S4: an agent under attack", python) as scene:
            by = scene.bystander()
            agent = Agent(scene.folder_of_host())
            scene.ok(agent.krait.recording(), "it begins to sample", agent.krait.words)
            by.work(60000)
            time.sleep(FIRST_SECS)
            flood(scene, agent)
            agent.krait.seconds = agent.krait.interrupt()
            scene.judge_krait(agent.krait, (0,), attack.END_SECS)
    attack.end(tap)


if __name__ == "__main__":
    main()
