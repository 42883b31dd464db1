/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_fake_versions.c - the layouts of three releases: builds with a GIL on amd64.
 */
#include "support_fake_interpreter.h"

#define CODE_OFFSETS(adaptive)                                                                     \
	{                                                                                          \
		.filename = 112, .name = 120, .qualname = 128, .linetable = 136,                   \
		.firstlineno = 68, .code_adaptive = adaptive, .tlbc = PYOFF_ABSENT,                \
		.version = PYOFF_ABSENT                                                            \
	}

#define OBJECT_OFFSETS                                                                             \
	.object = { .ob_type = 8, .tp_name = 24 },                                                 \
	.unicode = { .state = 32, .length = 16, .ascii_size = 40, .compact_size = 56 },            \
	.bytes = { .ob_size = 16, .ob_sval = 32 }

#define FRAME_OFFSETS(owner_, localsplus_)                                                         \
	{                                                                                          \
		.previous = 8, .executable = 0, .instr_ptr = 56, .owner = owner_,                  \
		.tlbc_index = PYOFF_ABSENT, .localsplus = localsplus_                              \
	}

/* Fields that a version lacks are PYOFF_ABSENT. */
const struct fake_version fake_versions[FAKE_VERSION_CNT] = {
	{
		.name = "3.13.18",
		.thread_size = 320,
		.frame_size = 80,
		.offsets = {
			.version = 0x030d12f0,
			.runtime = { .interpreters_head = 632, .finalizing = 608 },
			.interp = { .id = 7272,
				    .next = 7264,
				    .threads_head = 7344,
				    .code_object_generation = PYOFF_ABSENT },
			.thread = { .prev = 0,
				    .next = 8,
				    .interp = 16,
				    .current_frame = 72,
				    .base_frame = PYOFF_ABSENT,
				    .last_profiled_frame = PYOFF_ABSENT,
				    .last_profiled_frame_seq = PYOFF_ABSENT,
				    .thread_id = 152,
				    .native_thread_id = 160,
				    .status = 32 },
			.frame = FRAME_OFFSETS(70, 72),
			.code = CODE_OFFSETS(200),
			OBJECT_OFFSETS,
		},
	},
	{
		.name = "3.14.10",
		.thread_size = 832,
		.frame_size = 88,
		.tagged = true,
		.offsets = {
			.version = 0x030e0af0,
			.runtime = { .interpreters_head = 808, .finalizing = 784 },
			.interp = { .id = 7280,
				    .next = 7272,
				    .threads_head = 7344,
				    .code_object_generation = 7992 },
			.thread = { .prev = 0,
				    .next = 8,
				    .interp = 16,
				    .current_frame = 72,
				    .base_frame = PYOFF_ABSENT,
				    .last_profiled_frame = PYOFF_ABSENT,
				    .last_profiled_frame_seq = PYOFF_ABSENT,
				    .thread_id = 152,
				    .native_thread_id = 160,
				    .status = 32 },
			.frame = FRAME_OFFSETS(74, 80),
			.code = CODE_OFFSETS(208),
			OBJECT_OFFSETS,
		},
	},
	{
		.name = "3.15.2",
		.thread_size = 976,
		.frame_size = 88,
		.tagged = true,
		.offsets = {
			.version = 0x030f02f0,
			.runtime = { .interpreters_head = 936, .finalizing = 912 },
			.interp = { .id = 7272,
				    .next = 7264,
				    .threads_head = 7336,
				    .code_object_generation = 7944 },
			.thread = { .prev = 0,
				    .next = 8,
				    .interp = 16,
				    .current_frame = 72,
				    .base_frame = 80,
				    .last_profiled_frame = 88,
				    .last_profiled_frame_seq = 96,
				    .thread_id = 176,
				    .native_thread_id = 184,
				    .status = 32 },
			.frame = FRAME_OFFSETS(74, 80),
			.code = CODE_OFFSETS(208),
			OBJECT_OFFSETS,
		},
	},
};
