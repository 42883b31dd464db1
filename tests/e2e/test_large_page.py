#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Flame graph pages of 300,000 nodes answer at once, and those of none say so (test_flamegraph_page.py: the rest)."""
import re
import sys

from test_flamegraph_page import Page, check, equal, run_parts


def milliseconds(browser, name, value, event):
    """Gives an input element a value; returns how long it takes until that shows."""
    return browser.run("""(async () => {
        const start = performance.now();
        document.getElementById('%s').value = '%s';
        document.getElementById('%s').dispatchEvent(new Event('%s'));
        await new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)));
        return performance.now() - start;
    })()""" % (name, value, name, event))


def large_pages(browser, folder):
    page = Page(browser, folder, "large")
    check("3.0" in page.text("loss") and not browser.run("document.getElementById('loss').hidden"),
          "a loss of 3 % is an alarm", page.text("loss"))
    page.clean("large")
    browser.size(420, 760)
    page.press("table-button")
    equal(browser.run("['stage', 'panel'].map(id => document.getElementById(id)).every(e => "
                      "e.clientHeight > 60 && e.getBoundingClientRect().bottom <= "
                      "document.querySelector('footer').getBoundingClientRect().top + 1)"), True,
          "graph and table share a narrow window")
    browser.size(1280, 720)
    page = Page(browser, folder, "huge")
    check(re.search(r"frames too narrow to draw", page.text("hidden")),
          "what is too narrow is folded and counted", page.text("hidden"))
    spent = milliseconds(browser, "search", "encode", "input")
    check(spent < 1000, f"a search in 300,000 nodes shows within a second ({spent:.0f} ms)")
    for view in ("bottom-up", "callers", "callees"):
        spent = milliseconds(browser, "view", view, "change")
        check(spent < 4000, f"{view} of 300,000 nodes within 4 s, on a busy machine, too ({spent:.0f} ms)")
    page.choose("view", "stacks")
    page.clean("huge")
    page = Page(browser, folder, "empty")
    page.focus()
    for key in ("ArrowDown", "ArrowRight", "Enter", "Escape", "n"):
        browser.key(key)
    check("0 samples" in page.text("meta"), "an empty recording is shown as such")
    page.clean("empty")


if __name__ == "__main__":
    sys.exit(run_parts(large_pages))
