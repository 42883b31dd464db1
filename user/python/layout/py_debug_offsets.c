/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * py_debug_offsets.c - positions in _Py_DebugOffsets, copied from CPython:
 *  3.13  Include/internal/pycore_runtime.h, struct _Py_DebugOffsets (v3.13.0 and later)
 *  3.14  Include/internal/pycore_debug_offsets.h (v3.14.0 and later)
 *  3.15  Include/internal/pycore_debug_offsets.h (v3.15.0 and later)
 */
#include "python/layout/py_debug_offsets.h"

const struct py_struct_info py_structs[PYS_CNT] = {
	[PYS_RUNTIME] = { "runtime_state", 1 << 20 },
	[PYS_INTERP] = { "interpreter_state", 1 << 20 },
	[PYS_THREAD] = { "thread_state", 1 << 14 },
	[PYS_FRAME] = { "interpreter_frame", 1 << 10 },
	[PYS_CODE] = { "code_object", 1 << 12 },
	[PYS_OBJECT] = { "pyobject", 1 << 8 },
	[PYS_TYPE] = { "type_object", 1 << 12 },
	[PYS_UNICODE] = { "unicode_object", 1 << 10 },
	[PYS_BYTES] = { "bytes_object", 1 << 10 },
};

#define MEMBER(struct_, group, field, width, window, flags)                                        \
	{                                                                                          \
#field, offsetof(struct py_offsets, group.field), PYS_##struct_, width, window,    \
			flags                                                                      \
	}
#define RUNTIME(field, width) MEMBER(RUNTIME, runtime, field, width, 0, 0)
#define INTERP(field, width) MEMBER(INTERP, interp, field, width, 0, 0)
#define THREAD(field, width) MEMBER(THREAD, thread, field, width, KRAIT_THREAD_WINDOW, 0)
#define FRAME(field, width, window) MEMBER(FRAME, frame, field, width, window, 0)
#define CODE(field, width, window) MEMBER(CODE, code, field, width, window, 0)
#define UNICODE(field, width, flags) MEMBER(UNICODE, unicode, field, width, 0, flags)

const struct py_member_info py_members[PYM_CNT] = {
	[PYM_RUNTIME_FINALIZING] = RUNTIME(finalizing, 8),
	[PYM_RUNTIME_INTERPRETERS_HEAD] = RUNTIME(interpreters_head, 8),
	[PYM_INTERP_ID] = INTERP(id, 8),
	[PYM_INTERP_NEXT] = INTERP(next, 8),
	[PYM_INTERP_THREADS_HEAD] = INTERP(threads_head, 8),
	[PYM_INTERP_CODE_OBJECT_GENERATION] = INTERP(code_object_generation, 8),
	[PYM_INTERP_GIL] = INTERP(gil, 8),
	[PYM_THREAD_PREV] = THREAD(prev, 8),
	[PYM_THREAD_NEXT] = THREAD(next, 8),
	[PYM_THREAD_INTERP] = THREAD(interp, 8),
	[PYM_THREAD_CURRENT_FRAME] = THREAD(current_frame, 8),
	[PYM_THREAD_BASE_FRAME] = THREAD(base_frame, 8),
	[PYM_THREAD_LAST_PROFILED_FRAME] = THREAD(last_profiled_frame, 8),
	[PYM_THREAD_LAST_PROFILED_FRAME_SEQ] = THREAD(last_profiled_frame_seq, 8),
	[PYM_THREAD_THREAD_ID] = THREAD(thread_id, 8),
	[PYM_THREAD_NATIVE_THREAD_ID] = THREAD(native_thread_id, 8),
	[PYM_THREAD_STATUS] = THREAD(status, 4),
	[PYM_FRAME_PREVIOUS] = FRAME(previous, 8, KRAIT_FRAME_WINDOW),
	[PYM_FRAME_EXECUTABLE] = FRAME(executable, 8, KRAIT_FRAME_WINDOW),
	[PYM_FRAME_INSTR_PTR] = FRAME(instr_ptr, 8, KRAIT_FRAME_WINDOW),
	[PYM_FRAME_OWNER] = FRAME(owner, 1, KRAIT_FRAME_WINDOW),
	[PYM_FRAME_TLBC_INDEX] =
		MEMBER(FRAME, frame, tlbc_index, 4, KRAIT_FRAME_WINDOW, PYM_FREE_THREADED),
	[PYM_FRAME_LOCALSPLUS] = FRAME(localsplus, 8, 0),
	[PYM_CODE_FILENAME] = CODE(filename, 8, KRAIT_CODE_WINDOW),
	[PYM_CODE_NAME] = CODE(name, 8, 0),
	[PYM_CODE_QUALNAME] = CODE(qualname, 8, KRAIT_CODE_WINDOW),
	[PYM_CODE_LINETABLE] = CODE(linetable, 8, KRAIT_CODE_WINDOW),
	[PYM_CODE_FIRSTLINENO] = CODE(firstlineno, 4, KRAIT_CODE_WINDOW),
	[PYM_CODE_CODE_ADAPTIVE] = CODE(code_adaptive, 2, 0),
	[PYM_CODE_TLBC] = MEMBER(CODE, code, tlbc, 8, 0, PYM_FREE_THREADED),
	[PYM_OBJECT_OB_TYPE] = MEMBER(OBJECT, object, ob_type, 8, 0, 0),
	[PYM_TYPE_TP_NAME] = MEMBER(TYPE, object, tp_name, 8, 0, 0),
	[PYM_UNICODE_STATE] = UNICODE(state, 4, 0),
	[PYM_UNICODE_LENGTH] = UNICODE(length, 8, 0),
	[PYM_UNICODE_ASCII_SIZE] = UNICODE(ascii_size, 8, PYM_IS_SIZE),
	[PYM_UNICODE_COMPACT_SIZE] = UNICODE(compact_size, 8, PYM_IS_SIZE),
	[PYM_BYTES_OB_SIZE] = MEMBER(BYTES, bytes, ob_size, 8, 0, 0),
	[PYM_BYTES_OB_SVAL] = MEMBER(BYTES, bytes, ob_sval, 1, 0, 0),
};

static const struct py_debug_offsets minors[] = {
	{
		.minor = 13,
		.table_size = 584,
		.size = {
			[PYS_RUNTIME] = 24,
			[PYS_INTERP] = 48,
			[PYS_THREAD] = 152,
			[PYS_FRAME] = 224,
			[PYS_CODE] = 272,
			[PYS_OBJECT] = 352,
			[PYS_TYPE] = 368,
			[PYS_UNICODE] = 536,
			[PYS_BYTES] = 512,
		},
		.gc = 80,
		.gc_collecting = 576,
		.member = {
			[PYM_RUNTIME_FINALIZING] = 32,
			[PYM_RUNTIME_INTERPRETERS_HEAD] = 40,
			[PYM_INTERP_ID] = 56,
			[PYM_INTERP_NEXT] = 64,
			[PYM_INTERP_THREADS_HEAD] = 72,
			[PYM_INTERP_GIL] = 112,
			[PYM_THREAD_PREV] = 160,
			[PYM_THREAD_NEXT] = 168,
			[PYM_THREAD_INTERP] = 176,
			[PYM_THREAD_CURRENT_FRAME] = 184,
			[PYM_THREAD_THREAD_ID] = 192,
			[PYM_THREAD_NATIVE_THREAD_ID] = 200,
			[PYM_THREAD_STATUS] = 216,
			[PYM_FRAME_PREVIOUS] = 232,
			[PYM_FRAME_EXECUTABLE] = 240,
			[PYM_FRAME_INSTR_PTR] = 248,
			[PYM_FRAME_OWNER] = 264,
			[PYM_FRAME_LOCALSPLUS] = 256,
			[PYM_CODE_FILENAME] = 280,
			[PYM_CODE_NAME] = 288,
			[PYM_CODE_QUALNAME] = 296,
			[PYM_CODE_LINETABLE] = 304,
			[PYM_CODE_FIRSTLINENO] = 312,
			[PYM_CODE_CODE_ADAPTIVE] = 344,
			[PYM_OBJECT_OB_TYPE] = 360,
			[PYM_TYPE_TP_NAME] = 376,
			[PYM_UNICODE_STATE] = 544,
			[PYM_UNICODE_LENGTH] = 552,
			[PYM_UNICODE_ASCII_SIZE] = 560,
			[PYM_BYTES_OB_SIZE] = 520,
			[PYM_BYTES_OB_SVAL] = 528,
		},
	},
	{
		.minor = 14,
		.table_size = 760,
		.size = {
			[PYS_RUNTIME] = 24,
			[PYS_INTERP] = 48,
			[PYS_THREAD] = 176,
			[PYS_FRAME] = 248,
			[PYS_CODE] = 312,
			[PYS_OBJECT] = 400,
			[PYS_TYPE] = 416,
			[PYS_UNICODE] = 616,
			[PYS_BYTES] = 592,
		},
		.gc = 88,
		.gc_collecting = 656,
		.member = {
			[PYM_RUNTIME_FINALIZING] = 32,
			[PYM_RUNTIME_INTERPRETERS_HEAD] = 40,
			[PYM_INTERP_ID] = 56,
			[PYM_INTERP_NEXT] = 64,
			[PYM_INTERP_THREADS_HEAD] = 72,
			[PYM_INTERP_CODE_OBJECT_GENERATION] = 160,
			[PYM_INTERP_GIL] = 120,
			[PYM_THREAD_PREV] = 184,
			[PYM_THREAD_NEXT] = 192,
			[PYM_THREAD_INTERP] = 200,
			[PYM_THREAD_CURRENT_FRAME] = 208,
			[PYM_THREAD_THREAD_ID] = 216,
			[PYM_THREAD_NATIVE_THREAD_ID] = 224,
			[PYM_THREAD_STATUS] = 240,
			[PYM_FRAME_PREVIOUS] = 256,
			[PYM_FRAME_EXECUTABLE] = 264,
			[PYM_FRAME_INSTR_PTR] = 272,
			[PYM_FRAME_OWNER] = 288,
			[PYM_FRAME_TLBC_INDEX] = 304,
			[PYM_FRAME_LOCALSPLUS] = 280,
			[PYM_CODE_FILENAME] = 320,
			[PYM_CODE_NAME] = 328,
			[PYM_CODE_QUALNAME] = 336,
			[PYM_CODE_LINETABLE] = 344,
			[PYM_CODE_FIRSTLINENO] = 352,
			[PYM_CODE_CODE_ADAPTIVE] = 384,
			[PYM_CODE_TLBC] = 392,
			[PYM_OBJECT_OB_TYPE] = 408,
			[PYM_TYPE_TP_NAME] = 424,
			[PYM_UNICODE_STATE] = 624,
			[PYM_UNICODE_LENGTH] = 632,
			[PYM_UNICODE_ASCII_SIZE] = 640,
			[PYM_BYTES_OB_SIZE] = 600,
			[PYM_BYTES_OB_SVAL] = 608,
		},
	},
	{
		.minor = 15,
		.table_size = 888,
		.size = {
			[PYS_RUNTIME] = 24,
			[PYS_INTERP] = 48,
			[PYS_THREAD] = 176,
			[PYS_FRAME] = 312,
			[PYS_CODE] = 376,
			[PYS_OBJECT] = 464,
			[PYS_TYPE] = 480,
			[PYS_UNICODE] = 712,
			[PYS_BYTES] = 688,
		},
		.gc = 88,
		.gc_collecting = 760,
		.gc_frame = 768,
		.member = {
			[PYM_RUNTIME_FINALIZING] = 32,
			[PYM_RUNTIME_INTERPRETERS_HEAD] = 40,
			[PYM_INTERP_ID] = 56,
			[PYM_INTERP_NEXT] = 64,
			[PYM_INTERP_THREADS_HEAD] = 72,
			[PYM_INTERP_CODE_OBJECT_GENERATION] = 160,
			[PYM_INTERP_GIL] = 120,
			[PYM_THREAD_PREV] = 184,
			[PYM_THREAD_NEXT] = 192,
			[PYM_THREAD_INTERP] = 200,
			[PYM_THREAD_CURRENT_FRAME] = 208,
			[PYM_THREAD_BASE_FRAME] = 216,
			[PYM_THREAD_LAST_PROFILED_FRAME] = 224,
			[PYM_THREAD_LAST_PROFILED_FRAME_SEQ] = 232,
			[PYM_THREAD_THREAD_ID] = 240,
			[PYM_THREAD_NATIVE_THREAD_ID] = 248,
			[PYM_THREAD_STATUS] = 264,
			[PYM_FRAME_PREVIOUS] = 320,
			[PYM_FRAME_EXECUTABLE] = 328,
			[PYM_FRAME_INSTR_PTR] = 336,
			[PYM_FRAME_OWNER] = 352,
			[PYM_FRAME_TLBC_INDEX] = 368,
			[PYM_FRAME_LOCALSPLUS] = 344,
			[PYM_CODE_FILENAME] = 384,
			[PYM_CODE_NAME] = 392,
			[PYM_CODE_QUALNAME] = 400,
			[PYM_CODE_LINETABLE] = 408,
			[PYM_CODE_FIRSTLINENO] = 416,
			[PYM_CODE_CODE_ADAPTIVE] = 448,
			[PYM_CODE_TLBC] = 456,
			[PYM_OBJECT_OB_TYPE] = 472,
			[PYM_TYPE_TP_NAME] = 488,
			[PYM_UNICODE_STATE] = 720,
			[PYM_UNICODE_LENGTH] = 728,
			[PYM_UNICODE_ASCII_SIZE] = 736,
			[PYM_UNICODE_COMPACT_SIZE] = 744,
			[PYM_BYTES_OB_SIZE] = 696,
			[PYM_BYTES_OB_SVAL] = 704,
		},
	},
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
