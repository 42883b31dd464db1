#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""The flame graph page in a real browser: numbers, zoom, search, keyboard, no network, no errors.

tests/unit/test_html makes the pages, which needs no recording and no root. KRAIT_SHOTS=DIR keeps a screenshot of
each page for inspection.

"""
import base64
import csv
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import axe  # noqa: E402
import chromium  # noqa: E402
import colours  # noqa: E402
from tap import Tap  # noqa: E402

ROOT = os.environ.get("KRAIT_ROOT") or os.path.dirname(os.path.dirname(sys.path[0]))
BUILD = os.environ.get("KRAIT_BUILD") or os.path.join(ROOT, "build")
IS_ALL = not os.environ.get("KRAIT_MATRIX")
tap = Tap()
check, equal = tap.ok, tap.equal


def make_pages(folder, huge=True):
    maker = os.path.join(BUILD, "tests/unit/test_html")
    if not os.path.exists(maker):
        subprocess.run(["make", "-C", ROOT, os.path.relpath(maker, ROOT)], check=True,
                       stdout=subprocess.DEVNULL)
    subprocess.run([maker], check=True, env={**os.environ, "KRAIT_PAGES": folder, **({"KRAIT_PAGES_HUGE": "1"} if huge else {})},
                   stdout=subprocess.DEVNULL)


class Page:
    def __init__(self, browser, folder, name, is_opening=False):
        self.browser, self.path = browser, os.path.join(folder, name + ".html")
        browser.open(self.path)
        browser.run("krait.ready()")
        browser.run("krait.settled()")
        # A wide window opens with the table; what is tested here is the graph, unless a test opens it.
        if not is_opening and not browser.run("document.getElementById('panel').hidden"):
            self.press("table-button")

    def text(self, element):
        return self.browser.run(f"document.getElementById('{element}').textContent")

    def box(self, name):
        """Returns the widest box of that name: {node, x, y, w, h, total, ...}, from the canvas's corner."""
        return self.browser.run(
            "krait.boxes().filter(b => b.name === %r).sort((a, b) => b.w - a.w)[0]" % name)

    def at(self, name):
        corner = self.browser.run(
            "(r => ({x: r.left, y: r.top}))(document.getElementById('canvas').getBoundingClientRect())")
        box = self.box(name)
        return corner["x"] + box["x"] + box["w"] / 2, corner["y"] + box["y"] + box["h"] / 2

    def click(self, name):
        self.browser.click(*self.at(name))

    def state(self):
        """Returns the names of the zoomed and of the focused frame."""
        return self.browser.run(
            "(b => [b[krait.state.zoom].name, b[krait.state.focus].name])(krait.boxes())")

    def press(self, element):
        self.browser.run(f"document.getElementById('{element}').click()")
        self.browser.run("krait.settled()")
        self.browser.settle()

    def choose(self, element, value):
        self.browser.run(f"""(s => {{ s.value = '{value}'; s.dispatchEvent(new Event('change')); }})
            (document.getElementById('{element}'))""")
        self.browser.run("krait.settled()")
        self.browser.settle()

    def focus(self):
        self.browser.run("document.getElementById('stage').focus()")
        self.browser.settle()

    def names(self, depth):
        return self.browser.run(f"krait.boxes().filter(b => b.depth === {depth}).map(b => b.name)")

    def clean(self, name):
        equal(self.browser.errors, [], f"{name}: no error on the console")
        equal(self.browser.requests, ["file://" + self.path],
              f"{name}: nothing but the file is loaded")


def small_page(browser, folder):
    page = Page(browser, folder, "small")
    check("1,000 samples" in page.text("meta"), "the header has the number of samples",
          page.text("meta"))
    check("2 of 1,002 lost (0.20%)" in page.text("meta"), "the header says what was lost", page.text("meta"))
    check(browser.run("document.getElementById('loss').hidden"), "a loss of 0.2 % is no alarm")
    equal(browser.run("document.title"), "krait record -o shop.html -- python3 main.py - krait",
          "the title is the command line")

    with open(os.path.join(ROOT, "tests/golden/small-summary-samples.txt"), encoding="utf-8") as file:
        rows = re.findall(r"^ *[\d.]+% +([\d.]+)% +(\d+)  (.*?)(?:  .*)?$", file.read(), re.M)
    equal(sorted((f["name"], str(f["self"]), f"{f['total'] / 10:.1f}")
                 for f in browser.run("krait.functions()") if f["self"] or f["name"][0] != "["),
          sorted((name, self, total) for total, self, name in rows),
          "all functions have the numbers of the text summary")
    page.press("table-button")
    equal(browser.run("[...document.querySelectorAll('#functions tr')].slice(0, 2).map(r => "
                      "[...r.cells].slice(0, 3).map(c => c.title || c.textContent).join() + ' ' + "
                      "r.querySelector('.name').textContent)"),
          ["270 samples · 270\u2009ms,413 samples · 413\u2009ms,270\u2009ms Cart.total",
           "145 samples · 145\u2009ms,145 samples · 145\u2009ms,145\u2009ms walk"],
          "the table has self and total of the hottest functions, one's own code first")
    equal(browser.run("[...document.querySelectorAll('#functions tr')].slice(2, 5).map(r => [r.className, r.querySelector('.name').textContent])"),
          [["last-own", "Cart.total.<locals>.<genexpr>"], ["", "JSONEncoder.iterencode"], ["", "worker"]], "then all others by self")
    browser.run("document.querySelector('#functions .name').click()")
    browser.settle()
    check(page.text("matched").startswith("41.3"), "a click in the table highlights the function",
          page.text("matched"))
    page.press("table-button")
    page.press("clear")
    equal(page.text("matched"), "", "clearing the search ends the highlight")

    page.focus()
    browser.key("/")
    browser.type("/encode|total/")
    equal(page.text("matched").replace("\u2009", " "), "58.0 % matched by 4 names",
          "search counts each sample once, nested matches too")
    browser.key("Escape")
    equal(page.text("matched"), "", "Escape in the field clears the search")
    browser.key("f", modifiers=2)
    browser.type("/walk(/")
    equal(browser.run("document.getElementById('search').getAttribute('aria-invalid')"), "true",
          "Ctrl-F searches, and a bad expression is said to be one")
    browser.key("Escape")

    page.click("dumps")
    equal(page.state(), ["dumps", "dumps"], "a click zooms")
    box = page.box("dumps")
    equal([box["x"], box["w"]], [0, browser.run("innerWidth")], "the zoomed frame fills the width")
    check("100.0" in page.text("detail") and "json/__init__.py:183" in page.text("detail"),
          "the detail line has file, line and share", page.text("detail"))
    page.focus()
    browser.key("Escape")
    equal(page.state(), ["all", "all"], "Escape zooms out")

    path = []
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowDown", "ArrowUp",
                "ArrowLeft", "ArrowRight"):
        browser.key(key)
        path.append(page.state()[1])
    equal(path, ["<module>", "Server.run", "Cart.total", "dumps", "JSONEncoder.encode", "dumps",
                 "Cart.total", "dumps"], "arrow keys move between callers, callees and neighbours")
    check("dumps" in page.text("live"), "the focused frame is announced", page.text("live"))
    browser.key("Enter")
    equal(page.state()[0], "dumps", "Enter zooms")
    browser.key("Backspace")
    equal(page.state()[0], "Server.run", "Backspace zooms out by one")
    page.press("reset")
    equal(page.state()[0], "all", "the button zooms out")
    check(browser.run("document.getElementById('reset').disabled"), "and then has nothing to do")

    before = page.box("Server.run")["y"]
    browser.key("i")
    check(page.box("Server.run")["y"] < page.box("<module>")["y"] and
          page.box("Server.run")["y"] != before, "the graph can stand on its root")
    page.click("dumps")
    equal(page.state()[0], "dumps", "a click finds its box in a flame graph too")
    browser.key("Escape")
    browser.key("i")

    equal(page.names(1), ["<module>", "Thread._bootstrap", "[truncated: depth]"],
          "merged, the first level is functions")
    page.choose("roots", "process")
    equal(page.names(1), ["python3 shop (4711)"], "by process, it is processes")
    page.choose("roots", "thread")
    equal(page.names(2), ["MainThread (4711)", "worker (4720)"], "by thread, threads are below")
    total = browser.run("krait.boxes()[0].total")
    page.choose("roots", "merged")
    page.choose("lines", "line")
    equal([b for b in browser.run("krait.boxes().map(b => b.name + ' ' + b.where)")
           if b.startswith("Cart.total ")], ["Cart.total cart.py:58", "Cart.total cart.py:61"],
          "by line, a function has a box per line")
    equal([total, browser.run("krait.boxes()[0].total")], [1000, 1000], "no sample is ever lost")
    page.choose("lines", "function")
    browser.move(*page.at("Template.render"))
    check("Template.render" in page.text("tip") and "9.6" in page.text("tip"),
          "hovering shows the frame", page.text("tip"))
    page.clean("small")


def hostile_page(browser, folder):
    Page(browser, folder, "empty")
    scripts = browser.run("document.querySelectorAll('img, body script').length")
    page = Page(browser, folder, "hostile")
    names = page.names(1)
    for name in ("</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>",
                 "new\\nline", "bidi\\u202eesrever", "escape\\x1b[31mred", "bad utf-8 \\xff\\xc3(",
                 "[unnamed]", "数える", "__proto__", "back\\slash\\u003c"):
        check(name in names, f"{name!r} is text", names)
    page.press("table-button")
    page.focus()
    browser.key("/")
    browser.type("img src")
    equal(browser.run("document.querySelectorAll('img, body script').length"), scripts,
          "no name became markup")
    page.clean("hostile")


def deep_page(browser, folder):
    page = Page(browser, folder, "deep")
    check("2,001 levels" in page.text("hidden"), "the depth is said", page.text("hidden"))
    page.focus()
    browser.key("/")
    browser.type("level_1999")
    browser.key("Enter")
    equal(page.state()[1], "level_1999", "Enter in the search goes to the match")
    box, height = page.box("level_1999"), browser.run("document.getElementById('stage').clientHeight")
    check(0 <= box["y"] <= height - box["h"], "and scrolls to it, 2,000 frames down", box)
    browser.key("Enter")
    equal(page.state()[0], "level_1999", "which can be zoomed")
    equal(browser.run("krait.functions().find(f => f.name === 'level_1999').total"), 100,
          "with its samples")
    page.focus()
    browser.key("Escape")
    browser.key("i")
    bottom = browser.run("document.getElementById('stage').clientHeight")
    equal(page.box("all")["y"], bottom - 20, "a deep flame graph starts at its root")
    browser.key("ArrowUp")
    equal(page.state()[1], "level_0", "where the callee is above")
    browser.key("i")
    equal(browser.run("['a-b', 'a(', '[truncated]', 'jobs.py:30', 'kernel', 'Jobs'].map(t => KraitSearch.makeMatcher(t).test || null)"
                      ".map(m => [m({name: '[truncated] a(', file: 'x/jobs.py', firstLine: 30, kind: 'python'}), "
                      "m({name: 'A-B', file: '', kind: 'kernel'})])"),
          [[False, True], [True, False], [True, False], [True, False], [False, True], [False, False]],
          "text is searched as it is: names, file:line, kinds")
    equal(browser.run("['/a\\\\-b/', '/a(/', '/É/', '/é/'].map(t => KraitSearch.makeMatcher(t).test || null)"
                      ".map(m => m && [m({name: 'a-b É', file: ''}), m({name: 'A-B é', file: ''})])"),
          [[True, True], None, [True, False], [True, True]],
          "expressions are lenient, capitals make them strict")
    equal(browser.run("krait.functions().find(f => f.name === 'recurse')"),
          {"name": "recurse", "self": 50, "total": 50}, "recursion counts once")
    page.focus()
    browser.key("End")
    hottest = browser.run("krait.boxes().slice(1).sort((a, b) => b.self - a.self)[0].self")
    equal(browser.run("krait.boxes()[krait.state.focus].self"), hottest, "a key leads to the hottest leaf")
    depth = browser.run("krait.boxes()[krait.state.focus].depth")
    browser.key("PageUp")
    equal(browser.run("krait.boxes()[krait.state.focus].depth"), depth - 10, "another ten callers up")
    check(browser.run("!document.getElementById('depths').hidden"), "a deep graph has a map of its levels")
    all_of = browser.run("krait.boxes()[0].total")
    equal(browser.run("document.getElementById('recursion').value"), "folded", "a function that is so often on one stack opens folded")
    browser.key("r")
    check(browser.run("krait.boxes().filter(b => b.name === 'recurse').length") > 10, "a key shows each call")
    browser.key("r")
    equal(browser.run("krait.boxes().filter(b => b.name === 'recurse').map(b => [b.total, b.self, b.depth])"), [[50, 50, 1]],
          "recursion folds into one box")
    equal([browser.run("krait.boxes()[0].total"), browser.run(SUMS)], [all_of, True], "which has all of it")
    browser.key("r")
    page.clean("deep")


# Each box has at least what those below it have; the rest is its self.
SUMS = """(t => { const sum = new Float64Array(t.cnt);
    for (let i = t.cnt - 1; i > 0; i--) sum[t.parent[i]] += t.total[i];
    return [...sum].every((s, i) => !t.opened[i] || Math.abs(s + t.self[i] - t.total[i]) < 1e-6); })(krait.state.tree)"""


def views_page(browser, folder):
    page = Page(browser, folder, "small")
    totals = lambda: {b["name"]: b["total"] for b in browser.run("krait.boxes()")}
    page.choose("view", "bottom-up")
    rows = {f["name"]: f["self"] for f in browser.run("krait.functions()") if f["self"]}
    level = {b["name"]: b["total"] for b in browser.run("krait.boxes().filter(b => b.depth === 1)")}
    equal(level, rows, "bottom-up, the first level is the functions with their self")
    equal(browser.run("krait.boxes()[0].total"), 1000, "and all are there")
    check(browser.run(SUMS), "bottom-up: the numbers add up")
    page.click("JSONEncoder.iterencode")
    equal(browser.run("krait.boxes().filter(b => b.node >= krait.state.zoom && b.node < "
                      "krait.state.tree.end[krait.state.zoom]).map(b => b.name)"),
          ["JSONEncoder.iterencode", "JSONEncoder.encode", "dumps", "Server.run", "<module>"],
          "a leaf has its callers above it")
    page.focus()
    browser.key("b")
    equal(page.box("Server.run")["total"], 850, "the key goes back to the stacks")
    page.click("walk")
    browser.key("c")
    equal(totals(), {"all": 145, "walk": 145, "Server.run": 145, "<module>": 145},
          "callers: of a recursion the outermost call")
    check("callers of walk" in browser.run("krait.state.rootLabel"), "the root says of what")
    browser.key("c")
    page.press("reset")
    page.click("Server.run")
    browser.key("e")
    equal({n: v for n, v in totals().items() if n in ("all", "Server.run", "Cart.total", "dumps", "<module>")},
          {"all": 850, "Server.run": 850, "Cart.total": 413, "dumps": 179}, "callees: all that it calls, and no caller")
    check(browser.run(SUMS), "callees: the numbers add up")
    page.focus()
    browser.key("w")
    equal([browser.run("krait.boxes()[0].total"), browser.run("krait.callers().tree.total[0]"),
           browser.run("[...krait.callers().tree.frame].slice(1).map(f => krait.callers().tree.frames[f].name)")],
          [850, 850, ["Server.run", "<module>"]], "both: callees below, callers above")
    check(browser.run("document.getElementById('callers').clientHeight > 50"), "at once")
    page.choose("view", "stacks")
    page.click("Server.run")
    browser.key("e")
    link = browser.run("location.hash")
    browser.run("history.back()")
    browser.settle()
    equal(browser.run("document.getElementById('view').value"), "stacks", "Back leads to what was seen")
    browser.open(os.path.join(folder, "empty.html"))
    browser.open(page.path, link)
    browser.settle()
    equal([browser.run("document.getElementById('view').value"), browser.run("krait.boxes()[0].total")],
          ["callees", 850], "a link leads to the view", link)
    browser.open(os.path.join(folder, "empty.html"))
    browser.open(page.path, "#view=callers&of=99999&zoom=-7&roots=%3Cimg%3E&search=%28")
    browser.settle()
    equal([browser.run("krait.boxes()[0].total"), page.text("matched")[:3]], [1000, "0.0"],
          "an address that makes no sense shows all")
    if browser.run("document.getElementById('panel').hidden"):
        page.press("table-button")
    browser.run("document.getElementById('search').value = 'walk'; "
                "document.getElementById('search').dispatchEvent(new Event('input'))")
    browser.settle()
    equal(browser.run("[...document.querySelectorAll('#functions .name')].map(e => e.textContent)"), ["walk"],
          "the search filters the table")
    page.clean("views")


def look_for(browser, page, text):
    """Returns the share that is said to match, and the rest of the message."""
    browser.run("(s => { s.value = %r; s.dispatchEvent(new Event('input')); })(document.getElementById('search'))" % text)
    browser.run("krait.settled()")
    browser.settle()
    return page.text("matched").replace("\u2009", " ")


def search_page(browser, folder):
    page = Page(browser, folder, "small")
    page.choose("roots", "thread")
    for text, share in (("shop", "100.0 %"), ("4711", "100.0 %"), ("worker", "15.0 %"), ("4720", "15.0 %"), ("Cart.total", "41.3 %"), ("cart.py:", "41.3 %")):
        found = look_for(browser, page, text)
        check(found.startswith(share + " matched by "), f"{text!r} is found", found)
    page.choose("roots", "merged")
    for kind, word in (("python", "python"), ("mark", "marker")):
        part, found = browser.run(f"krait.state.base.frames.slice(0, -1).filter(f => f.kind === '{kind}').length"), look_for(browser, page, word)
        check(part and f" by {part} names" in found, f"{word!r} is all of that kind", [part, found])
    check(look_for(browser, page, "4720").endswith(" \u00b7 1 thread: group by thread to see it"), "where threads have no boxes it says how to see one",
          page.text("matched"))
    beyond = browser.run("""(() => { const at = id => document.getElementById(id).getBoundingClientRect();
        return [at('matched').right - at('finder').right, document.getElementById('matched').title]; })()""")
    check(beyond[0] <= 0.5 and "group by thread" in beyond[1], "what is said of matches lies over no button, and all of it is in its title", beyond)
    page.choose("lines", "line")
    check(" by 1 name" in look_for(browser, page, "cart.py:58"), "a line of a file is found", page.text("matched"))
    page.choose("lines", "function")

    look_for(browser, page, "encode")
    count = browser.run("krait.boxes().filter(b => krait.state.matches[krait.state.tree.frame[b.node]]).length")
    seen = []
    for _ in range(count + 1):
        page.press("next")
        seen.append(re.search(r"(\d+) of (\d+)", page.text("matched")).groups())
    equal(seen, [(str(i % count + 1), str(count)) for i in range(count + 1)], "next goes from match to match, and around")
    page.press("previous")
    page.focus()
    browser.key("N")
    browser.key("n")
    check(f"{count} of {count}" in page.text("matched"), "previous goes back, and keys do both", page.text("matched"))
    page.press("table-button")
    rows = lambda: browser.run("[...document.querySelectorAll('#functions .name')].map(e => e.textContent)")
    every = len(browser.run("krait.functions()"))
    check(0 < len(rows()) < every and all("encode" in r for r in rows()) and f" of {every} functions" in page.text("scope"),
          "the table has the matches, and says of how many functions", [rows(), page.text("scope")])
    page.press("clear")
    equal(len(rows()), every, "and then all of them")
    page.clean("search")


def narrow_matches(browser, folder):
    """The search finds matches that are too narrow to draw, gives them a stub and zooms to them."""
    name = "needle"
    with open(os.path.join(folder, "hay.folded"), "w", encoding="utf-8") as file:
        file.writelines(f"main (a.py);{what} 1\n" for what in ("calls (a.py);needle (b.py)", "one (a.py)", "two (a.py)"))
        file.write("main (a.py);work (a.py) 100000\n")
    subprocess.run([os.path.join(BUILD, "krait"), "convert", os.path.join(folder, "hay.folded"), "-o", os.path.join(folder, "hay.html")],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    page = Page(browser, folder, "hay")
    said = look_for(browser, page, name)
    equal(said, "<0.1 % matched by 1 name", "a function that is too narrow everywhere is found")
    check(browser.run("""(() => { const { tree } = krait.state;
        return [...Array(tree.cnt).keys()].some(i => i && (tree.rest[i] || tree.total[i] < krait.view.NARROW * tree.total[0] / innerWidth) &&
            krait.state.isHit(i)); })()"""), "where it is there is a stub")
    color = browser.run("getComputedStyle(document.documentElement).getPropertyValue('--match').trim()")
    seen = browser.run("""(c => { const data = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, want = %r;
        for (let i = 0; i < data.length; i += 4)
            if ([0, 1, 2].every(k => data[i + k] === parseInt(want.slice(1 + 2 * k, 3 + 2 * k), 16)))
                return true;
        return false; })(document.getElementById('canvas'))""" % color)
    check(seen, "in the colour of matches")
    page.press("next")
    check(browser.run("krait.state.zoom") > 0 and name in browser.run("krait.boxes().filter(b => b.node >= krait.state.zoom && b.w >= 0.5).map(b => b.name)"),
          "next zooms to it", page.state())
    page.clean("narrow matches")


def many_page(browser, folder):
    page = Page(browser, folder, "many")
    equal([browser.run("document.getElementById('roots').value"), page.names(1)], ["program", ["celery", "gunicorn"]],
          "thirty processes are shown by program")
    equal(browser.run("[...document.getElementById('lane-names').children].map(e => e.textContent)"), ["celery", "gunicorn"],
          "in the strip, too")
    page.choose("roots", "process")
    equal([len(page.names(1)), browser.run("krait.boxes()[0].total")], [30, 465], "each apart if that is wanted")
    pid = browser.run("krait.state.base.frames.find(f => f.kind === 'process').pid")
    check("group by" not in look_for(browser, page, f"({pid})"), "the number of a process that has a box is found", page.text("matched"))
    page.choose("roots", "program")
    check(look_for(browser, page, f"({pid})").endswith(" \u00b7 1 process: group by process to see it"), "that of one in a program's box says how to see it",
          page.text("matched"))
    page.clean("many")


# Records what is drawn from now on.
DRAWN = """(async () => {
    const texts = [], { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) { texts.push(text); fillText.call(this, text, ...rest); };
    document.getElementById('flip').click();
    await krait.settled();
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    CanvasRenderingContext2D.prototype.fillText = fillText;
    return texts; })()"""


def programs_on_phones(browser, folder):
    with open(os.path.join(folder, "many.html")) as file, open(os.path.join(folder, "scripts.html"), "w") as out:
        out.write(file.read().replace('"celery"', '"python3.12 [celery_of_the_shop.py]"').replace('"gunicorn"', '"python3.12 [gunicorn_of_it.py]"'))
    page = Page(browser, folder, "scripts")
    browser.size(390, 844)
    drawn = browser.run(DRAWN)
    check(any(t.startswith("[celery") for t in drawn) and any(t.startswith("[gunicorn") for t in drawn) and not any(t.startswith("pyt") and t.endswith("\u2026")
          for t in drawn), "where there is no room a program is told by its script", drawn)
    widths = browser.run("[...document.querySelectorAll('#lane-names button')].map(b => [...b.children].map(c => c.clientWidth))")
    check(len(widths) == 2 and all(first < 20 and script > 60 for first, script, _ in widths), "in the strip, too", widths)
    page.press("table-button")
    browser.settle()
    seen = browser.run("(r => [r.top, r.bottom, innerHeight])(document.getElementById('panel').getBoundingClientRect())")
    check(seen[0] < seen[1] <= seen[2] + 1, "on a phone the table comes into sight when it is asked for", seen)
    browser.size(1280, 720)
    page.clean("scripts")


def exports(browser, folder):
    for name in ("small", "hostile"):
        page = Page(browser, folder, name)
        picture = ElementTree.fromstring(browser.run("krait.svg()"))
        boxes = [e for e in picture.iterfind(".//{*}g") if e.find("{*}title") is not None]
        equal(len(boxes), browser.run("krait.boxes().filter(b => b.total * 1600 / krait.state.tree.total[0] >= 0.5).length"),
              name + ": the SVG is XML, and has each box")
        equal({e.tag.partition("}")[2] for e in picture.iter()} - {"path"}, {"svg", "defs", "pattern", "g", "title", "rect", "text"},
              name + ": no name became an element of it")
        legend = browser.run("[...document.querySelectorAll('#legend li')].map(e => e.textContent)")
        equal([e.text for e in picture.findall("{*}text")], legend, name + ": with a legend as the page has it")
        kinds = set(browser.run("[...document.querySelectorAll('#legend i')].map(e => e.className)"))
        filled = {e.get("fill")[11:-1] for e in picture.iter() if e.get("fill", "").startswith("url(")}
        equal([filled, {e.get("id")[6:] for e in picture.iter("{http://www.w3.org/2000/svg}pattern")}],
              [kinds & {"mark", "native", "kernel"}, {"mark", "native", "kernel"}], name + ": and with the patterns of the kinds that it explains")
        rows = list(csv.reader(io.StringIO(browser.run("krait.csv()"))))
        equal([rows[0], len(rows) - 1], [["self", "total", "kind", "function", "file", "line"],
                                         browser.run("krait.functions().length")], name + ": the CSV has each function")
        check(not any(cell[:1] in "=+@" and cell for row in rows for cell in row), name + ": and no formula")
        page.clean(name + ", exports")
    page = Page(browser, folder, "waits")
    picture = ElementTree.fromstring(browser.run("krait.svg()"))
    strip = next(e for e in picture if e.get("class") == "strip")
    equal([len(strip.findall("{*}g")), {e.text for e in strip.findall("{*}text")}],
          [browser.run("krait.lanes().groups().length"),
           set(browser.run("[...document.querySelectorAll('#states li')].map(e => e.textContent.replace(/ [\\d.<]+\\u2009%$/, ''))"))],
          "the SVG has the strip, with its lanes and its legend")
    equal(browser.run("""krait.lanes().setRange(0, krait.strip().span / 2), /opacity="0.7"/.test(krait.svg())"""), True,
          "and the range that is chosen")
    page = Page(browser, folder, "small")
    found = lambda: re.findall(r'<title>([^\n<]*?)(?: [^\n< ]*)?\n[^<]*</title><rect [^>]*fill="%s"' %
                               browser.run("getComputedStyle(document.documentElement).getPropertyValue('--match').trim()"), browser.run("krait.svg()"))
    browser.run("(s => { s.value = 'total'; s.dispatchEvent(new Event('input')); })(document.getElementById('search'))")
    equal(set(found()), {"Cart.total", "Cart.total.&#60;locals&#62;.&#60;genexpr&#62;"}, "what is searched for has its colour in the SVG, too")


def diff_page(browser, folder):
    page = Page(browser, folder, "diff")
    sums = lambda: {b["name"]: round(b["total"] / 1e6) for b in browser.run("krait.boxes()")}
    change = lambda name: browser.run("(t => { const i = krait.boxes().filter(b => b.name === '%s')[0].node; "
                                      "return KraitTree.changeOf(t, t.total[i], t.other[i]).toFixed(1); })(krait.state.tree)" % name)
    equal([sums()["all"], sums()["walk"], sums()["JSONEncoder.iterencode"]], [1000, 60, 167],
          "compared, the page is as wide as after")
    equal(page.text("total"), "1.00\u2009s after, 978\u2009ms before", "and says what there was before")
    equal([change("walk"), change("JSONEncoder.iterencode")], ["-15.2", "16.7"], "and knows what has changed by how much")
    browser.move(*page.at("JSONEncoder.iterencode"))
    check("before 0.0" in page.text("tip").replace("\u2009", " ") and "+16.7 points" in page.text("tip"),
          "the tooltip says so", page.text("tip"))
    page.press("table-button")
    rows = lambda: browser.run("[...document.querySelectorAll('#functions tr')].map(r => [...r.cells].slice(0, 3).map(c => c.textContent.replace('\u2009', ' '))"
                               ".concat(r.querySelector('.name').textContent, r.matches('.gone')))")
    equal(rows()[:2], [["0.0 %", "16.7 %", "+16.7", "JSONEncoder.iterencode", False], ["29.7 %", "14.5 %", "\u221215.2", "walk", False]],
          "the table has before, after and the change, the largest first")
    page.choose("by", "amount")
    equal(rows()[0], ["0 ns", "167 ms", "+167 ms", "JSONEncoder.iterencode", False], "by seconds, too")
    page.choose("by", "rate")
    equal(rows()[0][:3], ["0 ns/s", "167 ms/s", "+167 ms/s"], "by seconds per second of the recordings, which lasted 2 s and 1 s")
    tones = "Object.fromEntries(krait.boxes().slice(1).map(b => [b.name, KraitTree.toneOf(krait.state.tree, b.node)]))"
    found = browser.run(tones)
    equal([found["JSONEncoder.iterencode"], browser.run("[...document.querySelectorAll('#legend li')].map(e => e.textContent)")],
          ["new", ["more than before", "as before", "less", "new"]], "what is new has a colour of its own, which the legend has")
    page.choose("by", "share")
    page.choose("measure", "before")
    equal([sums()["all"], "JSONEncoder.iterencode" in sums(), change("walk")], [978, False, "-15.2"],
          "as wide as before: what is new is not there")
    equal([r for r in rows() if r[3] == "JSONEncoder.iterencode"], [["0.0 %", "16.7 %", "+16.7", "JSONEncoder.iterencode", False]],
          "but in the table it is")
    check(browser.run(SUMS), "compared: the numbers add up")
    page.clean("diff")


def trunks(browser, folder):
    """Others' code that all calls come through is one row; no sum changes."""
    page = Page(browser, folder, "service")
    boxes = lambda: [(b["name"], b["depth"], b["total"], b["self"]) for b in browser.run("krait.boxes()")]
    found = boxes()
    equal(found[:4], [("all", 0, 100, 0), ("<module>", 1, 100, 0), ("23 frames: layer_0 \u2026 layer_22 \u25b8", 2, 100, 2), ("layer_23", 3, 98, 0)],
          "a trunk is one row, one's own code around it and where it branches are not in it")
    check([f for f in found if f[0] == "encode_8"] and [f for f in found if f[0] == "encode_4"], "what one's own code calls is no trunk")
    check(browser.run(SUMS), "with a trunk the numbers add up")
    browser.run("(s => { s.value = 'layer_7'; s.dispatchEvent(new Event('input')); })(document.getElementById('search'))")
    page.press("next")
    equal([page.state()[1][:9], page.text("matched")[:3]], ["23 frames", "100"], "a search finds what is in it")
    page.press("clear")
    page.focus()
    browser.key("Y")
    check(browser.run("KraitExport.stackOf(krait.state.tree, krait.boxes().find(b => b.name === 'items').node)").count("layer_") == 24, "a stack has all frames")
    page.click(found[2][0])
    browser.run("krait.settled()")
    equal([len([f for f in boxes() if f[0].startswith("layer_")]), browser.run("document.getElementById('trunks').value")], [24, "shown"], "a click shows each")
    browser.key("u")
    browser.run("krait.settled()")
    equal(boxes(), found, "a key folds them again")
    page.click("items")
    browser.run("krait.settled()")
    link = browser.run("new Promise(done => requestIdleCallback(() => setTimeout(() => done(location.hash), 100)))")
    browser.open(os.path.join(folder, "empty.html"))
    browser.open(page.path, link)
    browser.run("krait.settled()")
    equal(page.state()[0], "items", "a link leads to what is below a trunk")
    page.choose("view", "bottom-up")
    check(not [f for f in boxes() if "frames:" in f[0]], "bottom-up has none")
    page.choose("view", "stacks")
    browser.run("krait.state.base.frames.find(f => f.name === '<module>').file = '/srv/venv/bin/uvicorn'")
    page.press("reset")
    page.choose("trunks", "shown")
    page.choose("trunks", "folded")
    equal(boxes()[1][0], "24 frames: <module> \u2026 layer_22 \u25b8", "a script that pip made is no code of one's own")
    page.clean("service")


def waits_page(browser, folder):
    page = Page(browser, folder, "waits")
    sums = lambda: {b["name"]: [round(b["total"] / 1e6), round(b["self"] / 1e6)] for b in browser.run("krait.boxes()")}
    shown = "document.getElementById('measure').parentNode.offsetWidth > 0"
    cpu = {"all": [600, 0], "<module>": [600, 0], "work": [400, 400], "both": [200, 200]}
    check(browser.run(shown), "with time off the CPU there is a choice of times")
    equal(sums(), cpu, "CPU: what worked, and no box for what only waited")
    check("600\u2009ms" in page.text("total") and "on a CPU" in page.text("total"), "the header says of what and how long",
          page.text("total"))
    page.click("both")
    page.choose("measure", "off")
    equal(page.state()[0], "both", "the zoomed function stays the zoomed one")
    page.press("reset")
    equal(sums(), {"all": [2000, 0], "<module>": [2000, 0], "idle": [1500, 0], "[sleep]": [1500, 1500],
                   "both": [500, 0], "[gil]": [500, 500]}, "waiting: what it waited for is the leaf")
    check("2.00\u2009s" in page.text("total") and "off the CPU" in page.text("total"), "the header follows",
          page.text("total"))
    page.choose("measure", "gil")
    equal(sums(), {"all": [500, 0], "<module>": [500, 0], "both": [500, 0], "[gil]": [500, 500]},
          "GIL: a part of the waiting")
    page.choose("measure", "wall")
    equal(sums(), {"all": [2600, 0], "<module>": [2600, 0], "idle": [1500, 0], "[sleep]": [1500, 1500],
                   "both": [700, 200], "[gil]": [500, 500], "work": [400, 400]}, "wall clock: the sum of both")
    page.focus()
    browser.key("m")
    equal(sums(), cpu, "a key goes to the next one")
    page.press("reset")
    page.click("work")
    page.choose("measure", "gil")
    equal(page.state()[0], "<module>", "where nothing of the zoomed function is left, its caller is")
    page.clean("waits")
    page = Page(browser, folder, "small")
    check(not browser.run(shown), "a recording of one event has no choice")


# Sums over adjoining ranges, or over all lanes, minus the tree's, by node and measure: all zero.
PARTS = """((s, measures, cuts) => measures.map(m => {
    const whole = KraitStacks.selfOf(DATA, m), sum = new Float64Array(whole.length);
    for (let i = 0; i + 1 < cuts.length; i++) {
        const part = KraitStrip.selves(s, new Float64Array(whole.length), {from: cuts[i] * s.span, to: cuts[i + 1] * s.span}, m);
        part.forEach((v, k) => { sum[k] += v; });
    }
    const lanes = new Float64Array(whole.length);
    s.lanes.forEach((_, lane) => KraitStrip.selves(s, new Float64Array(whole.length),
        {lanes: s.lanes.map((_, k) => k === lane)}, m).forEach((v, k) => { lanes[k] += v; }));
    const worst = list => whole.reduce((most, v, i) => Math.max(most, Math.abs(v - list[i])), 0);
    return [whole.reduce((a, b) => a + b, 0) > 0, worst(sum) < 1e-3, worst(lanes) < 1e-3];
}))(krait.strip(), MEASURES, [0, 0.1, 0.25, 0.5, 0.50001, 0.9, 1])"""


def parts(browser, measures):
    return browser.run(PARTS.replace("DATA", "JSON.parse(document.getElementById('data').textContent)")
                       .replace("MEASURES", repr(measures)))


def strip_page(browser, folder):
    page = Page(browser, folder, "timed")
    total = lambda: round(browser.run("krait.boxes()[0].total"), 6)
    whole = total()
    equal([browser.run("krait.strip().missing"), browser.run("krait.strip().entries.cnt")], [0, whole],
          "the strip has each sample")
    equal(parts(browser, [""]), [[True, True, True]], "ranges, and lanes, add up to the tree, node by node")
    equal(browser.run("document.getElementById('lane-names').children.length"), browser.run("krait.strip().lanes.length"),
          "there is a lane for each thread")
    page.choose("lanes", "program")
    equal(sorted(browser.run("[...document.getElementById('lane-names').children].map(e => e.textContent)")),
          ["celery", "gunicorn"], "or for each program")
    page.choose("lanes", "process")
    box = browser.run("(r => [r.left, r.top, r.width])(document.getElementById('strip-canvas').getBoundingClientRect())")
    drag = lambda a, b: browser.drag(box[0] + a * box[2], box[1] + 5, box[0] + b * box[2], box[1] + 5)
    drag(0.25, 0.5)
    part = total()
    check(0.2 * whole < part < 0.3 * whole, "a range is dragged, and the graph follows", [part, whole])
    check(browser.run(SUMS), "its numbers add up")
    equal(round(browser.run("krait.functions().reduce((sum, f) => sum + f.self, 0)")), part, "the table has the same sum")
    page.choose("view", "bottom-up")
    equal(total(), part, "and bottom-up")
    link = browser.run("location.hash")
    page.choose("view", "stacks")
    browser.run("document.getElementById('lane-names').children[0].click()")
    browser.settle()
    one = total()
    check(0 < one < part, "a lane is clicked, and the graph follows", [one, part])
    equal(browser.run("document.getElementById('lane-names').children[0].getAttribute('aria-pressed')"), "true",
          "which is said of it")
    equal(browser.run("krait.boxes().filter(b => b.depth === 1 && b.total).length"), 1, "one process is left")
    page.focus()
    browser.key("Escape")
    equal([total(), browser.run("document.getElementById('strip-whole').disabled")], [whole, True],
          "Escape shows the whole again")
    browser.run("document.getElementById('strip-box').focus()")
    browser.key("ArrowLeft")
    check(0.85 * whole < total() < 0.95 * whole, "a key moves the end of the range", total())
    browser.open(os.path.join(folder, "empty.html"))
    browser.open(page.path, link)
    browser.run("krait.ready()")
    browser.settle()
    equal([total(), browser.run("document.getElementById('view').value")], [part, "bottom-up"], "a link leads to a range")
    browser.open(os.path.join(folder, "empty.html"))
    browser.open(page.path, "#time=9-2&lane=77.x&lanes=nothing")
    browser.run("krait.ready()")
    browser.settle()
    equal(total(), whole, "one that makes no sense to all")
    page.clean("timed")
    page = Page(browser, folder, "waits")
    equal(browser.run("krait.strip().missing"), 0, "waits are in the strip")
    equal(parts(browser, ["cpu", "off", "gil", "wall"]), [[True, True, True]] * 4, "of each measure parts add up")
    page.choose("measure", "off")
    browser.run("krait.lanes().setRange(krait.strip().span * 0.65 / 2.4, krait.strip().span * 1.2 / 2.4)")
    browser.settle()
    check(abs(total() - 550e6) < 1e5, "of a wait a range has the part that was in it", total())
    page.clean("waits, in parts")


def source_page(browser, folder):
    page = Page(browser, folder, "sources")
    page.click("Cart.total")
    page.focus()
    browser.key("s")
    heat = lambda: browser.run("(h => h.files.map(f => [f.path.split('/').pop(), Math.round(f.self), Math.round(f.total), "
                               "f.lines.map(i => [h.lines[i].line, Math.round(h.lines[i].self), Math.round(h.lines[i].total)])]))"
                               "(krait.source().heat())")
    check(page.text("source-name").endswith("cart.py"), "the key shows the source of the frame in focus", page.text("source-name"))
    files = {f[0]: f[1:] for f in heat()}
    equal([sum(line[1] for f in files.values() for line in f[2]), files["cart.py"][1]],
          [browser.run("krait.boxes().filter(b => b.depth === 1).reduce((n, b) => n + b.total, 0)") -
           browser.run("krait.finest().self[0]") -
           browser.run("krait.boxes().filter(b => b.name[0] === '[' && b.depth === 1).reduce((n, b) => n + b.self, 0)"), 413],
          "lines add up to what ran below a line, and a file counts a sample once", files)
    rows = lambda: browser.run("[...document.querySelectorAll('.line')].map(r => [...r.children].map(c => c.textContent))")
    shown = rows()
    check(any(r[3] == "58" and r[-1] == "line 58 of it" and r[1] for r in shown), "lines have their numbers and their text",
          [r for r in shown if r[0] or (len(r) > 1 and r[1])])
    warm = lambda: browser.run("[...document.querySelectorAll('.line.hit')].map(r => [r.children[0].textContent !== '', "
                               "Number(r.style.getPropertyValue('--hot'))])")
    by_self = warm()
    check(by_self and all(bool(heat) == ran for ran, heat in by_self), "lines in which something ran are warm", by_self)
    equal(browser.run("document.querySelector('#files > .shares').innerText.split(/\\s+/)"), ["Self", "Total"], "columns of files have heads")
    browser.run("[...document.querySelectorAll('.file-button')].find(b => b.path.endsWith('encoder.py')).click()")
    browser.settle()
    check(any(not ran and not heat for ran, heat in warm()), "what only calls is not", warm())
    page.choose("heat-by", "total")
    check(any(not ran for ran, _ in warm()) and all(heat for _, heat in warm()), "unless heat is what lines and their callees have", warm())
    page.choose("heat-by", "self")
    browser.run("[...document.querySelectorAll('.file-button')].find(b => b.path.endsWith('cart.py')).click()")
    browser.settle()
    browser.run("document.getElementById('lines-box').scrollTop = 0")
    browser.settle()
    shown = rows()
    equal([r[-1] for r in shown[:2]], ["</script><script>alert(1)</script>",
                                      "        if a < b && c: # \\u202e \\x1b[31m"], "hostile text is text, and all of it is seen")
    check(browser.run("document.querySelectorAll('.line').length") < 120, "only lines in sight are in the page")
    browser.run("[...document.querySelectorAll('.file-button')].find(b => b.path.endsWith('encoder.py')).click()")
    browser.settle()
    check("could not read it" in page.text("source-sums") and rows(), "what may not be read is said, its lines are there",
          page.text("source-sums"))
    browser.run("[...document.querySelectorAll('.file-button')].find(b => b.path.endsWith('cart.py')).click()")
    browser.settle()
    browser.run("[...document.querySelectorAll('.line .place button')].find(b => b.textContent === '58').click()")
    browser.settle()
    check(browser.run("krait.state.rootLabel").startswith("callers of Cart.total") and
          browser.run("document.getElementById('source').hidden"), "from a line to who calls it", browser.run("krait.state.rootLabel"))
    page.choose("view", "source")
    browser.run("krait.lanes().setRange(0, krait.strip().span / 2)")
    browser.settle()
    part = sum(f[1] for f in heat())
    check(0 < part < sum(f[0] for f in files.values()), "lines follow the time that is chosen", part)
    link = browser.run("location.hash")
    browser.open(os.path.join(folder, "empty.html"))
    browser.open(page.path, link)
    browser.run("krait.ready()")
    browser.settle()
    equal([browser.run("document.getElementById('source').hidden"), sum(f[1] for f in heat())], [False, part], "a link leads there")
    page.clean("sources")


def editor_links(browser, folder):
    """--editor: line numbers are links to an editor, and no template makes them anything else."""
    page = Page(browser, folder, "sources")
    equal(browser.run("""[['vscode://file{file}:{line}', '/a b/ü#?.py', 3], ['idea://open?file={file}&line={line}', "/x'&$&.py", 0]]
        .map(([template, file, line]) => KraitEditor(template).link(file, line, '').href)"""),
          ["vscode://file/a%20b/%C3%BC%23%3F.py:3", "idea://open?file=/x%27%26%24%26.py&line=1"], "names of files are no part of the address")
    equal(browser.run("['javascript://{file}', 'data:text/html,{file}', 'file://{file}', 'JAVASCRIPT://{file}', ' javascript://{file}', 'vscode://x', ''].filter(t => KraitEditor(t).has())"),
          [], "what is no address of a program makes no link")
    with open(page.path, encoding="utf-8") as file:
        text = file.read()
    with open(os.path.join(folder, "editor.html"), "w", encoding="utf-8") as file:
        file.write(text.replace('"editor":""', '"editor":"vscode://file{file}:{line}"'))
    page = Page(browser, folder, "editor")
    page.choose("view", "source")
    equal(browser.run("[...document.querySelectorAll('.line .place a')].filter(a => a.textContent === '58').map(a => a.href)"),
          ["vscode://file/home/ada/shop/cart.py:58"], "a line's number opens it")
    browser.run("[...document.querySelectorAll('.line')].find(r => r.querySelector('.place').textContent === '58').querySelectorAll('.ways button')[1].click()")
    browser.run("krait.settled()")
    check(browser.run("krait.state.rootLabel").startswith("callees of Cart.total"), "from a line to what it calls", browser.run("krait.state.rootLabel"))
    page.clean("editor")


def files_if_narrow(browser, folder):
    """Thousands of functions that are all too narrow: boxes of files."""
    page = Page(browser, folder, "small")
    page.choose("lines", "file")
    equal([browser.run("krait.boxes()[0].total"), browser.run(SUMS)], [1000, True], "boxes of files have all samples")
    names = browser.run("[...new Set(krait.boxes().slice(1).map(b => b.name))]")
    check("cart.py" in names and not [n for n in names if "total" in n], "which are named after the files", names)
    page.clean("files")


def colors_apart(browser, folder):
    """Everybody can distinguish kinds of code and states of threads, and native code and the kernel even without
    colour."""
    page = Page(browser, folder, "waits")
    swatch = """(() => { const c = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
        return fill => { c.fillStyle = fill; c.fillRect(0, 0, 1, 1);
            return '#' + [...c.getImageData(0, 0, 1, 1).data].slice(0, 3).map(v => v.toString(16).padStart(2, '0')).join(''); }; })()"""
    for theme in ("light", "dark"):
        page.choose("theme", theme)
        kinds = browser.run(f"""(rgb => Object.fromEntries(['own', 'package', 'stdlib', 'unknown', 'native', 'kernel', 'mark'].map(k =>
            [k, rgb(krait.view.legendFill(k))])))({swatch})""")
        states = browser.run(f"""(rgb => Object.fromEntries([...document.styleSheets].flatMap(s => [...s.cssRules])
            .filter(r => r.selectorText === ':root').flatMap(r => [...r.style]).filter(n => n.startsWith('--state-'))
            .map(n => [n.slice(8), rgb(getComputedStyle(document.documentElement).getPropertyValue(n))])))({swatch})""")
        equal(len(states), 13, "each state has a colour of its own")
        for vision, matrix in colours.VISION.items():
            for what, colors in (("kinds", kinds), ("states", states)):
                apart, one, other = colours.nearest(colors, matrix)
                check(apart >= 20, f"{theme}, {vision}: {len(colors)} {what} are {apart:.1f} apart at least ({one}, {other})")
        back, text = browser.run(f"(rgb => ['--back', '--box-text'].map(n => rgb(getComputedStyle(document.documentElement).getPropertyValue(n))))({swatch})")
        on = {kind: colours.contrast(color, text) for kind, color in kinds.items()}
        check(min(on.values()) >= 4.5, f"{theme}: text in boxes", on)
        against = {kind: colours.contrast(color, back) for kind, color in kinds.items()}
        if theme == "dark":
            check(against["own"] >= 3 and against["own"] == max(against.values()), "dark: one's own code is the strongest", against)
    page.choose("theme", "auto")
    equal(browser.run("krait.patterns()"), ["kernel", "native"], "native code and the kernel have patterns")
    page.clean("colours")



def opens_on_the_answer(browser, folder):
    """What is hot stands beside the graph where there is room; the controls are one row, and nothing moves."""
    browser.size(390, 844)
    for name in ("small", "waits", "diff", "many", "service"):
        page = Page(browser, folder, name, is_opening=True)
        top = browser.run("document.getElementById('stage').getBoundingClientRect().top")
        check(top <= 0.25 * 844, f"{name}, 390 px: the graph has three quarters of the window", top)
    for width in (1000, 1280, 1440):
        browser.size(width, 800)
        for name in ("small", "waits", "diff"):
            page = Page(browser, folder, name, is_opening=True)
            browser.settle()
            seen = browser.run("""(box => { const [stage, panel, tools] = ['stage', 'panel', 'tools'].map(box);
                const tops = [...document.getElementById('tools').children].filter(e => e.offsetHeight).map(e => e.getBoundingClientRect()).map(r => (r.top + r.bottom) / 2);
                return { beside: panel.width > 0 && panel.left >= stage.right && Math.abs(panel.bottom - stage.bottom) < 2, rows: document.querySelectorAll('#functions tr').length,
                    one: Math.max(...tops) - Math.min(...tops) < 8, fits: document.getElementById('tools').scrollWidth <= innerWidth, top: stage.top, chips: document.querySelectorAll('#functions .chip').length };
                })(id => document.getElementById(id).getBoundingClientRect())""")
            equal([seen["beside"], seen["rows"] > 2], [width >= 1200] * 2, f"{name}, {width} px: the table beside the graph", seen)
            check(seen["chips"] == seen["rows"] or not seen["beside"], f"{name}, {width} px: each row has the colour of its kind", seen)
            check(seen["one"] and seen["fits"], f"{name}, {width} px: one row of controls", seen)
            page.focus()
            browser.key("/")
            browser.type("a")
            browser.settle()
            equal(browser.run("document.getElementById('stage').getBoundingClientRect().top"), seen["top"], f"{name}, {width} px: nothing moves while one types")
            page.clean("opening")
    browser.size(1280, 720)


def keys_at_once(browser, folder):
    page = Page(browser, folder, "small", is_opening=True)
    for key, name in (("End", "Cart.total"), ("ArrowUp", "Server.run"), ("Enter", "Server.run")):
        browser.key(key)
        browser.run("krait.settled()")
        equal(page.state()[1], name, f"{key} works without a click first")
    page.clean("keys")


def whose_code(browser, folder):
    """Show: Python, my code. What has no box counts for what called it, and all sums stay."""
    page = Page(browser, folder, "small")
    kinds = "[...new Set(krait.state.tree.frames.filter((f, i) => krait.state.tree.frame.includes(i)).map(f => f.category))].sort()"
    sums = "[krait.boxes()[0].total, krait.functions().reduce((n, f) => n + f.self, 0)]"
    total = browser.run("krait.boxes()[0].total")
    for only, wanted in (("all", None), ("python", {"own", "package", "stdlib", "unknown", "mark", "task"}), ("own", {"own", "unknown", "mark", "task"})):
        page.choose("only", only)
        equal(browser.run(sums), [total, total], f"Show {only}: the sums are those of all")
        found = set(browser.run(kinds))
        check("own" in found and (wanted is None or found <= wanted), f"Show {only}: whose code has boxes", found)
    dumps = page.box("dumps")
    check(not dumps, "the standard library counts for its callers", dumps)
    link = browser.run("new Promise(done => requestIdleCallback(() => setTimeout(() => done(location.hash), 100)))")
    check("only=own" in link, "a link leads there", link)
    page.focus()
    browser.key("p")
    browser.run("krait.settled()")
    equal([browser.run("document.getElementById('only').value"), bool(page.box("dumps"))], ["all", True], "p: the next of them")
    page.clean("whose code")


def waits_by_state(browser, folder):
    page = Page(browser, folder, "waits")
    page.choose("measure", "wall")
    found = browser.run("""(css => krait.boxes().filter(b => /^\\[(lock|sleep|io|gil|runnable)/.test(b.name)).map(b => [b.name.slice(1).split(/[:\\]]/)[0], krait.view.colorOf(b.node)])
        .map(([state, color]) => [state, color, css(`--state-${state}`)]))(name => getComputedStyle(document.documentElement).getPropertyValue(name).trim())""")
    check(found and all(color == state for _, color, state in found), "waits have the colours of the lanes", found)
    legend = browser.run("[...document.querySelectorAll('#legend li')].map(e => e.textContent)")
    check(any(re.match(r"(asleep|for a lock|for files|waits for the GIL|ready)", text) for text in legend) and
          not any(text.startswith("waiting") for text in legend), "the legend has the states", legend)
    page.clean("states")


def long_texts(browser, folder):
    page = Page(browser, folder, "sources")
    title = "krait record -a --wall -o " + "/a/folder" * 8 + "/the-end.html"
    browser.size(390, 844)
    browser.run(f"document.getElementById('title').textContent = {json.dumps(title)}")
    fits = browser.run("(h => [h.scrollWidth <= h.clientWidth && h.scrollHeight <= h.clientHeight, h.clientHeight])(document.getElementById('title'))")
    check(fits[0] and fits[1] > 30, "a phone shows all of the page's title", fits)
    page.choose("view", "source")
    browser.size(720, 720)
    browser.call("Emulation.setEmulatedMedia", media="print")
    browser.run("dispatchEvent(new Event('beforeprint'))")
    browser.run("krait.settled()")
    browser.settle()
    # In one turn: the page may draw its lines anew between two.
    seen = browser.run("""(([first, second]) => {
        first.querySelector('.code').textContent = 'x = ' + '1000 + '.repeat(100);
        return [first.querySelector('.code').getBoundingClientRect().right, innerWidth, first.clientHeight,
            second.getBoundingClientRect().top - first.getBoundingClientRect().bottom, document.body.scrollWidth];
    })([...document.querySelectorAll('.line')])""")
    check(seen[0] <= seen[1] + 1 and seen[4] <= seen[1] + 1 and seen[2] > 60 and abs(seen[3]) < 2, "long lines of source go on below in print", seen)
    browser.run("dispatchEvent(new Event('afterprint'))")
    browser.call("Emulation.setEmulatedMedia", media="")
    browser.size(1280, 720)
    page.clean("long texts")


def accessible_pages(browser, folder):
    script = axe.find(BUILD)
    if not script:
        tap.skip("axe-core finds nothing", "no axe-core, and npm cannot fetch it")
        return
    looks = [(width, dark) for dark in (False, True) for width in (1280, 390)]
    pages = ("sources", "waits", "diff")
    # Each width, each theme and each page at least once; all combinations in make check-all.
    for width, dark, names in [(*look, pages) for look in looks] if IS_ALL else [(*looks[0], pages[1:]), (*looks[-1], pages[:1])]:
        browser.size(width, 800)
        browser.dark(dark)
        found = []
        for name in names:
            page = Page(browser, folder, name)
            axe.load(browser, script)
            found += axe.violations(browser)
            page.press("table-button")
            page.press("help-button")
            found += axe.violations(browser)
            browser.run("document.getElementById('help').close()")
            page.choose("view", "source")
            found += axe.violations(browser)
        equal(found, [], f"axe-core finds nothing, {width} px, {'dark' if dark else 'light'}")
    browser.size(1280, 720)
    browser.dark(False)
    page = Page(browser, folder, "sources")
    color = lambda: browser.run("getComputedStyle(document.body).backgroundColor")
    light = color()
    page.choose("theme", "dark")
    dark = color()
    browser.open(page.path)
    check(light != dark and color() == dark, "the theme that was chosen stays", [light, dark, color()])
    page.choose("theme", "auto")
    equal(color(), light, "auto is as the system has it")


PAPER = {True: 8.5, False: 11.0}  # inches: a sheet of Letter by orientation; margins are 0.4 on both sides


def paper(browser, folder):
    # Each page and each orientation at least once; all combinations in make check-all.
    for number, name in enumerate(("small", "deep", "large", "timed", "waits", "diff")):
        page = Page(browser, folder, name)
        for landscape in (True, False) if IS_ALL else (not number % 2,):
            # The page's height in print, with up to 4,000 pixels of boxes.
            browser.call("Emulation.setEmulatedMedia", media="print")
            browser.size(round(96 * (PAPER[not landscape] - 0.8)), 720)
            browser.run("dispatchEvent(new Event('beforeprint'))")
            browser.settle()
            height = browser.run("document.body.getBoundingClientRect().height")
            slices = browser.run("document.querySelectorAll('.slice').length")
            legend = browser.run("document.getElementById('legend').getBoundingClientRect().height")
            browser.run("dispatchEvent(new Event('afterprint'))")
            browser.call("Emulation.setEmulatedMedia", media="")
            browser.settle()
            data = base64.b64decode(browser.call("Page.printToPDF", landscape=landscape)["data"])
            pages, sheet = len(re.findall(rb"/Type\s*/Page\b", data)), 96 * (PAPER[landscape] - 0.8)
            # A page may end up to a slice early.
            most = -int(-height // (sheet - 160))
            check(-int(-height // sheet) <= pages <= most and slices and legend, f"{name}: printed on the pages that it needs, with its legend",
                  [pages, most, height, sheet, slices, legend])
        browser.size(1280, 720)
        page.clean(name + ", printed")


def screenshots(browser, folder):
    target = os.environ["KRAIT_SHOTS"]
    os.makedirs(target, exist_ok=True)
    for name in ("small", "service", "hostile", "deep", "large", "huge", "timed", "many", "sources", "waits", "diff", "empty"):
        for width, height in ((1280, 720), (420, 760)):
            for dark in (False, True):
                browser.size(width, height)
                browser.dark(dark)
                browser.open(os.path.join(folder, name + ".html"))
                browser.screenshot(f"{target}/{name}-{width}-{'dark' if dark else 'light'}.png")


def run_parts(*parts, huge=True):
    """Runs each with a browser and a folder of pages; huge: of very many nodes, too. Returns an exit code."""
    path = chromium.find()
    if not path:
        print("1..0 # SKIP no Chromium (Debian package chromium-headless-shell)")
        return 0
    with tempfile.TemporaryDirectory(prefix="krait-pages-") as folder:
        make_pages(folder, huge)
        browser = chromium.Browser(path)
        try:
            browser.size(1280, 720)
            browser.dark(False)
            for part in parts:
                try:
                    part(browser, folder)
                except Exception as error:  # one failing page must not hide the others
                    check(False, part.__name__, repr(error))
        finally:
            browser.close()
    tap.done()
    return 0


def main():
    shots = [screenshots] if os.environ.get("KRAIT_SHOTS") else []
    return run_parts(small_page, views_page, search_page, narrow_matches, hostile_page, deep_page, exports, diff_page, trunks, waits_page,
                     many_page, programs_on_phones, long_texts, strip_page, source_page, editor_links, files_if_narrow, colors_apart, opens_on_the_answer, keys_at_once, whose_code, waits_by_state,
                     accessible_pages, paper,
                     *shots, huge=bool(shots))


if __name__ == "__main__":
    sys.exit(main())
