# SPDX-License-Identifier: BSD-2-Clause
"""Begins threads and processes, and does little else: clone3() and vfork(), for which C libraries say in ways of their own
where a frame's caller is. `threads`: no processes."""
import subprocess
import sys
import threading


def begin_thread():
    t = threading.Thread(target=int)
    t.start()
    t.join()


def begin_process():
    subprocess.Popen(["/bin/true"]).wait()


print("READY", flush=True)
while True:
    for _ in range(20):
        begin_thread()
    if sys.argv[1:] != ["threads"]:
        begin_process()
