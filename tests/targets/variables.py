# SPDX-License-Identifier: BSD-2-Clause
"""A function with variables of each kind, which says what they are: for krait dump --locals."""
import collections
import dataclasses
import decimal
import enum
import json
import os
import sys


class Slots:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a, self.b = 1, "two"


class MoreSlots(Slots):
    __slots__ = ("c", "unset")

    def __init__(self):
        super().__init__()
        self.c = None


class Plain:
    def __init__(self):
        self.x, self.y, self.me = 1, [1, 2], self


class Late:
    """Its values have moved into a dictionary."""

    def __init__(self):
        self.x = 1
        self.__dict__["y"] = 2


@dataclasses.dataclass
class Data:
    p: int
    q: str


class Lying:
    def __init__(self):
        self.n = 1

    def __repr__(self):
        raise RuntimeError("nobody may call me")


class Text(str):
    pass


class Number(int):
    pass


class Names(dict):
    pass


class Color(enum.IntEnum):
    RED = 1


Point = collections.namedtuple("Point", "x y")


class Outer:
    class Inner:
        pass

    def method(self):
        pass


def function(argument, *arguments, keyword=3, **keywords):
    none, yes, no, ellipsis, not_implemented = None, True, False, ..., NotImplemented
    zero, one, minus, big, negative, edge = 0, 1, -5, 10**40, -(2**70), 2**30
    exact, small, large, whole, nan, infinite = 0.1, 1e-7, 1e100, 123456789.0, float("nan"), -float("inf")
    border, minus_zero, below = 1e16, -0.0, 9999999999999998.0
    complexes = [1 + 2j, 2j, -1.5j, complex(-0.0, 1), 1e20 + 0.5j]
    text, quotes, both, wide, odd = "it's", 'a"b', "a'b\"c", "é日本😀", "a\0b\n\t\r\\\x1b\x7f\udc80"
    raw, array, empty_bytes = b"ab\0\xff'\\", bytearray(b"x\ny"), b""
    nested = [1, [2, (3, {4: "x"})]]
    single, empty, items = (1,), (), {"a": 1, 2: "b", None: None}
    members, no_members, frozen = {1}, set(), frozenset({"q"})
    deleted = {1: 2, 3: 4, 5: 6}
    del deleted[3]
    removed = {7}
    removed.add(8)
    removed.discard(8)
    itself = []
    itself.append(itself)
    types = [int, Plain, Outer.Inner, dict]
    functions = [len, function, Outer.method, "x".join]
    modules = [sys]
    ranges = [range(3), range(1, 9, 2)]
    errors = [ValueError("bad", 3), KeyError("k"), OSError()]
    captured = 1

    def inner():
        return captured

    unset = 1
    del unset
    same = {n: repr(v) for n, v in locals().items() if n not in ("inner", "same")}
    # Values that are not shown as by repr().
    slots, more_slots, plain, late, data = Slots(), MoreSlots(), Plain(), Late(), Data(1, "z")
    lying, subclass, number, names, point = Lying(), Text("sub"), Number(7), Names(a=1), Point(1, 2)
    long, deep, ordered = list(range(100)), [[[[[[]]]]]], collections.OrderedDict(a=1)
    color, method, dec = Color.RED, Outer().method, decimal.Decimal("1.5")
    print("ORACLE " + json.dumps(same) + "\nREADY", flush=True)
    os.read(0, 1)
    return inner, slots, more_slots, plain, late, data, lying, subclass, number, names, point, long, deep, \
        ordered, color, method, dec


function(1, 2, 3, other="e")
