#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Every view of the page adds up to the same totals, and a capture of krait 0.1.0 opens in each.

`make check` tries each choice of each option and each of the hottest functions on each page, and all combinations on the pages
in PRODUCT; `make check-all` tries all combinations on all pages.

tests/golden/capture-0.1.0 was recorded by krait 0.1.0 (9e90da3, CPython 3.11): shop.py, 93 samples.

"""
import json
import os
import pstats
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chromium  # noqa: E402
from tap import Tap  # noqa: E402
from test_flamegraph_page import BUILD, IS_ALL, ROOT, Page, make_pages  # noqa: E402

OLD = os.path.join(ROOT, "tests/golden/capture-0.1.0/old.data")
SAMPLES = 93
tap = Tap()

CHOOSE = "(s => { s.value = '%s'; s.dispatchEvent(new Event('change')); })(document.getElementById('%s'));"

# Pages on which all combinations of options are always tried: threads of several processes, and the old capture.
PRODUCT = ("many", "old")

# The sum of each view by the chosen measure and grouping, and what does not agree.
VIEWS = """(async product => {
    const choose = (id, value) => (s => { s.value = value; s.dispatchEvent(new Event('change')); })(document.getElementById(id));
    const near = (a, b) => Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a)), wrong = [], said = [];
    const options = id => [...document.getElementById(id).options].filter(o => !o.disabled).map(o => o.value);
    const tree = () => krait.state.tree, base = krait.state.base;
    const expect = (what, got, want) => near(got, want) || wrong.push([what, got, want]);
    const opened = (what, t) => {
        const sum = new Float64Array(t.cnt), other = new Float64Array(t.cnt);
        for (let i = t.cnt - 1; i > 0; i--) {
            sum[t.parent[i]] += t.total[i];
            if (t.other)
                other[t.parent[i]] += t.other[i];
        }
        for (let i = 0; i < t.cnt; i++) {
            if (t.opened[i])
                expect(what + ', box ' + i, sum[i] + t.self[i], t.total[i]);
            if (t.opened[i] && t.other && other[i] > t.other[i] + t.otherSelf[i] + 1e-6)
                wrong.push([what + ', compared, box ' + i, other[i], t.other[i]]);
        }
    };
    /* All, or so few that each choice is in one of them. */
    const combinations = lists => product ? lists.reduce((all, list) => all.flatMap(a => list.map(x => [...a, x])), [[]]) :
        [...Array(Math.max(...lists.map(l => l.length))).keys()].map(i => lists.map(l => l[i % l.length]));
    const measures = document.getElementById('measure').parentNode.hidden ? [''] : options('measure');
    let all = null;
    for (const measure of measures) {
        if (measure)
            choose('measure', measure);
        const sums = [];
        const combined = combinations(['roots', 'lines', 'recursion'].map(options));
        for (const [turn, [roots, lines, recursion]] of combined.entries()) {
            choose('roots', roots); choose('lines', lines); choose('recursion', recursion);
            choose('view', 'stacks'); await krait.settled();
            const what = [measure, roots, lines, recursion].join(' '), total = tree().total[0];
            sums.push(total);
            opened(what + ' stacks', tree());
            const rows = krait.functions(), none = base.self[0];
            /* Processes and threads have no row and no self. */
            expect(what + ' table', rows.reduce((n, r) => n + r.self, 0), total);
            const counted = KraitStacks.countFrames(base, null);
            choose('view', 'bottom-up'); await krait.settled();
            expect(what + ' bottom-up', tree().total[0] + none, total);
            opened(what + ' bottom-up', tree());
            for (let i = 1; i < tree().cnt; i = tree().end[i])
                if (!tree().rest[i])
                    expect(what + ' bottom-up ' + i, tree().total[i], counted.self[tree().frame[i]] - (tree().frame[i] ? 0 : none));
            const hot = [...counted.total.keys()].filter(f => base.frames[f].kind === 'python')
                .sort((a, b) => counted.total[b] - counted.total[a]).slice(0, 3);
            /* All of them in each combination, or in turn. */
            const about = product || combined.length < hot.length ? hot : hot.slice(turn % hot.length, turn % hot.length + 1);
            for (const frame of about)
                for (const view of ['callers', 'callees', 'sandwich']) {
                    choose('view', 'stacks');
                    krait.state.about = krait.state.chosen = base.frames[frame];
                    krait.state.focus = 0;
                    choose('view', view); await krait.settled();
                    expect(what + ' ' + view + ' of ' + base.frames[frame].name, tree().total[0], counted.total[frame]);
                    opened(what + ' ' + view, tree());
                    if (view === 'sandwich')
                        expect(what + ' its callers', krait.callers().tree.total[0], counted.total[frame]);
                }
            krait.state.chosen = null;
        }
        choose('view', 'source'); await krait.settled();
        const heat = krait.source().heat(), raw = krait.finest();
        expect(measure + ' source, all', heat.all, sums[0]);
        expect(measure + ' source, lines', heat.lines.reduce((n, l) => n + l.self, 0), heat.files.reduce((n, f) => n + f.self, 0));
        if (heat.files.some(f => f.total > heat.all + 1e-6) || heat.lines.some(l => l.total > heat.all + 1e-6 || l.self > l.total + 1e-6))
            wrong.push([measure + ' source: a sample counts twice']);
        choose('view', 'stacks'); choose('roots', 'merged'); choose('lines', 'function'); choose('recursion', 'shown');
        sums.forEach((s, i) => expect(measure + ' grouping ' + i, s, sums[0]));
        said.push([measure, sums[0]]);
        if (krait.strip()) {
            const s = krait.strip(), whole = KraitStrip.selves(s, new Float64Array(base.cnt), {}, measure).reduce((a, b) => a + b, 0);
            if (Math.abs(whole - sums[0]) > 1e-3)
                wrong.push([measure + ' strip', whole, sums[0]]);
        }
    }
    return [said, wrong.slice(0, 5)];
})"""


def check_views(browser, folder, name):
    page = Page(browser, folder, name)
    said, wrong = browser.run("%s(%s)" % (VIEWS, "true" if IS_ALL or name in PRODUCT else "false"))
    tap.ok(said and all(total > 0 for _, total in said), "%s: there is something to add up" % name, said)
    tap.equal(wrong, [], "%s: every view has the same totals, %s" % (name, ", ".join(m or "samples" for m, _ in said)))
    tap.equal(browser.errors, [], "%s: no error on the console" % name)
    return page, dict(said)


def krait(*args):
    """Without any build-id cache: everything needed is beside the capture."""
    env = {**os.environ, "PERF_BUILDID_DIR": "/nonexistent", "LC_ALL": "C.UTF-8"}
    return subprocess.run([os.path.join(BUILD, "krait"), *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          encoding="utf-8", timeout=60, env=env, stdin=subprocess.DEVNULL)


def check_old_texts(folder):
    for args, want in ((("report",), r"%d samples" % SAMPLES), (("report", "--tree"), "Cart.checkout"),
                       (("report", "--callers", "Cart.total"), "Cart.checkout"), (("report", "--by", "line"), r"shop.py:\d+"),
                       (("report", "--by", "thread"), "python3"), (("report", "--by", "process"), "python3"),
                       (("report", "--by", "program"), "python3"), (("report", "--by", "origin"), r"\d"), (("script",), "checkout")):
        done = krait(*args, OLD)
        tap.ok(done.returncode == 0 and re.search(want, done.stdout), "0.1.0: " + " ".join(args), done.stdout[-300:], done.stderr)
    done = krait("annotate", "-i", OLD, "-s", os.path.dirname(OLD), "Cart.total")
    tap.ok(done.returncode == 0 and "i * i for i" in done.stdout, "0.1.0: annotate", done.stdout[-300:], done.stderr)
    for suffix in (".folded", ".script", ".pb.gz", ".speedscope.json", ".firefox.json", ".callgrind", ".pftrace", ".pstats", ".jsonl", ".svg", ".html"):
        out = os.path.join(folder, "old" + suffix)
        done = krait("convert", OLD, "-o", out)
        tap.ok(done.returncode == 0 and os.path.getsize(out) > 100, "0.1.0: convert to " + suffix, done.stderr)
    done = krait("diff", OLD, OLD, "-o", os.path.join(folder, "old-diff.html"))
    tap.ok(done.returncode == 0, "0.1.0: diff", done.stderr)
    with open(os.path.join(folder, "old.folded"), encoding="utf-8") as file:
        tap.equal(sum(int(line.rsplit(" ", 1)[1]) for line in file), SAMPLES, "0.1.0: no sample is missing")
    stats = pstats.Stats(os.path.join(folder, "old.pstats"))
    with open(os.path.join(folder, "old.jsonl"), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    tap.equal([round(sum(row[2] for row in stats.stats.values()), 6), sum(e["self"] for r in lines for e in r.get("entries", ()))],
              [round(stats.total_tt, 6), SAMPLES], "0.1.0: nor in pstats and JSON lines")
    calls = [sum(of[2] for of in row[4].values()) - row[2] for row in stats.stats.values() if row[4]]
    tap.ok(calls and max(calls) < 1e-6 and stats.total_tt > 0, "0.1.0: pstats: calls have no more than functions", calls[:5])


def main():
    path = chromium.find()
    with tempfile.TemporaryDirectory(prefix="krait-sums-") as folder:
        check_old_texts(folder)
        if not path:
            tap.skip("views of the page", "no Chromium (Debian package chromium-headless-shell)")
            tap.done()
            return 0
        make_pages(folder, huge=False)
        browser = chromium.Browser(path)
        try:
            browser.size(1280, 720)
            for name in ("small", "deep", "timed", "many", "waits", "sources", "diff"):
                check_views(browser, folder, name)
            page, said = check_views(browser, folder, "old")
            tap.equal(said, {"": SAMPLES}, "0.1.0: the page has each sample")
            tap.ok(browser.run("krait.strip() !== null && krait.source().heat().files.some(f => f.path.endsWith('shop.py'))"),
                   "0.1.0: in the order of time, and by lines")
            tree = browser.run("""(t => { const of = i => t.frames[t.frame[i]].name, all = [...Array(t.cnt).keys()];
                return [all.filter(i => of(i) === '[truncated]' && t.end[i] > i + 1).length, all.filter(i => t.edge[i]).length,
                    KraitText.describe(t, 0, all.find(i => t.edge[i]), false).counts]; })(krait.state.tree)""")
            tap.ok(tree[0] == 0 and tree[1] > 0 and "callers in C are hidden here" in tree[2],
                   "0.1.0: [truncated] is an edge with words, and no level", tree)
            check_views(browser, folder, "old-diff")
        finally:
            browser.close()
    tap.done()
    return 0


if __name__ == "__main__":
    sys.exit(main())
