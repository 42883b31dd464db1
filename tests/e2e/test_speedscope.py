#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Folded and perf-script text open in speedscope's own importer, in a real browser."""
import base64
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chromium  # noqa: E402

ROOT = os.environ.get("KRAIT_ROOT") or os.path.dirname(os.path.dirname(sys.path[0]))
BUILD = os.environ.get("KRAIT_BUILD") or os.path.join(ROOT, "build")
VERSION = "1.25.0"


def find_speedscope():
    """Its page, from the build folder, installed there when npm can; None where not."""
    folder = os.path.join(BUILD, "npm")
    page = os.path.join(folder, "node_modules/speedscope/dist/release/index.html")
    if not os.path.exists(page) and shutil.which("npm"):
        os.makedirs(folder, exist_ok=True)
        try:
            subprocess.run(["npm", "install", "--prefix", folder, "--no-audit", "--no-fund",
                            "--ignore-scripts", "--fetch-retries=0", f"speedscope@{VERSION}"], timeout=120,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            pass
    return page if os.path.exists(page) else None


def outcome(browser, page, path):
    """The title when the profile is shown, or what the page says instead."""
    script = path + ".js"
    with open(path, "rb") as file, open(script, "w") as out:
        data = base64.b64encode(file.read()).decode()
        out.write(f'speedscope.loadFileFromBase64("{os.path.basename(path)}", "{data}")')
    browser.open("/dev/null")
    browser.open(page, "#localProfilePath=" + script)
    title = text = ""
    for _ in range(50):
        title = browser.run("document.title")
        text = browser.run("document.body.innerText")
        if title != "speedscope" or "went wrong" in text:
            break
        time.sleep(0.1)
    return title if title.endswith(" - speedscope") and "went wrong" not in text else text


def main():
    path = chromium.find()
    if not path:
        print("1..0 # SKIP no Chromium (Debian package chromium)")
        return 0
    page = find_speedscope()
    if not page:
        print(f"1..0 # SKIP no speedscope (npm package speedscope@{VERSION})")
        return 0
    maker = os.path.join(BUILD, "tests/unit/test_html")
    if not os.path.exists(maker):
        subprocess.run(["make", "-C", ROOT, os.path.relpath(maker, ROOT)], check=True,
                       stdout=subprocess.DEVNULL)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="krait-speedscope-") as folder:
        subprocess.run([maker], check=True, env={**os.environ, "KRAIT_PAGES": folder},
                       stdout=subprocess.DEVNULL)
        with open(os.path.join(folder, "bad.json"), "w") as out:
            out.write('{"$schema": "https://www.speedscope.app/file-format-schema.json"}')
        browser = chromium.Browser(path, "--allow-file-access-from-files")
        try:
            cases = [(name, True) for name in ("small.folded", "hostile.folded", "small.script",
                                               "hostile.script", "small.speedscope",
                                               "hostile.speedscope")] + [("bad.json", False)]
            for number, (name, good) in enumerate(cases, 1):
                got = outcome(browser, page, os.path.join(folder, name))
                ok = got.endswith(" - speedscope") == good
                failed += not ok
                print(f"{'ok' if ok else 'not ok'} {number} - {name} "
                      f"{'opens' if good else 'does not open, so this test sees errors'}")
                if not ok:
                    print("# " + repr(got))
        finally:
            browser.close()
    print(f"1..{len(cases)}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
