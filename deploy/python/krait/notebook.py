# SPDX-License-Identifier: BSD-2-Clause
"""%%krait [options of krait record]: profiles the kernel's process while the cell runs, and shows the flame graph."""
import errno
import fcntl
import html
import os
import pty
import select
import shlex
import shutil
import signal
import subprocess
import tempfile
import termios
import time

from . import program

# Sampling begins after a few tenths of a second; a busy machine needs longer.
PATIENCE_SECS = 20


def _missing(line):
    return (
        "krait: sampling needs root, or krait's service (krait setup). Start Jupyter where sudo asks you for no password, or "
        "record from a terminal while the cell runs:\n  sudo %s record -p %d -d 10s -o cell.html%s" % (shlex.quote(program()), os.getpid(), " " + line if line else "")
    )


def _rights():
    """Returns what comes before the command, or None if nobody records for this user without a password."""
    if os.geteuid() == 0 or not subprocess.call([program(), "setup", "--check"], stdin=subprocess.DEVNULL,
                                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        return []
    if not shutil.which("sudo") or subprocess.call(["sudo", "-n", "true"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                                   stderr=subprocess.DEVNULL):
        return None
    return ["sudo", "-n"]


def _save_source(name, cell):
    """ipykernel names a cell by a file that does not exist; with it the page can show the cell's lines.

    That file is in a folder below /tmp whose name others can guess: if they made it, or a link in its place, it is left
    alone.
    """
    folder, file_name = os.path.split(name)
    try:
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            pass
        at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            stat = os.fstat(at)
            if stat.st_uid != os.geteuid() or stat.st_mode & 0o022:
                return
            fd = os.open(file_name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=at)
            with open(fd, "w", encoding="utf-8") as file:
                file.write(cell)
        finally:
            os.close(at)
    except OSError:
        pass


def _save_cells(shell, cell, path):
    """Saves the text of this cell and of those before it, whose functions it may call, and writes what krait is to call
    them: "cell 2", as the notebook does."""
    name_of = getattr(shell.compile, "get_code_name", lambda *_: "")
    history = getattr(getattr(shell, "history_manager", None), "input_hist_raw", ())
    with open(path, "w", encoding="utf-8") as names:
        for number, text in [*enumerate(history), (shell.execution_count, cell)]:
            name = text and name_of(text, text, number)
            if not isinstance(name, str) or not os.path.isabs(name) or "\n" in name or "\t" in name:
                continue
            _save_source(name, text)
            names.write("%s\tcell %d\n" % (name, number))


class _Recording:
    """krait record with a terminal of its own: it shows there when it samples, and Ctrl-C ends it, also behind sudo."""

    def __init__(self, command):
        self.master, terminal = pty.openpty()
        self.said = b""
        try:
            self.process = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
                                            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        finally:
            os.close(terminal)

    def _hear(self, seconds):
        """False: it has ended."""
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            got = os.read(self.master, 65536)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return False
        self.said += got
        return bool(got)

    def begun(self):
        end = time.monotonic() + PATIENCE_SECS
        # The second is what krait says where its service samples.
        while not any(word in self.said for word in (b" samples (", b"recording; Ctrl-C")):
            if time.monotonic() > end or not self._hear(0.1):
                return False
        return True

    def finish(self):
        """Returns the exit code."""
        try:
            os.write(self.master, b"\x03")
        except OSError:
            pass
        end = time.monotonic() + 6 * PATIENCE_SECS
        while self._hear(0.5):
            if time.monotonic() > end:
                self.process.send_signal(signal.SIGKILL)
                break
        os.close(self.master)
        return self.process.wait()

    def text(self):
        """Lines that last: not progress, which it erases."""
        lines = self.said.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
        return "\n".join(line.split("\r")[-1].split("\x1b[K")[-1] for line in lines).strip()


def magic(line, cell):
    """%%krait [options of krait record]: profile this process while the cell runs, and show the flame graph.

    For example %%krait --wall, or %%krait -F 4999. Needs root, krait's service, or sudo without a password.
    """
    from IPython import get_ipython
    from IPython.display import HTML, display

    shell = get_ipython()
    rights = _rights()
    if rights is None:
        print(_missing(line))
        shell.run_cell(cell)
        return
    folder = tempfile.mkdtemp(prefix="krait-cell-")
    page = os.path.join(folder, "cell.html")
    cells = os.path.join(folder, "cells")
    _save_cells(shell, cell, cells)
    recording = _Recording(rights + [program(), "record", "-p", str(os.getpid()), "-o", page, "--cells", cells] + shlex.split(line))
    try:
        if not recording.begun():
            recording.finish()
            print(recording.text())
            shell.run_cell(cell)
            return
        try:
            shell.run_cell(cell)
        finally:
            code = recording.finish()
        if not os.path.exists(page):
            print(recording.text())
            return
        with open(page, encoding="utf-8") as file:
            text = file.read()
        if code:
            print(recording.text())
        # A frame of its own: neither styles nor scripts of the notebook and the page meet.
        display(HTML('<iframe sandbox="allow-scripts allow-downloads" style="width: 100%%; height: 600px; border: 0" '
                     'srcdoc="%s"></iframe>' % html.escape(text, quote=True)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
