# SPDX-License-Identifier: BSD-2-Clause
"""The command line of scripts/bench: which runs, in which order, and what happens to the results."""
import argparse
import json
import os
import signal
import subprocess
import sys
import time

import profilers  # makes the harness of the end-to-end tests known
import harness as h
import compare
import measure
import plan
import results

BPF_STATS = "/proc/sys/kernel/bpf_stats_enabled"


def arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Runs krait beside every other profiler that is there, on the same targets, "
                    "and shows what each delivers and costs. Asserts nothing.",
        epilog="Targets: " + "; ".join("%s (%s)" % (w.name, w.what) for w in plan.WORKLOADS) + ".")
    parser.add_argument("--what", choices=sorted(compare.NAMES), metavar="NAME",
                        help="another comparison instead, with a table of its own: " +
                        "; ".join("%s (%s)" % pair for pair in compare.NAMES.items()))
    parser.add_argument("--before", metavar="KRAIT", help="with --what pairs: the other build's executable")
    parser.add_argument("--quick", action="store_true", help="some minutes: few targets, one round")
    parser.add_argument("--target", action="append", default=[], metavar="NAME",
                        help="only this one (with --what native, pairs, unwinding and agents: those with this in their names); may be given "
                             "several times")
    parser.add_argument("--rate", action="append", default=[], type=int, metavar="HZ",
                        help="only this one, of all targets; may be given several times")
    parser.add_argument("--rival", action="append", metavar="NAME",
                        help="beside krait only profilers with this in their name; none: \"\"")
    parser.add_argument("--seconds", type=float, help="of each run (default 1.5, quick 1)")
    parser.add_argument("--rounds", type=int, help="default 3, quick 1")
    parser.add_argument("--out", default=os.path.join(h.BUILD, "bench"), metavar="NAME",
                        help="writes NAME.json and NAME.md (default build/bench)")
    parser.add_argument("--compare", metavar="OLD.json", help="also show what has become worse")
    parser.add_argument("--results", metavar="FILE.json", help="show these, measure nothing")
    parser.add_argument("--page", nargs="?", const=True, metavar="FILE.json",
                        help="measure what docs/MEASUREMENTS.md shows, all of its tables or that of --what, and write them there; "
                             "with a file only its tables")
    options = parser.parse_args()
    if isinstance(options.page, str):
        options.results = options.page
    names = [w.name for w in plan.WORKLOADS]
    if options.what not in (None, "native", "pairs", "unwinding", "agents") and options.target:
        parser.error("--target is not for --what " + options.what)
    if options.page and options.what and options.what not in compare.PAGE:
        parser.error("the page has no table of " + options.what)
    if (options.what == "pairs") != bool(options.before):
        parser.error("--what pairs and --before KRAIT belong together")
    for target in options.target:
        if target not in names and not options.what:
            parser.error("no target %r; there are %s" % (target, ", ".join(names)))
    options.seconds = options.seconds or (1.0 if options.quick else 1.5)
    options.rounds = options.rounds or (1 if options.quick else 3)
    return options


# ---- conditions -----------------------------------------------------------------------------------


def now():
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())


def load():
    return "%.1f" % os.getloadavg()[0]


def field(path, name):
    with open(path, encoding="utf-8") as f:
        return next((line.split(":")[1].strip() for line in f if line.startswith(name)), "?")


def commit():
    done = subprocess.run(["git", "-C", h.ROOT, "describe", "--always", "--dirty"],
                          capture_output=True, encoding="utf-8")
    return done.stdout.strip() or "unknown"


def conditions(options, versions):
    memory = int(field("/proc/meminfo", "MemTotal").split()[0]) >> 20
    return {"processor": field("/proc/cpuinfo", "model name"), "cpus": os.cpu_count(),
            "memory": "%d GiB" % memory, "kernel": os.uname().release, "start": now(),
            "load_start": load(), "commit": commit(), "versions": versions,
            "command": " ".join(["scripts/bench"] + sys.argv[1:]), "rounds": options.rounds,
            "seconds": options.seconds}


# ---- running --------------------------------------------------------------------------------------


def wanted(options):
    """Returns which profilers at which rates; always includes krait."""
    def want(profiler, rate=plan.USUAL_RATE):
        if isinstance(profiler, profilers.Krait):
            return not options.page or profiler.name == "krait"
        if options.rival is not None:
            return any(part and part in profiler.name for part in options.rival)
        if options.page:
            return profiler.name in plan.PAGE_RIVALS
        return rate == plan.USUAL_RATE or profiler.name not in plan.ONLY_USUALLY
    return want


def measure_all(options, pythons, document, save):
    """Runs all cells in rounds; in each cell one profiler after another, in a different order each round."""
    cells, want = plan.cells(options.quick, options.target, options.rate, options.page), wanted(options)
    for number in range(options.rounds):
        for name, rate in cells:
            workload = plan.workload(name)
            there = [p for p in profilers.all_profilers(workload.family)
                     if want(p, rate) and p.available(pythons)]
            turn = number % len(there)
            for profiler in there[turn:] + there[:turn]:
                row = measure.run(profiler, profiler.python(pythons), workload, rate,
                                  options.seconds)
                document["runs"].append(row)
                print("round %d: %s, %d Hz: %s%s" % (
                    number + 1, name, rate, profiler.name,
                    ": " + row["error"] if row["error"] else ""), file=sys.stderr)
        save()


def begin():
    """Returns all interpreters; from now on, profilers can be started."""
    pythons = h.all_interpreters()
    # A shell's background job ignores SIGINT, and so would everything it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # So that everything that was started is ended as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("krait: bench: terminated"))
    root = next((p.root for p in pythons if p.minor == "3.15" and p.root != "/"), "/")
    profilers.private_proc(root)
    return pythons


def compared(options, what, pythons):
    """Runs another comparison: prints it, and puts it into the page if requested."""
    only = options.target or (compare.PAGE[what] if options.page else None)
    text = compare.run(what, dict(conditions(options, {}), now=now, load=load), pythons, only, options.before)
    print(text)
    if options.page:
        compare.put_into_page(what, text)


def measured(options, pythons):
    everyone = [p for p in profilers.all_profilers() if wanted(options)(p)]
    there = {p.name: p.version for p in everyone if p.available(pythons)}
    document = {"conditions": conditions(options, there), "runs": [],
                "missing": {p.name: p.why for p in everyone if p.name not in there}}

    def save():
        document["conditions"].update(end=now(), load_end=load())
        write(options.out + ".json", json.dumps(document, indent=1))
        write(options.out + ".md", results.markdown(document))

    before = exchange_bpf_stats("1")
    try:
        measure_all(options, pythons, document, save)
    finally:
        exchange_bpf_stats(before)
    print("krait: bench: wrote %s.json and %s.md" % (options.out, options.out), file=sys.stderr)
    return document


def exchange_bpf_stats(value):
    """Turns the kernel's measuring of BPF programs on or off. Returns the old setting. A write counts only at the
    very beginning of the file, so it needs its own open."""
    with open(BPF_STATS, encoding="ascii") as f:
        before = f.read()
    with open(BPF_STATS, "w", encoding="ascii") as f:
        f.write(value)
    return before


def write(path, text):
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write(text)
    os.rename(path + ".new", path)


def read(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def main():
    options = arguments()
    pythons = None if options.results else begin()
    if options.what:
        return compared(options, options.what, pythons)
    document = read(options.results) if options.results else measured(options, pythons)
    print(results.conditions(document) + "\n\n" + results.full_table(document))
    if options.compare:
        print("\nagainst %s: %s" % (options.compare,
                                    results.comparison(read(options.compare), document)))
    if options.page:
        path = os.path.join(h.ROOT, "docs", "MEASUREMENTS.md")
        with open(path, encoding="utf-8") as f:
            text = f.read()
        write(path, results.put_into(text, results.page(document)))
        for name in compare.PAGE if pythons else ():
            compared(options, name, pythons)


if __name__ == "__main__":
    main()
