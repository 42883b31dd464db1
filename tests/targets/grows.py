# SPDX-License-Identifier: BSD-2-Clause
"""Touches memory in known amounts (test_resident.py): "all" begins when told to; "other" is started by it; "hammer" touches
a page that is chosen at every shift (bpf/fault.h), again and again; "calm" 16 MiB; "short" ends after so many seconds."""
import mmap, os, subprocess, sys, time
MIB = 1 << 20
kept, slots = [], {}
def before():
    kept.append(bytearray(24 * MIB))
def leak():
    for size in [MIB] * 12 + [3 * MIB] * 6:
        kept.append(bytearray(size))
def churn():
    for _ in range(10):
        bytearray(8 * MIB)
def cache():
    for i in range(30):
        slots[i % 10] = bytearray(MIB)
def touch(m, size):
    for at in range(0, size, 4096):
        m[at] = 1
def first(m):
    touch(m, 16 * MIB)
def second(m):
    touch(m, 16 * MIB)
def given_back(m):
    touch(m, 16 * MIB)
def in_child(m):
    touch(m, 8 * MIB)
def in_other():
    kept.append(bytearray(16 * MIB))
PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
def work():
    leak(); churn(); cache()
    m = mmap.mmap(-1, 16 * MIB, flags=PRIVATE)
    first(m)
    m.close()
    m = mmap.mmap(-1, 16 * MIB, flags=PRIVATE)
    second(m)
    kept.append(m)
    m = mmap.mmap(-1, 16 * MIB, flags=PRIVATE)
    given_back(m)
    m.madvise(mmap.MADV_DONTNEED, 0, 8 * MIB)
    kept.append(m)
    kept.append(mmap.mmap(-1, 16 * MIB, flags=PRIVATE | 0x8000)) # MAP_POPULATE
if sys.argv[1] == "all":
    before()
    print("READY", flush=True)
    sys.stdin.readline()
    work()
    end, child = os.pipe(), os.fork()
    if not child:
        in_child(kept[-3])
        time.sleep(0.5)
        sys.stdin.readline()
        os._exit(0)
    other = subprocess.Popen([sys.executable, __file__, "other"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    other.stdout.readline()
    time.sleep(1)
    print(child, other.pid, flush=True)
    sys.stdin.readline()
    other.communicate()
elif sys.argv[1] == "other":
    time.sleep(0.2) # until krait has met it: what comes before is "resident before"
    in_other()
    time.sleep(0.7)
    print("there", flush=True)
    sys.stdin.readline()
elif sys.argv[1] == "hammer":
    import ctypes
    m = mmap.mmap(-1, 8 << 30, flags=PRIVATE | 0x4000) # MAP_NORESERVE
    begin = ctypes.addressof(ctypes.c_char.from_buffer(m)) >> 12
    page = (begin >> 20) + 1 << 20
    for at in 16, 12, 8, 4, 0:
        x = (page >> (at + 4)) * 0x9e3779b97f4a7c15 & (1 << 64) - 1
        page |= ((x ^ x >> 32) * 0x9e3779b97f4a7c15 & (1 << 64) - 1) >> 60 << at
    at = page - begin << 12
    print("READY", flush=True)
    sys.stdin.readline()
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        for _ in range(100):
            m[at] = 1
            m.madvise(mmap.MADV_DONTNEED, at, 4096)
    print("done", flush=True)
    sys.stdin.readline()
elif sys.argv[1] == "calm":
    print("READY", flush=True)
    sys.stdin.readline()
    in_other()
    print("done", flush=True)
    sys.stdin.readline()
else:
    leak()
    time.sleep(float(sys.argv[2]))
