#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait report: its text, its exit codes, and that it works in pipes."""
import json
import os
import pstats
import pty
import subprocess
import tempfile
from xml.etree import ElementTree

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
check(rows[-2] == "1,000 samples", "the samples are those of the file", out)
check(rows[-1].startswith("[truncated: depth] in 0.3%: the stack is deeper"), "a mark is explained", out)
check("\x1b" not in out, "no colours when piped")

with open(SMALL, encoding="utf-8") as file:
    code, same, err = report("-", text=file.read())
check((code, same) == (0, out), "standard input gives the same", err)
code, out, err = report("--json", SMALL)
said = json.loads(out)
event = said["events"][0]
hot = event["rows"][0]
check(code == 0 and not err and (said["schema"], said["version"]) == ("krait.report", 1), "--json: says what it is", out, err)
check((hot["function"], hot["file"].rsplit("/", 1)[-1], hot["kind"], hot["self"]) == ("Cart.total", "cart.py", "python", 270) and
      event["all"] == 1000 and sum(row["self"] for row in event["rows"]) == 1000, "--json: all rows, and their sum", out)
check(len(event["rows"]) == len(rows) - 3 and all(
    line.split()[3].startswith(row["function"].split()[0]) for row, line in zip(event["rows"], rows[1:])), "--json: the table's rows", out)
check(len(json.loads(report("--json", "-n", "2", SMALL)[1])["events"][0]["rows"]) == 2, "--json: -n limits")
code, out, err = report("--json=lines", SMALL)
head, *rows_ = map(json.loads, out.splitlines())
check(code == 0 and (head["schema"], head["version"]) == ("krait.report", 1) and {key: event[key] for key in event if key != "rows"}.items() <= head.items() and
      [{key: row[key] for key in row if key != "event"} for row in rows_] == event["rows"] and {row["event"] for row in rows_} == {event["event"]},
      "--json=lines: the event, then its rows, each on a line", out, err)
check(report("--json=x", SMALL)[0] == 2, "--json=x is refused")
code, out, err = report("--json", "--by", "thread", SMALL)
check(code == 2 and "--json has functions or lines" in err and not out, "--json: of functions and lines", (code, err))
evil = json.loads(report("--json", "-", text='a "b\\ \x1b[31m (x.py:3) 2\nc 1\n')[1])["events"][0]["rows"]
check(sum(row["self"] for row in evil) == 3 and "\x1b" not in json.dumps(evil, ensure_ascii=False), "--json: hostile names", evil)
code, out, err = report("--callees", "a", "--unit", "samples", "--min-percent", "0", "-", text="m;a;b 3\nn;a;b;a;c 2\na 1\nx;b 4\n")
check(code == 0 and [line.replace("│", " ").replace("├─", "").replace("└─", "").split() for line in out.splitlines()[1:]][:4] ==
      [["60.0%", "10.0%", "a"], ["50.0%", "30.0%", "b"], ["20.0%", "0.0%", "a"], ["20.0%", "20.0%", "c"]], "--callees: what a function calls, from wherever", out, err)
code, out, err = report("--callees", "a", "--callers", "b", "-", text="m;a;b 3\n")
check(code == 2 and "at a time" in err, "--callees or --callers", err)
with tempfile.TemporaryDirectory() as folder:
    os.makedirs(os.path.join(folder, ".config/krait"))
    with open(os.path.join(folder, ".config/krait/config"), "w", encoding="utf-8") as file:
        file.write("# defaults\n[record]\n\tfreq = 99\n[report]\n\tlimit = 2\n\tchildren\n")
    def with_defaults(*args, **env):
        env = {**{k: v for k, v in os.environ.items() if k not in ("XDG_CONFIG_HOME", "KRAIT_CONFIG")}, "HOME": folder, **env}
        return subprocess.run([KRAIT, *args], capture_output=True, text=True, env=env)
    run = with_defaults("report", SMALL)
    check(run.returncode == 0 and "13 more" in run.stdout and run.stdout.splitlines()[1].endswith("server.py"), "defaults of the user's file count", run)
    check("12 more" in with_defaults("report", "-n", "3", SMALL).stdout, "what is typed wins")
    check("13 more" not in with_defaults("report", SMALL, KRAIT_CONFIG="").stdout, "KRAIT_CONFIG= leaves them out")
    run = with_defaults("report", "--sort", "x", SMALL)
    check(run.returncode == 2 and f"defaults are in {folder}/.config/krait/config" in run.stderr, "a mistake says where defaults are", run)
    os.chmod(os.path.join(folder, ".config/krait/config"), 0o666)
    run = with_defaults("report", SMALL)
    check(run.returncode == 2 and "others can write" in run.stderr and with_defaults("report", "--help").returncode == 0, "a file that others may write is refused", run)
    made = lambda suffix: os.path.join(folder, "x" + suffix)
    odd = '"</title>\\\x1b[31m é'
    with open(made(".folded"), "w", encoding="utf-8") as file:
        file.write(f"a (x.py:1);b (y.py:2);a (x.py:1) 5\na (x.py:1) 3\n{odd} (z.py:3) 2\n")
    run = subprocess.run([KRAIT, "convert", "-q", made(".folded"), *(arg for s in (".pstats", ".jsonl", ".svg") for arg in ("-o", made(s)))],
                         capture_output=True, text=True)
    stats = pstats.Stats(made(".pstats")).stats
    name = next(key[2] for key in stats if key[0] == "z.py")
    a, b = ("x.py", 0, "a"), ("y.py", 0, "b")
    check(stats == {a: (8, 8, 8.0, 8.0, {b: (5, 5, 5.0, 5.0)}), b: (5, 5, 0.0, 5.0, {a: (5, 5, 0.0, 5.0)}), ("z.py", 0, name): (2, 2, 2.0, 2.0, {})} and
          "\x1b" not in name and run.returncode == 0, "pstats: functions and their callers; recursion counts once", stats, run)
    with open(made(".jsonl"), encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    check([r["type"] for r in records] == ["meta", "string_table", "frame_table", "agg", "end"] and len({r["run_id"] for r in records}) == 1 and
          {r["v"] for r in records} == {0}, "jsonl: Tachyon's records", records)
    strings, frames = ({e[key]: e for e in r[table]} for r, key, table in ((records[1], "str_id", "strings"), (records[2], "frame_id", "frames")))
    said = {(strings[frames[e["frame_id"]]["path_str_id"]]["value"], frames[e["frame_id"]]["line"]): (e["self"], e["cumulative"]) for e in records[3]["entries"]}
    check(said == {("", 0): (0, 0), ("x.py", 1): (8, 8), ("y.py", 2): (0, 5), ("z.py", 3): (2, 2)} and records[4]["samples_total"] == 10, "jsonl: sums of lines", said)
    boxes = ElementTree.parse(made(".svg")).getroot().findall("{*}g")
    wide = {g[0].text.split("\n")[0]: float(g[1].get("width")) for g in reversed(boxes)}
    check(len(boxes) == 5 and wide["a (x.py)"] == 960 and wide["b (y.py)"] == 600 and "\x1b" not in "".join(wide), "svg: each box as wide as its share", wide)
with tempfile.NamedTemporaryFile("w", suffix=".folded") as after:
    after.write("a;b 9\na;d 1\n")
    after.flush()
    run = subprocess.run([KRAIT, "diff", "--json", "-m", "0", "-", after.name], input="a;b 5\na 3\na;c 2\n", capture_output=True, text=True)
    said = json.loads(run.stdout or "{}")
    check(run.returncode == 0 and said["schema"] == "krait.diff" and [side["all"] for side in said["sides"]] == [10, 10] and
          {row["function"]: (row["self"], row["total"]) for row in said["rows"]} ==
          {"a": ([3, 0], [10, 10]), "b": ([5, 9], [5, 9]), "c": ([2, 0], [2, 0]), "d": ([0, 1], [0, 1])}, "diff --json", run)
code, out, err = report("--sort", "total", "-n", "2", SMALL)
check(code == 0 and out.splitlines()[1].endswith("server.py") and "13 more" in out,
      "rows are sorted and limited", out)


def on_terminal(command, *args, env=None):
    """Returns what a command writes to a terminal, and how it ends."""
    master, slave = pty.openpty()
    with subprocess.Popen([KRAIT, command, *args], stdin=slave, stdout=slave, stderr=slave,
                          env={**os.environ, "TERM": "xterm", **(env or {})}) as process:
        os.close(slave)
        text = b""
        while True:
            try:
                more = os.read(master, 65536)
            except OSError:
                break
            text += more
        process.wait(60)
    os.close(master)
    return process.returncode, text.decode().replace("\r\n", "\n")


MARKED = {"KRAIT_PAGER": "sed 's/^/> /'"}
code, out = on_terminal("report", SMALL, env=MARKED)
check(code == 0 and "Cart.total" in out and all(line.startswith("> ") for line in out.splitlines()),
      "a terminal gets a report through the pager", out)
for args, env in ((("--no-pager",), MARKED), ((), {"KRAIT_PAGER": ""}), ((), {"PAGER": "cat"}), ((), {**MARKED, "TERM": "dumb"})):
    code, plain = on_terminal("report", *args, SMALL, env=env)
    check(code == 0 and "Cart.total" in plain and not plain.startswith("> "), f"none with {args} {env}", plain)
code, out = on_terminal("report", SMALL, env={"KRAIT_PAGER": "head -1"})
check(code == 0 and out.count("\n") == 1, "a pager that ends early is no error", (code, out))
with tempfile.NamedTemporaryFile("w", suffix=".folded") as lines:
    lines.write("a (/x.py:1);b (/x.py:2) 5\n")
    lines.flush()
    code, out = on_terminal("annotate", "-i", lines.name, env=MARKED)
    check(code == 0 and out.startswith("> "), "annotate likewise", (code, out))
code, out, err = report(SMALL)
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
check(code == 0 and "Examples:" in out, "--help", (code, err))

long = "main (app.py:3);Long.%s (/srv/%s.py:7) 40\nmain (app.py:3);%s (wide.py:1) 60\n" % ("n" * 3000, "d" * 3000, "\u6f22" * 2000)
for args in (["report"], ["report", "--tree"], ["report", "--callers", "Long.*"], ["annotate"]):
    run = subprocess.run([KRAIT, *args, "-i", "-"], input=long, capture_output=True, text=True)
    check(run.returncode == 0 and max(map(len, run.stdout.splitlines())) < 400 and "..." in run.stdout,
          "%s: long names lose their middle" % " ".join(args), run.stdout[:500], run.stderr)
code, out, err = report("-", text=long)
check("  Long.nnn" in out and "ddd.py\n" in out, "a long name has its begin, a file its end", out[:1000])
run = subprocess.run([KRAIT, "convert", "-f", "folded", "-i", "-", "-o", "-"], input=long, capture_output=True, text=True)
check("n" * 3000 in run.stdout and "\u6f22" * 2000 in run.stdout, "what programs read has it whole", run.stdout[:500], run.stderr)

bare = "main (app.py:3);stripped (app.py) 30\nmain (app.py:3) 70\n"
run = subprocess.run([KRAIT, "annotate", "-i", "-", "stripped"], input=bare, capture_output=True, text=True)
check(run.returncode == 0 and "Without lines: " in run.stdout and " 30.00%       30  30.00%         stripped  app.py" in run.stdout,
      "annotate: a function without lines has its share", run)
run = subprocess.run([KRAIT, "annotate", "-i", "-"], input=bare, capture_output=True, text=True)
check("app.py: 70 samples" in run.stdout and run.stdout.endswith("\nNot shown: 30.0% in functions without lines (krait report names them)\n"),
      "annotate: what it cannot show", run)
with tempfile.TemporaryDirectory() as folder:
    with open(folder + "/long.py", "w", encoding="utf-8") as file:
        file.write("".join("step(%d)\n" % i for i in range(1, 301)))
    # Twelve warm lines, one that is hot, one that is cold and far from all others.
    stacks = "".join("f (%s/long.py:%d) %d\n" % (folder, line, count) for line, count in
                     [(i, 20) for i in range(100, 112)] + [(200, 700), (290, 1), (108, 1)]) + "[native thread] 98\n"
    run = subprocess.run([KRAIT, "annotate", "-i", "-", "-s", folder], input=stacks, capture_output=True, text=True)
    rows = run.stdout.splitlines()
    check(rows[0] == "The hottest lines" and rows[2].split()[0] == "67.31%" and rows[2].endswith("long.py:200  step(200)") and
          rows[3].endswith("long.py:108  step(108)") and rows[12] == "", "annotate: the hottest lines come first", run)
    check(" 290  step" not in run.stdout and " 104  step(104)" in run.stdout and
          rows[-1] == "Not shown: 9.4% [native thread]", "annotate: cold lines and what is around them are left out", run)
    for args, seen in ((("--min-percent", "0"), True), (("f",), True), (("--min-percent=50%", "f"), False)):
        run = subprocess.run([KRAIT, "annotate", "-i", "-", "-s", folder, *args], input=stacks, capture_output=True, text=True)
        check((" 290  step" in run.stdout) == seen, "annotate %s" % " ".join(args), run)
with tempfile.TemporaryDirectory() as folder:
    run = subprocess.run([KRAIT, "annotate", "-i", "-", "stripped", "-o", folder + "/x.html"], input=bare, capture_output=True, text=True)
    check(run.returncode == 6 and "what has samples has no lines" in run.stderr, "annotate: no page of it", run)

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
