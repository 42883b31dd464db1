# SPDX-License-Identifier: BSD-2-Clause
"""What a target says of itself: every stack that it can have, before it is recorded.

A target runs its rounds a few times under sys.setprofile(). Each call is noted with its whole
stack: functions by qualified name and file, callers by the line they call from. That is a trie;
afterwards the same rounds run again without the trace until the target is killed, and a sampled
stack that is not a path of the trie has never existed.

Only what is below is noted: a target must take the same paths in all rounds, so it makes no
garbage cycles whose finalizers run anywhere (the collector is off).

Runs inside the target: CPython 3.8 and later, also in a sub-interpreter.
"""
import dis
import functools
import gc
import inspect
import json
import sys

PRIMING_ROUNDS = 3
# Generator, coroutine, asynchronous generator: calling it only makes the object.
SUSPENDS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def loop_lines(code):
    """Returns the lines of the first loop's body in code: where its time is spent."""
    instructions = list(dis.get_instructions(code))
    at = lines_by_offset(code)
    for i in instructions:
        if i.opname in ("JUMP_ABSOLUTE", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT") or \
                i.opname.startswith(("JUMP_BACKWARD_", "POP_JUMP_BACKWARD")):
            target = i.jump_target if hasattr(i, "jump_target") else i.argval
            if target <= i.offset:
                body = [j.offset for j in instructions if target <= j.offset <= i.offset]
                return sorted({at[offset] for offset in body if at.get(offset)})
    return []


def lines_by_offset(code):
    """Maps each instruction's offset to its line, according to the interpreter."""
    if hasattr(code, "co_positions"):
        return {2 * i: p[0] for i, p in enumerate(code.co_positions())}
    if hasattr(code, "co_lines"):
        return {o: line for start, end, line in code.co_lines() for o in range(start, end, 2)}
    found, line, starts = {}, None, dict(dis.findlinestarts(code))
    for offset in range(0, len(code.co_code), 2):
        line = starts.get(offset, line)
        found[offset] = line
    return found


def qualified_name(code):
    """Returns the name that krait can know: before 3.11 there is no co_qualname."""
    return getattr(code, "co_qualname", code.co_name)


class Oracle:
    """The trie of legal stacks. One per thread; merge() joins them."""

    def __init__(self):
        self.codes = {}  # code object -> number
        self.nodes = {}  # (parent node or -1, line of the call in the parent, code) -> number
        # Of functions that have not returned. What is below them stays as it is until then; not so with generators.
        self.running = {}  # id of a frame -> (its code, id of its caller, its node)
        self.hot = []  # qualified names that must be seen working

    def code(self, code):
        return self.codes.setdefault(code, len(self.codes))

    def note(self, frame):
        """Records the stack of frame; its own line may be any of its code's."""
        chain, node, line = [frame], -1, 0
        frame = frame.f_back
        while frame is not None:
            known = self.running.get(id(frame))
            if known and known[0] is frame.f_code and known[1] == id(frame.f_back):
                node, line = known[2], frame.f_lineno
                break
            chain.append(frame)
            frame = frame.f_back
        for frame in reversed(chain):
            code = frame.f_code
            node = self.nodes.setdefault((node, line, self.code(code)), len(self.nodes))
            line = frame.f_lineno
            if not code.co_flags & SUSPENDS:
                self.running[id(frame)] = code, id(frame.f_back), node

    def trace(self, frame, event, _):
        if event == "call":
            self.note(frame)
        elif event == "return":
            self.running.pop(id(frame), None)

    def rounds(self, small, big, ready=None):
        """Yields small while stacks are recorded, calls ready, then yields big for ever."""
        sys.setprofile(self.trace)
        for _ in range(PRIMING_ROUNDS):
            yield small
        sys.setprofile(None)
        if ready:
            ready()
        while True:
            yield big

    def as_json(self):
        # Before 3.11 a function's name is only its last part.
        hot = self.hot if sys.version_info >= (3, 11) else [h.split(".")[-1] for h in self.hot]
        return {"codes": [describe(c) for c in self.codes], "nodes": [list(key) for key in self.nodes], "hot": hot}


@functools.lru_cache(None)
def describe(code):
    """Returns what judges of stacks need to know about a code object, which may be in the oracles of many threads."""
    lines = {line for line in lines_by_offset(code).values() if line}
    inner = [c.co_name for c in code.co_consts if hasattr(c, "co_name")]
    return {
        "name": qualified_name(code),
        "file": code.co_filename,
        # Up to 3.12, a frame that has not begun has the first line.
        "lines": sorted(lines | {code.co_firstlineno}),
        "loop": loop_lines(code),
        "suspends": code.co_firstlineno if code.co_flags & SUSPENDS else 0,
        "short": code.co_name,
        # The names of generators that this code may make: their first frame is never traced.
        "creates": sorted({*code.co_names, *code.co_varnames, *code.co_freevars, *inner}),
    }


def of_frame(frame):
    """Returns the oracle of a thread that stays in that frame."""
    oracle = Oracle()
    oracle.note(frame)
    return oracle


def tell(*oracles):
    """Prints the oracles, each possibly as a dictionary."""
    sys.stdout.reconfigure(encoding="utf-8")
    documents = [o if isinstance(o, dict) else o.as_json() for o in oracles]
    sys.stdout.write("".join("ORACLE %s\n" % json.dumps(d) for d in documents))


def say_ready():
    """Tells the test that the recording may begin."""
    sys.stdout.write("READY\n")
    sys.stdout.flush()


def say(*oracles):
    tell(*oracles)
    say_ready()


def run(scenarios, hot, small=2, big=1000):
    """Runs the scenarios, functions of the amount of work, in turn for ever."""
    gc.disable()
    oracle = Oracle()
    oracle.hot = hot
    for n in oracle.rounds(small, big, lambda: say(oracle)):
        for scenario in scenarios:
            scenario(n)
