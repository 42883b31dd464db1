# SPDX-License-Identifier: BSD-2-Clause
"""Code that krait did not know when it began to watch: libraries that are loaded later, and machine code
that the process writes itself, with and without an .eh_frame beside it. usage: rows.py KIND [LIBRARY]"""
import ctypes
import shutil
import struct
import sys
import time

CPU_SECS = 0.4


def enough(begin):
    return time.process_time() - begin >= CPU_SECS


def python_only():
    begin = time.process_time()
    while not enough(begin):
        sum(range(1000))


def later(library):
    """Loads a file that is new each time."""
    for i in range(3):
        copy = "%s.%d.so" % (library, i)
        shutil.copy(library, copy)
        lib = ctypes.CDLL(copy)
        lib.work.argtypes = [ctypes.c_ulong]
        begin = time.process_time()
        while not enough(begin):
            lib.work(50)


def map_code(code, beside=b""):
    """Maps the code at the beginning of a page of its own, followed by something on the next page."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    at = libc.mmap(None, 8192, 3, 0x22, -1, 0)
    ctypes.memmove(at, code, len(code))
    ctypes.memmove(at + 4096, beside, len(beside))
    libc.mprotect(at, 4096, 5)
    libc.mprotect(at + 4096, 4096, 1)
    return at


def call(at):
    function = ctypes.CFUNCTYPE(None, ctypes.c_ulong)(at)
    begin = time.process_time()
    while not enough(begin):
        function(10000000)


# push rbp; mov $0x1234, ebp; push rbx; sub $24, rsp; and at the end: dec rdi; jnz; all of it back; ret
BEGIN = bytes.fromhex("55bd3412000053" "4883ec18")
END = bytes.fromhex("48ffcf75fb" "4883c418" "5b5dc3")
# Reading the code does not tell where it continues: lea 2(rip), rax; jmp *rax
JUMP = bytes.fromhex("488d0502000000" "ffe0")


def eh_frame(size):
    """For a function that lies 4,096 bytes before; as LLVM writes it."""
    common = bytes.fromhex("14000000" "00000000" "01" "7a5200" "01" "78" "10" "01" "1c"
                           "0c0708" "9001" "0000")
    cfi = bytes.fromhex("00" "41" "0e10" "8602" "46" "0e18" "8303" "44" "0e30" "0000")
    return common + struct.pack("<IIqQ", 4 + 16 + len(cfi), len(common) + 4,
                                -4096 - len(common) - 8, size) + cfi + bytes(4)


def made():
    call(map_code(BEGIN + END))


def described():
    code = BEGIN + JUMP + END
    call(map_code(code, eh_frame(len(code))))


def main():
    kind = sys.argv[1]
    python_only()
    if kind == "later":
        later(sys.argv[2])
    else:
        {"made": made, "described": described, "python": python_only}[kind]()


if __name__ == "__main__":
    main()
