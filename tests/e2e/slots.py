# SPDX-License-Identifier: BSD-2-Clause
"""Reads PyThreadState.last_profiled_frame of every thread of a running CPython 3.15 through its memory and its own
table of offsets: checks krait's writes without krait."""
import struct

COOKIE = b"xdebugpy"
# Positions in 3.15's table (_Py_DebugOffsets) that hold the member's offset.
INTERPRETERS_HEAD, INTERP_NEXT, THREADS_HEAD = 40, 64, 72
THREAD_NEXT, LAST_PROFILED_FRAME, LAST_PROFILED_FRAME_SEQ, NATIVE_THREAD_ID = 192, 224, 232, 248
TABLE_BYTES = 256
# A longer list changed while it was read.
LIST_MAX = 10000


class Memory:
    def __init__(self, pid):
        self.file = open("/proc/%d/mem" % pid, "rb", buffering=0)
        self.table_addr, self.table = self.find(pid)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.file.close()

    def read(self, addr, size):
        self.file.seek(addr)
        return self.file.read(size)

    def word(self, addr):
        return struct.unpack("<Q", self.read(addr, 8))[0]

    def offset(self, position):
        return struct.unpack_from("<Q", self.table, position)[0]

    def find(self, pid):
        """The runtime begins with the table, in a writable mapping of the file that contains Python."""
        with open("/proc/%d/maps" % pid, encoding="utf-8") as maps:
            lines = [line.split() for line in maps]
        for fields in lines:
            if len(fields) < 6 or "w" not in fields[1] or "python3" not in fields[5]:
                continue
            start, end = (int(n, 16) for n in fields[0].split("-"))
            at = self.read(start, end - start).find(COOKIE)
            if at >= 0:
                return start + at, self.read(start + at, TABLE_BYTES)
        raise LookupError("process %d has no Python runtime" % pid)

    def chain(self, head, next_offset):
        addr = self.word(head)
        for _ in range(LIST_MAX):
            if not addr:
                return
            yield addr
            addr = self.word(addr + next_offset)
        raise LookupError("a list without an end")


def read(pid):
    """Returns {native thread id: (last_profiled_frame, its count of pops)}."""
    slots = {}
    with Memory(pid) as m:
        head = m.table_addr + m.offset(INTERPRETERS_HEAD)
        for interp in m.chain(head, m.offset(INTERP_NEXT)):
            threads = interp + m.offset(THREADS_HEAD)
            for thread in m.chain(threads, m.offset(THREAD_NEXT)):
                slots[m.word(thread + m.offset(NATIVE_THREAD_ID))] = (
                    m.word(thread + m.offset(LAST_PROFILED_FRAME)),
                    m.word(thread + m.offset(LAST_PROFILED_FRAME_SEQ)))
    return slots


def written(pid):
    """Returns those that are not empty."""
    return {tid: slot for tid, slot in read(pid).items() if slot[0]}
