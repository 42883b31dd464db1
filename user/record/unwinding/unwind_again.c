/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/unwinding/unwind_again.h"

#include "native/rows/tables.h"
#include "base/system/clock.h"

static const struct time_share_limits limits = {
	.first_ns = NS_PER_SEC,
	.part = 100,
	.all_first_ns = 2 * NS_PER_SEC,
	.all_part = 50,
	.root_first_ns = NS_PER_SEC,
	.root_part = 100,
};

void unwind_again_begin(struct unwind_again *a, __u64 now_ns)
{
	time_share_begin(&a->time, &limits, now_ns);
}

bool unwind_again_may_read(struct unwind_again *a, const struct unwind_tables *tables, __u32 file,
			   __u64 now_ns)
{
	if (!unwind_tables__is_dropped(tables, file))
		return true;
	return !unwind_tables__is_too_large(tables, file) &&
	       !time_share_refuses(&a->time, unwind_tables__owner(tables, file), now_ns);
}

void unwind_again_note(struct unwind_again *a, unsigned owner, __u64 ns)
{
	time_share_note(&a->time, owner, ns);
}
