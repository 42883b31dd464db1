/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * py_debug_offsets.h - the position of each number in the debug offsets of each minor version: data
 * only.
 *
 * For a new minor version add a column to the lists of py_debug_offsets.c; for a new member, a row.
 */
#ifndef KRAIT_PYTHON_LAYOUT_PY_DEBUG_OFFSETS_H
#define KRAIT_PYTHON_LAYOUT_PY_DEBUG_OFFSETS_H

#include <linux/types.h>
#include <stddef.h>

#include "bpf/abi.h"

enum py_struct {
	PYS_RUNTIME,
	PYS_INTERP,
	PYS_THREAD,
	PYS_FRAME,
	PYS_CODE,
	PYS_OBJECT,
	PYS_TYPE,
	PYS_UNICODE,
	PYS_BYTES,
	PYS_CNT
};

enum py_member_flag {
	/* Thread-local bytecode: meaningful in free-threaded builds only, 0 in others. */
	PYM_FREE_THREADED = 1 << 0,
	/* The size of a head, not the offset of a field: may be anywhere inside. */
	PYM_IS_SIZE = 1 << 1,
};

/* Minor versions with such a table: 3.13, 3.14, 3.15. */
#define PY_DEBUG_MINORS 3
#define PY_MEMBERS 38

/* A member; what is known about it whatever the version, and where the table of each has its offset. */
struct py_member_info {
	const char *name; /* without the struct */
	size_t dest; /* into struct py_offsets */
	enum py_struct owner;
	unsigned width; /* of the field, bytes; also its alignment */
	unsigned window; /* it must end before this, 0 anywhere in the struct */
	unsigned flags; /* enum py_member_flag */
	__u16 at[PY_DEBUG_MINORS]; /* 0: that table lacks it (the cookie is at 0) */
};

/* Likewise, a struct and its size. */
struct py_struct_info {
	const char *name; /* CPython's, in the table */
	__u64 size_max; /* sanity: several times what is known */
	__u16 at[PY_DEBUG_MINORS];
};

/* One minor version. */
struct py_debug_offsets {
	unsigned minor, column; /* in these lists */
	size_t table_size;
	__u16 gc, gc_collecting,
		gc_frame; /* of struct gc in PyInterpreterState, and of members in it */
};

/* Where PyThreadState has what krait writes, in every release of a minor version. */
struct py_anchor {
	unsigned minor;
	__s32 last_profiled_frame, last_profiled_frame_seq;
};

extern const struct py_struct_info py_structs[PYS_CNT];
extern const struct py_member_info py_members[PY_MEMBERS];

/* NULL if krait does not know 3.minor. */
const struct py_debug_offsets *py_debug_offsets_find(unsigned minor);
/* NULL if the minor version has none, or krait does not know where. */
const struct py_anchor *py_anchor_find(unsigned minor);

#endif /* KRAIT_PYTHON_LAYOUT_PY_DEBUG_OFFSETS_H */
