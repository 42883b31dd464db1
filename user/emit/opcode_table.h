/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * opcode_table.h - a row for each opcode that was recorded, and below them the places where instructions are hot that
 * have special forms and are in none.
 *
 * An opcode has for its own what ran while it was the instruction of the innermost frame of Python, the C that it
 * called included; its total is what has it anywhere on the stack.
 */
#ifndef KRAIT_EMIT_OPCODE_TABLE_H
#define KRAIT_EMIT_OPCODE_TABLE_H

#include "emit/text_report.h"

/*
 * function: a pattern as of profile/stack_filter.h, of which alone the rows are; NULL all. 0; -ENODATA: no opcodes were
 * recorded, or none in such a function; -errno.
 */
int opcode_table(FILE *out, const struct counts *c, const char *function,
		 const struct summary_options *o) __attribute__((warn_unused_result));

#endif /* KRAIT_EMIT_OPCODE_TABLE_H */
