/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * time_share.h - how much of krait's time goes to what it does for one owner.
 *
 * An owner is a uid. Each has a part of the time that has passed, after a while that it may have at first; and so have all
 * but root together, since whoever has subordinate ids is many owners.
 *
 * Must hold: what one owner has taken is not counted against another; an owner that is refused is not for ever.
 */
#ifndef KRAIT_UTIL_TIME_SHARE_H
#define KRAIT_UTIL_TIME_SHARE_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

/* Owners remembered; the one that has taken least is dropped. */
#define TIME_SHARE_OWNERS_MAX 256

/* One part in so many of the time; 0: as much as it takes. */
struct time_share_limits {
	__u64 first_ns, part; /* for an owner but root */
	__u64 all_first_ns, all_part; /* for all but root */
	__u64 root_first_ns, root_part;
};

struct time_share_owner {
	uid_t owner;
	__u64 ns;
};

/* All 0 at first, but for the limits, which are the user's to set. */
struct time_share {
	struct time_share_limits limits;
	__u64 begin_ns;
	struct time_share_owner owners[TIME_SHARE_OWNERS_MAX];
	unsigned owner_cnt;
	__u64 all_ns, root_ns;
};

void time_share_begin(struct time_share *t, const struct time_share_limits *limits, __u64 now_ns)
	__attribute__((nonnull));
/* Has that owner had its share? */
bool time_share_refuses(struct time_share *t, uid_t owner, __u64 now_ns) __attribute__((nonnull));
void time_share_note(struct time_share *t, uid_t owner, __u64 ns) __attribute__((nonnull));

#endif /* KRAIT_UTIL_TIME_SHARE_H */
