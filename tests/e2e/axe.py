# SPDX-License-Identifier: BSD-2-Clause
"""axe-core, from npm: what keeps people from using a page with a screen reader, by keys, or with weak eyes."""
import os
import shutil
import subprocess

VERSION = "4.10.2"


def find(build):
    """Its script, from the build folder, installed there when npm can; None where not."""
    folder = os.path.join(build, "npm-axe")
    script = os.path.join(folder, "node_modules/axe-core/axe.min.js")
    if not os.path.exists(script) and shutil.which("npm"):
        os.makedirs(folder, exist_ok=True)
        try:
            subprocess.run(["npm", "install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts",
                            "--fetch-retries=0", f"axe-core@{VERSION}"], timeout=120,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            pass
    return script if os.path.exists(script) else None


def load(browser, script):
    with open(script, encoding="utf-8") as file:
        browser.run(file.read())


def violations(browser):
    """[rule, how bad, the first element, what is wrong] of each that the page as it is now breaks."""
    return browser.run("""axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v => [v.id, v.impact,
        v.nodes[0].html.slice(0, 120), (v.nodes[0].any[0] || v.nodes[0].all[0] || v.nodes[0].none[0] || {}).message]))""")
