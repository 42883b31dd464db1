/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * opcode_callers.h - the instructions that enter a frame within the same eval loop, and how many code units of
 * inline cache + 1 follow them: CPython 3.11 and 3.12. Made by scripts/gen-opcodes: do not edit.
 */
#ifndef KRAIT_BPF_PYTHON_OPCODE_CALLERS_H
#define KRAIT_BPF_PYTHON_OPCODE_CALLERS_H

#include "bpf/types.h"

/* clang-format off */
static const __u8 opcode_callers_11[256] = {
	[17] = 5, /* BINARY_SUBSCR_ADAPTIVE */
	[19] = 5, /* BINARY_SUBSCR_GETITEM */
	[22] = 5, /* CALL_ADAPTIVE */
	[23] = 5, /* CALL_PY_EXACT_ARGS */
	[24] = 5, /* CALL_PY_WITH_DEFAULTS */
	[25] = 5, /* BINARY_SUBSCR */
	[171] = 5, /* CALL */
};
static const __u8 opcode_callers_12[256] = {
	[20] = 2, /* BINARY_SUBSCR_GETITEM */
	[23] = 4, /* CALL_PY_EXACT_ARGS */
	[24] = 4, /* CALL_PY_WITH_DEFAULTS */
	[25] = 2, /* BINARY_SUBSCR */
	[28] = 4, /* CALL_BOUND_METHOD_EXACT_ARGS */
	[65] = 2, /* FOR_ITER_GEN */
	[72] = 10, /* LOAD_ATTR_GETATTRIBUTE_OVERRIDDEN */
	[77] = 10, /* LOAD_ATTR_PROPERTY */
	[93] = 2, /* FOR_ITER */
	[106] = 10, /* LOAD_ATTR */
	[123] = 2, /* SEND */
	[142] = 1, /* CALL_FUNCTION_EX */
	[168] = 2, /* SEND_GEN */
	[171] = 4, /* CALL */
	[241] = 4, /* INSTRUMENTED_CALL */
	[244] = 1, /* INSTRUMENTED_CALL_FUNCTION_EX */
	[248] = 2, /* INSTRUMENTED_FOR_ITER */
};
/* clang-format on */

#endif /* KRAIT_BPF_PYTHON_OPCODE_CALLERS_H */
