# SPDX-License-Identifier: BSD-2-Clause
"""A program whose main thread sleeps uninterruptibly, as the parent of every vfork() does until its child has become
another program: this child first opens the FIFO that is given, which lasts until somebody writes to it. Says where the
main thread is, and that it is back. For krait dump."""
import json
import os
import sys
import threading
import time

said = {}


def work():
    said["worker"] = threading.get_native_id()
    ready.set()
    while True:
        time.sleep(0.001)


def spawn(line):
    here = sys._getframe()
    code = here.f_code
    said["stack"] = [[code.co_name, code.co_filename, here.f_lineno + 3], ["<module>", code.co_filename, line]]
    opened = [(os.POSIX_SPAWN_OPEN, 0, sys.argv[1], os.O_RDONLY, 0)]
    print("ORACLE " + json.dumps(said) + "\nREADY", flush=True)
    return os.posix_spawn("/bin/true", ["true"], os.environ, file_actions=opened)


ready = threading.Event()
threading.Thread(target=work, daemon=True).start()
ready.wait()
child = spawn(sys._getframe().f_lineno)
os.waitpid(child, 0)
print("BACK", flush=True)
sys.stdin.read()
