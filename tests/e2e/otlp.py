# SPDX-License-Identifier: BSD-2-Clause
"""Decodes OTLP profiles, as krait agent --otlp-dir writes them, by the field numbers of opentelemetry-proto
1.10."""
import struct

TICKS, OFF_CPU, GIL = "samples", "off_cpu", "gil_wait"


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


class Message:
    """Fields by number; each is a list of numbers or bytes."""

    def __init__(self, data):
        self.fields = {}
        at = 0
        while at < len(data):
            tag, at = varint(data, at)
            kind = tag & 7
            if kind == 0:
                value, at = varint(data, at)
            elif kind == 1:
                value, at = struct.unpack_from("<Q", data, at)[0], at + 8
            elif kind == 2:
                size, at = varint(data, at)
                value, at = data[at:at + size], at + size
                if len(value) != size:
                    raise ValueError("cut short")
            else:
                raise ValueError("wire type %d" % kind)
            self.fields.setdefault(tag >> 3, []).append(value)

    def all(self, number):
        return self.fields.get(number, [])

    def messages(self, number):
        return [Message(data) for data in self.all(number)]

    def one(self, number, default=0):
        return self.all(number)[-1] if self.all(number) else default

    def text(self, number):
        return bytes(self.one(number, b"")).decode()

    def numbers(self, number):
        """Unpacks varints."""
        found = []
        for data in self.all(number):
            at = 0
            while at < len(data):
                value, at = varint(data, at)
                found.append(value)
        return found

    def fixed(self, number):
        return [value for data in self.all(number) for value, in struct.iter_unpack("<Q", data)]


def value_of(data):
    """Decodes an AnyValue."""
    m = Message(data)
    if m.all(5):
        return [value_of(item) for item in Message(m.one(5)).all(1)]
    return m.text(1) if m.all(1) else m.one(4) if m.all(4) else m.one(3) if m.all(3) else m.one(2)


class Profile:
    def __init__(self, message, body, resource):
        self.resource = resource
        self.kind = body.strings[Message(message.one(1, b"")).one(1)]
        self.begin, self.length = message.one(3), message.one(4)
        self.period = message.one(6)
        self.id = bytes(message.one(7, b""))
        self.facts = dict(body.attributes[i] for i in message.numbers(11))
        self.samples = []  # (stack, leaf first, as (name, type); attributes; times; values)
        keys = set()
        for s in message.messages(2):
            keys.add((s.one(1), tuple(s.numbers(2))))
            self.samples.append((body.stacks[s.one(1)], dict(body.attributes[i] for i in s.numbers(2)),
                                 s.fixed(5), s.numbers(4)))
        # The format's own rule: one sample per stack and attributes.
        self.distinct = len(keys) == len(self.samples)

    def ticks(self):
        return sum(len(times) for _, _, times, _ in self.samples)


class Body:
    """One ExportProfilesServiceRequest."""

    def __init__(self, data):
        request = Message(data)
        d = Message(request.one(2))
        self.strings = [bytes(s).decode() for s in d.all(5)]
        self.attributes = [(self.strings[a.one(1)], value_of(a.one(2, b""))) for a in d.messages(6)]
        # {native file: its attributes}
        self.mappings = {self.strings[m.one(4)]: dict(self.attributes[i] for i in m.numbers(5)) for m in d.messages(1)}
        functions = [self.strings[f.one(1)] for f in d.messages(3)]
        places = []
        for place in d.messages(2):
            lines = place.messages(3)
            kinds = [self.attributes[i][1] for i in place.numbers(4)]
            places.append((functions[lines[0].one(1)] if lines else "", kinds[0] if kinds else ""))
        self.stacks = [[places[i] for i in stack.numbers(1)] for stack in d.messages(7)]
        # Entry 0 of each table is empty.
        self.zeroes = all(d.all(n) and len(d.all(n)[0]) == 0 for n in range(1, 8))
        self.profiles = []
        for r in request.messages(1):
            resource = {a.text(1): value_of(a.one(2, b"")) for a in Message(r.one(1, b"")).messages(1)}
            for scope in r.messages(2):
                self.profiles += [Profile(p, self, resource) for p in scope.messages(2)]
