# SPDX-License-Identifier: BSD-2-Clause
"""Makes ELF files that lie from correct ones (64-bit, little-endian)."""
import lzma
import struct
import zlib

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
PROGRAM = struct.Struct("<IIQQQQQQ")
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
PT_LOAD, SHT_SYMTAB, SHT_STRTAB = 1, 2, 3


class Elf:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        self.header = list(HEADER.unpack_from(self.data))
        self.programs = [PROGRAM.unpack_from(self.data, self.header[5] + i * PROGRAM.size)
                         for i in range(self.header[10])]
        self.sections = [list(SECTION.unpack_from(self.data, self.header[6] + i * SECTION.size))
                         for i in range(self.header[12])]

    def loaded(self):
        """Returns the end of the mapped part."""
        return max(p[2] + p[5] for p in self.programs if p[0] == PT_LOAD)

    def name(self, section):
        strings = self.sections[self.header[13]]
        at = strings[4] + section[0]
        return self.data[at:self.data.index(b"\0", at)].decode()

    def section(self, name):
        """Returns a section's number; None: there is none."""
        return next((i for i, s in enumerate(self.sections) if self.name(s) == name), None)

    def rewrite(self, path):
        """Writes the current section headers in place: nothing else differs."""
        table = b"".join(SECTION.pack(*s) for s in self.sections)
        at = self.header[6]
        with open(path, "wb") as f:
            f.write(self.data[:at] + table + self.data[at + len(table):])

    def write(self, path, tail=b"", size=0):
        """Writes the current section headers after the file and tail; pads with holes up to size."""
        header = list(self.header)
        body = self.data + tail
        body += bytes(-len(body) % 8)
        header[6], header[12] = len(body), len(self.sections)
        body = HEADER.pack(*header) + body[HEADER.size:] + \
            b"".join(SECTION.pack(*s) for s in self.sections)
        with open(path, "wb") as f:
            f.write(body)
            if size:
                f.truncate(size)


def sparse_symbols(source, path, gib):
    """Adds a symbol table of so many GiB that takes no disk space."""
    elf = Elf(source)
    begin = (len(elf.data) // 4096 + 20) * 4096
    size = int(gib * (1 << 30)) // SYMBOL.size * SYMBOL.size
    strings = elf.header[13]
    elf.sections.append([0, SHT_SYMTAB, 0, 0, begin, size, strings, 1, 8, SYMBOL.size])
    elf.write(path, size=begin + size)


def mini_debug(source, path, packed):
    """Adds a section .gnu_debugdata with these bytes."""
    elf = Elf(source)
    strings = elf.sections[elf.header[13]]
    names = elf.data[strings[4]:strings[4] + strings[5]] + b".gnu_debugdata\0"
    tail = packed + names
    begin = len(elf.data)
    elf.sections.append([strings[5], 1, 0, 0, begin, len(packed), 0, 0, 1, 0])
    strings[4], strings[5] = begin + len(packed), len(names)
    elf.write(path, tail)


def xz_number(n):
    """A number as an .xz file has it: seven bits a byte."""
    found = bytearray()
    while n > 127:
        found.append(n & 127 | 128)
        n >>= 7
    return bytes(found) + bytes([n])


def packed_zeroes(mib):
    """An .xz file of so many MiB of zeroes, without packing them all: one block of it, again and again, and an index of
    them (xz-file-format.txt, 2.1 and 4)."""
    one = lzma.compress(bytes(1 << 20), lzma.FORMAT_XZ, lzma.CHECK_CRC32, 0)
    size = 4 * (1 + struct.unpack_from("<I", one, len(one) - 8)[0])
    head, block, index = one[:12], one[12:-12 - size], one[-12 - size:-12]
    # Its size without what fills up to four bytes.
    record = index[2:index.index(xz_number(1 << 20), 2) + len(xz_number(1 << 20))]
    index = b"\0" + xz_number(mib) + record * mib
    index += bytes(-len(index) % 4)
    index += struct.pack("<I", zlib.crc32(index))
    footer = struct.pack("<I", len(index) // 4 - 1) + one[-4:-2]
    return head + block * mib + index + struct.pack("<I", zlib.crc32(footer)) + footer + one[-2:]


def debug_link(source, path, name):
    """Adds a section .gnu_debuglink with that file name."""
    elf = Elf(source)
    strings = elf.sections[elf.header[13]]
    names = elf.data[strings[4]:strings[4] + strings[5]] + b".gnu_debuglink\0"
    link = name.encode() + b"\0"
    link += bytes(-len(link) % 4) + b"\1\2\3\4"
    begin = len(elf.data)
    elf.sections.append([strings[5], 1, 0, 0, begin, len(link), 0, 0, 4, 0])
    strings[4], strings[5] = begin + len(link), len(names)
    elf.write(path, link + names)
