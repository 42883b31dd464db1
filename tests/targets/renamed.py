# SPDX-License-Identifier: BSD-2-Clause
"""Code objects that follow each other at one address, and differ in one thing.

renamed.py COUNT MILLISECONDS [MODE...]

name, file, line: a function with another name, file, or line of its loop; each is compiled, called, dropped
replace: a copy of one code object with another name (code.replace), 3.8 and later
caller: the function that changes only calls another, which does the work
reload: a module whose source is edited and loaded again
parent: the function that changes waits for the greenlet that it has switched to (needs greenlet)
awaiter: the function that changes is a coroutine and awaits the task that does the work (3.14 and later)
interpreter: the same program, but for its function's name, in a new sub-interpreter each time (3.13 and later)

Prints one line for each: "mode name file line began ended", in ns of CLOCK_MONOTONIC; line of its loop, or of its call.
"""
import array
import asyncio
import importlib
import os
import sys
import tempfile
import time
import types

BODY = "    while tt() < end:\n        x += 1\n"
mono = time.monotonic_ns


def burn(end, tt):
    x = 0
    while tt() < end:
        x += 1


def run(function, i):
    """Keeps nothing that would lie where the next code object's memory was."""
    times[2 * i] = mono()
    function(time.thread_time() + seconds, time.thread_time)
    times[2 * i + 1] = mono()


def gap(i):
    return 5 * (i % 7) if mode in ("line", "reload") else 0


def name_of(i):
    return "f_%04d" % i if mode in ("name", "caller", "parent", "awaiter", "replace", "interpreter") else "f"


def file_of(i):
    return "/srv/cell_%04d.py" % i if mode == "file" else "/srv/cell.py"


def child_forever(end, tt):
    while True:
        burn(end, tt)
        end, tt = greenlet.getcurrent().parent.switch()


async def child_task(end, tt):
    burn(end, tt)


def make(i):
    if mode == "awaiter":
        text = "async def %s(end, tt):\n    await asyncio.create_task(child(end, tt))\n" % name_of(i)
        scope = {"asyncio": asyncio, "child": child_task}
        exec(compile(text, file_of(i), "exec"), scope)
        return scope.pop(name_of(i))
    text = "def %s(end, tt):\n" % name_of(i)
    text += "    burn(end, tt)\n" if mode in ("caller", "parent") else "    x = 0\n" + "\n" * gap(i) + BODY
    scope = {"burn": child.switch if mode == "parent" else burn}
    exec(compile(text, file_of(i), "exec"), scope)
    return scope.pop(name_of(i))


def make_all():
    for i in range(count):
        function = make(i)
        run(function, i)
        del function


async def await_all():
    for i in range(count):
        function = make(i)
        times[2 * i] = mono()
        await function(time.thread_time() + seconds, time.thread_time)
        times[2 * i + 1] = mono()
        del function


def replace_all():
    first = make(0).__code__
    for i in range(count):
        change = {"co_name": name_of(i)}
        if hasattr(first, "co_qualname"):
            change["co_qualname"] = name_of(i)
        function = types.FunctionType(first.replace(**change), {})
        run(function, i)
        del function, change


def reload_all():
    folder = tempfile.mkdtemp(prefix="krait-renamed-")
    path = os.path.join(folder, "cell.py")
    sys.path.insert(0, folder)
    module = None
    for i in range(count):
        with open(path, "w", encoding="ascii") as f:
            f.write("def f(end, tt):\n    x = 0\n" + "\n" * gap(i) + BODY)
        importlib.invalidate_caches()
        module = importlib.reload(module) if module else importlib.import_module("cell")
        run(module.f, i)
    os.unlink(path)
    os.rmdir(folder)


def interpret_all():
    import _interpreters

    for i in range(count):
        interpreter = _interpreters.create()
        reader, writer = os.pipe()
        _interpreters.exec(interpreter, "import os, time\ndef %s(end, tt):\n    x = 0\n%s"
                           "began = time.monotonic_ns()\n%s(time.thread_time() + %r, time.thread_time)\n"
                           "os.write(%d, b'%%d %%d' %% (began, time.monotonic_ns()))\n" % (
                               name_of(i), BODY, name_of(i), seconds, writer))
        times[2 * i], times[2 * i + 1] = map(int, os.read(reader, 100).split())
        os.close(reader)
        os.close(writer)
        _interpreters.destroy(interpreter)


def say():
    line = {"caller": 2, "parent": 2, "awaiter": 2, "interpreter": 4}.get(mode, 3)
    file = {"interpreter": "<script>", "reload": "cell.py"}.get(mode)
    for i in range(count):
        print(mode, name_of(i), file or file_of(i), line + gap(i), times[2 * i], times[2 * i + 1])


count, seconds = int(sys.argv[1]), int(sys.argv[2]) / 1000
for mode in sys.argv[3:] or ["caller", "name", "file", "line", "replace", "reload", "interpreter"]:
    times = array.array("q", [0] * (2 * count))
    if mode != "interpreter" or sys.version_info >= (3, 13):
        if mode == "parent":
            import greenlet

            child = greenlet.greenlet(child_forever)
        {"awaiter": lambda: asyncio.run(await_all()), "replace": replace_all, "reload": reload_all, "interpreter": interpret_all}.get(mode, make_all)()
        say()
