# SPDX-License-Identifier: BSD-2-Clause
"""speedscope's own page in a browser: how it imports a file and what it shows."""
import base64
import collections
import os
import re
import time

import chromium
import npm

VERSION = "1.25.0"
UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}


def find(build):
    """Returns its page, fetched if npm can; None: not available."""
    page = os.path.join(npm.modules(build, f"speedscope@{VERSION}"), "speedscope/dist/release/index.html")
    return page if os.path.exists(page) else None


def show(browser, page, path):
    """Returns the title once the profile is shown, or the page's message."""
    script = path + ".js"
    with open(path, "rb") as file, open(script, "w") as out:
        data = base64.b64encode(file.read()).decode()
        out.write(f'speedscope.loadFileFromBase64("{os.path.basename(path)}", "{data}")')
    browser.open("/dev/null")
    browser.open(page, "#localProfilePath=" + script)
    title = text = ""
    deadline = time.monotonic() + chromium.PATIENCE_SECS
    while time.monotonic() < deadline:
        title = browser.run("document.title")
        text = browser.run("document.body.innerText")
        if title != "speedscope" or "went wrong" in text:
            break
        time.sleep(0.1)
    return title if title.endswith(" - speedscope") and "went wrong" not in text else text


def rows(browser):
    """Returns the rows of the shown profile's sandwich view: [(self, symbol)], as texts."""
    table = browser.run("[...document.querySelectorAll('tr')].map(r => [...r.children].map("
                        "c => c.innerText))")
    return [(row[1], row[2]) for row in table if len(row) == 3 and row[1].endswith("%)")]


def counts(browser, page, path, threads, period_ns):
    """Returns {function: samples that end in it}, summed over so many threads, from the times that the page
    shows."""
    # Show all rows: the page contains only visible ones.
    browser.size(1400, 12000)
    if not show(browser, page, path).endswith(" - speedscope"):
        return None
    browser.key("3")
    for _ in range(threads):
        browser.key("p")
    sums = collections.Counter()
    for _ in range(threads):
        time.sleep(0.5)
        for own, symbol in rows(browser):
            value, unit = re.match(r"([\d.,]+)(\D+?) ", own).groups()
            sums[symbol] += float(value.replace(",", "")) * UNITS[unit]
        browser.key("n")
    return +collections.Counter({k: round(v / period_ns) for k, v in sums.items()})
