/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eh_rows.h - turns the instructions of functions (eh_frame.h) into rows, in the order of their
 * offsets.
 *
 * Must hold: if two functions claim the same place the first one counts; instructions are charged
 * to the frame's budget.
 */
#ifndef KRAIT_NATIVE_ROWS_EH_ROWS_H
#define KRAIT_NATIVE_ROWS_EH_ROWS_H

#include <linux/types.h>

struct eh_frame;
struct row_table;

/* Access to code between functions; offsets are those of the rows. */
struct eh_holes {
	/* The code there, at most size bytes; NULL: none. *ret_len: its length. */
	const __u8 *(*read)(void *ctx, __u64 offset, __u64 size, __u64 *ret_len);
	/* Start and end of the next piece of code at or after an offset; -1: there is none. */
	int (*next)(void *ctx, __u64 offset, __u64 *ret_start, __u64 *ret_end);
	void *ctx;
};

/*
 * Entries must already have offsets instead of addresses. The table is initially all zeroes. Code
 * without an entry is read itself (code_rows.h). Returns 0, -ENOMEM or -E2BIG.
 */
int eh_rows(struct eh_frame *f, const struct eh_holes *holes, struct row_table *ret)
	__attribute__((warn_unused_result));

#endif /* KRAIT_NATIVE_ROWS_EH_ROWS_H */
