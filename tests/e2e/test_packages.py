#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""The wheel installs krait, `python -m krait` and %%krait; what only the static file compiles still compiles. `make
check-static`, `check-wheel` and `check-image` try the real files; this takes a moment, with the krait that was built."""
import html
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import types

import harness as h

DEPLOY = os.path.join(h.ROOT, "deploy", "python")
# Sources that look at KRAIT_STATIC; user/cmd/top/terminal.c also needs descriptions of terminals.
STATIC = ["base/system/library", "base/worker/curl_library", "agent/serve/httpd_library", "native/names/demangle", "cmd/version", "cmd/top/terminal"]
# Stands for IPython: what the magic uses of it.
STUB = '''
import os, sys, types, zlib
class Shell:
    # As ipykernel names cells: by what is in them, whatever the number.
    compile = types.SimpleNamespace(get_code_name=lambda raw, code, number: os.path.join(os.getcwd(), "cells", "%d.py" % zlib.crc32(raw.encode())))
    execution_count, space = 1, {}
    history_manager = types.SimpleNamespace(input_hist_raw=[""])
    def run_cell(self, cell):
        exec(compile(cell, self.compile.get_code_name(cell, cell, 1), "exec"), self.space)
    def register_magic_function(self, function, kind, name):
        self.magic = function
        assert (kind, name) == ("cell", "krait")
shell = Shell()
ipython, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
ipython.get_ipython = lambda: shell
display.HTML = lambda text: text
display.display = lambda text: print("SHOWN", text[:8], len(text), "&lt;html" in text or "&lt;!doctype" in text.lower())
display.display = (lambda show: lambda text: (open("shown.html", "w").write(text), show(text)))(display.display)
sys.modules.update({"IPython": ipython, "IPython.display": display})
import krait
krait.load_ipython_extension(shell)
earlier = """def of_an_earlier_cell():  # its text
    sum(range(1000))
"""
shell.run_cell(earlier)
shell.history_manager.input_hist_raw.append(earlier)
shell.execution_count = 2
shell.magic(sys.argv[1], """
import time
def in_cell():
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        of_an_earlier_cell()
in_cell()
print("RAN")
""")
'''


def check_static(tap, folder):
    """Only compiled: linking needs libraries of make static."""
    objects = [os.path.join(folder, "user", name + ".o") for name in STATIC]
    done = subprocess.run(["make", "-s", "-C", h.ROOT, "STATIC=1", "WERROR=1", "O=" + folder, "BPF_O=" + os.path.relpath(h.BUILD, h.ROOT)] +
                          objects, capture_output=True, encoding="utf-8", check=False)
    tap.ok(done.returncode == 0 and all(map(os.path.exists, objects)), "static: compiles", done.stderr[-1500:])


def make_wheel(folder):
    licences = os.path.join(folder, "LICENSES")
    with open(licences, "w", encoding="ascii") as f:
        f.write("none\n")
    subprocess.run([sys.executable, os.path.join(DEPLOY, "wheel.py"), "1.2.3", os.path.abspath(h.KRAIT), licences, folder],
                   stdout=subprocess.DEVNULL, check=True)
    return next(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".whl"))


def check_wheel(tap, folder):
    wheel = make_wheel(folder)
    with open(wheel, "rb") as f:
        first = f.read()
    with open(make_wheel(folder), "rb") as f:
        tap.ok(f.read() == first, "wheel: made again it is the same")
    venv = os.path.join(folder, "venv")
    python = os.path.join(venv, "bin", "python")
    made = subprocess.run(["/usr/bin/python3", "-m", "venv", venv], capture_output=True, check=False)
    if made.returncode:
        tap.skip("wheel: installs", "/usr/bin/python3 has no venv")
        return
    done = subprocess.run([python, "-m", "pip", "install", "-q", "--no-index", "--disable-pip-version-check", wheel],
                          capture_output=True, encoding="utf-8", check=False)
    tap.equal(done.returncode, 0, "wheel: installs", done.stderr)
    version = h.run_krait("version").stdout
    for command in ([os.path.join(venv, "bin", "krait")], [python, "-m", "krait"]):
        done = subprocess.run(command + ["version"], capture_output=True, encoding="utf-8", check=False)
        tap.equal(done.stdout, version, "wheel: " + " ".join(os.path.basename(c) for c in command), done.stderr)
    if os.environ.get("KRAIT_CAN_BPF", "1" if os.geteuid() == 0 else "0") != "1":
        tap.skip("wheel: %%krait", "needs root and BPF")
        return
    done = subprocess.run([python, "-c", STUB, "-F 499 -o cell.folded"], capture_output=True, encoding="utf-8", cwd=folder, check=False,
                          timeout=h.PATIENCE_SECS)
    tap.ok("RAN\n" in done.stdout and "SHOWN <iframe " in done.stdout and done.stdout.rstrip().endswith("True"),
           "%%krait: the cell runs, and the page is shown", done.stdout, done.stderr)
    stacks = h.parse_folded(os.path.join(folder, "cell.folded"))
    tap.ok(any("in_cell (cell 2)" in str(stack) and "of_an_earlier_cell (cell 1)" in str(stack) for stack in stacks),
           "%%krait: its samples are there, and cells have the notebook's numbers", stacks)
    with open(os.path.join(folder, "shown.html"), encoding="utf-8") as f:
        page = html.unescape(f.read())
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)[1])
    names = {os.path.basename(data["strings"][data["frames"][f[0] * 7 + 2]]) for f in data["sources"]["files"]}
    tap.ok({"cell 1", "cell 2"} <= set(data["shortFiles"][1::2]) and len([n for n in names if n.endswith(".py") and n[:-3].isdigit()]) >= 2,
           "%%krait: the page has the cells' names and texts", data["shortFiles"], names)
    done = subprocess.run([python, "-c", STUB, "--nonsense"], capture_output=True, encoding="utf-8", cwd=folder, check=False,
                          timeout=h.PATIENCE_SECS)
    tap.ok("RAN\n" in done.stdout and "--nonsense" in done.stdout and "SHOWN" not in done.stdout,
           "%%krait: a wrong option is said, and the cell runs", done.stdout, done.stderr)


def check_cell_files(tap, folder):
    """The text of a cell goes into a folder whose name others can guess: only if it is one's own."""
    os.mkdir(folder)
    sys.path.insert(0, DEPLOY)
    sys.dont_write_bytecode = True
    notebook = importlib.import_module("krait.notebook")

    def files_after(cells):
        notebook._save_source(os.path.join(cells, "1.py"), "secret = 1\n")
        return [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names if name == "1.py"]

    tap.equal(files_after(os.path.join(folder, "new")), [os.path.join(folder, "new", "1.py")], "a cell's text: is written")
    shutil.rmtree(os.path.join(folder, "new"))
    os.mkdir(os.path.join(folder, "elsewhere"))
    os.symlink("elsewhere", os.path.join(folder, "link"))
    tap.equal(files_after(os.path.join(folder, "link")), [], "a cell's text: not through a link")
    os.mkdir(os.path.join(folder, "open"))
    os.chmod(os.path.join(folder, "open"), 0o777)
    tap.equal(files_after(os.path.join(folder, "open")), [], "a cell's text: not where anyone may write")
    if os.geteuid():
        tap.skip("a cell's text: not into another's folder", "needs root")
        return
    os.mkdir(os.path.join(folder, "other"), 0o700)
    os.chown(os.path.join(folder, "other"), 65534, 65534)
    tap.equal(files_after(os.path.join(folder, "other")), [], "a cell's text: not into another's folder")


def main():
    tap = h.Tap()
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    check_static(tap, folder)
    check_wheel(tap, folder)
    check_cell_files(tap, os.path.join(folder, "sources"))
    shutil.rmtree(folder)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
