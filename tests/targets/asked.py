# SPDX-License-Identifier: BSD-2-Clause
"""A program that is asked to run code (krait exec): prints where its main thread state is, reports what CPython tells
an audit hook about requests, and works; with "lock" its main thread waits for a line on stdin."""
import json
import os
import sys
import threading
import time


def hook(event, args):
    if event == "cpython.remote_debugger_script":
        print("ASKED %s" % (args[0],), flush=True)


def state_addr():
    try:
        import ctypes
        ctypes.pythonapi.PyThreadState_Get.restype = ctypes.c_void_p
        return ctypes.pythonapi.PyThreadState_Get()
    except ImportError:
        return 0


def work(said):
    said["worker"] = threading.get_native_id()
    ready.set()
    while True:
        time.sleep(0.01)


def inside(said):
    """A thread that runs in an interpreter of its own."""
    try:
        from concurrent import interpreters
    except ImportError:
        ready.set()
        return
    said["inside"] = threading.get_native_id()
    ready.set()
    interpreters.create().exec("import time\nwhile True: time.sleep(0.01)")


sys.addaudithook(hook)
said = {"main": threading.get_native_id(), "state": state_addr(), "pid": os.getpid()}
for start in (work, inside):
    ready = threading.Event()
    threading.Thread(target=start, args=(said,), daemon=True).start()
    ready.wait()
print("ORACLE " + json.dumps(said), flush=True)
print("READY", flush=True)
while True:
    if "lock" in sys.argv:
        sys.stdin.readline()
        print("BACK", flush=True)
    time.sleep(0.01)
