# SPDX-License-Identifier: BSD-2-Clause
"""Threads that each do one thing and report where they are: for krait dump."""
import json
import os
import queue
import socket
import subprocess
import sys
import threading
import time

lock = threading.Lock()
lock.acquire()
pair = socket.socketpair()
child = subprocess.Popen(["cat"], stdin=subprocess.PIPE)


def asleep():
    time.sleep(1000)


def at_a_lock():
    lock.acquire()


def at_a_condition():
    c = threading.Condition()
    with c:
        c.wait()


def at_a_queue():
    queue.Queue().get()


def at_a_socket():
    pair[0].recv(1)


def at_a_child():
    child.wait()


def deep(n=200):
    if n:
        deep(n - 1)
    else:
        time.sleep(1000)


def generator():
    for i in range(3):
        time.sleep(1000 if i == 2 else 0)
        yield i


def in_a_generator():
    return sum(generator())


def busy():
    while True:
        for _ in range(100000):
            pass


functions = [asleep, at_a_lock, at_a_condition, at_a_queue, at_a_socket, at_a_child, deep,
             in_a_generator, busy]
threads = [threading.Thread(target=f, name=f.__name__, daemon=True) for f in functions]
for t in threads:
    t.start()


def stacks():
    result = {}
    frames = sys._current_frames()
    for t in threads:
        frame, stack = frames.get(t.ident), []
        while frame:
            code = frame.f_code
            name = getattr(code, "co_qualname", code.co_name)
            stack.append([name, code.co_filename, frame.f_lineno])
            frame = frame.f_back
        result[t.name] = [t.native_id, stack]
    return result


def main():
    """Each waiting thread keeps the same stack for ever once it is there."""
    same, last = 0, None
    while same < 10:
        time.sleep(0.02)
        now = stacks()
        now.pop("busy")
        same = same + 1 if now == last and all(now[n][1] for n in now) else 0
        last = now
    print("ORACLE " + json.dumps(stacks()) + "\nREADY", flush=True)
    sys.stdin.read()
    child.stdin.close()
    os._exit(0)


main()
