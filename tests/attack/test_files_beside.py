#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""B2: files beside a library, or in its place, belong to its owner. krait must neither block on them nor open them as
root, since opening some devices has effects."""
import ctypes
import os
import re
import select
import shutil
import stat
import subprocess

import attack
import elf_tools

IN_OPEN = 0x20


class Tripwire:
    """Detects whether a file was opened."""

    def __init__(self, path):
        self.fd = attack.LIBC.inotify_init1(os.O_CLOEXEC)
        if attack.LIBC.inotify_add_watch(self.fd, path.encode(), IN_OPEN) < 0:
            raise OSError(ctypes.get_errno(), "inotify")

    def touched(self):
        touched = bool(select.select([self.fd], [], [], 0)[0])
        os.close(self.fd)
        return touched


def library(folder, link=None):
    """Makes a library without symbols, so that krait looks for names elsewhere. Has a build ID."""
    path = folder.build("library.c", "-shared", "-fPIC", "-s", "-Wl,--build-id", name="libevil.so")
    if link:
        elf_tools.debug_link(path, path, link)
    os.chown(path, attack.NOBODY, attack.NOBODY)
    return path


def build_id(path):
    text = subprocess.check_output(["readelf", "-n", path], encoding="utf-8")
    return text.split("Build ID: ")[1].split()[0]


def play(scene, args, *also):
    scene.attacker("caller.py", *args, rests=True)
    return scene.record("-a", *also, native=True)


def check_fifos(tap, python):
    """Each place where debug information may be is a FIFO: beside a library, and at its link's target."""
    with attack.Scene(tap, "B2: FIFOs beside libraries", python) as scene:
        for name, link in ("libevil.so.debug", None), ("evil.debug", "evil.debug"), (".debug/evil.debug", "evil.debug"):
            folder = attack.Folder(python.root)
            path = library(folder, link)
            os.makedirs(os.path.dirname(folder.outside(name)), exist_ok=True)
            os.mkfifo(folder.outside(name))
            scene.attacker("caller.py", "spin_1", folder.inside(os.path.basename(path)), rests=True)
        scene.record("-a", native=True)


def check_device(tap, python):
    """A device node that only root may use, behind a symbolic link beside the library."""
    with attack.Scene(tap, "B2: a link to a device", python) as scene:
        library(scene.folder)
        secret = attack.Folder(python.root)
        os.chmod(secret.path, 0o700)
        os.mknod(secret.outside("device"), 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        links = ["libevil.so.debug", "other.debug"]
        for name in links:
            os.symlink(secret.outside("device"), scene.folder.outside(name))
        wire = Tripwire(secret.outside("device"))
        play(scene, ["spin_1", scene.folder.inside("libevil.so")])
        scene.ok(not wire.touched(), "nobody opens it")


def check_name(tap, python):
    """The mapped file's name has become a FIFO by the time krait reads it."""
    with attack.Scene(tap, "B2: a FIFO in the place of the library", python) as scene:
        library(scene.folder)
        play(scene, ["fifo", scene.folder.inside("libevil.so")])


def check_root(tap, python):
    """The attacker is root of a user namespace and chooses its root folder: links there must not lead krait to files
    of this machine."""
    with attack.Scene(tap, "B2: the root of a user's own", python) as scene:
        host = scene.folder_of_host()
        source = os.path.join(attack.h.TARGETS, "fake_unpublished.c")
        program = host.build(source, "-rdynamic", "-s", "-Wl,--build-id", "-lpthread",
                             name="fake")
        number = build_id(program)
        secret = attack.Folder()
        os.chmod(secret.path, 0o700)
        with open(secret.outside("file"), "w", encoding="ascii") as f:
            f.write("of root's alone")
        root = host.outside("root")
        folder = os.path.join(root, "usr/lib/debug/.build-id", number[:2])
        os.makedirs(folder)
        for name in number[2:] + ".debug", number[2:]:
            os.symlink(secret.outside("file"), os.path.join(folder, name))
        # An interpreter that only its debug information identifies.
        for needed in re.findall(r"(/\S+) \(0x", subprocess.check_output(["ldd", program],
                                                                         encoding="utf-8")):
            os.makedirs(root + os.path.dirname(needed), exist_ok=True)
            shutil.copy(needed, root + needed)
        os.rename(program, os.path.join(root, "fake"))
        os.symlink(secret.outside("file"), os.path.join(root, "fake.debug"))
        subprocess.run(["chown", "-R", "65534:65534", root], check=True)
        wire = Tripwire(secret.outside("file"))
        # A user may make the namespace himself; if not allowed, a plain chroot serves as well.
        scene.run([*attack.as_user(attack.NOBODY, root), "/fake"], rests=True)
        scene.record("-a", native=True)
        attack.krait("list")
        scene.ok(not wire.touched(), "nobody opens a file of this machine")


def main():
    tap = attack.begin()
    python = attack.python_of(tap, "B2", "3.15")
    if python and attack.compiler():
        check_fifos(tap, python)
        check_device(tap, python)
        check_name(tap, python)
        check_root(tap, python)
    attack.end(tap)


if __name__ == "__main__":
    main()
