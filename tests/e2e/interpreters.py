# SPDX-License-Identifier: BSD-2-Clause
"""The interpreters for the end-to-end tests, and the choice of them for a run."""
import os
import shutil
import subprocess
import tempfile

ROOT = os.environ.get("KRAIT_ROOT", os.path.dirname(os.path.dirname(os.path.dirname(__file__))))
TARGETS = os.path.join(ROOT, "tests", "targets")
# Where scripts keep what they fetch and build, for all checkouts.
CACHE = os.environ.get("KRAIT_CACHE", "/var/cache/krait")
# Where scripts/pythons puts a copy of the targets in a root folder.
TARGETS_IN_ROOT = "/opt/krait/targets"
MINORS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15")
# Kinds to look for, by minor: what Debian or pyenv have.
KINDS = {"3.8": ("shared",), "3.9": ("shared",), "3.10": ("shared",), "3.12": ("shared",)}
# Kinds for minors that also have a free-threaded build (scripts/pythons-nogil).
NOGIL = {minor: ("nogil-exe", "nogil-shared") for minor in ("3.13", "3.14", "3.15")}


class Interpreter:
    """One line of KRAIT_PYTHONS."""

    def __init__(self, version, kind, root, path):
        self.version, self.kind, self.root, self.path = version, kind, root, path
        self.minor = ".".join(version.split(".")[:2])
        self.name = "%s %s" % (version, kind)
        self.free_threaded = kind.startswith("nogil-")
        # How the interpreter was built: "exe" or "shared".
        self.build = kind.split("-")[-1]
        self.targets = TARGETS if root == "/" else TARGETS_IN_ROOT

    def command(self, *args):
        """Returns a command line that runs it, in which the process becomes the interpreter itself."""
        chroot = [] if self.root == "/" else ["chroot", self.root]
        return chroot + [self.path, "-B", *args]

    def target(self, script):
        return os.path.join(self.targets, script)

    def inside(self, path):
        """Returns a path of this machine as the interpreter sees it; None: it cannot see it."""
        if self.root == "/":
            return path
        root = self.root.rstrip("/")
        return path[len(root):] if path.startswith(root + "/") else None

    def scratch(self):
        """Makes a folder that both sides see; the caller removes it."""
        folder = os.path.join(self.root, "tmp")
        os.makedirs(folder, exist_ok=True)
        return tempfile.mkdtemp(prefix="krait-e2e-", dir=folder)

    def refresh_targets(self):
        """Copies targets that have changed since scripts/pythons copied them."""
        if self.root == "/":
            return
        folder = self.root.rstrip("/") + TARGETS_IN_ROOT
        os.makedirs(folder, exist_ok=True)
        for name in os.listdir(TARGETS):
            new, old = os.path.join(TARGETS, name), os.path.join(folder, name)
            if os.path.isfile(new) and not same_content(new, old):
                part = "%s.%d" % (old, os.getpid())
                shutil.copy2(new, part)
                os.rename(part, old)


def same_content(a, b):
    try:
        with open(a, "rb") as f, open(b, "rb") as g:
            return f.read() == g.read()
    except OSError:
        return False


def all_interpreters(path=os.environ.get("KRAIT_PYTHONS")):
    """Returns all lines of KRAIT_PYTHONS, including interpreters that krait does not support."""
    if path:
        with open(path, encoding="utf-8") as f:
            text = f.read()
    else:
        text = subprocess.check_output([os.path.join(ROOT, "scripts", "pythons"), "--list"],
                                       encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines() if line.count("\t") == 3]
    return [Interpreter(*row) for row in rows]


def interpreters(tap, each_class=False):
    """Returns the supported ones. scripts/run-tests may have chosen a few (KRAIT_FEW) or, for tests of which
    tests/run/classes says "each class", one of each class of layout (KRAIT_MATRIX); each missing minor or kind becomes a
    skip with its name."""
    chosen = os.environ.get("KRAIT_MATRIX")
    found = [p for p in all_interpreters() if p.minor in MINORS and p.kind not in ("debug", "refs")]
    for minor in MINORS:
        kinds = KINDS.get(minor, ("exe", "shared")) + NOGIL.get(minor, ())
        if chosen and any(p.minor == minor for p in found):
            continue
        for kind in kinds:
            if not any(p.minor == minor and p.kind == kind for p in found):
                script = "pythons-nogil" if kind.startswith("nogil") else "pythons"
                tap.skip("%s %s" % (minor, kind), "no such interpreter (scripts/%s)" % script)
    if chosen:
        found = all_interpreters(chosen if each_class else os.environ["KRAIT_FEW"])
    for python in found:
        python.refresh_targets()
    return found


def is_all():
    """Tells whether this run is thorough (make check-all): every interpreter, each variant, and longer."""
    return not os.environ.get("KRAIT_MATRIX")


def newest(pythons):
    """Returns one for tests that do not depend on the version."""
    return pythons[0] if pythons else None


def few(pythons):
    """For tests that hardly depend on the version: the newest and the oldest, or all in a thorough run."""
    return pythons if is_all() or len(pythons) < 2 else [pythons[0], pythons[-1]]


def covering(pythons, cases, each=1):
    """Yields the (interpreter, case) pairs to run. A thorough run has every pair. Otherwise the newest interpreter
    runs all cases and each other one runs so many, in turn: every interpreter and every case occurs, but not every
    combination."""
    turn = 0
    for python in pythons:
        if is_all() or python is newest(pythons):
            mine = cases
        else:
            mine = [cases[(turn + i) % len(cases)] for i in range(min(each, len(cases)))]
            turn += len(mine)
        for case in mine:
            yield python, case
