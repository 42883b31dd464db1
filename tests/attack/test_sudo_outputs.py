#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""C1 and C3 to C5: under sudo krait writes with the rights of the user who called it, never through a link of his to
a file of root's, changes no ownership, and destroys nothing if it fails."""
import contextlib
import os
import shutil
import signal
import stat
import subprocess
import threading
import time

import attack

USER = 65534
SECRET = "of root's alone\n"
TERMINAL = b"zzz|a terminal,\n\tam, cols#80, lines#24, clear=\\E[H\\E[2J, cup=\\E[%i%p1%d;%p2%dH,\n"


def sudo(**more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("SUDO_")}
    env.update(SUDO_UID=str(USER), SUDO_GID=str(USER), SUDO_USER="nobody", SUDO_COMMAND="krait")
    return dict(env, **more)


class Stage(attack.Scene):
    """A folder of the user's, a file of root's, and a program to record."""

    def __enter__(self):
        super().__enter__()
        self.secret = attack.Folder()
        os.chmod(self.secret.path, 0o700)
        self.mine = attack.Folder()
        os.chown(self.mine.path, USER, USER)
        os.chmod(self.mine.path, 0o755)
        with open(self.secret.outside("file"), "w", encoding="ascii") as f:
            f.write(SECRET)
        os.chmod(self.secret.outside("file"), 0o600)
        self.target = self.bystander()
        self.target.work(60000)
        os.kill(self.target.pid, signal.SIGSTOP)
        return self

    @contextlib.contextmanager
    def at_work(self):
        """In here the target works; else it stands still."""
        os.kill(self.target.pid, signal.SIGCONT)
        try:
            yield
        finally:
            os.kill(self.target.pid, signal.SIGSTOP)

    def record_here(self, *args, env=None, timeout=15, launch=(), folder=None):
        with self.at_work():
            return attack.krait("record", "-p", str(self.target.pid), "-d", "200ms", *args, env=env or sudo(),
                                timeout=timeout, folder=folder or self.mine.path, launch=launch)

    def secret_is_whole(self):
        path = self.secret.outside("file")
        said = os.stat(path)
        with open(path, encoding="ascii", errors="replace") as f:
            whole = f.read() == SECRET
        self.ok(whole and said.st_uid == 0 and stat.S_IMODE(said.st_mode) == 0o600,
                "root's file is as it was", said)


def check_links(tap, python):
    for name in "perf.data", "x.folded", "x.html":
        with Stage(tap, "C1: %s is a link to root's file" % name, python) as s:
            os.symlink(s.secret.outside("file"), s.mine.outside(name))
            os.lchown(s.mine.outside(name), USER, USER)
            s.record_here("-o", name)
            s.secret_is_whole()
    with Stage(tap, "C1: perf.data.krait is a link to root's folder", python) as s:
        trap = s.secret.outside("folder")
        os.mkdir(trap, 0o700)
        kept = os.path.join(trap, "python-12345678.so")
        with open(kept, "w", encoding="ascii") as f:
            f.write(SECRET)
        os.symlink(trap, s.mine.outside("perf.data.krait"))
        s.record_here()
        s.ok(os.listdir(trap) == ["python-12345678.so"] and os.stat(trap).st_uid == 0 and
             os.stat(kept).st_uid == 0, "nothing in there is removed, made or given away", os.listdir(trap))
    with Stage(tap, "C1: hard link to root's file", python) as s:
        os.link(s.secret.outside("file"), s.mine.outside("perf.data"))
        s.record_here()
        s.secret_is_whole()


def check_devices(tap, python):
    with Stage(tap, "C1: the output is a device", python) as s:
        device = s.secret.outside("null")
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        os.chmod(device, 0o666)
        os.chmod(s.secret.path, 0o755)
        k = s.record_here("-f", "folded", "-o", device)
        said = os.stat(device)
        s.ok(stat.S_ISCHR(said.st_mode) and said.st_uid == 0, "it is root's, and a device, as before", said)
        s.ok(k.code == 0, "it takes the output", k.code, k.words)


def check_home(tap, python):
    """krait makes its files in the user's home as the user, and none through a link to elsewhere."""
    with Stage(tap, "C1: ~/.debug is a link to root's folder", python) as s:
        os.symlink(s.secret.path, s.mine.outside(".debug"))
        s.record_here("-o", "y.data", env=sudo(HOME=s.mine.path))
        s.ok(os.listdir(s.secret.path) == ["file"], "nothing is made in there", os.listdir(s.secret.path))
    with Stage(tap, "C1: a home that is not there", python) as s:
        s.record_here("-o", "y.data", env=sudo(HOME="/nonexistent-krait"))
        s.ok(not os.path.exists("/nonexistent-krait") and not os.path.exists("/nonexistent"),
             "is not made")


def check_owner(tap, python):
    with Stage(tap, "C1: ordinary outputs", python) as s:
        k = s.record_here("-o", "z.data", "-o", "z.folded")
        owners = {n: os.stat(s.mine.outside(n)).st_uid for n in ("z.data", "z.folded")
                  if os.path.exists(s.mine.outside(n))}
        s.ok(k.code == 0 and owners == {"z.data": USER, "z.folded": USER}, "are the user's", k.code, owners,
             k.words)


def check_browser(tap, python):
    """--open: the browser is the user's, with none of root's rights, and what sudo left out of his environment."""
    with Stage(tap, "--open", python) as s:
        said, tool = s.mine.outside("said"), s.mine.outside("xdg-open")
        with open(tool, "w", encoding="ascii") as f:
            f.write(f'#!/bin/sh\necho "$1 $(id -u) $(id -G) $(grep CapEff /proc/self/status) $HOME" > {said}.new; mv {said}.new {said}\n')
        os.chmod(tool, 0o755)
        for what, act in (("record", lambda env: s.record_here("-o", "open.html", "-o", "open.data", "--open", env=env)),
                          ("convert", lambda env: attack.krait("convert", "open.data", "-o", "open.html", "--open", env=env, folder=s.mine.path))):
            k = act(sudo(PATH=s.mine.path + ":/usr/bin:/bin", HOME="/root"))
            for _ in range(100):
                if os.path.exists(said):
                    break
                time.sleep(0.05)
            words = open(said, encoding="ascii").read().split() if os.path.exists(said) else []
            s.ok(k.code == 0 and words[:2] == [s.mine.outside("open.html"), str(USER)] and "0" not in words[2:-2] and int(words[-2], 16) == 0 and
                 words[-1] != "/root", f"{what}: the user's browser shows the page, without root's rights", k.code, words, k.words)
            if words:
                os.unlink(said)
        k = attack.krait("convert", "open.data", "-o", "open.html", "--open", env=sudo(PATH="/nonexistent"), folder=s.mine.path)
        s.ok(k.code == 0 and "xdg-open is not installed" in k.words, "without one a line says so, and the page is there", k.code, k.words)


def check_environment(tap, python):
    """krait ignores variables that sudo did not set."""
    with Stage(tap, "C1: odd SUDO variables", python) as s:
        for name, value in ("SUDO_UID", "-1"), ("SUDO_UID", "4294967296"), ("SUDO_UID", "abc"), \
                ("SUDO_GID", ""), ("SUDO_UID", "0x10"):
            env = sudo()
            env[name] = value
            k = s.record_here("-o", "odd.folded", env=env)
            s.ok(not k.hung and isinstance(k.code, int) and 0 <= k.code < 64, "%s=%s: no crash" % (name, value),
                 k.code, k.words)
        # The real user is not root, so his claim about who called him does not count.
        os.chmod(s.mine.path, 0o777)
        capture = s.mine.outside("odd.data")
        s.record_here("-o", "odd.data", env=os.environ.copy())
        os.chmod(capture, 0o644)
        done = attack.krait("report", "-i", capture, env=sudo(SUDO_UID="0"), folder=s.mine.path,
                            launch=attack.as_user(USER))
        s.ok(done.code in (0, 6, 7), "SUDO_UID=0 of a user is nothing", done.code, done.words)


def check_agent(tap, python):
    """What the agent reads is sent away, or quoted in messages: nothing that the user behind sudo cannot read."""
    with Stage(tap, "S5: files of krait agent", python) as stage:
        secret, folder = stage.secret.outside("file"), stage.secret.path
        common = ("agent", "-i", "1s", "-d", "1s")

        def agent(*args):
            return attack.krait(*common, *args, env=sudo(), timeout=20, folder=stage.mine.path)

        for option in "--export-token-file", "--export-ca", "--listen-token-file":
            k = agent("--otlp-endpoint", "http://127.0.0.1:1", option, secret, "--listen", "127.0.0.1:0")
            stage.ok(k.code == 2 and "the user behind sudo may not read it" in k.said, option + " of root's is refused",
                     k.code, k.words)
        k = agent("--config", secret)
        stage.ok(k.code == 2 and "may not read it" in k.said and SECRET[:2] not in k.said.replace(secret, ""),
                 "--config of root's is not quoted", k.code, k.words)
        for option, name in ("--spool", "spool"), ("--keep-dir", "keep"), ("--listen", "unix"):
            path = os.path.join(folder, name)
            more = () if option == "--listen" else ("--otlp-endpoint", "http://127.0.0.1:1") \
                if option == "--spool" else ("--otlp-dir", "w", "--keep", "1h")
            k = agent(option, "unix:" + path if option == "--listen" else path, *more)
            stage.ok(k.code != 0 and not os.path.exists(path), option + " in a folder of root's makes nothing there",
                     k.code, k.words)
        mine = stage.mine.outside("keep")
        k = agent("--keep-dir", mine, "--keep", "1h", "--otlp-dir", "w")
        stage.ok(k.code == 0 and os.path.exists(mine) and os.stat(mine).st_uid == USER and
                 all(os.stat(os.path.join(mine, n)).st_uid == USER for n in os.listdir(mine)),
                 "a folder of the user's gets files of the user's", k.code, k.words)


def check_terminals(tap):
    """With file capabilities ncurses would read descriptions of terminals from wherever the caller says."""
    folder = attack.Folder()
    copy = folder.outside("kcap")
    shutil.copy(attack.h.KRAIT, copy)
    os.chmod(copy, 0o755)
    caps = "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,cap_checkpoint_restore,cap_syslog+ep"
    if subprocess.run(["setcap", caps, copy], stderr=subprocess.DEVNULL).returncode:
        tap.skip("S11: descriptions of terminals", "no setcap, or no file capabilities here")
        return
    os.mkdir(folder.outside("home"))
    for where in folder.outside("ti"), folder.outside("home/.terminfo"):
        subprocess.run(["tic", "-x", "-o", where, "-"], input=TERMINAL, stderr=subprocess.DEVNULL)
        subprocess.run(["chmod", "-R", "a+rX", where])
    env = {"TERM": "zzz", "TERMINFO": folder.outside("ti"), "HOME": folder.outside("home"), "PATH": os.environ["PATH"],
           "SHELL": "/bin/sh"}
    line = ["script", "-qec", "%s top -d 1s" % copy, "/dev/null"]
    for home in {}, {"TERMINFO": "/nonexistent"}:
        done = subprocess.run([*attack.as_user(USER), *line], env=dict(env, **home), capture_output=True, timeout=20)
        tap.ok(b"zzz" in done.stdout and b"\033[H\033[2J" not in done.stdout,
               "S11: krait top does not know the caller's own terminal", done.stdout[-500:])


def plain():
    return {k: v for k, v in os.environ.items() if not k.startswith("SUDO_")}


def check_names(tap, python):
    """Root records, without sudo, into a folder in which somebody else may rename and link."""
    with Stage(tap, "S7: the folder of names", python) as stage:
        own, secret, stop = stage.mine.path, stage.secret.path, threading.Event()
        before = os.listdir(secret)

        def swap():
            while not stop.is_set():
                for name in os.listdir(own):
                    path = os.path.join(own, name)
                    if ".data.krait" in name and not os.path.islink(path) and os.path.isdir(path):
                        try:
                            os.rename(path, path + ".away%d" % time.monotonic_ns())
                            os.symlink(secret, path)
                        except OSError:
                            pass
                time.sleep(0.001)

        thread = threading.Thread(target=swap)
        thread.start()
        try:
            with stage.at_work():
                k = attack.krait("record", "-p", str(stage.target.pid), "-d", "2500ms", "-o", "r.data", env=plain(),
                                 timeout=20, folder=own)
        finally:
            stop.set()
            thread.join()
        stage.ok(os.listdir(secret) == before, "nothing is written through a link in its place", os.listdir(secret),
                 k.words)
    with Stage(tap, "S7: names where somebody else was first", python) as stage:
        os.chown(stage.mine.path, 0, 0)
        os.chmod(stage.mine.path, 0o1777)
        for name in "r.data.krait", "r.data.old.krait":
            path = stage.mine.outside(name)
            os.mkdir(path)
            with open(os.path.join(path, "x"), "w", encoding="ascii"):
                pass
            os.chown(path, USER, USER)
        with stage.at_work():
            k = attack.krait("record", "-p", str(stage.target.pid), "-d", "300ms", "-o", "r.data", env=plain(),
                             timeout=20, folder=stage.mine.path)
        there = [n for name in ("r.data.krait", "r.data.old.krait") for n in os.listdir(stage.mine.outside(name))]
        stage.ok(k.code == 0 and there == ["x", "x"], "nothing is put into a folder of somebody else's", k.code, there,
                 k.words)
        done = attack.krait("report", "-i", "r.data", env=plain(), folder=stage.mine.path)
        stage.ok(done.code == 0 and "bystander" in done.said, "the capture has its names all the same", done.words)


def check_race(tap, python):
    """Somebody keeps replacing the file at the output's name."""
    with Stage(tap, "C1: a race for the name of the output", python) as s:
        stop = threading.Event()
        name = s.mine.outside("race.folded")

        def swap():
            while not stop.is_set():
                for make in lambda: os.symlink(s.secret.outside("file"), name + ".new"), \
                        lambda: open(name + ".new", "w").close():
                    try:
                        make()
                        os.rename(name + ".new", name)
                    except OSError:
                        pass
        thread = threading.Thread(target=swap)
        thread.start()
        for _ in range(8 if attack.FULL else 3):
            s.record_here("-o", "race.folded")
        stop.set()
        thread.join()
        s.secret_is_whole()


def check_failures(tap, python):
    """C3: a failing command leaves existing files alone."""
    with Stage(tap, "C3: a command that fails", python) as s:
        for name in "old.folded", "perf.data", "old.html":
            path = s.mine.outside(name)
            with open(path, "w", encoding="ascii") as f:
                f.write("what was there")
            attack.krait("record", "-p", "999999", "-o", name, folder=s.mine.path)
            attack.krait("record", "-o", name, "--", "/nonexistent", folder=s.mine.path)
            attack.krait("convert", "nosuch.data", "-o", name, folder=s.mine.path)
            with open(path, encoding="ascii", errors="replace") as f:
                s.ok(f.read() == "what was there", name + " is as it was")


def check_descriptors(tap, python):
    """C4: closed standard descriptors do not become the next file's."""
    for which in "0", "1", "2":
        with Stage(tap, "C4: descriptor %s is closed" % which, python) as s:
            s.record_here("-o", "c.folded", launch=["sh", "-c", 'exec "$@" %s>&-' % which, "sh"])
            with open(s.mine.outside("c.folded"), encoding="utf-8") as f:
                lines = f.read().splitlines()
            s.ok(lines and all(";" in line and line.rsplit(" ", 1)[1].isdigit() for line in lines),
                 "nothing but stacks is in the output", lines[:5])


def check_limits(tap, python):
    """C5: a full disk is reported at once; small limits get a clear message."""
    with Stage(tap, "C5: a full disk", python) as s:
        began = time.monotonic()
        with s.at_work():
            k = attack.krait("record", "-p", str(s.target.pid), "-d", "30s", "-o", "/dev/full", "-f", "script",
                             folder=s.mine.path, timeout=25)
        s.ok(k.code == 7 and time.monotonic() - began < 10, "krait ends at once, with 7", k.code, k.seconds,
             k.words)
        s.ok(k.said.count("No space left") == 1, "krait says why, once", k.words)
    for name, shell, codes in ("16 blocks a file", "ulimit -f 16", (0, 1, 6, 7)), \
            ("20 descriptors", "ulimit -n 20", (0, 4, 5)), \
            ("a stack of 64 KiB", "ulimit -s 64", (0, 4, 5)):
        with Stage(tap, "C5: " + name, python) as s:
            k = s.record_here("-o", "l.script", launch=["sh", "-c", shell + '; exec "$@"', "sh"])
            s.ok(k.code in codes and "verifier" not in k.said, "ends without a crash, and no wrong reason",
                 k.code, k.words)
            s.ok(k.code == 0 or k.words.strip(), "says something", k.code)


def main():
    tap = attack.begin()
    found = attack.pythons("3.15", "3.11", build="exe")
    if not found:
        tap.skip("C1", "no interpreter")
    else:
        subprocess.run(["rm", "-rf", "/nonexistent-krait"], check=True)
        for check in check_links, check_devices, check_home, check_owner, check_browser, check_environment, check_race, \
                check_failures, check_descriptors, check_limits, check_agent, check_names:
            check(tap, found[0])
        check_terminals(tap)
    attack.end(tap)


if __name__ == "__main__":
    main()
