#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Folded and perf-script text open in speedscope's own importer, in a real browser."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chromium  # noqa: E402
import speedscope  # noqa: E402
from tap import Tap  # noqa: E402

ROOT = os.environ.get("KRAIT_ROOT") or os.path.dirname(os.path.dirname(sys.path[0]))
BUILD = os.environ.get("KRAIT_BUILD") or os.path.join(ROOT, "build")

def main():
    path = chromium.find()
    if not path:
        print("1..0 # SKIP no Chromium (Debian package chromium-headless-shell)")
        return 0
    page = speedscope.find(BUILD)
    if not page:
        print(f"1..0 # SKIP no speedscope (npm package speedscope@{speedscope.VERSION})")
        return 0
    maker = os.path.join(BUILD, "tests/unit/test_html")
    if not os.path.exists(maker):
        subprocess.run(["make", "-C", ROOT, os.path.relpath(maker, ROOT)], check=True,
                       stdout=subprocess.DEVNULL)
    tap = Tap()
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
            for name, good in cases:
                got = speedscope.show(browser, page, os.path.join(folder, name))
                tap.ok(got.endswith(" - speedscope") == good, name + (
                    " opens" if good else " does not open, so this test sees errors"), repr(got))
        finally:
            browser.close()
    tap.done()
    return 0


if __name__ == "__main__":
    sys.exit(main())
