#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""What each interaction of the page costs: CPU time of the main thread until its first frame, and until nothing is left to do.

    page_interactions.py PAGE.html [REPEATS]

KRAIT_PAGES=DIR KRAIT_PAGES_HUGE=1 build/tests/unit/test_html writes huge.html: 496,000 nodes, 1,000,000 samples. CPU time and not the clock's,
so that other work on the machine does not count; of several repeats the median and the worst.
"""
import os
import statistics
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests/e2e"))
import chromium  # noqa: E402

CHOOSE = "(s => { s.value = '%s'; s.dispatchEvent(new Event('change')); })(document.getElementById('%s'))"
SEARCH = "(s => { s.value = '%s'; s.dispatchEvent(new Event('input')); })(document.getElementById('search'))"
RANGE = "krait.lanes().setRange(krait.strip().span * %g, krait.strip().span * %g, %s)"
PRESS = "document.getElementById('%s').click()"
KEY = "document.getElementById('stage').dispatchEvent(new KeyboardEvent('keydown', {key: '%s', bubbles: true}))"
FOCUS = "(b => { krait.state.focus = b[1].node; document.getElementById('stage').focus(); })(krait.boxes().sort((a, b) => b.total - a.total))"


def choose(element, value):
    return CHOOSE % (value, element)


# What is measured, and what undoes it without being measured.
STEPS = [
    ("drag a range", RANGE % (.2, .3, "false"), None),
    ("let it go", RANGE % (.2, .6, "true"), None),
    ("whole again", PRESS % "strip-whole", None),
    ("click a lane", "document.getElementById('lane-names').children[0].click()", PRESS % "strip-whole"),
    ("flip back", PRESS % "flip", PRESS % "flip" + ";" + FOCUS),
    ("zoom", KEY % "Enter", None),
    ("zoom out", PRESS % "reset", None),
    ("search, one letter", SEARCH % "a", None),
    ("search, a word", SEARCH % "encode", None),
    ("clear the search", PRESS % "clear", None),
    ("flip", PRESS % "flip", PRESS % "flip"),
    ("open the table", PRESS % "table-button", None),
    ("sort it", "document.querySelector('#panel th button[data-sort=name]').click()", None),
    ("range, table open", RANGE % (.3, .6, "true"), PRESS % "strip-whole" + ";" + PRESS % "table-button"),
    ("bottom-up", choose("view", "bottom-up"), None),
    ("range, bottom-up", RANGE % (.2, .3, "false"), PRESS % "strip-whole" + ";" + FOCUS),
    ("zoom, bottom-up", KEY % "Enter", None),
    ("callers", choose("view", "callers"), None),
    ("callees", choose("view", "callees"), None),
    ("range, callees", RANGE % (.2, .3, "false"), PRESS % "strip-whole"),
    ("callers and callees", choose("view", "sandwich"), None),
    ("source", choose("view", "source"), None),
    ("range, source", RANGE % (.2, .3, "true"), PRESS % "strip-whole" + ";" + choose("view", "stacks")),
    ("by process", choose("roots", "process"), None),
    ("by thread", choose("roots", "thread"), None),
    ("by program", choose("roots", "program"), choose("roots", "merged")),
    ("lines", choose("lines", "line"), None),
    ("functions", choose("lines", "function"), None),
    ("recursion folded", choose("recursion", "folded"), None),
    ("recursion shown", choose("recursion", "shown"), None),
]


def cpu(browser):
    metrics = {m["name"]: m["value"] for m in browser.call("Performance.getMetrics")["metrics"]}
    return 1000 * (metrics["ScriptDuration"] + metrics["LayoutDuration"] + metrics["RecalcStyleDuration"]), 1000 * metrics["TaskDuration"]


# Work that the page defers until after its picture waits until the counters have been read.
HOLD = """(() => {
    const timeout = window.setTimeout, idle = window.requestIdleCallback, held = [];
    const hold = real => (...what) => { held.push(() => real(...what)); return 0; };
    window.setTimeout = hold(timeout);
    window.requestIdleCallback = hold(idle);
    window.release = () => {
        window.setTimeout = timeout;
        window.requestIdleCallback = idle;
        held.forEach(act => act());
    };
    return new Promise(done => { requestAnimationFrame(() => timeout(done)); %s; });
})()"""


def measure(browser, script):
    browser.settle()
    begin = cpu(browser)
    browser.run(HOLD % script)
    first = cpu(browser)
    browser.run("release()")
    browser.run("window.krait.settled ? krait.settled() : 0")
    browser.settle()
    return first[1] - begin[1], cpu(browser)[1] - begin[1]


def main():
    path, repeats = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    browser = chromium.Browser(chromium.find(whole=True), timeout=180)
    found = {}
    try:
        browser.size(1440, 900)
        browser.call("Performance.enable", timeDomain="threadTicks")
        for _ in range(repeats):
            begin = cpu(browser)[1]
            browser.open(path)
            browser.run("krait.ready()")
            browser.settle()
            # The counters restart with the page.
            found.setdefault("load", []).append((cpu(browser)[1] - begin if cpu(browser)[1] > begin else cpu(browser)[1],) * 2)
            browser.run("window.krait.settled ? krait.settled() : 0")
            for name, script, back in STEPS:
                found.setdefault(name, []).append(measure(browser, script))
                if back:
                    browser.run(back)
                    browser.run("window.krait.settled ? krait.settled() : 0")
        if browser.errors:
            print(browser.errors)
    finally:
        browser.close()
    print(f"load {os.getloadavg()[0]:.1f}, {repeats} repeats, CPU ms: until the first frame (median, worst), in all (median)")
    for name, times in found.items():
        first, total = [t[0] for t in times], [t[1] for t in times]
        print(f"{name:22} {statistics.median(first):7.1f} {max(first):7.1f} {statistics.median(total):8.1f}")


if __name__ == "__main__":
    main()
