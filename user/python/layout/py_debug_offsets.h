/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * py_debug_offsets.h - the position of each number in the debug offsets of each minor version: data
 * only.
 *
 * For a new minor version add one table to py_debug_offsets.c; for a new member, one row to each
 * list.
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

enum py_member {
	PYM_RUNTIME_FINALIZING,
	PYM_RUNTIME_INTERPRETERS_HEAD,
	PYM_INTERP_ID,
	PYM_INTERP_NEXT,
	PYM_INTERP_THREADS_HEAD,
	PYM_INTERP_CODE_OBJECT_GENERATION,
	PYM_INTERP_GIL,
	PYM_THREAD_PREV,
	PYM_THREAD_NEXT,
	PYM_THREAD_INTERP,
	PYM_THREAD_CURRENT_FRAME,
	PYM_THREAD_BASE_FRAME,
	PYM_THREAD_LAST_PROFILED_FRAME,
	PYM_THREAD_LAST_PROFILED_FRAME_SEQ,
	PYM_THREAD_THREAD_ID,
	PYM_THREAD_NATIVE_THREAD_ID,
	PYM_THREAD_STATUS,
	PYM_FRAME_PREVIOUS,
	PYM_FRAME_EXECUTABLE,
	PYM_FRAME_INSTR_PTR,
	PYM_FRAME_OWNER,
	PYM_FRAME_TLBC_INDEX,
	PYM_FRAME_LOCALSPLUS,
	PYM_CODE_FILENAME,
	PYM_CODE_NAME,
	PYM_CODE_QUALNAME,
	PYM_CODE_LINETABLE,
	PYM_CODE_FIRSTLINENO,
	PYM_CODE_CODE_ADAPTIVE,
	PYM_CODE_TLBC,
	PYM_OBJECT_OB_TYPE,
	PYM_TYPE_TP_NAME,
	PYM_UNICODE_STATE,
	PYM_UNICODE_LENGTH,
	PYM_UNICODE_ASCII_SIZE,
	PYM_UNICODE_COMPACT_SIZE,
	PYM_BYTES_OB_SIZE,
	PYM_BYTES_OB_SVAL,
	PYM_CNT
};

enum py_member_flag {
	/* Thread-local bytecode: meaningful in free-threaded builds only, 0 in others. */
	PYM_FREE_THREADED = 1 << 0,
	/* The size of a head, not the offset of a field: may be anywhere inside. */
	PYM_IS_SIZE = 1 << 1,
};

/* What is known about a member whatever the version. */
struct py_member_info {
	const char *name; /* without the struct */
	size_t dest; /* into struct py_offsets */
	enum py_struct owner;
	unsigned width; /* of the field, bytes; also its alignment */
	unsigned window; /* it must end before this, 0 anywhere in the struct */
	unsigned flags; /* enum py_member_flag */
};

/* What is known about a struct whatever the version. */
struct py_struct_info {
	const char *name; /* CPython's, in the table */
	__u64 size_max; /* sanity: several times what is known */
};

/* One minor version. Position 0 means that the table lacks the member (the cookie is at 0). */
struct py_debug_offsets {
	unsigned minor;
	size_t table_size;
	__u16 size[PYS_CNT]; /* position of the struct's size */
	__u16 member[PYM_CNT]; /* position of the member's offset */
	__u16 gc, gc_collecting,
		gc_frame; /* of struct gc in PyInterpreterState, and of members in it */
};

/* Where PyThreadState has what krait writes, in every release of a minor version. */
struct py_anchor {
	unsigned minor;
	__s32 last_profiled_frame, last_profiled_frame_seq;
};

extern const struct py_struct_info py_structs[PYS_CNT];
extern const struct py_member_info py_members[PYM_CNT];

/* NULL if krait does not know 3.minor. */
const struct py_debug_offsets *py_debug_offsets_find(unsigned minor);
/* NULL if the minor version has none, or krait does not know where. */
const struct py_anchor *py_anchor_find(unsigned minor);

#endif /* KRAIT_PYTHON_LAYOUT_PY_DEBUG_OFFSETS_H */
