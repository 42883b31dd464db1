# SPDX-License-Identifier: BSD-2-Clause
"""A service that starts a command again and again. usage: commands.py HOW SECONDS FOLDER; SECONDS 0: until it is killed.
The command is FOLDER/mytool, which is made here, a shell script.

    run      subprocess.run()
    preexec  likewise, with Python code between fork and exec
    fork     os.fork(), Python code, exec
    posix    os.posix_spawn()
    python   os.fork(), Python code, exec of FOLDER/child.py: a program of its own
"""
import os
import subprocess
import sys
import time


def before_exec():
    for _ in range(100000):
        pass


def execute(command):
    pid = os.fork()
    if not pid:
        before_exec()
        os.execv(command[0], command)
    os.waitpid(pid, 0)


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, 0o755)
    return path


def main():
    how, seconds, folder = sys.argv[1], float(sys.argv[2]), sys.argv[3]
    tool = [write(os.path.join(folder, "mytool"), "#!/bin/sh\n:\n"), "report"]
    child = write(os.path.join(folder, "child.py"), "def child_work():\n    for _ in range(1000000):\n        pass\nchild_work()\n")
    junk = ["x" * 100 + str(i) for i in range(20000)]
    end = time.monotonic() + seconds
    print("READY", flush=True)
    while not seconds or time.monotonic() < end:
        if how == "run":
            subprocess.run(tool, check=True)
        elif how == "preexec":
            subprocess.run(tool, check=True, preexec_fn=before_exec)
        elif how == "fork":
            execute(tool)
        elif how == "posix":
            os.waitpid(os.posix_spawn(tool[0], tool, os.environ), 0)
        else:
            execute([sys.executable, "-S", child])
    return junk


if __name__ == "__main__":
    main()
