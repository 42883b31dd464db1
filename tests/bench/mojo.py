# SPDX-License-Identifier: BSD-2-Clause
"""austin 4's output: MOJO, a stream of events (https://github.com/P403n1x87/austin, src/mojo.h, version 3)."""

METADATA, STACK, FRAME, FRAME_INVALID, FRAME_REF, FRAME_KERNEL, GC, IDLE, TIME, MEMORY, STRING, STRING_REF = range(1, 13)
INVALID = "[invalid]"


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def number(self):
        byte = self.byte()
        value, shift, negative = byte & 0x3f, 6, byte & 0x40
        while byte & 0x80:
            byte = self.byte()
            value |= (byte & 0x7f) << shift
            shift += 7
        return -value if negative else value

    def text(self):
        end = self.data.index(b"\0", self.at)
        text = self.data[self.at:end].decode("utf-8", "replace")
        self.at = end + 1
        return text


def parse(data):
    """Returns ({key: value} of its metadata, samples), each sample a list of (name, path, line), root first; INVALID
    stands for an unreadable frame. Drops a stack whose event was cut off at the end."""
    read = Reader(data)
    if data[:3] != b"MOJ":
        raise ValueError("no MOJO")
    read.at = 3
    if read.number() not in (3, 4):
        raise ValueError("an unknown version of MOJO")
    said, samples, strings, frames = {}, [], {}, {}
    try:
        while read.at < len(data):
            event(read, said, samples, strings, frames)
    except (IndexError, ValueError):
        samples = samples[:-1]
    return said, samples


def event(read, said, samples, strings, frames):
    kind = read.byte()
    if kind == METADATA:
        key = read.text()
        said[key] = read.text()
    elif kind == STACK:
        read.number(), read.number(), read.text()  # process, interpreter, thread
        samples.append([])
    elif kind == FRAME:
        key, path, name, line = (read.number() for _ in range(4))
        for _ in range(3):
            read.number()
        frames[key] = (strings.get(name, "?"), strings.get(path, "?"), line)
    elif kind == FRAME_REF:
        samples[-1].append(frames.get(read.number(), INVALID))
    elif kind == FRAME_INVALID:
        samples[-1].append(INVALID)
    elif kind == STRING:
        key = read.number()
        strings[key] = read.text()
    elif kind in (FRAME_KERNEL, STRING_REF, TIME, MEMORY):
        read.text() if kind == FRAME_KERNEL else read.number()
    elif kind not in (GC, IDLE):
        raise ValueError("an unknown event %d" % kind)
