/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * time_share.h - limits krait's time spent on one owner.
 *
 * An owner is a uid. Each may use a fraction of the elapsed time plus an initial allowance. So may
 * all but root together, since a user with subordinate ids can be many owners.
 *
 * Must hold: one owner's use does not count against another; a refused owner is refused until the
 * time that has passed makes up for it, which with the largest part is never.
 */
#ifndef KRAIT_BASE_SHARE_TIME_SHARE_H
#define KRAIT_BASE_SHARE_TIME_SHARE_H

#include <linux/types.h>
#include <stdbool.h>
#include <sys/types.h>

/* Owners remembered; the one that used least is dropped. */
#define TIME_SHARE_OWNERS_MAX 256

/* Each "part" allows one part in so many of the time; 0: no limit. */
struct time_share_limits {
	__u64 first_ns, part; /* for an owner other than root */
	__u64 all_first_ns, all_part; /* for all but root together */
	__u64 root_first_ns, root_part;
};

struct time_share_owner {
	uid_t owner;
	__u64 ns;
};

/* Initially all 0 except for the limits, which the caller sets. */
struct time_share {
	struct time_share_limits limits;
	__u64 begin_ns;
	struct time_share_owner owners[TIME_SHARE_OWNERS_MAX];
	unsigned owner_cnt;
	__u64 all_ns, root_ns;
};

void time_share_begin(struct time_share *t, const struct time_share_limits *limits, __u64 now_ns)
	__attribute__((nonnull));
/* Tells whether that owner has used up its share. */
bool time_share_refuses(struct time_share *t, uid_t owner, __u64 now_ns) __attribute__((nonnull));
void time_share_note(struct time_share *t, uid_t owner, __u64 ns) __attribute__((nonnull));

#endif /* KRAIT_BASE_SHARE_TIME_SHARE_H */
