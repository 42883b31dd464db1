# SPDX-License-Identifier: BSD-2-Clause
"""A real terminal for a program: tmux, whose screen can be read as text. Imported by the tests beside it."""
import os
import subprocess
import tempfile
import time

PATIENCE_SECS = 30


class Terminal:
    """A program in a terminal of its own; a shell reports how it ended."""

    def __init__(self, *command, columns=80, rows=24, env=None):
        self.folder, self.in_vain = tempfile.mkdtemp(prefix="krait-tmux-"), []
        self.socket = os.path.join(self.folder, "socket")
        script = os.path.join(self.folder, "run")
        with open(script, "w", encoding="utf-8") as f:
            words = " ".join("'%s'" % word.replace("'", "'\\''") for word in command)
            # Like a user's shell, this one survives signals meant for krait.
            f.write("trap : INT\nstty -a >%s/before\n%s\ncode=$?\nstty -a >%s/after\necho END $code\n"
                    "sleep 1000\n" % (self.folder, words, self.folder))
        environment = {"LANG": "C.UTF-8", "TERM": "xterm-256color", **(env or {})}
        words = ["env", *("%s=%s" % item for item in environment.items()), "sh", script]
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), *words)

    def tmux(self, *args):
        return subprocess.run(["tmux", "-u", "-S", self.socket, *args], capture_output=True, check=False,
                              timeout=PATIENCE_SECS, encoding="utf-8", errors="surrogateescape").stdout

    def screen(self, colors=False):
        return self.tmux("capture-pane", "-p", *(["-e"] if colors else []))

    def keys(self, *names):
        """Names as in tmux: "Enter", "Down", "C-c", or text."""
        self.tmux("send-keys", *names)

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def wait(self, condition, seconds=PATIENCE_SECS):
        """Returns the first screen that satisfies the condition (a text or a function); on timeout the last one, also
        kept in in_vain."""
        deadline = time.monotonic() + seconds
        while True:
            screen = self.screen()
            if (condition in screen) if isinstance(condition, str) else condition(screen):
                return screen
            if time.monotonic() > deadline:
                self.in_vain.append(screen)
                return screen
            time.sleep(0.1)

    def exit_code(self):
        """Returns the program's exit code; None while it runs."""
        lines = [line for line in self.wait("END ").splitlines() if line.startswith("END ")]
        return int(lines[-1][4:]) if lines else None

    def is_restored(self):
        """Tells whether the terminal's modes are restored."""
        texts = []
        for name in "before", "after":
            with open(os.path.join(self.folder, name), encoding="utf-8") as f:
                texts.append(f.read())
        return texts[0] == texts[1] != ""

    def pids(self):
        """Returns the shell's processes."""
        return [int(pid) for pid in self.tmux("list-panes", "-F", "#{pane_pid}").split()]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.tmux("kill-server")
        for name in os.listdir(self.folder):
            os.unlink(os.path.join(self.folder, name))
        os.rmdir(self.folder)
