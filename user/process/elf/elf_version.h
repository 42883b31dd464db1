/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * elf_version.h - which version of CPython is in an ELF file?
 *
 * From 3.11 on the data symbol Py_Version has it (Python/getversion.c). Before that, and if a
 * static program exports nothing, it follows from the strings of the file's read-only part:
 *
 *  - "cpython-3X", the cache tag of sys.implementation (Python/sysmodule.c), gives the minor
 *    version. It ends with a NUL and is not preceded by a letter, digit, "." or "_". There must be
 *    exactly one.
 *  - PY_VERSION ("3.X.Y", "3.X.Yrc1", maybe with "+") gives the rest. Linkers merge strings that
 *    are the tail of others ("/opt/python/3.8.18"), so a whole string is preferred, and a tail
 *    counts only if there is no whole one. Versions of other minors (SQLite had a 3.8, too) do not
 *    count; two different ones leave the rest unknown.
 *
 * Must hold: the file's name plays no part; check the result against live memory before use.
 */
#ifndef KRAIT_PROCESS_ELF_ELF_VERSION_H
#define KRAIT_PROCESS_ELF_ELF_VERSION_H

#include <linux/types.h>
#include <stddef.h>

struct elf_file;

/* PY_VERSION_HEX; 0 if the file does not say. */
__u32 elf_version_find(struct elf_file *f) __attribute__((nonnull));

/* "3.8.18", "3.12.0rc1+": PY_VERSION_HEX, or 0 if malformed. Reads at most len bytes, needs no NUL. */
__u32 elf_version_parse(const char *text, size_t len) __attribute__((nonnull));

#endif /* KRAIT_PROCESS_ELF_ELF_VERSION_H */
