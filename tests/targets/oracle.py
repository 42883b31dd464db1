# SPDX-License-Identifier: BSD-2-Clause
"""What a target says of itself: every stack that it can have, before it is recorded.

A target runs its rounds a few times under sys.setprofile(). Each call is noted with its whole
stack: functions by qualified name and file, callers by the line they call from. That is a trie;
afterwards the same rounds run again without the trace until the target is killed, and a sampled
stack that is not a path of the trie has never existed.

Only what is below is noted: a target must take the same paths in all rounds, so it makes no
garbage cycles whose finalizers run anywhere (the collector is off).

Runs inside the target: CPython 3.13 and later, also in a sub-interpreter.
"""
import dis
import gc
import inspect
import json
import sys

PRIMING_ROUNDS = 3
# Generator, coroutine, asynchronous generator: a call only makes the object.
SUSPENDS = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def loop_lines(code):
    """Lines of the body of the first loop in code: where its time is spent."""
    instructions = list(dis.get_instructions(code))
    for i in instructions:
        if i.opname.startswith("JUMP_BACKWARD"):
            body = [j for j in instructions if i.jump_target <= j.offset <= i.offset]
            return sorted({j.positions.lineno for j in body if j.positions.lineno})
    return []


class Oracle:
    """The trie of legal stacks. One for each thread; merge() joins them."""

    def __init__(self):
        self.codes = {}  # code object -> number
        self.nodes = {}  # (parent node or -1, line of the call in the parent, code) -> number
        self.hot = []  # qualified names that must be seen at work

    def code(self, code):
        return self.codes.setdefault(code, len(self.codes))

    def note(self, frame):
        """Notes the stack of frame; its own line may be any of its code."""
        chain = []
        while frame is not None:
            chain.append((self.code(frame.f_code), frame.f_lineno))
            frame = frame.f_back
        node, line = -1, 0
        for code, next_line in reversed(chain):
            node = self.nodes.setdefault((node, line, code), len(self.nodes))
            line = next_line

    def trace(self, frame, event, _):
        if event == "call":
            self.note(frame)

    def rounds(self, small, big, ready=None):
        """Yields small while the stacks are noted, calls ready, then yields big for ever."""
        sys.setprofile(self.trace)
        for _ in range(PRIMING_ROUNDS):
            yield small
        sys.setprofile(None)
        if ready:
            ready()
        while True:
            yield big

    def as_json(self):
        def lines(code):
            return sorted({line for _, _, line in code.co_lines() if line})

        def suspends(code):
            return bool(code.co_flags & SUSPENDS)

        def creates(code):
            """Names of generators that this code may make: their first frame is never traced."""
            inner = [c.co_name for c in code.co_consts if hasattr(c, "co_name")]
            return sorted({*code.co_names, *code.co_varnames, *code.co_freevars, *inner})

        codes = [
            {
                "name": c.co_qualname,
                "file": c.co_filename,
                "lines": lines(c),
                "loop": loop_lines(c),
                "suspends": c.co_firstlineno if suspends(c) else 0,
                "short": c.co_name,
                "creates": creates(c),
            }
            for c in self.codes
        ]
        nodes = [list(key) for key in self.nodes]
        return {"codes": codes, "nodes": nodes, "hot": self.hot}


def of_frame(frame):
    """The oracle of a thread that stays in that frame."""
    oracle = Oracle()
    oracle.note(frame)
    return oracle


def tell(*oracles):
    """Prints the oracles, each also as a dictionary."""
    sys.stdout.reconfigure(encoding="utf-8")
    documents = [o if isinstance(o, dict) else o.as_json() for o in oracles]
    sys.stdout.write("".join("ORACLE %s\n" % json.dumps(d) for d in documents))


def say_ready():
    """The recording may begin."""
    sys.stdout.write("READY\n")
    sys.stdout.flush()


def say(*oracles):
    tell(*oracles)
    say_ready()


def run(scenarios, hot, small=2, big=1000):
    """Runs the scenarios, functions of the size of their work, in turn for ever."""
    gc.disable()
    oracle = Oracle()
    oracle.hot = hot
    for n in oracle.rounds(small, big, lambda: say(oracle)):
        for scenario in scenarios:
            scenario(n)
