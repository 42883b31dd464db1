/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * row_shares.h - whose rows must go where there is no room for more (tables.h).
 *
 * Rows can be read again, so nobody is refused for what others have: an owner takes from whoever has most, until he has
 * as much himself; from then on he takes his own. So if everybody wants more than there is, each gets an equal part, and
 * who wants less than that loses nothing. Owners are buckets of host uids (bpf/share.h); a user with many of them has
 * as many parts.
 *
 * Must hold: an owner loses rows to others only while he has more than they; root only what it has beyond its reserve.
 */
#ifndef KRAIT_UNWIND_ROW_SHARES_H
#define KRAIT_UNWIND_ROW_SHARES_H

#include <linux/types.h>
#include <stdbool.h>

#include "share.h"

/* Initially all 0. */
struct row_shares {
	__u64 held[OWNER_CNT]; /* words */
	__u64 root_reserve;
};

/* May a file of that owner, of so many words, go, so that another one, or the same, gets so many more? */
static inline bool row_shares_may_take(const struct row_shares *s, unsigned from, __u64 file_words,
				       unsigned to, __u64 words)
{
	if (from == to)
		return true;
	if (from == OWNER_ROOT && s->held[from] < s->root_reserve + file_words)
		return false;
	return s->held[from] > s->held[to] + words;
}

#endif /* KRAIT_UNWIND_ROW_SHARES_H */
