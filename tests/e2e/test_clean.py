#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""krait clean removes what recordings left in perf's build-id cache, and nothing else."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tap import Tap  # noqa: E402

ROOT = os.environ.get("KRAIT_ROOT") or os.path.dirname(os.path.dirname(sys.path[0]))
BUILD = os.environ.get("KRAIT_BUILD") or os.path.join(ROOT, "build")
tap = Tap()
IDS = ["%02x" % n * 20 for n in range(16, 22)]


def clean(cache, *args):
    return subprocess.run([os.path.join(BUILD, "krait"), "clean", *args], env={**os.environ, "PERF_BUILDID_DIR": cache},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", timeout=60)


def write(path, text="x" * 5000):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def put(cache, original, build_id):
    """Puts a copy of that file into the cache, as krait and perf do."""
    copy = write("%s%s/%s/elf" % (cache, original, build_id))
    link = "%s/.build-id/%s/%s" % (cache, build_id[:2], build_id[2:])
    os.makedirs(os.path.dirname(link), exist_ok=True)
    os.symlink("../..%s/%s" % (original, build_id), link)
    return copy, link


def files(folder):
    return sorted(os.path.join(path, name) for path, _, names in os.walk(folder) for name in names)


def main():
    with tempfile.TemporaryDirectory(prefix="krait-clean-") as folder:
        cache = os.path.join(folder, "cache")
        dso = lambda capture, build_id: "%s/%s.krait/python-%s.so" % (folder, capture, build_id[:8])
        kept = put(cache, write(dso("kept.data", IDS[0])), IDS[0])
        write(os.path.join(folder, "kept.data"))
        gone = put(cache, dso("gone.data", IDS[1]), IDS[1]) + put(cache, dso("kept.data", IDS[2]), IDS[2])
        others = put(cache, "/usr/lib/libnone.so", IDS[3]) + (
            write(cache + folder + "/gone.data.krait/notes.txt"), write(cache + dso("gone.data", IDS[1]) + "/not-an-id/elf"))
        left = write(dso("lost.data", IDS[4]))
        left_copy = put(cache, left, IDS[4])
        # Links lead elsewhere: the files there belong to somebody.
        away = write(os.path.join(folder, "away", IDS[5], "elf"))
        os.symlink(os.path.dirname(os.path.dirname(away)), cache + folder + "/python-aaaaaaaa.so")
        os.symlink("/", cache + folder + "/everything")
        before = files(folder)
        done = clean(cache, "-n")
        tap.ok(done.returncode == 0 and re.match(r"would remove 2 files \(\d+ KiB\)$", done.stdout), "--dry-run counts", done.stdout, done.stderr)
        tap.equal(files(folder), before, "and removes nothing")
        done = clean(cache)
        tap.ok(done.returncode == 0 and done.stdout.startswith("removed 2 files"), "copies without an original go", done.stdout, done.stderr)
        tap.equal([path for path in gone if os.path.lexists(path)], [], "with their links")
        tap.equal([path for path in kept + others + left_copy + (away, left) if not os.path.lexists(path)], [],
                  "what has an original stays, what others made, and what links lead to")
        before = files(folder)
        done = clean(cache, os.path.join(folder, "lost.data"), os.path.join(folder, "never.data"))
        tap.ok(done.returncode != 0 and "there is no" in done.stderr and not done.stdout, "one wrong name of two is an error", done.stdout, done.stderr)
        tap.equal(files(folder), before, "and nothing is removed")
        done = clean(cache, os.path.join(folder, "kept.data"))
        tap.ok(done.returncode != 0 and "is still there" in done.stderr and os.path.exists(dso("kept.data", IDS[0])),
               "the folder of a capture that is there stays", done.stderr)
        done = clean(cache, os.path.join(folder, "lost.data"))
        tap.ok(done.returncode == 0 and done.stdout.startswith("removed 2 files"), "that of one that is gone goes, and its copy",
               done.stdout, done.stderr)
        tap.ok(not os.path.exists(os.path.dirname(left)), "with the folder itself")
        done = clean(cache, os.path.join(folder, "never.data"))
        tap.ok(done.returncode != 0 and "there is no" in done.stderr, "a name that left nothing is an error", done.stderr)
        done = clean(os.path.join(folder, "no-cache"))
        tap.equal([done.returncode, done.stdout], [0, "removed 0 files (0 KiB)\n"], "without a cache there is nothing to do")
    tap.done()
    return 0


if __name__ == "__main__":
    sys.exit(main())
