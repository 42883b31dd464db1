/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * look_budget.h - a budget for looks into targets' memory: a burst, refilled at a number per
 * second.
 */
#ifndef KRAIT_SYMBOL_LOOK_BUDGET_H
#define KRAIT_SYMBOL_LOOK_BUDGET_H

#include <linux/types.h>
#include <stdbool.h>

#include "util/clock.h"

struct look_budget {
	__u32 max, per_sec, left; /* max 0: unlimited */
	__u64 added_ns; /* when looks were last added */
};

static inline struct look_budget look_budget_of(__u32 at_once, __u32 per_sec)
{
	return (struct look_budget){ .max = at_once, .per_sec = per_sec, .left = at_once };
}

/* Is one more allowed now? look_budget_take() consumes it. */
static inline bool look_budget_has(struct look_budget *b)
{
	__u64 now_ns, more;

	if (!b->max || b->left >= b->max / 2)
		return true;
	now_ns = clock_monotonic_ns();
	more = b->added_ns ? (now_ns - b->added_ns) * b->per_sec / NS_PER_SEC : 0;
	if (more || !b->added_ns)
		b->added_ns = now_ns;
	more += b->left;
	b->left = more < b->max ? (__u32)more : b->max;
	return b->left;
}

static inline void look_budget_take(struct look_budget *b)
{
	b->left -= b->left != 0;
}

#endif /* KRAIT_SYMBOL_LOOK_BUDGET_H */
