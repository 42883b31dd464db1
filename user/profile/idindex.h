/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * idindex.h - from the hash of a key to the small integer ids that may have that key.
 *
 * The keys stay where they are (an array indexed by id), and the caller compares them:
 *
 * 	idindex_for_each(x, hash, slot)
 * 		if (same(slot->id, key))
 * 			return slot->id;
 *
 * uthash, used elsewhere, needs entries that never move and 56 bytes in each. Stack nodes are
 * looked up two million times a second and live in one growing array: here the cost is 8 bytes a
 * slot, at most half of them used, and mostly one cache line per look-up.
 *
 * Must hold: id 0 is never stored, because it marks a free slot; at least half of the slots are
 * free, so a search ends.
 */
#ifndef KRAIT_PROFILE_IDINDEX_H
#define KRAIT_PROFILE_IDINDEX_H

#include <linux/types.h>
#include <stddef.h>

#include "base/data/hash.h"

struct idindex_slot {
	__u32 hash, id;
};

struct idindex {
	struct idindex_slot *slots;
	__u32 mask; /* number of slots - 1, a power of two minus 1; 0: no slots */
	__u32 used;
};

/* Makes room for one more id: 0 or -ENOMEM. Call it before a search that may end in an insert. */
int idindex_reserve(struct idindex *x) __attribute__((warn_unused_result));
/* There must be room, and the id must not be present yet. */
void idindex_insert(struct idindex *x, __u32 hash, __u32 id);
void idindex_free(struct idindex *x);
/* Empties it, but keeps room for cnt ids; frees more than that if possible. */
void idindex_clear(struct idindex *x, __u32 cnt);

__u32 idindex_hash_bytes(const void *data, size_t len, __u64 seed);

static inline __u32 idindex_hash_pair(__u32 a, __u32 b)
{
	__u64 h = hash_step(0, (__u64)a << 32 | b);

	return (__u32)(h >> 32) ^ (__u32)h;
}

static inline const struct idindex_slot *idindex_next_(const struct idindex *x, __u32 hash,
						       __u32 at)
{
	if (!x->slots)
		return NULL;
	for (at &= x->mask; x->slots[at].id; at = (at + 1) & x->mask)
		if (x->slots[at].hash == hash)
			return &x->slots[at];
	return NULL;
}

#define idindex_for_each(x, h, slot)                                                               \
	for ((slot) = idindex_next_((x), (h), (h)); (slot);                                        \
	     (slot) = idindex_next_((x), (h), (__u32)((slot) - (x)->slots) + 1))

#endif /* KRAIT_PROFILE_IDINDEX_H */
