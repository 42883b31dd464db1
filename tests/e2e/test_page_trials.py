#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""What strangers can bring to the page: names, addresses and expressions; and windows with little room.

The pages are those of tests/unit/test_html with every text in their data replaced, so krait's earlier escaping
cannot help: names of functions and files, lanes, and the header. `make check` does so with the page that has most
kinds of them.

"""
import base64
import csv
import io
import json
import os
import re
import struct
import sys
import tempfile
import zlib
from xml.etree import ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chromium  # noqa: E402
from tap import Tap  # noqa: E402
from test_flamegraph_page import IS_ALL, ROOT, Page, make_pages  # noqa: E402

tap = Tap()
csv.field_size_limit(1 << 24)

NAMES = ["<script>alert(1)</script>", "</script><script>alert(2)</script>", "<img src=x onerror=alert(3)>", "'\"><svg/onload=alert(4)>",
         "line\u2028paragraph\u2029", "rtl\u202etxt.exe", "\u2066isolated", "lone \ud800 surrogate", "\udfff", "__proto__", "constructor",
         "toString", "hasOwnProperty", "valueOf", "${alert(5)}", "`${alert(6)}`", "=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)",
         "\t=1", "\uff1d1+1", "javascript:alert(7)", "url(javascript:alert(8))", "</style><style>*{display:none}</style>", "<!--", "-->",
         "]]>", "&lt;b&gt;", "%3Cscript%3E", "a" * 40 + "!", "(a+)+$", "[truncated]", "[gil]", "[too narrow to draw]", "", " ", "nul\0",
         "\x1b[31mred\x07", "\r\nheader: x", "\ufeff", "a\u0300" * 50, "$&$1$`", "\\u003cscript\\u003e", "/" + "a" * 300000, "L" * 1000000,
         "/" + "b/" * 50000, "/" + "/site-packages/" * 5000]

# Each of these could take for ever in a browser.
ENDLESS = ["(a+)+$", "(a|a)*$", "(.*)*x", r"(\w+\s?)*$", "([a-zA-Z]+)*$", "(x+x+)+y", "((a*)b?)*!", "(?:a?){40}a{40}", "(a|b|ab){2,}!",
           "a*a*a*a*a*a*a*b", r"(?<n>a*)\k<n>*\k<n>*\k<n>*\k<n>*\k<n>*!", "a?" * 40 + "a" * 40, "x" * 2000]
# Typical expressions.
USUAL = ["encode|dumps", ".*foo.*bar.*", "^get_", r"json/.*\.py:\d+", "[a-z]+_handler$", "(get|set)_value", r"a{2,3}b", r"\[truncated\]", r"c\+\+", "a-b\\-c"]

ADDRESSES = ["view=constructor&roots=__proto__", "of=__proto__&view=callers", "of=-1&view=sandwich", "of=1e9&view=callees", "of=1.5&view=callers",
             "of=0&view=callers", "zoom=99999999", "zoom=-1", "zoom=NaN", "zoom=1.5", "time=1-", "time=5-1", "time=0-1e99", "time=-5-10",
             "lane=0.1.99999.__proto__", "lanes=constructor", "search=%3Cscript%3Ealert(1)%3C/script%3E", "search=%E0%A4%A", "a" * 100000,
             "search=/(a%2B)%2B$/", "measure=<b>", "view=source&of=3"]

# Tries everything; anything that takes longer hangs. Returns [what, ms] of the slowest.
ALL = """(async () => {
    const choose = (id, value) => (s => { s.value = value; s.dispatchEvent(new Event('change')); })(document.getElementById(id));
    const find = text => (s => { s.value = text; s.dispatchEvent(new Event('input')); })(document.getElementById('search'));
    let slowest = ['', 0];
    const timed = async (what, act) => {
        const begin = performance.now();
        act();
        await krait.settled();
        if (performance.now() - begin > slowest[1])
            slowest = [what, performance.now() - begin];
    };
    for (const view of ['bottom-up', 'callers', 'callees', 'sandwich', 'source', 'stacks']) {
        await timed(view, () => choose('view', view));
        for (const [id, value] of [['roots', 'process'], ['roots', 'thread'], ['roots', 'program'], ['roots', 'merged'], ['lines', 'line'],
            ['recursion', 'folded'], ['lines', 'function'], ['recursion', 'shown']])
            await timed(`${view}, ${value}`, () => choose(id, value));
    }
    document.getElementById('table-button').click();
    for (const sort of ['total', 'name', 'self'])
        await timed(sort, () => (b => b && b.click())(document.querySelector(`#panel th button[data-sort=${sort}]`)));
    for (const name of NAMES) {
        await timed(`search ${name.slice(0, 20)}`, () => find(name));
        await timed(`search /${name.slice(0, 20)}/`, () => find(`/${name}/`));
    }
    find('');
    const canvas = document.getElementById('canvas'), corner = canvas.getBoundingClientRect();
    for (const box of krait.boxes().slice(0, 20)) {
        krait.state.focus = box.node;
        canvas.dispatchEvent(new MouseEvent('mousemove', { clientX: corner.left + box.x + box.w / 2, clientY: corner.top + box.y + 5 }));
        await timed('highlight', () => document.getElementById('stage').dispatchEvent(new KeyboardEvent('keydown', { key: 'h', bubbles: true })));
    }
    [...document.querySelectorAll('.file-button')].slice(0, 60).forEach(file => file.click());
    dispatchEvent(new Event('beforeprint'));
    dispatchEvent(new Event('afterprint'));
    for (const address of ADDRESSES) {
        location.hash = '#' + address;
        await timed(address.slice(0, 20), () => dispatchEvent(new PopStateEvent('popstate')));
    }
    return slowest;
})()"""

FOREIGN = "document.querySelectorAll('img, iframe, object, embed, body svg, a, body script, body style').length"


def hostile(page):
    """Returns the page with all texts that come from programs replaced."""
    head, data, tail = re.fullmatch(r'(.*<script type="application/json" id="data">)(.*?)(</script>.*)', page, re.S).groups()
    data, used = json.loads(data), iter(range(1 << 30))

    def replace(value, key=""):
        if isinstance(value, dict):
            return {k: v if k in ("kinds", "codes", "columns", "instructions", "opcodes", "opcodeForms") else replace(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [replace(v) for v in value]
        return NAMES[next(used) % len(NAMES)] if isinstance(value, str) and key not in ("data", "unit", "measure", "view") else value

    data = replace(data)
    data["meanings"] = {"__proto__x": "none"}
    return head + json.dumps(data).replace("<", "\\u003c") + tail


def check_hostile(browser, folder, name):
    with open(os.path.join(folder, name + ".html"), encoding="utf-8") as file:
        page = hostile(file.read())
    with open(os.path.join(folder, "attack.html"), "w", encoding="utf-8") as file:
        file.write(page)
    page = Page(browser, folder, "attack")
    before = browser.run(FOREIGN)
    slowest = browser.run(f"(() => {{ const NAMES = {json.dumps(NAMES)}, ADDRESSES = {json.dumps(ADDRESSES)}; return {ALL}; }})()")
    tap.ok(slowest[1] < 15000, f"{name}: nothing hangs", slowest)
    tap.equal([browser.run("window.ran"), browser.run(FOREIGN) - before], [[], 0], f"{name}: no name, address or expression is run, none is markup")
    picture = ElementTree.fromstring(browser.run("krait.svg()"))
    tap.equal({e.tag.partition("}")[2] for e in picture.iter()} - {"svg", "defs", "pattern", "g", "title", "rect", "text", "path"}, set(),
              f"{name}: nor in the picture that is saved")
    rows = list(csv.reader(io.StringIO(browser.run("krait.csv()"))))
    tap.equal([{len(r) for r in rows}, [c[:20] for r in rows for c in r[2:5] if c[:1] and c[0] in "=+-@\t\r\n\uff1d"]], [{6}, []],
              f"{name}: nor a formula in the table that is saved")
    tap.equal([browser.errors, browser.requests], [[], ["file://" + page.path]], f"{name}: no error on the console, nothing is loaded")


def check_expressions(browser, folder):
    page = Page(browser, folder, "small")
    found = browser.run("""((endless, usual) => [endless.filter(e => !KraitRegex.make(e).why), usual.filter(e => KraitRegex.make(e).why),
        KraitRegex.make('(a').why])(%s, %s)""" % (json.dumps(ENDLESS), json.dumps(USUAL)))
    tap.equal(found, [[], [], "invalid regular expression"], "expressions that may take for ever are refused, usual ones are not")
    tap.equal(browser.run("""['encode|dumps', '.*.*encode.*', '^get_', 'x.*?y', 'a.*|b', '\\\\.*', '[.*', ''].map(e => {
        const with_ = KraitRegex.make(e), same = with_.why || ['encode', 'get_x', 'xy', 'a', 'b', '.', ''].every(t => with_.test(t) === new RegExp(e, 'i').test(t));
        return same; })"""), [True] * 6 + ["invalid regular expression", True], "and those find what a browser finds")
    of_none = browser.run("""(() => { location.hash = `#view=callers&of=${krait.state.base.frames.length - 1}`;
        dispatchEvent(new PopStateEvent('popstate')); return [krait.state.about, krait.boxes()[0].total]; })()""")
    tap.equal(of_none, [None, 1000], "a link to the callers of what is no function shows all")
    browser.run("(s => { s.value = '/(a+)+$/'; s.dispatchEvent(new Event('input')); })(document.getElementById('search'))")
    tap.equal([page.text("matched"), browser.run("document.getElementById('search').getAttribute('aria-invalid')")],
              ["could take for ever: a repeat within a repeat", "true"], "the page says why")


def check_lines(browser, folder):
    page = Page(browser, folder, "sources")
    said = lambda: browser.run("[...document.querySelectorAll('#tip .hot')].map(e => e.textContent.replace('\u2009', ' '))")
    browser.move(*page.at("Cart.total"))
    tap.equal(said(), ["90.3 % line 58 line 58 of it", "9.7 % line 61 line 61 of it"], "the tooltip has a function's lines, and what they are")
    page.choose("view", "bottom-up")
    browser.move(*page.at("Cart.total"))
    tap.equal(said(), ["85.2 % line 58 line 58 of it", "14.8 % line 61 line 61 of it"], "bottom-up those in which it ran itself")
    page.choose("view", "source")
    page.choose("which-lines", "hot")
    lines = browser.run("[...document.querySelectorAll('.line')].filter(e => !e.matches('.gap')).map(e => [...e.querySelectorAll('.number')].map(n => n.textContent))")
    every = browser.run("krait.source().heat().files.find(f => f.path === krait.source().shown()).lines.length")
    tap.ok(len(lines) == every and all(any(n.strip() for n in numbers[:2]) for numbers in lines), "lines without samples can be hidden", lines, every)
    page.choose("which-lines", "all")
    page = Page(browser, folder, "small")
    apart = browser.run("""(t => { const mark = t.frames.find(f => f.name === '[truncated: depth]'), sum = () => KraitHeat.open(t, false)().apart, before = sum();
        mark.name = '[native thread]'; return [before, sum()]; })(krait.finest())""")
    tap.ok(apart[0] == 0 and apart[1] > 0, "what native threads have is said, since no line has it", apart)
    page = Page(browser, folder, "waits")
    browser.run("(s => { s.value = 'o'; s.dispatchEvent(new Event('input')); })(document.getElementById('search'))")
    page.press("next")
    browser.size(1440, 900)
    over = browser.run("""['matched', 'clear'].map(id => document.getElementById(id).getBoundingClientRect())
        .map(box => [box.width > 20, document.elementFromPoint(box.right - 4, box.top + box.height / 2).closest('#finder') !== null])""")
    tap.equal(over, [[True, True], [True, True]], "what is said of matches has room, and so has what ends them")
    browser.size(1280, 720)


def check_phone(browser, folder):
    """Deep stacks, with the depth bar beside them in a wide window."""
    for width, height in ((390, 844), (720, 450)):
        browser.size(width, height)
        page = Page(browser, folder, "deep")
        room = browser.run("[document.getElementById('stage').clientWidth, document.getElementById('stage').clientHeight, "
                           "document.documentElement.scrollWidth]")
        tap.ok(room[0] >= width - 16 and room[1] > 150 and room[2] <= width, f"{width} px: the graph has room", room)
    browser.size(390, 844)
    page = Page(browser, folder, "waits")
    page.choose("lanes", "process")
    cut = browser.run("""[...document.querySelectorAll('#lane-names button')].map(b => [b.textContent,
        b.querySelector('.last').getBoundingClientRect().right - b.getBoundingClientRect().right])""")
    tap.ok(cut and all(re.search(r" \(\d+\)$", text) and over <= 0.5 for text, over in cut), "lanes are told by their numbers on a phone, too", cut)
    browser.size(1280, 720)


GOLDEN = os.path.join(ROOT, "tests/golden/screens.txt")
CELL = 40  # px: letters of any font are an even grey in it
PARTS = ("header", "#tools", "#strip", "#callers", "#stage", "#panel", "#files", "#text", "footer", "#legend")
RECTS = """%s.map(id => [id, document.querySelector(id).getBoundingClientRect()]).filter(([id, r]) => r.width && r.height)
    .map(([id, r]) => [id, r.x, r.y, r.width, r.height].map(v => typeof v === 'number' ? Math.round(v) : v).join(' '))""" % json.dumps(PARTS)


def luminance(png):
    """Returns rows of 0 (black) to 15 (white) of a small picture, as hexadecimal digits."""
    data, at, packed = base64.b64decode(png), 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
        packed += body if kind == b"IDAT" else b""
        at += length + 12
    size, raw = {2: 3, 6: 4}[colour], zlib.decompress(packed)
    assert depth == 8
    above, rows = bytearray(width * size), []
    for y in range(height):
        start = y * (width * size + 1)
        line, method = bytearray(raw[start + 1:start + 1 + width * size]), raw[start]
        for i in range(len(line)):
            left, up, corner = line[i - size] if i >= size else 0, above[i], above[i - size] if i >= size else 0
            guess = left + up - corner
            paeth = min((left, up, corner), key=lambda v: abs(guess - v))
            line[i] = (line[i] + (0, left, up, (left + up) // 2, paeth)[method]) & 255
        above = line
        rows.append("".join("%x" % round(sum(w * line[i + c] for c, w in enumerate((.2126, .7152, .0722))) / 17) for i in range(0, len(line), size)))
    return rows


def screen(browser, width, height):
    """Where each part is, and how light each square of the picture is."""
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1 / CELL}
    return browser.run(RECTS) + luminance(browser.call("Page.captureScreenshot", format="png", clip=clip)["data"])


def differences(got, want):
    """What an eye would see: parts that are elsewhere or have another size, and areas of another lightness."""
    parts = lambda lines: {l.split()[0]: [int(v) for v in l.split()[1:]] for l in lines if " " in l}
    cells = lambda lines: [[int(c, 16) for c in l] for l in lines if " " not in l]
    a, b, found = parts(got), parts(want), []
    if list(a) != list(b):
        found.append(f"parts {list(a)}, not {list(b)}")
    found += [f"{id} {a[id]}, not {b[id]}" for id in a if id in b and any(abs(x - y) > 10 for x, y in zip(a[id], b[id]))]
    a, b = cells(got), cells(want)
    if [len(row) for row in a] != [len(row) for row in b]:
        return found + ["the picture has another size"]
    off = [abs(x - y) for p, q in zip(a, b) for x, y in zip(p, q)]
    far = sum(d > 2 for d in off)
    if far > len(off) / 50 or sum(off) > len(off) / 3:
        found.append(f"{far} of {len(off)} squares are lighter or darker, {sum(off) / len(off):.2f} on average")
    return found


def check_screens(browser, folder):
    """As tests/golden/screens.txt has them (UPDATE=1 writes it): parts to 10 px, light and dark by squares of 40 px, so that
    neither fonts nor a browser's version matter."""
    made = {}
    for name in ("small", "waits", "diff", "sources"):
        for width, height in ((390, 844), (1280, 720), (1440, 900)):
            browser.size(width, height)
            page = Page(browser, folder, name, is_opening=True)
            if name == "sources":
                page.choose("view", "source")
            for theme in ("light", "dark"):
                browser.dark(theme == "dark")
                browser.run("krait.settled()")
                made[f"{name} {width} {theme}"] = screen(browser, width, height)
            browser.dark(False)
    browser.size(1280, 720)
    if os.environ.get("UPDATE"):
        with open(GOLDEN, "w", encoding="ascii") as file:
            file.writelines(f"== {name}\n" + "".join(line + "\n" for line in lines) for name, lines in made.items())
    with open(GOLDEN, encoding="ascii") as file:
        golden = {part.split("\n", 1)[0]: part.split("\n")[1:-1] for part in file.read().split("== ")[1:]}
    tap.equal(list(made), list(golden), "each screen has been seen before")
    wrong = {name: differences(made[name], golden[name]) for name in made if name in golden}
    tap.equal({name: found for name, found in wrong.items() if found}, {}, f"{len(made)} screens are as before")
    moved = [line.replace("#stage 0", "#stage 30") for line in golden["small 1280 light"]]
    tap.ok(differences(moved, golden["small 1280 light"]) and differences(golden["small 1280 dark"], golden["small 1280 light"]),
           "and others would be noticed")


def main():
    path = chromium.find()
    if not path:
        print("1..0 # SKIP no Chromium (Debian package chromium)")
        return 0
    with tempfile.TemporaryDirectory(prefix="krait-pages-") as folder:
        make_pages(folder, huge=False)
        browser = chromium.Browser(path)
        try:
            browser.size(1280, 720)
            browser.call("Page.addScriptToEvaluateOnNewDocument",
                         source="window.ran = []; for (const f of ['alert', 'confirm', 'prompt', 'open']) window[f] = what => ran.push(what);")
            check_expressions(browser, folder)
            check_lines(browser, folder)
            check_phone(browser, folder)
            check_screens(browser, folder)
            for name in ("sources", "waits", "diff") if IS_ALL else ("sources",):
                check_hostile(browser, folder, name)
        finally:
            browser.close()
    tap.done()
    return 0


if __name__ == "__main__":
    sys.exit(main())
