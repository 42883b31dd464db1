# SPDX-License-Identifier: BSD-2-Clause
"""axe-core, from npm: checks for what hinders people who use a page with a screen reader, with keys only, or with
weak eyes."""
import os

import npm

VERSION = "4.10.2"


def find(build):
    """Returns its script, fetched if npm can; None: not available."""
    script = os.path.join(npm.modules(build, f"axe-core@{VERSION}"), "axe-core/axe.min.js")
    return script if os.path.exists(script) else None


def load(browser, script):
    with open(script, encoding="utf-8") as file:
        browser.run(file.read())


def violations(browser):
    """Returns [rule, severity, the first element, what is wrong] for each rule that the present page breaks."""
    return browser.run("""axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v => [v.id, v.impact,
        v.nodes[0].html.slice(0, 120), (v.nodes[0].any[0] || v.nodes[0].all[0] || v.nodes[0].none[0] || {}).message]))""")
