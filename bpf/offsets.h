/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * offsets.h - where things are in one interpreter build. Part of abi.h, which includes it.
 *
 * Must hold: an absent offset is PYOFF_ABSENT and never 0, since 0 is a valid offset.
 */
#ifndef KRAIT_BPF_OFFSETS_H
#define KRAIT_BPF_OFFSETS_H

#include "bpf/types.h"

/*
 * Bytes that the kernel reads at once from the start of a PyThreadState, an interpreter frame and a
 * code object. Every offset that it uses must lie within; user space refuses a layout that breaks
 * this.
 */
#define KRAIT_THREAD_WINDOW 256
#define KRAIT_FRAME_WINDOW 80
#define KRAIT_CODE_WINDOW 192
/*
 * The part of a code object that has its key (fingerprint.h), from PYOFF_CODE_KEY_AT() on. Each
 * sample reads it of each code object, so it is no larger than need be.
 */
#define KRAIT_CODE_KEY 88
/* The same for a PyFrameObject and its code object, 3.8 to 3.10. */
#define KRAIT_OLD_FRAME_WINDOW 128
#define KRAIT_OLD_CODE_WINDOW 144
/* The same for a _PyCFrame, 3.11 and 3.12; the outermost one, inside PyThreadState, is no larger. */
#define KRAIT_CFRAME_WINDOW 24
#define KRAIT_CFRAME_THREAD 384

#define PYOFF_ABSENT (-1)

enum py_offsets_flag {
	PYOFF_FREE_THREADED = 1 << 0,
	/* PyThreadState.cframe leads to the current frame (3.11, 3.12). */
	PYOFF_CFRAME = 1 << 1,
	/*
	 * PyThreadState has no _status (3.8 to 3.11): while a thread holds the GIL,
	 * _PyRuntime.gilstate.tstate_current says which of its states is active.
	 */
	PYOFF_TSTATE_CURRENT = 1 << 2,
};

/* How frames are linked, and how they tell what they are. */
enum py_frame_kind {
	/* 3.12+: the chain has frames and entry frames; owner says which is which. */
	PY_FRAME_OWNER,
	/* 3.11: no entry frames; is_entry is set in a frame that C called. */
	PY_FRAME_IS_ENTRY,
	/* 3.8 to 3.10: PyFrameObject by f_back, each in an eval loop of its own; f_lasti. */
	PY_FRAME_OBJECT,
};

/*
 * Where things are in one interpreter build, in bytes from the start of the named C struct.
 * user/target fills it from _Py_DebugOffsets (3.13+), from verified tables or from DWARF (3.8 to
 * 3.12). It is grouped as CPython's own structs are. Members have their names from the newest
 * version; user/python/layout/py_builtin_offsets.c has the older names.
 */
struct py_offsets {
	__u32 version; /* PY_VERSION_HEX */
	__u32 flags; /* enum py_offsets_flag */
	__u32 frame_kind; /* enum py_frame_kind */
	__u32 lasti_shift; /* PY_FRAME_OBJECT: one unit of f_lasti is 1 << lasti_shift bytes */
	struct {
		__s32 interpreters_head, finalizing, tstate_current;
		__s32 gil; /* the GIL itself, up to 3.11 */
		__s32 gc_collecting; /* 3.8 */
	} runtime; /* _PyRuntimeState */
	struct {
		__s32 id, next, threads_head, code_object_generation;
		__s32 gil; /* pointer to this interpreter's GIL, from 3.12 on */
		__s32 gc_collecting; /* from 3.9 on */
		__s32 gc_frame; /* pointer to the frame in which garbage is being collected (3.15) */
	} interp; /* PyInterpreterState */
	struct {
		__s32 prev, next, interp, current_frame, base_frame;
		__s32 last_profiled_frame, last_profiled_frame_seq;
		__s32 thread_id, native_thread_id, status, cframe;
	} thread; /* PyThreadState */
	struct {
		__s32 current_frame, previous;
	} cframe; /* _PyCFrame */
	struct {
		__s32 previous, executable, instr_ptr, owner, tlbc_index, localsplus, is_entry;
	} frame; /* _PyInterpreterFrame, PyFrameObject */
	struct {
		__s32 filename, name, qualname, linetable, firstlineno, code_adaptive, tlbc;
		__s32 version; /* co_version, 3.12+ */
		__s32 bytecode; /* co_code, 3.8 to 3.10 */
	} code; /* PyCodeObject */
	struct {
		__s32 ob_type, tp_name;
	} object; /* PyObject, PyTypeObject */
	struct {
		__s32 state, length, ascii_size, compact_size;
	} unicode; /* PyASCIIObject, PyCompactUnicodeObject */
	struct {
		__s32 ob_size, ob_sval;
	} bytes; /* PyBytesObject */
};
_Static_assert(sizeof(struct py_offsets) == 212, "struct py_offsets is shared with BPF");

/*
 * struct _gil_runtime_state, the same in 3.8 to 3.15 (Include/internal/pycore_gil.h): [int enabled, where
 * free-threaded;] unsigned long interval; last_holder, a PyThreadState *; int locked; unsigned long
 * switch_number; cond, mutex, switch_cond, switch_mutex: pthread's, 48 and 40 bytes each.
 */
#define PYOFF_GIL_HOLDER(off) ((off)->flags & PYOFF_FREE_THREADED ? 16 : 8)
#define PYOFF_GIL_SIZE(off) (PYOFF_GIL_HOLDER(off) + 200)

/*
 * PyFrameObject (3.12 to 3.15, Include/internal/pycore_frame.h): the frame it belongs to, and
 * _f_frame_data, which follows f_extra_locals and f_locals_cache from 3.13 on and
 * f_overwritten_fast_locals from 3.14 on.
 */
#define PYOFF_FRAME_OBJECT_HEAD(off) ((off)->flags & PYOFF_FREE_THREADED ? 32 : 16)
#define PYOFF_FRAME_OBJECT_FRAME(off) (PYOFF_FRAME_OBJECT_HEAD(off) + 8)
#define PYOFF_FRAME_OBJECT_DATA(off)                                                               \
	(PYOFF_FRAME_OBJECT_HEAD(off) + ((off)->version >= 0x030e0000 ? 56 :                       \
					 (off)->version >= 0x030d0000 ? 48 :                       \
									32))

/*
 * PyASCIIObject.state begins with interned: two bits, or a byte in free-threaded builds from 3.14
 * on. kind (3 bits), compact and ascii (1 each) follow.
 */
#define PYOFF_STRING_STATE_SHIFT(off)                                                              \
	((off)->flags & PYOFF_FREE_THREADED && (off)->version >= 0x030e0000 ? 8 : 2)

/* Bytes to read of a code object; older ones are smaller. */
#define PYOFF_CODE_WINDOW(off)                                                                     \
	((off)->frame_kind == PY_FRAME_OBJECT ? KRAIT_OLD_CODE_WINDOW : KRAIT_CODE_WINDOW)

/*
 * Where the part of a code object begins that has its key: qualname (name), filename, linetable and
 * version follow firstlineno.
 */
#define PYOFF_CODE_KEY_AT(off) ((__u32)(off)->code.firstlineno & ~7U)

static inline int pyoff_is_in_key(const struct py_offsets *off, __s32 member, __u32 size)
{
	return member >= 0 && (__u32)member >= PYOFF_CODE_KEY_AT(off) &&
	       (__u32)member + size <= PYOFF_CODE_KEY_AT(off) + KRAIT_CODE_KEY;
}

/* User space refuses a layout of which this is not true. */
static inline int pyoff_has_key(const struct py_offsets *off)
{
	__s32 name = off->code.qualname == PYOFF_ABSENT ? off->code.name : off->code.qualname;

	return off->code.firstlineno >= 0 && pyoff_is_in_key(off, name, 8) &&
	       pyoff_is_in_key(off, off->code.filename, 8) &&
	       pyoff_is_in_key(off, off->code.linetable, 8) &&
	       (off->code.version == PYOFF_ABSENT || pyoff_is_in_key(off, off->code.version, 4)) &&
	       PYOFF_CODE_KEY_AT(off) + KRAIT_CODE_KEY <= (__u32)PYOFF_CODE_WINDOW(off);
}

#endif /* KRAIT_BPF_OFFSETS_H */
