#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait diff --fail-above: of programs that were recorded, and of stacks whose counts are known; and the files for CI.

How often it is wrong is in tests/unit/test_gate.c.
"""
import json
import os
import subprocess
import tempfile
from xml.etree import ElementTree

import yaml

import harness as h
from tap import Tap

tap = Tap()
# Two functions that share the time as an argument says; the clock is the program's own CPU time.
BENCH = """
import sys, time
def steady(n):
    for _ in range(n): sum(range(40))
def changed(n):
    for _ in range(n): sum(range(40))
end = time.process_time() + float(sys.argv[2])
while time.process_time() < end:
    steady(200); changed(int(sys.argv[1]))
"""


def gate(*args, **options):
    return h.run_krait("diff", *args, **options)


def check_recorded(folder):
    """Real captures: of the same program it passes, of one in which a function does half as much again it fails."""
    python = h.newest([p for p in h.all_interpreters() if p.root == "/" and not p.free_threaded])
    script = os.path.join(folder, "bench.py")
    with open(script, "w", encoding="ascii") as file:
        file.write(BENCH)
    made = {}
    for name, part in (("old1", 100), ("old2", 100), ("new1", 100), ("new2", 100), ("slow1", 200), ("slow2", 200)):
        made[name] = os.path.join(folder, name + ".data")
        done = h.run_krait("record", "-q", "-F", "4999", "--no-native", "--no-kernel", "-o", made[name], "--", python.path, script, str(part), "0.6")
        tap.ok(done.returncode == 0, f"{name}: recorded", done.stderr)
    done = gate("--fail-above", "15%", made["old1"], made["old2"], "vs", made["new1"], made["new2"])
    tap.ok(done.returncode == 0 and "pass: " in done.stdout and "old1.data and 1 more, 2 captures" in done.stdout, "the same program passes", done.stdout, done.stderr)
    done = gate("--fail-above", "15%", made["old1"], made["old2"], "vs", made["slow1"], made["slow2"])
    fails = [line.split() for line in done.stdout.splitlines() if line.startswith("FAIL")]
    tap.ok(done.returncode == 9 and [f[-2] for f in fails] == ["changed"] and 60 < float(fails[0][1].strip("+%")) < 150, "a function that does more fails",
           done.stdout, done.stderr)


def folded(folder, name, **counts):
    path = os.path.join(folder, name + ".folded")
    with open(path, "w", encoding="ascii") as file:
        file.writelines(f"main (m.py:1);{function} (m.py:9) {cnt}\n" for function, cnt in counts.items())
    return path


def check_known(folder):
    old, same = folded(folder, "old", hot=6000, cold=14000), folded(folder, "same", hot=6050, cold=13950)
    slow, new = folded(folder, "slow", hot=6600, cold=14000), folded(folder, "new", hot=6000, cold=14000, added=400)
    for args, code, words in (
            (["--fail-above", "5%", old, same], 0, ["pass"]), (["--fail-above", "5%", "--work", "1", old, slow], 9, ["FAIL", "+10.0%", "hot (m.py)"]),
            (["--fail-above", "5%:hot", "--work", "1", old, slow], 9, ["1 of 1:"]), (["--fail-above", "5%:cold", "--work", "1", old, slow], 0, ["pass"]),
            (["--fail-above", "15%", "--work", "1", old, slow], 0, ["pass"]), (["--fail-above", "5%", "--work", "10,11", old, slow], 0, ["pass"]),
            (["--fail-above", "5", old, new], 9, ["new", "added (m.py)"]), (["--fail-above", "5%:nosuch", old, slow], 6, ['no function "nosuch"']),
            (["--fail-above", "5%:total", old, slow], 2, ["--work"]), (["--fail-above", "5%:total", "--work", "1", old, slow], 2, ["three captures a side"]),
            (["--fail-above", "5%:total", "--work", "1", old, old, old, "vs", slow, slow, slow], 0, ["pass"]),
            (["--fail-above", "2%:total", "--work", "1", old, old, old, "vs", slow, slow, slow], 9, ["fail", "+3.0%"]),
            (["--fail-above", "x", old, slow], 2, ["--fail-above takes"]), (["--work", "3", old, slow], 2, ["goes with --fail-above"]),
            ([old, same, slow], 2, ['"vs"']), ([old, "vs"], 2, ["nothing follows"])):
        done = gate(*args)
        tap.ok(done.returncode == code and all(w in done.stdout + done.stderr for w in words), " ".join(os.path.basename(a) for a in args), done)
    done = gate("--fail-above", "5%", "--work", "1", "--json", old, slow)
    said = json.loads(done.stdout)["gate"]
    row = said["rows"][0]
    tap.equal((said["values"], said["unit"]), ("per_work", "events per unit of work"), "--json names the unit of its values")
    tap.ok(done.returncode == 9 and said["fails"] and (row["function"], row["fails"], row["change_ppm"]) == ("hot", True, 100000) and 50000 <= row["detects_ppm"] < 110000,
           "--json has the verdicts", done.stdout)
    several = gate("-n", "1", old, old, "vs", slow)
    tap.ok("2 captures" not in several.stdout and "40,000 samples" in several.stdout and several.returncode == 0, "several captures without a gate are added up", several)
    junit = os.path.join(folder, "junit.xml")
    evil = folded(folder, "evil", **{"<&\"'>": 9000})
    done = gate("--fail-above", "5%", "--junit", junit, "-o", os.path.join(folder, "x.html"), old, evil)
    suite = ElementTree.parse(junit).getroot()[0]
    failed = [case.get("name") for case in suite if len(case)]
    tap.ok(done.returncode == 9 and failed == ["<&\"'> (m.py)"] and suite.get("failures") == "1" and int(suite.get("tests")) == len(suite) and
           os.path.getsize(os.path.join(folder, "x.html")) > 20000, "JUnit's XML, and a page", done, failed)


def check_ci(folder):
    """What the action and the job run: with a krait in the path, as their services run it."""
    os.symlink(os.path.abspath(h.KRAIT), os.path.join(folder, "krait"))
    for i in range(3):
        folded(folder, f"old{i}", hot=6000 + i, cold=14000)
        folded(folder, f"new{i}", hot=9000 + i, cold=14000)
    env = {**os.environ, "PATH": folder + ":" + os.environ["PATH"], "BEFORE": "old?.folded", "AFTER": "new?.folded", "FAIL_ABOVE": "5%"}
    with open(os.path.join(h.ROOT, "deploy/ci/action.yml"), encoding="utf-8") as file:
        action = yaml.safe_load(file)
    step = action["runs"]["steps"][0]
    tap.equal(sorted(v.split(".")[1].split()[0] for v in step["env"].values()), sorted(action["inputs"]), "action: each input is used")
    summary = os.path.join(folder, "summary.md")
    run = lambda script, **more: subprocess.run(["bash", "-e", "-c", script], cwd=folder, env={**env, **more}, capture_output=True, text=True, check=False)
    for after, code in (("new?.folded", 9), ("old?.folded", 0)):
        done = run(step["run"], AFTER=after, WORK="", JUNIT="j.xml", PAGE="p.html", GITHUB_STEP_SUMMARY=summary)
        with open(summary, encoding="utf-8") as file:
            text = file.read()
        tap.ok(done.returncode == code and text.count("```") % 2 == 0 and "hot (m.py)" in text and os.path.exists(os.path.join(folder, "p.html")),
               f"action: exit code {code}, and a summary", done, text)
    with open(os.path.join(h.ROOT, "deploy/ci/gitlab-ci.yml"), encoding="utf-8") as file:
        job = yaml.safe_load(file)[".krait-diff"]
    done = run("\n".join(job["script"]), **{k: v for k, v in job["variables"].items()})
    tap.ok(done.returncode == 9 and os.path.exists(os.path.join(folder, job["artifacts"]["reports"]["junit"])), "GitLab: exit code 9, and a report", done)


with tempfile.TemporaryDirectory(prefix="krait-gate-") as work:
    check_known(work)
with tempfile.TemporaryDirectory(prefix="krait-gate-") as work:
    check_ci(work)
if os.environ.get("KRAIT_CAN_BPF", "1" if os.geteuid() == 0 else "0") == "1":
    with tempfile.TemporaryDirectory(prefix="krait-gate-") as work:
        check_recorded(work)
else:
    tap.skip("recordings", "need root and BPF")
tap.done()
