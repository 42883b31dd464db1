#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""Completion: what krait says may come, and that bash, zsh and fish make of it what their users expect."""
import os
import re
import shlex
import shutil
import subprocess
import tempfile

import harness as h
from terminal import Terminal

COMPLETION = os.path.join(h.ROOT, "deploy", "completion")
CAPTURED = """
import time
class Cart:
    def total(self):
        return sum(range(20000))
def zz_checkout():
    end = time.monotonic() + 0.4
    while time.monotonic() < end:
        Cart().total()
exec(compile("def evil():\\n  end = time.monotonic() + 0.4\\n  while time.monotonic() < end: pass", "x", "exec"))
evil.__code__ = evil.__code__.replace(co_name="evil$(touch stolen)", co_qualname="evil$(touch stolen)")
zz_checkout()
evil()
"""


def complete(*line, cwd=None):
    return subprocess.run([os.path.abspath(h.KRAIT), "--complete", *line], capture_output=True, timeout=h.PATIENCE_SECS, cwd=cwd,
                          encoding="utf-8", check=False)


def words(*line, cwd=None):
    """Returns what can replace the last word."""
    done = complete(*line, cwd=cwd)
    return [text.split("\t")[0] for text in done.stdout.splitlines()] if done.returncode == 0 else done


def options_of(command):
    text = h.run_krait(*command.split(), "--help").stdout
    return sorted(set(re.findall(r"(?:^ {6}|^  -., |, )--([a-z][a-z-]+)(?=[\[=,]|\s|$)", text, re.M)))


def check_words(tap, folder):
    commands = re.findall(r"^  ([a-z]+) ", h.run_krait("--help").stdout.split("\n\n")[2], re.M)
    tap.equal([w for w in words("") if not w.isdigit()], commands + ["help"], "all commands")
    for command in commands + ["agent snapshot"]:
        offered = [w[2:].rstrip("=") for w in words(*command.split(), "--")]
        tap.equal(sorted(set(offered) | {"usage"}), options_of(command), command + ": all options of its --help")
    for line, wanted in (
            (("re",), ["record", "report"]),
            (("record", "-e", "cycles,bus"), ["cycles,bus-cycles"]),
            (("record", "--event=LLC-load-"), ["--event=LLC-load-misses"]),
            (("record", "-f", "p"), ["perf", "pprof", "perfetto", "pstats"]),
            (("record", "-o", "x", "--state=gil,l"), ["--state=gil,lock"]),
            (("record", "--state", "of"), ["off"]),
            (("record", "--label=pid,c"), ["--label=pid,container", "--label=pid,cgroup", "--label=pid,command"]),
            (("record", "--user=ro"), [":user"]),
            (("record", "-a", "python3", "-"), [":command"]),
            (("record", "-a", "--", "python3", ""), [":command"]),
            (("report", "--by", "o"), ["origin", "opcode"]),
            (("report", "--sort", "comm,d"), ["comm,dso"]), (("report", "-F", "s"), ["sample", "symbol", "srcline"]),
            (("report", "-o"), []),
            (("top", "--view=t"), ["--view=threads", "--view=tree"]),
            (("top", "--sort", "self"), ["self", "self-all"]),
            (("annotate", "-s", ""), [":directory"]),
            (("agent", "s"), ["snapshot"]),
            (("agent", "--config", "/nonexistent", "--log-format="), ["--log-format=text", "--log-format=json"]),
            (("diff", "a", ""), [":file"]), (("diff", "a", "b", ""), []),
            (("help", "an"), ["annotate"]),
            (("frobnicate", ""), None)):
        said = words(*line, cwd=folder)
        tap.ok(said == wanted or (wanted is None and not isinstance(said, list) and not said.stdout),
               "krait %s" % " ".join(line), said)
    # As --help says them, all values are taken.
    for command, option in (("report", "by"), ("top", "view"), ("top", "sort")):
        text = re.sub(r"\s+", " ", h.run_krait(command, "--help").stdout.split("--%s=" % option)[1])
        tap.equal([w for w in words(command, "--" + option, "") if w not in text], [], "--%s: words of --help" % option)


def check_processes(tap):
    python = h.newest([p for p in h.all_interpreters() if p.root == "/"])
    with h.start(python, "split.py", "rest") as target:
        for line in (("dump",), ("record", "-p"), ("record", "--pid"), ("exec",), ("list", "1"), ()):
            done = complete(*line, str(target.pid))
            tap.ok(re.search(r"(?m)^%d\t.*split\.py" % target.pid, done.stdout), "krait %s: a pid and its script" % " ".join(line),
                   done.stdout, done.stderr)
        tap.ok(words("record", "-p%d" % target.pid) == ["-p%d" % target.pid] and
               "1,%d" % target.pid in words("top", "--pid", "1,%d" % target.pid), "in a word, and in a list")
    sleep = subprocess.Popen(["sleep", "60"])
    tap.ok(str(sleep.pid) not in words("dump", ""), "no other program's")
    h.end_child(sleep)


def check_functions(tap, folder):
    tap.equal(words("annotate", "Ca", cwd=folder)[0], "Cart.total", "functions of the capture")
    tap.equal(words("report", "-i", "perf.data", "--function=zz", cwd=folder), ["--function=zz_checkout"], "of the one that is named")
    tap.equal(words("report", "none.data", "--callers", "C", cwd=folder), [], "none without one")
    os.chown(os.path.join(folder, "perf.data"), 65534, 65534)
    tap.equal(words("annotate", "Ca", cwd=folder), [":file"], "nor of somebody else's")
    os.chown(os.path.join(folder, "perf.data"), os.geteuid(), os.getegid())


class Shell(Terminal):
    """A shell that completes; its prompt is "$ "."""

    def __init__(self, command, folder):
        super().__init__("sh", "-c", "cd %s && PATH=%s:$PATH exec %s" % (folder, folder, command), columns=100, rows=40)
        self.wait(lambda screen: screen.startswith("$"))

    def type(self, text, *keys):
        """Returns the command line after these keys."""
        self.keys("C-u")
        self.tmux("send-keys", "-l", text)
        self.keys(*keys)

    def line(self):
        lines = [line for line in self.screen().splitlines() if line.startswith("$ ")]
        return lines[-1][2:].rstrip() if lines else ""


BASH_COMPLETION = "/usr/share/bash-completion/bash_completion"
# What is typed before the key, and the line behind it.
SHOWN = (("krait reco", "krait record"), ("krait report --by=th", "krait report --by=thread"),
         ("krait report -i per", "krait report -i perf.data"), ("krait report --input=per", "krait report --input=perf.data"),
         ("krait record -e cycles,bus", "krait record -e cycles,bus-cycles"),
         ("krait record --event=cycles:u,bus", "krait record --event=cycles:u,bus-cycles"),
         ("krait record -- krait repo", "krait record -- krait report"),
         ("krait report --function=zz", "krait report --function=zz_checkout"),
         ("krait report --sort=to", "krait report --sort=total"),
         ("krait annotate evi", "krait annotate evil\\$\\(touch\\ stolen\\)"))


def check_shell(tap, name, command, folder):
    if not shutil.which(name):
        tap.skip(name, "no " + name)
        return
    with Shell(command, folder) as shell:
        for text, wanted in SHOWN:
            # bash leaves the words of another command to a package.
            if name == "bash" and "record --" in text and not os.path.exists(BASH_COMPLETION):
                continue
            shell.type(text, "Tab")
            shell.wait(lambda _, wanted=wanted: shell.line() == wanted, 5)
            tap.equal(shell.line(), wanted, "%s: %s" % (name, text))
        shell.type("krait re", "Tab", "Tab")
        screen = shell.wait("print the hottest functions", 5)
        tap.ok("sample processes and write" in screen, name + ": says what words mean", screen)
        tap.ok(not os.path.exists(os.path.join(folder, "stolen")), name + ": runs nothing")


def main():
    tap = h.Tap()
    folder = tempfile.mkdtemp(prefix="krait-e2e-")
    check_words(tap, folder)
    check_processes(tap)
    os.symlink(os.path.abspath(h.KRAIT), os.path.join(folder, "krait"))
    if os.environ.get("KRAIT_CAN_BPF", "1" if os.geteuid() == 0 else "0") == "1":
        script = os.path.join(folder, "app.py")
        with open(script, "w", encoding="utf-8") as f:
            f.write(CAPTURED)
        python = h.newest([p for p in h.all_interpreters() if p.root == "/"])
        done = h.run_krait("record", "-q", "-o", os.path.join(folder, "perf.data"), "--", *python.command(script))
        tap.equal(done.returncode, 0, "a capture", done.stderr)
        check_functions(tap, folder)
        start = "cd %s; PS1='$ '; source %s/" % (folder, shlex.quote(COMPLETION))
        rc = os.path.join(folder, "rc")
        with open(rc, "w", encoding="utf-8") as f:
            f.write(start + "krait.bash\nbind 'set bell-style none'\nbind 'set enable-bracketed-paste off'\n"
                    "[ ! -e %s ] || . %s\n" % (BASH_COMPLETION, BASH_COMPLETION))
        check_shell(tap, "bash", "bash --noprofile --rcfile %s -i" % rc, folder)
        with open(os.path.join(folder, ".zshrc"), "w", encoding="utf-8") as f:
            f.write("PS1='$ '\nfpath=(%s $fpath)\nautoload -Uz compinit\ncompinit -u -D\nunsetopt beep prompt_sp\n" % shlex.quote(COMPLETION))
        check_shell(tap, "zsh", "env ZDOTDIR=%s zsh -d -i" % folder, folder)
        config = os.path.join(folder, "fish")
        os.makedirs(config)
        with open(os.path.join(config, "config.fish"), "w", encoding="utf-8") as f:
            f.write("function fish_prompt; echo -n '$ '; end\nset fish_greeting\nset -g fish_autosuggestion_enabled 0\n"
                    "source %s/krait.fish\n" % shlex.quote(COMPLETION))
        check_shell(tap, "fish", "env XDG_CONFIG_HOME=%s HOME=%s fish -i" % (folder, folder), folder)
    else:
        tap.skip("shells", "need root and BPF")
    shutil.rmtree(folder)
    h.cleanup()
    tap.done()


if __name__ == "__main__":
    main()
