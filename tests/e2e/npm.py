# SPDX-License-Identifier: BSD-2-Clause
"""Packages of npm that tests read with. They are kept for all checkouts (KRAIT_CACHE), or in the build folder where the
cache cannot be written."""
import fcntl
import os
import shutil
import subprocess

from interpreters import CACHE

LIMIT_SECS = 120


def folder_for(name, build):
    for folder in os.path.join(CACHE, "npm"), os.path.join(build, "npm"):
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return os.path.join(folder, name)
    return os.path.join(build, "npm", name)


def install(folder, packages, options):
    new = folder + ".new"
    shutil.rmtree(new, ignore_errors=True)
    os.makedirs(new)
    try:
        done = subprocess.run(["npm", "install", "--prefix", new, "--no-audit", "--no-fund", "--fetch-retries=0", *options,
                               *packages], timeout=LIMIT_SECS, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return
    if done.returncode == 0:
        # What is left of one from which somebody has removed files.
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(new, folder)


def modules(build, *packages, scripts=False):
    """Returns the node_modules with these packages, NAME@VERSION, installed there if npm can: they may be missing.
    scripts: they must run some to be installed."""
    name = "+".join(p.replace("/", ".") for p in packages)
    folder = folder_for(name, build)
    found = os.path.join(folder, "node_modules")
    if os.path.isdir(found) or not shutil.which("npm"):
        return found
    with open(folder + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.isdir(found):
            install(folder, packages, [] if scripts else ["--ignore-scripts"])
    return found
