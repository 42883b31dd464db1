/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * unwind_again.h - whether rows that had to go for want of room are read again.
 *
 * Where the files in use have more rows than there is room for, each that comes back makes another one go, which is missed
 * a moment later. So that takes a hundredth of the time at most for one owner (who pays for the rows), root as well, and a
 * fiftieth for all but root together, after a second and two in which it may take all: what does not come back in that time
 * has walks that end there. Rows that are read for the first time wait for nothing of that.
 *
 * Must hold: rows that take more room than there is in all are read once.
 */
#ifndef KRAIT_RECORD_UNWINDING_UNWIND_AGAIN_H
#define KRAIT_RECORD_UNWINDING_UNWIND_AGAIN_H

#include <linux/types.h>
#include <stdbool.h>

#include "base/share/time_share.h"

struct unwind_tables;

struct unwind_again {
	struct time_share time;
};

void unwind_again_begin(struct unwind_again *a, __u64 now_ns) __attribute__((nonnull));
/* May the rows of that file be read now? */
bool unwind_again_may_read(struct unwind_again *a, const struct unwind_tables *tables, __u32 file,
			   __u64 now_ns) __attribute__((nonnull));
/* That took so long, of a file whose rows had gone and whose owner that is (bpf/share.h). */
void unwind_again_note(struct unwind_again *a, unsigned owner, __u64 ns) __attribute__((nonnull));

#endif /* KRAIT_RECORD_UNWINDING_UNWIND_AGAIN_H */
