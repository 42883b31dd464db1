# SPDX-License-Identifier: BSD-2-Clause
"""What runs amount to: medians and spreads, tables, and what has become worse. Pure functions on
the document that scripts/bench writes:

    {"conditions": {...}, "missing": {profiler: why}, "runs": [row of measure.run(), ...]}
"""
import statistics

# A figure that is worse by this ratio is reported as a regression.
WORSE = 1.25
MARK = "<!-- bench: make bench writes what follows -->"
END_MARK = "<!-- /bench -->"


def median(values):
    values = [v for v in values if v is not None and v == v]
    return statistics.median(values) if values else None


def spread(values):
    """Returns half of the range of two or more values."""
    values = [v for v in values if v is not None and v == v]
    return (max(values) - min(values)) / 2 if len(values) > 1 else None


def total(rows, key):
    values = [r[key] for r in rows if r.get(key) is not None]
    return sum(values) if values else None


def summary(rows):
    """Returns one entry for the runs of a profiler on a target at a rate."""
    good = [r for r in rows if not r["error"]]
    entry = {key: rows[0][key] for key in ("target", "rate", "profiler", "python")}
    entry.update(runs=len(rows), failed=len(rows) - len(good))
    entry["error"] = next((r["error"] for r in rows if r["error"]), None)
    for key in ("asked", "delivered", "complete", "cpu_seconds", "bpf_seconds", "active_seconds",
                "bytes", "start_cpu"):
        entry[key] = median([r.get(key) for r in good])
    # Share of one core while it samples.
    entry["share"] = median([r["cpu_share"] + r["bpf_share"] for r in good])
    entry["cost"] = median([r["cost"] for r in good])
    entry["cost_spread"] = spread([r["cost"] for r in good])
    entry["noise"] = median([abs(r["drift"]) for r in good])
    entry["peak_kib"] = max([r["peak_kib"] for r in good], default=None)
    for key in ("judged", "wrong"):
        entry[key] = total(good, key)
    native = [r["native"] for r in good if r.get("native")]
    entry["native"] = [sum(n) for n in zip(*native)] or None
    return entry


def summaries(runs):
    """Returns all entries, by target and rate, in order of first appearance."""
    groups = {}
    for row in runs:
        groups.setdefault((row["target"], row["rate"]), {}).setdefault(row["profiler"], []).append(row)
    return [summary(rows) for cell in groups.values() for rows in cell.values()]


# ---- text -----------------------------------------------------------------------------------------


def table(head, rows):
    """Returns a Markdown table that is readable as text; the first column is left-aligned."""
    rows = [[str(c) for c in row] for row in rows]
    widths = [max(len(row[i]) for row in [head] + rows) for i in range(len(head))]

    def line(row):
        cells = [c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths))]
        return "| %s |" % " | ".join(cells)

    rule = ["-" * w if not i else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    return "\n".join([line(head), line(rule)] + [line(row) for row in rows])


def number(value):
    return "-" if value is None else "%.0f" % value


def percent(part, whole):
    """Formats a share so that it says 100 only if it is."""
    if part is None or not whole:
        return "-"
    share = 100 * part / whole
    text = "%.2f" % share if 0 < share < 0.1 else "%.1f" % share if share < 99.95 else "%.0f" % share
    return ("99.9" if text == "100" and part < whole else text) + " %"


def signed(share):
    return "-" if share is None else "%+.1f %%" % (100 * share)


def cost(entry):
    if entry["cost"] is None:
        return "-"
    if entry["cost_spread"] is None:
        return signed(entry["cost"])
    return "%s ± %.1f" % (signed(entry["cost"]), 100 * entry["cost_spread"])


def wrong(entry):
    return "-" if not entry["judged"] else percent(entry["wrong"], entry["judged"])


def whole(entry):
    """Returns the share of native stacks that reach the thread's start."""
    return percent(*entry["native"]) if entry.get("native") else "-"


def seconds(value):
    return "-" if value is None else "%.3f" % value


FULL_HEAD = ["target, Hz", "profiler", "asked", "delivered", "Python whole", "native whole", "wrong",
             "profiler CPU s", "of it BPF", "to start", "of a core", "target CPU", "peak MiB", "bytes a sample"]


def full_row(entry):
    name = "%s, %d" % (entry["target"], entry["rate"])
    if entry["delivered"] is None:
        return [name, entry["profiler"], "failed"] + [""] * (len(FULL_HEAD) - 3)
    return [name, entry["profiler"], number(entry["asked"]), number(entry["delivered"]),
            percent(entry["complete"], entry["delivered"]), whole(entry), wrong(entry),
            "%.3f" % (entry["cpu_seconds"] + entry["bpf_seconds"]), "%.3f" % entry["bpf_seconds"],
            seconds(entry["start_cpu"]), percent(entry["share"], 1), cost(entry),
            "%.1f" % (entry["peak_kib"] / 1024), number(entry["bytes"] / entry["delivered"])]


def failures(document):
    """Returns one line for each profiler that is missing or has failed, with the reason."""
    lines = ["%s: missing: %s" % pair for pair in document["missing"].items()]
    for entry in summaries(document["runs"]):
        if entry["failed"]:
            line = "%s on %s, %d Hz: %d of %d runs: %s" % (
                entry["profiler"], entry["target"], entry["rate"], entry["failed"], entry["runs"],
                entry["error"])
            lines.append(line)
    return lines


def full_table(document):
    rows = [full_row(e) for e in summaries(document["runs"])]
    rows += [["all", name, "missing"] + [""] * (len(FULL_HEAD) - 3)
             for name in document["missing"]]
    notes = "".join("\n- " + line for line in failures(document))
    return table(FULL_HEAD, rows) + ("\n" + notes if notes else "")


def conditions(document):
    """Returns a sentence each: where, when, with what."""
    c = document["conditions"]
    versions = ", ".join("%s %s" % pair for pair in c["versions"].items())
    return ("%s, %d CPUs, %s, kernel %s; %s to %s; load %s at the start, %s at the end\n"
            "commit %s; %s\n`%s`: medians of %d rounds of %g s; ± is half of the range" % (
                c["processor"], c["cpus"], c["memory"], c["kernel"], c["start"], c["end"],
                c["load_start"], c["load_end"], c["commit"], versions, c["command"], c["rounds"],
                c["seconds"]))


def markdown(document):
    lines = conditions(document).split("\n")
    return "# scripts/bench\n\n%s\n\n%s\n" % ("  \n".join(lines), full_table(document))


# ---- the page -------------------------------------------------------------------------------------


def pivot(document, names, cell):
    """Returns a table with a row for each target and rate, and a column for each profiler."""
    by_cell = {}
    for entry in summaries(document["runs"]):
        by_cell.setdefault((entry["target"], entry["rate"]), {})[entry["profiler"]] = entry
    rows = [["%s, %d" % key] + [cell(e[n]) if n in e else "-" for n in names]
            for key, e in by_cell.items()]
    return table(["target, Hz"] + list(names), rows)


def truth_cell(entry):
    if entry["delivered"] is None:
        return "failed"
    delivered = percent(min(entry["delivered"], entry["asked"]), entry["asked"])
    return delivered if entry["judged"] is None else "%s; %s" % (delivered, wrong(entry))


def cost_cell(entry):
    if entry["delivered"] is None:
        return "failed"
    return "%s; %s" % (cost(entry), percent(entry["share"], 1))


def page(document):
    """Returns the generated part of docs/MEASUREMENTS.md."""
    seen = []
    for row in document["runs"]:
        if row["profiler"] not in seen:
            seen.append(row["profiler"])
    python = [n for n in seen if not n.startswith("perf")]
    notes = ["- " + line for line in failures(document)]
    return "\n".join([
        "*%s.*" % conditions(document).replace("\n", ".*  \n*"), "",
        "Samples delivered of those asked for; of them, wrong: stacks that the target cannot have.", "",
        pivot(document, python, truth_cell), "",
        "What the target's work costs more, in CPU time; the profiler's own use of a core, BPF"
        " programs included.", "",
        pivot(document, seen, cost_cell)] + ([""] + notes if notes else []))


def put_into(text, part, begin=MARK, over=END_MARK):
    """Returns the page's text with the generated part between its marks."""
    before, mark, rest = text.partition(begin)
    _, end, after = rest.partition(over)
    if not mark or not end:
        raise ValueError("no place for it: %s ... %s" % (begin, over))
    return "%s%s\n%s\n%s%s" % (before, begin, part, over, after)


# ---- comparison -----------------------------------------------------------------------------------


def lost(entry):
    """Returns what was requested and not delivered, as a share."""
    return max(0.0, 1 - entry["delivered"] / entry["asked"]) if entry["asked"] else None


# Name, figure, and a constant added to both before they are divided: a much smaller difference is noise or does
# not matter.
FIGURES = [
    ("target CPU", lambda e: 1 + e["cost"], 0),
    ("profiler share of a core", lambda e: e["share"], 0.01),
    ("profiler CPU s", lambda e: e["cpu_seconds"] + e["bpf_seconds"], 0.05),
    ("lost", lost, 0.05),
    ("wrong", lambda e: e["wrong"] / e["judged"] if e["judged"] else None, 0.0001),
    ("peak MiB", lambda e: e["peak_kib"] / 1024, 1),
    ("bytes a sample", lambda e: e["bytes"] / e["delivered"], 10),
]


def compare(old, new):
    """Returns [(target, rate, profiler, figure, old, new, ratio)] of what both have: krait's first, the worst of them
    first."""
    before = {(e["target"], e["rate"], e["profiler"]): e for e in summaries(old["runs"])}
    found = []
    for entry in summaries(new["runs"]):
        key = (entry["target"], entry["rate"], entry["profiler"])
        past = before.get(key)
        if not past or past["delivered"] is None:
            continue
        if entry["delivered"] is None:
            found.append((*key, "runs at all", 1.0, 0.0, float("inf")))
            continue
        for what, figure, floor in FIGURES:
            a, b = figure(past), figure(entry)
            if a is not None and b is not None:
                found.append((*key, what, a, b, (b + floor) / (a + floor)))
    return sorted(found, key=lambda f: (not f[2].startswith("krait"), -f[-1]))


def comparison(old, new):
    """Returns as text what is worse and what is better."""
    changes = compare(old, new)
    shown = [c for c in changes if c[-1] >= WORSE] + [c for c in changes if c[-1] <= 1 / WORSE]
    rows = [["%s, %d" % c[:2], c[2], c[3], "%.4g" % c[4], "%.4g" % c[5], "%.2f" % c[6],
             "worse" if c[6] > 1 else "better"] for c in shown]
    worse = sum(1 for c in changes if c[-1] >= WORSE)
    text = "%d figures compared, %d worse by %.2f or more" % (len(changes), worse, WORSE)
    if not rows:
        return text
    return "%s\n\n%s" % (text, table(["target, Hz", "profiler", "figure", "old", "new", "ratio", ""],
                                     rows))
