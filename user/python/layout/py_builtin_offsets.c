/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * py_builtin_offsets.c - copied from CPython, and each number compared with the DWARF of a build of the tag
 * named (tests/unit/test_dwarf_offsets.c does that again with every interpreter of the machine):
 *
 *                        3.8 (v3.8.18), 3.9 (v3.9.18)      3.10 (v3.10.13)
 *  _PyRuntimeState       Include/internal/pycore_runtime.h, and pycore_pystate.h in 3.8
 *  PyInterpreterState    Include/internal/pycore_interp.h, and pycore_pystate.h in 3.8
 *  PyThreadState         Include/cpython/pystate.h
 *  PyFrameObject         Include/frameobject.h (3.8), Include/cpython/frameobject.h
 *  PyCodeObject          Include/code.h (3.8), Include/cpython/code.h
 *
 *                        3.11 (v3.11.7), 3.12 (v3.12.1)
 *  _PyRuntimeState       Include/internal/pycore_runtime.h
 *  PyInterpreterState    Include/internal/pycore_interp.h
 *  PyThreadState         Include/cpython/pystate.h, with _PyCFrame
 *  _PyInterpreterFrame   Include/internal/pycore_frame.h
 *  PyCodeObject          Include/cpython/code.h
 *
 *  in all                Include/object.h, Include/cpython/object.h, Include/cpython/bytesobject.h,
 *                        Include/cpython/unicodeobject.h
 *
 * Members that had other names: current_frame is PyThreadState.frame up to 3.10; previous, executable
 * and instr_ptr are f_back, f_code and f_lasti up to 3.10, and previous, f_code and prev_instr in
 * 3.11 and 3.12; linetable is co_lnotab in 3.8 and 3.9; finalizing is _finalizing from 3.9 on;
 * threads_head is tstate_head up to 3.10. There is no co_qualname before 3.11.
 */
#include "python/layout/py_builtin_offsets.h"

#include <stddef.h>

#define ABSENT PYOFF_ABSENT

/*
 * Up to 3.11 two mutexes of the GIL precede what x86-64 has at this offset (struct _gil_runtime_state:
 * mutex, switch_mutex). glibc's pthread_mutex_t is 8 bytes larger on arm64 (sysdeps/aarch64/nptl/bits/
 * pthreadtypes-arch.h: 48); everything else is at the same place, by offsetof() with 3.8.18 to 3.12.1's headers.
 * musl's is not: there the check against the process refuses these.
 */
#define AFTER_GIL(off) ((off) + 2 * (PTHREAD_GLIBC_MUTEX - 40))

/* ---- common to all --------------------------------------------------------------------------- */

#define OBJECT                                                                                     \
	{                                                                                          \
		.ob_type = 8, .tp_name = 24                                                        \
	}
#define BYTES                                                                                      \
	{                                                                                          \
		.ob_size = 16, .ob_sval = 32                                                       \
	}
/* PyASCIIObject ends with wchar_t *wstr up to 3.11. */
#define UNICODE_WITH_WSTR                                                                          \
	{                                                                                          \
		.state = 32, .length = 16, .ascii_size = 48, .compact_size = 72                    \
	}

/* ---- 3.8 to 3.10 ----------------------------------------------------------------------------- */

#define OLD_THREAD                                                                                 \
	{                                                                                          \
		.prev = 0, .next = 8, .interp = 16, .current_frame = 24, .base_frame = ABSENT,     \
		.last_profiled_frame = ABSENT, .last_profiled_frame_seq = ABSENT,                  \
		.thread_id = 176, .native_thread_id = ABSENT, .status = ABSENT, .cframe = ABSENT   \
	}
#define OLD_INTERP(id_, gc)                                                                        \
	{                                                                                          \
		.id = id_, .next = 0, .threads_head = 8, .code_object_generation = ABSENT,         \
		.gil = ABSENT, .gc_collecting = gc, .gc_frame = ABSENT                             \
	}
#define OLD_FRAME(lasti)                                                                           \
	{                                                                                          \
		.previous = 24, .executable = 32, .instr_ptr = lasti, .owner = ABSENT,             \
		.tlbc_index = ABSENT, .localsplus = ABSENT, .is_entry = ABSENT                     \
	}
#define OLD_CODE(bytecode_)                                                                        \
	{                                                                                          \
		.filename = 104, .name = 112, .qualname = ABSENT, .linetable = 120,                \
		.firstlineno = 40, .code_adaptive = ABSENT, .tlbc = ABSENT, .version = ABSENT,     \
		.bytecode = bytecode_                                                              \
	}
#define NO_CFRAME                                                                                  \
	{                                                                                          \
		.current_frame = ABSENT, .previous = ABSENT                                        \
	}

static const struct py_offsets py_3_8 = {
	.flags = PYOFF_TSTATE_CURRENT,
	.frame_kind = PY_FRAME_OBJECT,
	.runtime = { .interpreters_head = 32,
		     .finalizing = 16,
		     .tstate_current = AFTER_GIL(1368),
		     .gil = 1152,
		     .gc_collecting = 544 },
	.interp = OLD_INTERP(16, ABSENT),
	.thread = OLD_THREAD,
	.cframe = NO_CFRAME,
	.frame = OLD_FRAME(104),
	.code = OLD_CODE(48),
	.object = OBJECT,
	.unicode = UNICODE_WITH_WSTR,
	.bytes = BYTES,
};

static const struct py_offsets py_3_9 = {
	.flags = PYOFF_TSTATE_CURRENT,
	.frame_kind = PY_FRAME_OBJECT,
	.runtime = { .interpreters_head = 32,
		     .finalizing = 16,
		     .tstate_current = AFTER_GIL(568),
		     .gil = 352,
		     .gc_collecting = ABSENT },
	.interp = OLD_INTERP(24, 816),
	.thread = OLD_THREAD,
	.cframe = NO_CFRAME,
	.frame = OLD_FRAME(104),
	.code = OLD_CODE(48),
	.object = OBJECT,
	.unicode = UNICODE_WITH_WSTR,
	.bytes = BYTES,
};

/* From here on f_lasti counts instructions, not bytes. */
static const struct py_offsets py_3_10 = {
	.flags = PYOFF_TSTATE_CURRENT,
	.frame_kind = PY_FRAME_OBJECT,
	.lasti_shift = 1,
	.runtime = { .interpreters_head = 32,
		     .finalizing = 16,
		     .tstate_current = AFTER_GIL(568),
		     .gil = 352,
		     .gc_collecting = ABSENT },
	.interp = OLD_INTERP(24, 816),
	.thread = OLD_THREAD,
	.cframe = NO_CFRAME,
	.frame = OLD_FRAME(96),
	.code = OLD_CODE(48),
	.object = OBJECT,
	.unicode = UNICODE_WITH_WSTR,
	.bytes = BYTES,
};

/* ---- 3.11 ------------------------------------------------------------------------------------ */

static const struct py_offsets py_3_11 = {
	.flags = PYOFF_CFRAME | PYOFF_TSTATE_CURRENT,
	.frame_kind = PY_FRAME_IS_ENTRY,
	.runtime = { .interpreters_head = 40,
		     .finalizing = 24,
		     .tstate_current = AFTER_GIL(576),
		     .gil = 360,
		     .gc_collecting = ABSENT },
	.interp = { .id = 48,
		    .next = 0,
		    .threads_head = 16,
		    .code_object_generation = ABSENT,
		    .gil = ABSENT,
		    .gc_collecting = 848,
		    .gc_frame = ABSENT },
	.thread = { .prev = 0,
		    .next = 8,
		    .interp = 16,
		    .current_frame = ABSENT,
		    .base_frame = ABSENT,
		    .last_profiled_frame = ABSENT,
		    .last_profiled_frame_seq = ABSENT,
		    .thread_id = 152,
		    .native_thread_id = 160,
		    .status = ABSENT,
		    .cframe = 56 },
	.cframe = { .current_frame = 8, .previous = 16 },
	.frame = { .previous = 48,
		   .executable = 32,
		   .instr_ptr = 56,
		   .owner = 69,
		   .tlbc_index = ABSENT,
		   .localsplus = 72,
		   .is_entry = 68 },
	.code = { .filename = 112,
		  .name = 120,
		  .qualname = 128,
		  .linetable = 136,
		  .firstlineno = 72,
		  .code_adaptive = 184,
		  .tlbc = ABSENT,
		  .version = ABSENT,
		  .bytecode = ABSENT },
	.object = OBJECT,
	.unicode = UNICODE_WITH_WSTR,
	.bytes = BYTES,
};

/* ---- 3.12 ------------------------------------------------------------------------------------ */

static const struct py_offsets py_3_12 = {
	.flags = PYOFF_CFRAME,
	.frame_kind = PY_FRAME_OWNER,
	.runtime = { .interpreters_head = 40,
		     .finalizing = 24,
		     .tstate_current = ABSENT,
		     .gil = ABSENT,
		     .gc_collecting = ABSENT },
	.interp = { .id = 8,
		    .next = 0,
		    .threads_head = 72,
		    .code_object_generation = ABSENT,
		    .gil = 384,
		    .gc_collecting = 312,
		    .gc_frame = ABSENT },
	.thread = { .prev = 0,
		    .next = 8,
		    .interp = 16,
		    .current_frame = ABSENT,
		    .base_frame = ABSENT,
		    .last_profiled_frame = ABSENT,
		    .last_profiled_frame_seq = ABSENT,
		    .thread_id = 136,
		    .native_thread_id = 144,
		    .status = 24,
		    .cframe = 56 },
	.cframe = { .current_frame = 0, .previous = 8 },
	.frame = { .previous = 8,
		   .executable = 0,
		   .instr_ptr = 56,
		   .owner = 70,
		   .tlbc_index = ABSENT,
		   .localsplus = 72,
		   .is_entry = ABSENT },
	.code = { .filename = 112,
		  .name = 120,
		  .qualname = 128,
		  .linetable = 136,
		  .firstlineno = 68,
		  .code_adaptive = 192,
		  .tlbc = ABSENT,
		  .version = 92,
		  .bytecode = ABSENT },
	.object = OBJECT,
	.unicode = { .state = 32, .length = 16, .ascii_size = 40, .compact_size = 56 },
	.bytes = BYTES,
};

const struct py_offsets *py_builtin_offsets_find(unsigned minor)
{
	static const struct py_offsets *const tables[] = {
		[8] = &py_3_8, [9] = &py_3_9, [10] = &py_3_10, [11] = &py_3_11, [12] = &py_3_12,
	};

	return minor < sizeof(tables) / sizeof(tables[0]) ? tables[minor] : NULL;
}
