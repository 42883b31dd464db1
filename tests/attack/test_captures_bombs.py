#!/usr/bin/python3 -B
# SPDX-License-Identifier: BSD-2-Clause
"""D2: small captures that become large: counts without end, mappings that every fork copies, names that are looked up
repeatedly."""
import os
import resource
import struct

import attack

SECS = 15
# Limit on an output made from a file of some bytes.
OUTPUT_MIB = 64
MMAP2, COMM, FORK, SAMPLE = 10, 3, 7, 9


def limit_files():
    """A test must not fill the disk: a krait that writes too much gets SIGXFSZ or EFBIG."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))


def check_counts(tap):
    for suffix in "script", "data", "firefox.json", "html", "pb.gz", "speedscope.json", "folded":
        with attack.Scene(tap, "D2: a count of 4e18 to .%s" % suffix) as scene:
            folder = attack.Folder()
            with open(folder.outside("bomb.folded"), "w", encoding="ascii") as f:
                f.write("a;b 4000000000000000000\n")
            k = attack.krait("convert", "bomb.folded", "-o", "x." + suffix, folder=folder.path, timeout=SECS)
            path = folder.outside("x." + suffix)
            size = max([os.path.getsize(folder.outside(n)) for n in os.listdir(folder.path)])
            scene.ok(not k.hung and 0 <= k.code < 64, "ends in %d s" % SECS, k.code, k.seconds, k.words)
            scene.ok(size < OUTPUT_MIB << 20, "writes less than %d MiB" % OUTPUT_MIB, "%d MiB" % (size >> 20),
                     path)


class Capture:
    """A perf.data with arbitrary records and one event, cpu-clock."""

    def __init__(self):
        self.records = []

    def add(self, kind, body, misc=0):
        # sample_id: pid, tid, time
        self.records.append(struct.pack("<IHH", kind, misc, 8 + len(body)) + body)

    @staticmethod
    def text(name):
        name = name.encode() + b"\0"
        return name + bytes(-len(name) % 8)

    def mmap(self, pid, at, name):
        self.add(MMAP2, struct.pack("<IIQQQIIQQII", pid, pid, at, 4096, 0, 8, 1, 7, 0, 5, 2) +
                 self.text(name) + self.identity(pid), misc=2)

    def comm(self, pid, name):
        self.add(COMM, struct.pack("<II", pid, pid) + self.text(name) + self.identity(pid))

    def fork(self, parent, child, tid=None):
        self.add(FORK, struct.pack("<IIIIQ", child, parent, tid or child, parent, len(self.records)) +
                 self.identity(child))

    def identity(self, pid):
        return struct.pack("<IIQ", pid, pid, len(self.records) + 1)

    def sample(self, pid, ip):
        chain = [-512 & (1 << 64) - 1, ip]
        self.add(SAMPLE, struct.pack("<QIIQQ", ip, pid, pid, len(self.records) + 1, 1000000) +
                 struct.pack("<Q", len(chain)) + struct.pack("<%dQ" % len(chain), *chain), misc=2)

    def write(self, path):
        data = b"".join(self.records)
        # IP TID TIME CALLCHAIN PERIOD; sample_id_all, mmap, comm, task, mmap2, comm_exec.
        flags = 1 << 18 | 1 << 8 | 1 << 9 | 1 << 13 | 1 << 23 | 1 << 24
        attr = struct.pack("<IIQQQQQ", 1, 128, 0, 1000000, 1 | 2 | 4 | 1 << 5 | 1 << 8, 0, flags)
        attr += bytes(128 - len(attr)) + struct.pack("<QQ", 0, 0)
        head = struct.pack("<8sQQQQQQQQ", b"PERFILE2", 104, 144, 104, len(attr), 104 + len(attr), len(data),
                           0, 0) + bytes(32)
        with open(path, "wb") as f:
            f.write(head + attr + data)


def play(tap, name, capture):
    with attack.Scene(tap, "D2: " + name) as scene:
        folder = attack.Folder()
        capture.write(folder.outside("bomb.data"))
        for command in ["report", "-i", "bomb.data"], ["convert", "bomb.data", "-o", "x.folded"]:
            k = attack.krait(*command, folder=folder.path, timeout=SECS)
            what = "krait " + command[0]
            scene.ok(not k.hung and 0 <= k.code < 64, "%s ends in %d s" % (what, SECS), k.code, k.seconds,
                     k.words)
            scene.ok("1 sample" in k.said or k.code in (0, 6, 7), what + " reads it", k.words)
            peak = max(k.watch.peaks.get(name, 0) for name in ("krait", "krait (child)"))
            scene.ok(peak < 1024 * attack.MIB, what + " needs less than 1 GiB", "%d MiB" % (peak >> 10))


def forks():
    """Each child inherits all mappings of its parent."""
    c = Capture()
    c.comm(1000, "parent")
    for i in range(30000 if not attack.FULL else 65536):
        c.mmap(1000, 0x400000 + i * 8192, "/a/file")
    for i in range(3000):
        c.fork(1000, 2000 + i)
    c.sample(1000, 0x400010)
    return c


def names():
    """Threads of one process; mappings and names of many."""
    c = Capture()
    for i in range(40000):
        c.comm(1000 + i, "name%d" % i)
        c.mmap(1000 + i, 0x400000, "/a/file%d" % i)
    c.sample(1000, 0x400010)
    return c


def threads():
    c = Capture()
    for i in range(20000):
        c.fork(1000, 1000, 100000 + i)
        c.comm(1000, "name%d" % i)
    c.sample(1000, 0x400010)
    return c


def main():
    limit_files()
    tap = attack.begin(bpf=False)
    check_counts(tap)
    play(tap, "30,000 mappings, copied by 3,000 forks", forks())
    play(tap, "40,000 processes, each with a name and a mapping", names())
    play(tap, "20,000 threads, and as many names of their process", threads())
    attack.end(tap)


if __name__ == "__main__":
    main()
