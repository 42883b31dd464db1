# SPDX-License-Identifier: BSD-2-Clause
"""Values of an array among the BPF maps that a process holds, found by name and read with the system call
itself."""
import ctypes
import os
import re
import struct

SYS_BPF, LOOKUP, FD_BY_ID, INFO = 321, 1, 14, 15
libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, attributes):
    attributes = ctypes.create_string_buffer(attributes, 128)
    got = libc.syscall(SYS_BPF, command, attributes, 128)
    if got < 0:
        raise OSError(ctypes.get_errno(), "bpf(%d)" % command)
    return got


def name_and_size(fd):
    info = ctypes.create_string_buffer(96)
    bpf(INFO, struct.pack("IIQ", fd, len(info), ctypes.addressof(info)))
    return info.raw[24:40].split(b"\0")[0].decode(), struct.unpack_from("I", info.raw, 12)[0]


class KernelMap:
    def __init__(self, pid, name):
        for entry in os.listdir("/proc/%d/fdinfo" % pid):
            with open("/proc/%d/fdinfo/%s" % (pid, entry), encoding="utf-8") as f:
                found = re.search(r"^map_id:\s+(\d+)", f.read(), re.M)
            if not found:
                continue
            self.fd = bpf(FD_BY_ID, struct.pack("III", int(found[1]), 0, 0))
            got, self.size = name_and_size(self.fd)
            if got == name:
                return
            os.close(self.fd)
        raise LookupError("process %d holds no map %r" % (pid, name))

    def __getitem__(self, key):
        key, value = ctypes.c_uint(key), ctypes.create_string_buffer(self.size)
        bpf(LOOKUP, struct.pack("IxxxxQQQ", self.fd, ctypes.addressof(key), ctypes.addressof(value), 0))
        return value.raw

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        os.close(self.fd)
