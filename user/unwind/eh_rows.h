/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eh_rows.h - runs the instructions of functions (eh_frame.h), in the order of their offsets, into rows.
 *
 * Must hold: of two functions for one place the first one counts; instructions come out of the frame's
 * budget.
 */
#ifndef KRAIT_UNWIND_EH_ROWS_H
#define KRAIT_UNWIND_EH_ROWS_H

#include <linux/types.h>

struct eh_frame;
struct row_table;

/* Code between functions; offsets are those of the rows. */
struct eh_holes {
	/* The code there, at most size bytes; NULL: none. *ret_len: its length. */
	const __u8 *(*read)(void *ctx, __u64 offset, __u64 size, __u64 *ret_len);
	/* Where the next piece of code begins and ends, at or behind an offset; -1 there is none. */
	int (*next)(void *ctx, __u64 offset, __u64 *ret_start, __u64 *ret_end);
	void *ctx;
};

/*
 * Addresses of entries are offsets by now. The table is all zeroes at first. Code of which there is no entry
 * is read (code_rows.h). 0, -ENOMEM or -E2BIG.
 */
int eh_rows(struct eh_frame *f, const struct eh_holes *holes, struct row_table *ret)
	__attribute__((warn_unused_result));

#endif /* KRAIT_UNWIND_EH_ROWS_H */
