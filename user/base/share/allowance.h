/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * allowance.h - how often something may be done: a number at once, refilled at a number per second.
 * What turns out to be more than was left is made up for before anything else is allowed.
 */
#ifndef KRAIT_BASE_SHARE_ALLOWANCE_H
#define KRAIT_BASE_SHARE_ALLOWANCE_H

#include <linux/types.h>
#include <stdbool.h>

#include "base/system/clock.h"

struct allowance {
	__u32 max, per_sec; /* max 0: unlimited */
	__s64 left;
	__u64 added_ns; /* when it was last refilled */
};

static inline struct allowance allowance_of(__u32 at_once, __u32 per_sec)
{
	return (struct allowance){ .max = at_once, .per_sec = per_sec, .left = at_once };
}

/* Is one more allowed now? allowance_take() consumes it. */
static inline bool allowance_has(struct allowance *a)
{
	__u64 now_ns, more;

	if (!a->max || a->left >= a->max / 2)
		return true;
	now_ns = clock_monotonic_ns();
	more = a->added_ns ? (now_ns - a->added_ns) * a->per_sec / NS_PER_SEC : 0;
	if (more || !a->added_ns)
		a->added_ns = now_ns;
	a->left += (__s64)more;
	if (a->left > a->max)
		a->left = a->max;
	return a->left > 0;
}

static inline void allowance_spend(struct allowance *a, __u32 cnt)
{
	a->left -= cnt;
}

static inline void allowance_take(struct allowance *a)
{
	allowance_spend(a, 1);
}

/* Milliseconds until one more is allowed, as of the last allowance_has(). */
static inline __u64 allowance_ms(const struct allowance *a)
{
	return !a->max || a->left > 0 ? 0 : (__u64)(1 - a->left) * 1000 / a->per_sec + 1;
}

#endif /* KRAIT_BASE_SHARE_ALLOWANCE_H */
