/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * py_debug_offsets.c - positions in _Py_DebugOffsets, copied from CPython:
 *  3.13  Include/internal/pycore_runtime.h, struct _Py_DebugOffsets (v3.13.0 and later)
 *  3.14  Include/internal/pycore_debug_offsets.h (v3.14.0 and later)
 *  3.15  Include/internal/pycore_debug_offsets.h (v3.15.0 and later)
 */
#include "python/layout/py_debug_offsets.h"

const struct py_struct_info py_structs[PYS_CNT] = {
	[PYS_RUNTIME] = { "runtime_state", 1 << 20, { 24, 24, 24 } },
	[PYS_INTERP] = { "interpreter_state", 1 << 20, { 48, 48, 48 } },
	[PYS_THREAD] = { "thread_state", 1 << 14, { 152, 176, 176 } },
	[PYS_FRAME] = { "interpreter_frame", 1 << 10, { 224, 248, 312 } },
	[PYS_CODE] = { "code_object", 1 << 12, { 272, 312, 376 } },
	[PYS_OBJECT] = { "pyobject", 1 << 8, { 352, 400, 464 } },
	[PYS_TYPE] = { "type_object", 1 << 12, { 368, 416, 480 } },
	[PYS_UNICODE] = { "unicode_object", 1 << 10, { 536, 616, 712 } },
	[PYS_BYTES] = { "bytes_object", 1 << 10, { 512, 592, 688 } },
};

/* owner, field, width, window, flags, positions */
#define MEMBER(struct_, group, field, width, window, flags, ...)                                   \
	{                                                                                          \
#field, offsetof(struct py_offsets, group.field), PYS_##struct_, width, window,    \
			flags, __VA_ARGS__                                                         \
	}
#define RUNTIME(field, width, ...) MEMBER(RUNTIME, runtime, field, width, 0, 0, __VA_ARGS__)
#define INTERP(field, width, ...) MEMBER(INTERP, interp, field, width, 0, 0, __VA_ARGS__)
#define THREAD(field, width, ...)                                                                  \
	MEMBER(THREAD, thread, field, width, KRAIT_THREAD_WINDOW, 0, __VA_ARGS__)
#define FRAME(field, width, window, ...) MEMBER(FRAME, frame, field, width, window, 0, __VA_ARGS__)
#define CODE(field, width, window, ...) MEMBER(CODE, code, field, width, window, 0, __VA_ARGS__)
#define UNICODE(field, width, flags, ...)                                                          \
	MEMBER(UNICODE, unicode, field, width, 0, flags, __VA_ARGS__)

const struct py_member_info py_members[] = {
	RUNTIME(finalizing, 8, { 32, 32, 32 }),
	RUNTIME(interpreters_head, 8, { 40, 40, 40 }),
	INTERP(id, 8, { 56, 56, 56 }),
	INTERP(next, 8, { 64, 64, 64 }),
	INTERP(threads_head, 8, { 72, 72, 72 }),
	INTERP(code_object_generation, 8, { 0, 160, 160 }),
	INTERP(gil, 8, { 112, 120, 120 }),
	THREAD(prev, 8, { 160, 184, 184 }),
	THREAD(next, 8, { 168, 192, 192 }),
	THREAD(interp, 8, { 176, 200, 200 }),
	THREAD(current_frame, 8, { 184, 208, 208 }),
	THREAD(base_frame, 8, { 0, 0, 216 }),
	THREAD(last_profiled_frame, 8, { 0, 0, 224 }),
	THREAD(last_profiled_frame_seq, 8, { 0, 0, 232 }),
	THREAD(thread_id, 8, { 192, 216, 240 }),
	THREAD(native_thread_id, 8, { 200, 224, 248 }),
	THREAD(status, 4, { 216, 240, 264 }),
	FRAME(previous, 8, KRAIT_FRAME_WINDOW, { 232, 256, 320 }),
	FRAME(executable, 8, KRAIT_FRAME_WINDOW, { 240, 264, 328 }),
	FRAME(instr_ptr, 8, KRAIT_FRAME_WINDOW, { 248, 272, 336 }),
	FRAME(owner, 1, KRAIT_FRAME_WINDOW, { 264, 288, 352 }),
	MEMBER(FRAME, frame, tlbc_index, 4, KRAIT_FRAME_WINDOW, PYM_FREE_THREADED, { 0, 304, 368 }),
	FRAME(localsplus, 8, 0, { 256, 280, 344 }),
	CODE(filename, 8, KRAIT_CODE_WINDOW, { 280, 320, 384 }),
	CODE(name, 8, 0, { 288, 328, 392 }),
	CODE(qualname, 8, KRAIT_CODE_WINDOW, { 296, 336, 400 }),
	CODE(linetable, 8, KRAIT_CODE_WINDOW, { 304, 344, 408 }),
	CODE(firstlineno, 4, KRAIT_CODE_WINDOW, { 312, 352, 416 }),
	CODE(code_adaptive, 2, 0, { 344, 384, 448 }),
	MEMBER(CODE, code, tlbc, 8, 0, PYM_FREE_THREADED, { 0, 392, 456 }),
	MEMBER(OBJECT, object, ob_type, 8, 0, 0, { 360, 408, 472 }),
	MEMBER(TYPE, object, tp_name, 8, 0, 0, { 376, 424, 488 }),
	UNICODE(state, 4, 0, { 544, 624, 720 }),
	UNICODE(length, 8, 0, { 552, 632, 728 }),
	UNICODE(ascii_size, 8, PYM_IS_SIZE, { 560, 640, 736 }),
	UNICODE(compact_size, 8, PYM_IS_SIZE, { 0, 0, 744 }),
	MEMBER(BYTES, bytes, ob_size, 8, 0, 0, { 520, 600, 696 }),
	MEMBER(BYTES, bytes, ob_sval, 1, 0, 0, { 528, 608, 704 }),
};

static const struct py_debug_offsets minors[PY_DEBUG_MINORS] = {
	{ .minor = 13, .column = 0, .table_size = 584, .gc = 80, .gc_collecting = 576 },
	{ .minor = 14, .column = 1, .table_size = 760, .gc = 88, .gc_collecting = 656 },
	{ .minor = 15,
	  .column = 2,
	  .table_size = 888,
	  .gc = 88,
	  .gc_collecting = 760,
	  .gc_frame = 768 },
};

const struct py_debug_offsets *py_debug_offsets_find(unsigned minor)
{
	for (size_t i = 0; i < sizeof(minors) / sizeof(minors[0]); i++)
		if (minors[i].minor == minor)
			return &minors[i];
	return NULL;
}

/*
 * 3.15.2 as Debian builds it: executable, library and --with-pydebug. No member before these
 * depends on the configuration.
 */
static const struct py_anchor anchors[] = {
	{ .minor = 15, .last_profiled_frame = 88, .last_profiled_frame_seq = 96 },
};

const struct py_anchor *py_anchor_find(unsigned minor)
{
	for (size_t i = 0; i < sizeof(anchors) / sizeof(anchors[0]); i++)
		if (anchors[i].minor == minor)
			return &anchors[i];
	return NULL;
}
