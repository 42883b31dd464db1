# SPDX-License-Identifier: BSD-2-Clause
"""Changes what its own genuine interpreter says of itself in memory, and then works.

    poison.py lpf OFFSET    where a profiler writes, in the thread state
    poison.py names         the file name in the place of the function's
    poison.py version       another release
    poison.py start         mm->start_code, by prctl(PR_SET_MM): where its program began

CPython 3.15 for the first three (the positions of its table), any for the last."""
import ctypes
import os
import struct
import sys

LPF, FILE_NAME, QUALIFIED_NAME, VERSION = 224, 384, 400, 8
PR_SET_MM, PR_SET_MM_MAP = 35, 14


def words(position):
    table = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
    page = table & ~4095
    libc = ctypes.CDLL(None, use_errno=True)
    # Some builds have the table in pages that become read-only after relocation.
    libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(8192), 3)
    return ctypes.c_uint64.from_address(table + position)


def swap(a, b):
    one, two = words(a), words(b)
    one.value, two.value = two.value, one.value


def forge_start():
    """struct prctl_mm_map: 11 addresses, then the auxiliary vector and a descriptor. The fields of /proc/self/stat
    are the kernel's present ones."""
    with open("/proc/self/stat", encoding="ascii") as f:
        fields = f.read().rpartition(")")[2].split()
    field = lambda n: int(fields[n - 3])
    start_code, end_code, stack = field(26), field(27), field(28)
    heap = next((line for line in open("/proc/self/maps") if line.endswith("[heap]\n")), None)
    brk = int(heap.split("-")[1].split()[0], 16) if heap else field(47)
    values = [start_code + 4096, end_code, field(45), field(46), field(47), brk, stack, field(48),
              field(49), field(50), field(51)]
    auxv = open("/proc/self/auxv", "rb").read()
    buf = ctypes.create_string_buffer(auxv)
    packed = struct.pack("<11QQIi", *values, ctypes.addressof(buf), len(auxv), -1)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_MM, PR_SET_MM_MAP, ctypes.c_char_p(packed), ctypes.c_ulong(len(packed)), 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def work():
    while True:
        sum(range(1000))


what = sys.argv[1]
if what == "lpf":
    words(LPF).value = int(sys.argv[2])
elif what == "names":
    swap(FILE_NAME, QUALIFIED_NAME)
elif what == "version":
    words(VERSION).value = 0x030e0af0
elif what == "start":
    forge_start()
print("READY", flush=True)
work()
