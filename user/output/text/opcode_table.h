/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * opcode_table.h - a row per recorded opcode, and below them the hot places whose instruction has
 * specialised forms but was not specialised.
 *
 * An opcode's self is what ran while it was the current instruction of the innermost Python frame,
 * including the C code it called. Its total is what has it anywhere on the stack.
 */
#ifndef KRAIT_OUTPUT_TEXT_OPCODE_TABLE_H
#define KRAIT_OUTPUT_TEXT_OPCODE_TABLE_H

#include "output/text/text_report.h"

/*
 * function: a pattern as in profile/stack_filter.h that limits the rows to matching functions;
 * NULL: all. Returns 0, -ENODATA (no opcodes recorded, or none in such a function) or another
 * -errno.
 */
int opcode_table(FILE *out, const struct counts *c, const char *function,
		 const struct summary_options *o) __attribute__((warn_unused_result));

#endif /* KRAIT_OUTPUT_TEXT_OPCODE_TABLE_H */
