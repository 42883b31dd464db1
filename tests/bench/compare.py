# SPDX-License-Identifier: BSD-2-Clause
"""Comparisons of other kinds than measure.py makes: each has a module compare_NAME.py, whose run() returns a table's
head, its rows, and notes. Those in PAGE have a place in docs/MEASUREMENTS.md, and say there what a reader needs."""
import importlib
import os
import sys

import harness as h
import results

NAMES = {
    "native": "native stacks, by interpreter and library",
    "pairs": "this build beside another one (--before)",
    "unwinding": "what native stacks cost: a sample, a library's rows, many processes",
    "dump": "looking once",
    "starts": "programs that start while krait records",
    "waits": "time off the CPU, and the GIL",
    "switches": "what a switch costs with --off-cpu",
    "tasks": "chains of asyncio tasks",
    "agents": "krait agent and OTel's profiler into one Collector",
    "fleet": "what an agent sends, and 200 hosts into one Collector",
}


# On the page, and there only targets with these in their names; None: all.
PAGE = {"native": ("callbacks, 3.12", "callbacks, 3.14", "numpy", "cryptography", "polars", "greenlet"),
        "waits": None, "dump": None, "agents": ("3.14, 19, 100$", "3.14, 97, 300$")}


def marks(name):
    return "<!-- bench %s: make bench writes what follows -->" % name, "<!-- /bench %s -->" % name


def conditions(found):
    return "*%s, %d CPUs, kernel %s; %s to %s; load %s at the start, %s at the end; commit %s; `%s`.*" % (
        found["processor"], found["cpus"], found["kernel"], found["start"], found["end"], found["load_start"],
        found["load_end"], found["commit"], found["command"])


def run(name, found, pythons, only, before=None):
    """Returns the part of the page, with now() and load() from after the run. only: parts of names of targets;
    before: the other build, for pairs."""
    module = importlib.import_module("compare_" + name)
    options = {"only": only} if only else {}
    if name == "pairs":
        options["before"] = before
    head, rows, notes = module.run(pythons, lambda text: print("krait: bench: " + text, file=sys.stderr, flush=True),
                                   **options)
    if not rows:
        raise SystemExit("krait: bench: nothing could be measured: %s" % "; ".join(notes))
    found.update(end=found["now"](), load_end=found["load"]())
    text = conditions(found) + "\n\n" + results.table(head, rows)
    return text + ("\n\n" + "\n".join("- " + n.replace("\n", " ") for n in notes) if notes else "")


def put_into_page(name, text):
    path = os.path.join(h.ROOT, "docs", "MEASUREMENTS.md")
    with open(path, encoding="utf-8") as f:
        page = f.read()
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write(results.put_into(page, text, *marks(name)))
    os.rename(path + ".new", path)
