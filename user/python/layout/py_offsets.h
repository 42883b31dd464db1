/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * py_offsets.h - CPython's table of debug offsets, checked and normalised.
 *
 * _Py_DebugOffsets is the first member of _PyRuntime from 3.13 on. Its layout changes with every
 * minor version and is fixed within one; py_debug_offsets.c has it as data. What a version does not
 * contain is derived here or is PYOFF_ABSENT. An unknown version is refused by name, never treated
 * as the nearest one.
 *
 * Must hold: every returned offset, plus the width of its field, lies inside the struct that the
 * table describes and inside the window that the kernel reads (abi.h), is aligned, and overlaps no
 * other field of its struct.
 */
#ifndef KRAIT_PYTHON_LAYOUT_PY_OFFSETS_H
#define KRAIT_PYTHON_LAYOUT_PY_OFFSETS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "bpf/abi.h"

/* Bytes to read of a table; the longest known one has 888 (3.15). */
#define PY_TABLE_MAX 1024

/* What krait supports, for messages. */
#define PY_SUPPORTED "3.8 to 3.15"

/* Stands for a micro version that could not be found; no release has it. */
#define PY_MICRO_UNKNOWN 0xff

/* Does it begin with "xdebugpy"? */
bool py_debug_table_has_cookie(const void *table, size_t len) __attribute__((nonnull));

/* PY_VERSION_HEX from the table; 0: too short. */
__u32 py_debug_table_version(const void *table, size_t len) __attribute__((nonnull));

/*
 * Bytes of the table itself, which a file and its processes have in common: what follows changes
 * while a program runs. For a version that krait does not know, just the part that names the
 * version.
 */
size_t py_debug_table_size(const void *table, size_t len) __attribute__((nonnull));

/* Where offsets come from. */
enum py_source {
	PY_SOURCE_NONE,
	PY_SOURCE_PUBLISHED, /* _Py_DebugOffsets of the build */
	PY_SOURCE_TABLE, /* py_builtin_offsets.c, verified in the process */
	PY_SOURCE_DWARF, /* debug information of the build, verified in the process */
};

/*
 * Why krait writes no last_profiled_frame with these offsets; "": it may, or the version has none.
 * of_file: the file says so, not just a process. Whatever the source, krait writes only where it
 * knows the field to be in the released versions.
 */
const char *py_offsets_anchors_why(const struct py_offsets *o, bool of_file)
	__attribute__((nonnull));

/* "3.15.0rc1", "3.8" if the micro version is unknown; 24 bytes are enough for every version. */
void py_version_format(__u32 version, char *ret, size_t size) __attribute__((nonnull));

/*
 * Parses len bytes of a table. Returns 0 and *ret; on failure *ret is untouched and why says what
 * is wrong:
 *  -ENOEXEC  no cookie
 *  -ENOTSUP  a version that krait does not know
 *  -ENODATA  too short, or an impossible value
 */
int py_offsets_parse(const void *table, size_t len, struct py_offsets *ret, char *why,
		     size_t why_size) __attribute__((warn_unused_result, nonnull));

#endif /* KRAIT_PYTHON_LAYOUT_PY_OFFSETS_H */
