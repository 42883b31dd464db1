/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * owner_turns.h - schedules work items of several owners one after another when time may not
 * suffice for all.
 *
 * An owner is a uid. The owner that has used the least time is next. Root gets as much time as all
 * others together, since a user with subordinate ids can be many owners.
 *
 * Must hold: owners of slow items delay another owner by at most one item; time that an owner does
 * not use goes to others.
 */
#ifndef KRAIT_BASE_SHARE_OWNER_TURNS_H
#define KRAIT_BASE_SHARE_OWNER_TURNS_H

#include <linux/types.h>
#include <sys/types.h>

/* Further owners share the last one's turns. */
#define OWNER_TURNS_MAX 256

struct owner_turn {
	uid_t owner; /* the first, if several share it */
	__u32 next, end; /* numbers of its items still to be done; the caller advances next */
	__u64 ns; /* time used so far */
};

/* Initially all 0. */
struct owner_turns {
	struct owner_turn list[OWNER_TURNS_MAX];
	unsigned cnt;
	__u64 root_ns, others_ns;
};

/* Adds an item; items must come grouped by owner. */
void owner_turns_add(struct owner_turns *t, uid_t owner) __attribute__((nonnull));
/* Returns whose turn it is; NULL: all is done. */
struct owner_turn *owner_turns_next(struct owner_turns *t) __attribute__((nonnull));
/* Records how long the item just done took. */
void owner_turns_note(struct owner_turns *t, struct owner_turn *turn, __u64 ns)
	__attribute__((nonnull));
/* Returns how many items are left. */
__u32 owner_turns_left(const struct owner_turns *t) __attribute__((nonnull));

#endif /* KRAIT_BASE_SHARE_OWNER_TURNS_H */
