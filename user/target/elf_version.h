/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_version.h - which version of CPython is in an ELF file?
 *
 * From 3.11 on, the data symbol Py_Version says it (Python/getversion.c). Before, and where a static
 * program exports nothing, it follows from the strings of the file's read-only part:
 *
 *  - "cpython-3X", the cache tag of sys.implementation (Python/sysmodule.c), gives the minor version.
 *    It ends with a NUL and begins where no longer word goes on. Exactly one must be there.
 *  - PY_VERSION ("3.X.Y", "3.X.Yrc1", maybe with "+") gives the rest. Linkers merge strings that are
 *    the tail of others ("/opt/python/3.8.18"), so a whole string is preferred, and a tail taken
 *    only where there is no whole one. Versions of other minors (SQLite had a 3.8, too) do not
 *    count; two different ones leave the rest unknown.
 *
 * Must hold: the file's name plays no part; whoever uses the result checks it against live memory.
 */
#ifndef KRAIT_TARGET_ELF_VERSION_H
#define KRAIT_TARGET_ELF_VERSION_H

#include <linux/types.h>
#include <stddef.h>

struct elf_file;

/* In place of the micro version that could not be found; no release has it. */
#define ELF_VERSION_MICRO_UNKNOWN 0xff

/* PY_VERSION_HEX, 0 where the file does not say. */
__u32 elf_version_find(struct elf_file *f) __attribute__((nonnull));

/* "3.8.18", "3.12.0rc1+": PY_VERSION_HEX, or 0 if it is none. At most len bytes, no NUL needed. */
__u32 elf_version_parse(const char *text, size_t len) __attribute__((nonnull));

#endif /* KRAIT_TARGET_ELF_VERSION_H */
