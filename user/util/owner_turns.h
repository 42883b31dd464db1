/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * owner_turns.h - whose turn it is, where the things of several owners are done one after the other and there may be no time
 * for all of them.
 *
 * An owner is a uid. The turn is that of whoever has had least time; root's things have as much as those of all others
 * together, as whoever has subordinate ids is many owners.
 *
 * Must hold: an owner whose things take their time costs another at most one of them; what an owner leaves, others have.
 */
#ifndef KRAIT_UTIL_OWNER_TURNS_H
#define KRAIT_UTIL_OWNER_TURNS_H

#include <linux/types.h>
#include <sys/types.h>

/* Owners beyond that share the last one's turns. */
#define OWNER_TURNS_MAX 256

struct owner_turn {
	uid_t owner; /* the first, of several */
	__u32 next,
		end; /* numbers of its things that are still to be done: the user counts next on */
	__u64 ns; /* that they have had */
};

/* All 0 at first. */
struct owner_turns {
	struct owner_turn list[OWNER_TURNS_MAX];
	unsigned cnt;
	__u64 root_ns, others_ns;
};

/* One more thing: they come by owner. */
void owner_turns_add(struct owner_turns *t, uid_t owner) __attribute__((nonnull));
/* NULL: all is done. */
struct owner_turn *owner_turns_next(struct owner_turns *t) __attribute__((nonnull));
/* What was done of it just now took so long. */
void owner_turns_note(struct owner_turns *t, struct owner_turn *turn, __u64 ns)
	__attribute__((nonnull));
/* How many things are left. */
__u32 owner_turns_left(const struct owner_turns *t) __attribute__((nonnull));

#endif /* KRAIT_UTIL_OWNER_TURNS_H */
