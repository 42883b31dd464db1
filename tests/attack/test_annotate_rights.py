#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""D1: a program claims that its function is in a file of its choice. annotate as root must not print what that
program's user could not read, must not hang and must not read without end; nor may a page contain such text. This
holds whatever the process is before and after, and whatever a capture says of itself."""
import base64
import gzip
import glob
import os
import re
import shutil
import time

import attack

# In two parts: this program is recorded, too.
SECRET = "root:$6$" + "of-roots-alone"


def page(path):
    """Returns a page with its packed data unpacked."""
    with open(path, encoding="utf-8", errors="replace") as f:
        text = f.read(1 << 22)
    packed = [gzip.decompress(base64.b64decode(m)) for m in re.findall(r'"data":"([A-Za-z0-9+/=]+)"', text)]
    return text + "".join(p.decode("latin-1") for p in packed), len(packed)


def play(tap, python, name, path, prepare, hidden=True):
    with attack.Scene(tap, "D1: " + name, python) as scene:
        folder = scene.folder_of_host()
        path = path or folder.outside("file")
        prepare(path)
        hostile = scene.attacker("elsewhere.py", path, rests=True)
        with attack.h.working():
            k = attack.krait("record", "-p", str(hostile.pid), "-d", "300ms", "-o", "x.data", "-o", "live.html",
                             timeout=30)
        scene.ok(k.code == 0 and not k.hung, "it is recorded", k.code, k.words)
        text, packed = page(k.path("live.html"))
        scene.ok(packed == 2 and "elsewhere" in text, "a page is made of it, too", packed)
        if hidden:
            scene.ok(SECRET not in text, "which has none of it")
        for command in ["annotate", "-i", "x.data"], ["annotate", "-i", "x.data", "elsewhere"], \
                ["annotate", "-i", "x.data", "-o", "x.html"]:
            done = attack.krait(*command, folder=k.folder, timeout=10)
            text = done.said
            if os.path.exists(k.path("x.html")):
                text += page(k.path("x.html"))[0]
            scene.ok(not done.hung and done.code in (0, 6, 7), "%s ends" % " ".join(command[:1] + command[3:]),
                     done.code, done.seconds, done.words[:500])
            if hidden:
                scene.ok(SECRET not in text, "%s does not print it" % " ".join(command[:1] + command[3:]))
            peak = max(done.watch.peaks.get(name, 0) for name in ("krait", "krait (child)"))
            scene.ok(peak < 256 * attack.MIB, "and needs little memory", "%d KiB" % peak)


def secret(path):
    with open(path, "w", encoding="ascii") as f:
        f.write((SECRET + "\n") * 40)
    os.chmod(path, 0o600)


def link_to_secret(path):
    secret(path + ".secret")
    os.symlink(path + ".secret", path)


def sparse(path):
    with open(path, "wb") as f:
        f.truncate(8 << 30)


def shown(k, *command, uid=None):
    """Runs a command on a capture, as a user; returns what it says, and the page that it makes."""
    launch = attack.as_user(uid) if uid else ()
    done = attack.krait(*command, folder=k.folder, timeout=10, launch=launch)
    text = done.said
    if os.path.exists(k.path("x.html")):
        text += page(k.path("x.html"))[0]
        os.unlink(k.path("x.html"))
    return text


def check_hidden(scene, k, what):
    scene.ok(SECRET not in page(k.path("live.html"))[0], what + " record's page has none of it")
    for command in ["annotate", "-i", "x.data", "elsewhere"], ["convert", "-i", "x.data", "-o", "x.html"], \
            ["annotate", "-i", "x.data", "-o", "x.html"], ["diff", "x.data", "x.data", "-o", "x.html"]:
        text = shown(k, *command)
        scene.ok("-o" in command or "samples" in text, "%s annotate has its samples" % what, text[:500])
        scene.ok(SECRET not in text, "%s %s shows none of it" % (what, command[0]))


def folded(k, name="x.folded"):
    with open(k.path(name), encoding="utf-8") as f:
        return f.read()


def check_exec(tap, python):
    """Processes run a moment in that function, then execute a set-id program. Their pids then are root's."""
    with attack.Scene(tap, "D1: exec of a set-id program", python) as scene:
        path = scene.folder_of_host().outside("file")
        secret(path)
        set_id = scene.folder_of_host().build("set_id.c", "-static")
        os.chmod(set_id, 0o4755)

        def record(*options):
            hostile = scene.attacker("other_rights.py", "exec", path, set_id, "1.6")
            k = attack.krait("record", "-a", "-d", "1s", "-F", "997", "--no-native", "-o", "x.data", "-o", "live.html",
                             "-o", "x.folded", "--label", "user,command", *options, timeout=30)
            hostile.process.kill()
            return k

        k = record()
        scene.ok(k.code == 0 and not k.hung, "it is recorded", k.code, k.words)
        check_hidden(scene, k, "its")
        processes = {line.split(";")[0] for line in folded(k).splitlines() if ";elsewhere" in line}
        scene.ok(processes and all("user_%d" % attack.NOBODY in p for p in processes),
                 "their samples are those of the user who made them", processes)
        k = record("--user", "root")
        scene.ok("elsewhere" not in folded(k), "and not root's", k.words)


def check_drop(tap, python):
    """A service starts as root, drops its rights and runs somebody's function, in one recording."""
    with attack.Scene(tap, "D1: a process that drops its rights", python) as scene:
        path = scene.folder_of_host().outside("file")
        secret(path)

        def record(path, *options):
            server = scene.attacker("other_rights.py", "drop", path, attack.NOBODY, "0.3", uid=0)
            k = attack.Krait("record", "-F", "997", "--no-native", "-o", "x.data", "-o", "live.html", "-o", "x.folded",
                             "--label", "user,command", *(o if o != "PID" else str(server.pid) for o in options))
            scene.ok(k.recording(), "krait begins to sample", k.words)
            server.process.stdin.write(b"\n")
            time.sleep(0.8)
            k.interrupt()
            server.process.kill()
            return k

        k = record(path, "-p", "PID")
        check_hidden(scene, k, "its")
        parts = {(line.split("]")[0].split("_")[-1], name) for line in folded(k).splitlines()
                 for name in ("ordinary", "elsewhere") if name in line}
        scene.ok(parts == {("0", "ordinary"), (str(attack.NOBODY), "elsewhere")}, "each part is its user's",
                 folded(k)[:2000])
        for user, has, lacks in ("root", "ordinary", "elsewhere"), (str(attack.NOBODY), "elsewhere", "ordinary"):
            k = record(path, "-a", "--user", user)
            scene.ok(has in folded(k) and lacks not in folded(k), "--user %s has that user's part" % user,
                     k.words, folded(k)[:2000])
        os.chown(path, 0, attack.NOBODY)
        os.chmod(path, 0o640)
        k = record(path, "-p", "PID")
        scene.ok(SECRET in page(k.path("live.html"))[0] and SECRET in shown(k, "annotate", "-i", "x.data", "elsewhere"),
                 "what both could read is shown", k.words)


def check_claims(tap, python):
    """A capture says itself whose its processes were. Its owner can write anything there."""
    with attack.Scene(tap, "D1: an edited capture", python) as scene:
        path = scene.folder_of_host().outside("file")
        secret(path)
        os.chown(path, attack.NOBODY, attack.NOBODY)
        hostile = scene.attacker("elsewhere.py", path, rests=True)
        with attack.h.working():
            k = attack.krait("record", "-p", str(hostile.pid), "-d", "300ms", "-o", "x.data", "-o", "live.html",
                             timeout=30)
        os.chmod(k.folder, 0o777)
        dso, = glob.glob(k.path("x.data.krait/*.so"))
        scene.ok(SECRET in page(k.path("live.html"))[0], "a page made while recording has the program's own file")
        scene.ok(SECRET in shown(k, "annotate", "-i", "x.data"), "so has annotate")
        scene.ok(SECRET not in shown(k, "convert", "-i", "x.data", "-o", "x.html"),
                 "a page made later has only what everybody may read")
        scene.ok(SECRET in shown(k, "convert", "-i", "x.data", "-o", "x.html", "--source", os.path.dirname(path)),
                 "and what is in the folder that the caller names")
        for name in k.path("x.data"), os.path.dirname(dso), dso:
            os.chown(name, attack.NOBODY, attack.NOBODY)
        scene.ok(SECRET in shown(k, "annotate", "-i", "x.data"), "what a capture's owner could read is shown to root")
        # The secret becomes somebody else's, and the capture says that so were the processes.
        for uid in 0, attack.BYSTANDER_UID:
            os.chown(path, uid, uid)
            with open(dso, "rb") as f:
                text = f.read()
            mine = re.search(rb"\nids %d (\d{5}) (\d{5})" % hostile.pid, text)
            scene.ok(mine, "the capture has a line to edit", text[-500:])
            if mine:
                at, end = mine.span()
                line = b"\nids %d %05d %05d" % (hostile.pid, uid, uid)
                with open(dso, "r+b") as f:
                    f.seek(at)
                    f.write(line)
                    assert len(line) == end - at
            for command in ["annotate", "-i", "x.data"], ["annotate", "-i", "x.data", "elsewhere"], \
                    ["convert", "-i", "x.data", "-o", "x.html"], ["annotate", "-i", "x.data", "-o", "x.html"], \
                    ["diff", "x.data", "x.data", "-o", "x.html"]:
                scene.ok(SECRET not in shown(k, *command, uid=uid),
                         "%s by %s does not believe it" % (" ".join(command), uid))
        # One's own copy of it is still what somebody else has said.
        copy = attack.Krait("--version")
        copy.wait(5)
        shutil.copytree(os.path.dirname(dso), copy.path("x.data.krait"))
        shutil.copy(k.path("x.data"), copy.path("x.data"))
        scene.ok(SECRET not in shown(copy, "convert", "-i", "x.data", "-o", "x.html"), "nor does a page of a copy")


# What elsewhere.py executes, with something in it.
CODE = "\ndef elsewhere():\n    total = 0\n    while True:\n        total += 1  # %s\n        total -= 1\n" % SECRET


def travelled(k):
    text = b""
    for path in glob.glob(k.path("x.data.krait/*.so")):
        with open(path, "rb") as f:
            text += f.read()
    return text.decode("utf-8", "replace")


def check_travels(tap, python):
    """Lines travel with a capture if the program's files are its own, or if linecache has them: those that its user, and
    krait's caller, could read there."""
    with attack.Scene(tap, "D1: lines that travel", python) as scene:
        path = scene.folder_of_host().outside("file")
        with open(path, "w", encoding="ascii") as f:
            f.write(CODE)
        os.utime(path, (1, 1))
        script = scene.folder.add("elsewhere.py")
        own = [*attack.as_user(attack.NOBODY), "unshare", "-Urm", python.path, "-B", script]
        hostile = scene.run([*own, path])
        cell = scene.run([*own, "<cell 7>", "its-own-text"])
        sudo = dict(os.environ, SUDO_UID=str(attack.SPARE_UID), SUDO_GID=str(attack.SPARE_UID))

        def travels(owner, mode, env=None):
            os.chown(path, owner, owner)
            os.chmod(path, mode)
            # The change of its owner is one of the file: it is older than the process is.
            fresh = scene.run([*own, path])
            k = attack.krait("record", "-p", str(fresh.pid), "-p", str(cell.pid), "-d", "300ms", "-F", "997", "-o", "x.data",
                             timeout=30, env=env)
            fresh.process.kill()
            scene.ok(k.code == 0 and "elsewhere" in travelled(k), "it is recorded", k.code, k.words)
            return SECRET in travelled(k), "its-own-text" in travelled(k)

        os.chmod(path, 0o600)
        k = scene.record("-a", outputs=("x.script", "x.data"))
        scene.ok("elsewhere" in travelled(k) and SECRET not in travelled(k), "root's own file does not travel", k.words)
        scene.ok(travels(0, 0o600) == (False, True), "nor with other processes left alone; what memory has does")
        scene.ok(travels(0, 0o644) == (True, True), "what everybody may read does")
        scene.ok(travels(attack.NOBODY, 0o600) == (True, True), "so does what the program could read")
        scene.ok(travels(attack.NOBODY, 0o600, sudo) == (False, False),
                    "behind sudo neither does: the caller could not read it, nor that memory")
        scene.ok(travels(0, 0o644, sudo) == (True, False), "but what everybody may read does")
        hostile.process.kill()


def main():
    tap = attack.begin()
    # One that sees the same files as root does.
    python = attack.python_of(tap, "D1", "3.11")
    if python:
        play(tap, python, "a file of root's", None, secret)
        play(tap, python, "a link to one", None, link_to_secret)
        play(tap, python, "a device without end", "/dev/zero", lambda path: None, hidden=False)
        play(tap, python, "a FIFO", None, os.mkfifo, hidden=False)
        play(tap, python, "a file of 8 GiB without lines", None, sparse, hidden=False)
        check_travels(tap, python)
        check_claims(tap, python)
        check_drop(tap, python)
        if attack.compiler():
            check_exec(tap, python)
    attack.end(tap)


if __name__ == "__main__":
    main()
