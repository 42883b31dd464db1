# SPDX-License-Identifier: BSD-2-Clause
"""Where threads begin: addresses for which a file's unwind rows say that there is no caller, as in _start and clone3.
A native stack is whole if its outermost frame is at one of them, whoever took it. binutils' readelf reads the
rows; none of the profilers uses that."""
import bisect
import functools
import os
import re
import struct
import subprocess

PT_LOAD = 1


@functools.lru_cache(maxsize=None)
def without_caller(path):
    """Returns [(begin, end)] of the file's functions without a caller, by address in the file's own terms."""
    done = subprocess.run(["readelf", "--debug-dump=frames-interp", path], capture_output=True, encoding="utf-8",
                          errors="replace")
    found, undefined, here, cie = [], {}, None, None
    for line in done.stdout.splitlines() + ["end FDE cie=0 pc=0..0"]:
        head = re.match(r"(\w+) \w+ \w+ (?:CIE|FDE cie=(\w+) pc=(\w+)\.\.(\w+))", line)
        if head or line.startswith("end"):
            if here and (here[2] if here[2] is not None else undefined.get(here[3])):
                found.append((here[0], here[1]))
            if not head:
                break
            # An entry's own rows override those of its common part.
            here, cie = ([int(head[3], 16), int(head[4], 16), None, head[2]], None) if head[2] else (None, head[1])
        elif re.match(r"[0-9a-f]{16} ", line):
            last = line.split()[-1] == "u"
            if here:
                here[2] = bool(here[2]) or last
            elif cie:
                undefined[cie] = last
    return sorted(found)


def begins_thread(path, address):
    functions = without_caller(path)
    at = bisect.bisect_right(functions, (address, float("inf"))) - 1
    # A return address follows its call, which may be the last instruction.
    return at >= 0 and functions[at][0] <= address <= functions[at][1]


@functools.lru_cache(maxsize=None)
def segments(path):
    """Returns [(offset, size, address)] of a file's loaded segments."""
    with open(path, "rb") as f:
        head = f.read(64)
        if head[:5] != b"\x7fELF\x02":
            return []
        at, = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        f.seek(at)
        rows = [struct.unpack_from("<IIQQQQQQ", f.read(size)) for _ in range(count)]
    return [(r[2], r[5], r[3]) for r in rows if r[0] == PT_LOAD]


def address_of(path, offset):
    """Returns the address, in the file's own terms, of that offset in the file; or None."""
    return next((a + offset - o for o, n, a in segments(path) if o <= offset < o + n), None)


class Maps:
    """The files that a process has mapped. Made while it lives; also usable later."""

    def __init__(self, pid):
        self.by_name = {}
        with open("/proc/%d/maps" % pid, encoding="utf-8", errors="replace") as f:
            for line in f:
                part = line.split(None, 5)
                if len(part) < 6 or not part[5].startswith("/"):
                    continue
                path = self.reachable(pid, part[5].rstrip("\n"))
                if path:
                    self.by_name[os.path.basename(path)] = path

    @staticmethod
    def reachable(pid, path):
        """Returns the path as seen from here, since the process may have its own root folder."""
        root = os.readlink("/proc/%d/root" % pid)
        for full in (path, root.rstrip("/") + path):
            if os.path.isfile(full):
                return full
        return None

    def is_root(self, name, address):
        """Tells whether an address, in the terms of the file of that name, begins a thread."""
        path = self.by_name.get(os.path.basename(name))
        return bool(path) and begins_thread(path, address)

    def is_root_at(self, name, offset):
        """Likewise for an offset in that file."""
        path = self.by_name.get(os.path.basename(name))
        address = address_of(path, offset) if path else None
        return address is not None and begins_thread(path, address)
