#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""krait report: its text, its exit codes, and that it pipes cleanly."""
# run-tests: beside others
import os
import subprocess

from tap import Tap

ROOT = os.environ.get("KRAIT_ROOT") or os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
KRAIT = os.environ.get("KRAIT") or os.path.join(ROOT, "build/krait")
SMALL = os.path.join(ROOT, "tests/golden/small.folded")
tap = Tap()
check = tap.ok


def report(*args, text=""):
    run = subprocess.run([KRAIT, "report", *args], input=text, capture_output=True, text=True,
                         timeout=60)
    return run.returncode, run.stdout, run.stderr


code, out, err = report(SMALL)
rows = out.splitlines()
check(code == 0 and not err, "a file is reported", (code, err))
check(rows[1].split() == ["27.0%", "41.3%", "270", "Cart.total", "cart.py"],
      "the hottest function is first", out)
check(rows[-1] == "1000 samples", "the samples are those of the file", out)
check("\x1b" not in out, "no colours when piped")

with open(SMALL, encoding="utf-8") as file:
    code, same, err = report("-", text=file.read())
check((code, same) == (0, out), "standard input gives the same", err)
code, out, err = report("--sort", "total", "-n", "2", SMALL)
check(code == 0 and out.splitlines()[1].endswith("server.py") and "13 more" in out,
      "rows are sorted and limited", out)
code, out, err = report("--tree", "--min-percent", "20%", SMALL)
check(code == 0 and "  Cart.total" in out and "dumps" not in out, "the tree is cut", out)

code, out, err = report("--function", "Cart.total", SMALL)
total = int(out.splitlines()[-1].split()[0])
check(code == 0 and 0 < total < 1000 and out.splitlines()[1].split()[3] == "Cart.total" and
      "100.0%" in out, "only stacks with a function", out)
code, same, err = report("--function", "tot[a]l", SMALL)
check((code, same) == (0, out), "by a pattern for the last part of its name", same)
code, out, err = report("--function", "cart.py", SMALL)
check(code == 0 and total <= int(out.splitlines()[-1].split()[0]) < 1000, "or by its file", out)
code, out, err = report("--function", "nothing", SMALL)
check(code == 6 and not out and "none of its 1000 samples" in err, "no such function: 6", (code, err))
code, out, err = report("--pid", "1", SMALL)
check(code == 2 and not out and "need a perf.data" in err, "what folded stacks do not tell: 2",
      (code, err))

code, out, err = report("-", text="a;b 3\nnonsense\n")
check(code == 0 and "1 of 2 lines" in err and "line 2" in err, "bad lines are said", err)
code, out, err = report("-", text="nonsense\n")
check(code == 7 and not out and "neither a perf.data capture nor folded" in err, "no folded text: 7",
      (code, err))
code, out, err = report("-", text="")
check(code == 6 and "no samples" in err, "no samples: 6", (code, err))
code, out, err = report("/nonexistent.folded")
check(code == 7 and "No such file" in err, "no such file: 7", (code, err))
code, out, err = report()
check(code == 7 and "cannot open perf.data" in err, "perf.data unless told otherwise", (code, err))
code, out, err = report("/")
check(code == 7 and "Is a directory" in err, "a folder: 7", (code, err))
for args in (["a", "b"], ["--sort", "name", SMALL], ["-n", "many", SMALL],
             ["--min-percent", "200", SMALL], ["--nonsense"]):
    code, out, err = report(*args)
    check(code == 2 and err and not out, f"usage: {' '.join(args) or 'no file'}", (code, err))
code, out, err = report("--help")
check(code == 0 and "examples:" in out, "--help", (code, err))

run = subprocess.run(["sh", "-c", 'yes "a;b 1" | head -n 1000; i=0; '
                      'while [ $i -lt 20000 ]; do echo "a;f$i 1"; i=$((i + 1)); done'],
                     capture_output=True, text=True)
many = run.stdout
run = subprocess.run(["bash", "-c", '"$0" report -n 0 - | head -n 1; echo "${PIPESTATUS[0]}"', KRAIT],
                     input=many, capture_output=True, text=True)
check(run.stdout.splitlines()[-1] == "0" and not run.stderr, "a reader that goes away is no error",
      (run.stdout, run.stderr))
if os.path.exists("/dev/full"):
    run = subprocess.run([KRAIT, "report", SMALL], stdout=open("/dev/full", "w"),
                         stderr=subprocess.PIPE, text=True)
    check(run.returncode == 7 and "No space" in run.stderr, "a full disk: 7", run)
tap.done()
