# SPDX-License-Identifier: BSD-2-Clause
# The code that krait exec makes a process run, preceded by KRAIT = (folder, name of the script, capture). It removes
# its folder, runs the script from there in a namespace of its own, and reports the outcome through a FIFO: messages
# of one letter, a length in four bytes, and that many bytes. Each is written whole or not at all.


def run(folder, name, capture):
    import _thread
    import builtins
    import os
    import sys
    import time

    def open_report():
        path = folder + b"/report"
        # Fails if nobody reads: krait has ended, so run nothing.
        probe = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            # Opened for reading as well, so that a write never gives SIGPIPE.
            return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        finally:
            os.close(probe)

    def say(kind, data=b""):
        nonlocal deaf
        parts = [data[at:at + 4000] for at in range(0, len(data), 4000)] or [b""]
        for part in parts:
            message = kind + len(part).to_bytes(4, "little") + part
            for _ in range(200):
                if deaf:
                    return
                try:
                    os.write(report, message)
                    break
                except BlockingIOError:
                    time.sleep(0.01)
            else:
                deaf = True

    class Tee:
        """Sends this thread's text to krait; passes everything else to the real stream."""

        def __init__(self, kind, stream):
            self.kind = kind
            self.stream = stream
            self.thread = _thread.get_ident()

        def write(self, text):
            if deaf or _thread.get_ident() != self.thread:
                return self.stream.write(text)
            say(self.kind, text.encode("utf-8", "backslashreplace"))
            return len(text)

        def writelines(self, lines):
            for line in lines:
                self.write(line)

        def flush(self):
            if self.stream is not None:
                self.stream.flush()

        def __getattr__(self, what):
            return getattr(self.stream, what)

    def text_of(error):
        import traceback
        # Without this function's own frame.
        trace = error.__traceback__ and error.__traceback__.tb_next
        return "".join(traceback.format_exception(type(error), error, trace))

    def execute():
        namespace = {"__name__": "__main__", "__builtins__": builtins, "__doc__": None}
        try:
            exec(compile(source, name, "exec", 0, True), namespace)
        except SystemExit as error:
            if error.code in (None, 0):
                return ""
            return "SystemExit: %s\n" % (error.code,)
        except BaseException as error:
            return text_of(error)
        return ""

    report = -1
    deaf = False  # krait has not read for two seconds
    source = b""
    try:
        report = open_report()
        with open(folder + b"/script", "rb") as file:
            source = file.read()
    except OSError as error:
        if report >= 0:
            say(b"X", ("krait: %s\n" % error).encode("utf-8", "backslashreplace"))
            say(b"D")
            os.close(report)
        report = -1
    for entry in (b"/report", b"/script", b"/run.py", b""):
        try:
            (os.unlink if entry else os.rmdir)(folder + entry)
        except OSError:
            pass
    if report < 0:
        return
    say(b"S")
    kept = sys.stdout, sys.stderr
    tees = Tee(b"O", kept[0]), Tee(b"E", kept[1])
    try:
        if capture:
            sys.stdout, sys.stderr = tees
        raised = execute()
    finally:
        if sys.stdout is tees[0]:
            sys.stdout = kept[0]
        if sys.stderr is tees[1]:
            sys.stderr = kept[1]
    if raised:
        say(b"X", raised.encode("utf-8", "backslashreplace"))
    say(b"D")
    os.close(report)


run(*KRAIT)
