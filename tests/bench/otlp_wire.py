# SPDX-License-Identifier: BSD-2-Clause
"""Positions in a body of OTLP profiles that a replay has to change: the ids of its profiles."""


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def fields(data, at, end):
    """Yields (number, from, to) of a message's fields that are bytes."""
    while at < end:
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            _, at = varint(data, at)
        elif kind == 1:
            at += 8
        elif kind == 5:
            at += 4
        elif kind == 2:
            size, at = varint(data, at)
            yield key >> 3, at, at + size
            at += size
        else:
            raise ValueError("no such wire type: %d" % kind)


def below(data, spans, number):
    return [(a, b) for at, end in spans for n, a, b in fields(data, at, end) if n == number]


def profiles(data):
    """Request -> ResourceProfiles (1) -> ScopeProfiles (2) -> Profile (2)."""
    return below(data, below(data, below(data, [(0, len(data))], 1), 2), 2)


def id_offsets(data):
    """Returns the position of each profile's id, 16 bytes."""
    return [a for a, b in below(data, profiles(data), 7) if b - a == 16]


def sample_cnt(data):
    """Counts timestamps: CPU profiles have one per sample."""
    return sum((b - a) // 8 for a, b in below(data, below(data, profiles(data), 2), 5))
