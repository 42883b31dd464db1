# SPDX-License-Identifier: BSD-2-Clause
#
# Writes what this interpreter itself says about the positions of its standard library, for
# test_linetable.c. Argument: N, to take one module in N (by a hash of its name).
#
# For each code object: u32 size of the line table, s32 first line, u32 code units, the table, and
# runs (u32 units, s32 line, end line, column, end column; None is -1). Last: u32 0xffffffff, s32
# code objects, u32 modules. Before 3.11 there are lines only: the end line is the line.
import dis
import os
import struct
import sys
import sysconfig
import types
import warnings
import zlib

out = sys.stdout.buffer
header = struct.Struct("<IiI")
run = struct.Struct("<I4i")


def positions_3_10(code):
    for start, end, line in code.co_lines():
        yield from [(line, line, None, None)] * ((end - start) // 2)


def positions_3_8(code):
    """The table is public, but its interpreter is addr2line() inside; findlinestarts() leaves out
    what repeats a line."""
    starts, line = dict(dis.findlinestarts(code)), code.co_firstlineno
    for offset in range(0, len(code.co_code), 2):
        line = starts.get(offset, line)
        yield line, line, None, None


def positions(code):
    if hasattr(code, "co_positions"):
        return code.co_positions()
    return positions_3_10(code) if hasattr(code, "co_lines") else positions_3_8(code)


def dump(code):
    units = len(code.co_code) // 2
    table = code.co_lnotab if sys.version_info < (3, 10) else code.co_linetable
    parts = [header.pack(len(table), code.co_firstlineno, units), table]
    last, length, total = None, 0, 0
    for position in positions(code):
        if position != last:
            if length:
                parts.append(run.pack(length, *[-1 if v is None else v for v in last]))
            total += length
            last, length = position, 0
        length += 1
    parts.append(run.pack(length, *[-1 if v is None else v for v in last]))
    assert total + length == units
    out.write(b"".join(parts))
    count = 1
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            count += dump(const)
    return count


def sources(one_in):
    top = sysconfig.get_path("stdlib")
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(d for d in folders if d not in ("site-packages", "__pycache__"))
        for name in sorted(files):
            path = os.path.join(folder, name)
            key = os.path.relpath(path, top)
            if name.endswith(".py") and zlib.crc32(key.encode()) % one_in == 0:
                with open(path, "rb") as f:
                    yield f.read(), path


def made():
    # Columns beyond every short form, in bytes of UTF-8, and lines far apart.
    yield "x = 1\n" + "y = [" + ", ".join(["'äöü€😀' + x"] * 3000) + "]\n", "wide"
    yield "\n" * 70000 + "def f(a):\n" + "\n" * 5000 + " return (a" + "\n" * 3000 + "+\nb)\n", "tall"
    yield "def f(x):\n" + "".join(" x = g(x, %d)\n" % i for i in range(9000)), "long"
    yield "try:\n with a as b: c\nexcept* E: d\nfinally: e\n[i async for i in x]if y else z\n", "odd"
    yield "lambda: (yield)\nasync def f():\n async with a: return [await x for x in y]\n", "gen"


def main():
    warnings.simplefilter("ignore")
    count = modules = 0
    for source in (sources(int(sys.argv[1])), made()):
        for text, path in source:
            try:
                code = compile(text, path, "exec", dont_inherit=True)
            except (SyntaxError, ValueError, RecursionError):
                continue
            count += dump(code)
            modules += 1
    out.write(header.pack(0xFFFFFFFF, count, modules))


main()
