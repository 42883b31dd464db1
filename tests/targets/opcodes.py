# SPDX-License-Identifier: BSD-2-Clause
"""Runs instructions of many kinds, and says what they are: what dis has of the live code, specialised as it is by then.

usage: opcodes.py [instrumented]      prints READY when it is warm; on a line of input the instructions as JSON,
{function: [first line, {offset: [line, [names]]}]}, every name that an offset had since, and ends.
"""
import dis
import functools
import json
import sys
import threading
import time

NAMES = getattr(dis, "_all_opname", dis.opname)


class Plain:
    def __init__(self, x):
        self.x = x

    def method(self, y=1):
        return self.x + y

    def __getitem__(self, i):
        return i * self.x


class Slots:
    __slots__ = ("x",)

    def __init__(self):
        self.x = 3


class Asked:
    def __getattribute__(self, name):
        return len(name)


class Computed(Plain):
    @property
    def doubled(self):
        return self.x * 2

    def method(self, y=1):
        return super().method(y) - 1


def attributes(p, s, c, a):
    n = 0
    for i in range(60):
        n += p.x + s.x
        n += c.doubled
        n += a.some
    return n


def called(a, b=2, *, c=3):
    return a * b + c


def calls(p, c):
    n = 0
    for i in range(40):
        n += called(called(i, i), called(i))
        n += called(i, c=called(1))
        n += p.method() + c.method(2)
        n += called(*(i, 2), **{"c": i})
        n += p[i]
        n += len(str(i)) + max(i, 3)
    return n


def numbers(n):
    for i in range(n):
        yield i * 2


def delegates(n):
    yield from numbers(n)


def generators():
    n = 0
    for i in numbers(50):
        n += i
    for i in delegates(50):
        n += i
    return n + sum(i + 1 for i in range(50)) + sum([i for i in range(50)])


def containers(d, values):
    n = 0
    for i in range(50):
        d[i] = i
        n += d[i] + values[i % 3] + (i in d)
        a, b = values[:2]
        n += a - b
    return n


def back(values):
    return sorted(values, key=lambda v: -v) + list(map(functools.partial(called, b=3), values))


def made():
    return [Plain(i) for i in range(30)]


def flow(n):
    found = 0
    while n:
        n -= 1
        try:
            if n % 7 == 0:
                raise ValueError(n)
            found += not n % 3 or n > 90
        except ValueError as e:
            found -= len(e.args)
    return found


# Its constants require EXTENDED_ARG.
exec("def wide(n):\n" + "".join("    n += %d.5\n" % i for i in range(300)) + "    return n\n")

FUNCTIONS = (attributes, called, calls, numbers, delegates, generators, containers, back, made, flow, Plain.__init__,
             Plain.method, Plain.__getitem__, Asked.__getattribute__, Computed.doubled.fget, Computed.method)


def codes(code):
    """Yields a code object and those within it."""
    yield code
    for const in code.co_consts:
        if hasattr(const, "co_code"):
            yield from codes(const)


# A line that defines a function also has instructions of the module.
ALL = [code for f in FUNCTIONS for code in codes(f.__code__)] + [sys._getframe().f_code]
PLACES = {code: list(dis.get_instructions(code)) for code in ALL}
LINES = {}
for code, instructions in PLACES.items():
    line = code.co_firstlineno
    # 3.10 has instructions without a line, for which dis shows the last one.
    lines = {at: n for start, end, n in code.co_lines() for at in range(start, end, 2)} if hasattr(code, "co_lines") else None
    for i in instructions:
        position = getattr(i, "positions", None)
        if position:
            line = position.lineno
        elif lines:
            line = lines.get(i.offset)
        elif i.starts_line:
            line = i.starts_line
        LINES[code, i.offset] = line
seen = {}


def look():
    for code in ALL:
        live = getattr(code, "_co_code_adaptive", code.co_code)
        for i in PLACES[code]:
            seen.setdefault((code, i.offset), set()).add(NAMES[live[i.offset]])


def work():
    p, s, c, a = Plain(2), Slots(), Computed(4), Asked()
    attributes(p, s, c, a)
    calls(p, c)
    generators()
    containers({}, [1, 2, 3])
    back([3, 1, 2])
    made()
    flow(100)
    wide(1)


def instrument():
    monitoring = sys.monitoring
    monitoring.use_tool_id(monitoring.PROFILER_ID, "test")
    monitoring.register_callback(monitoring.PROFILER_ID, monitoring.events.LINE, lambda *_: None)
    monitoring.set_local_events(monitoring.PROFILER_ID, flow.__code__, monitoring.events.LINE)
    monitoring.register_callback(monitoring.PROFILER_ID, monitoring.events.CALL, lambda *_: None)
    monitoring.set_local_events(monitoring.PROFILER_ID, calls.__code__, monitoring.events.CALL)


def wait(asked):
    sys.stdin.readline()
    asked.set()


def main():
    asked = threading.Event()
    for _ in range(300):
        work()
    if sys.argv[1:] == ["instrumented"]:
        instrument()
        work()
    look()
    print("READY", flush=True)
    threading.Thread(target=wait, args=(asked,), daemon=True).start()
    next_look = 0
    while not asked.is_set():
        work()
        if time.monotonic() > next_look:
            look()
            next_look = time.monotonic() + 0.1
    look()
    found = {}
    for code in ALL:
        name = getattr(code, "co_qualname", code.co_name)
        found["%s:%d" % (name, code.co_firstlineno)] = {
            i.offset: [LINES[code, i.offset], sorted(seen[code, i.offset])] for i in PLACES[code]}
    print(json.dumps(found), flush=True)


main()
