/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * idtable.h - distinct items of one size, numbered from 1, found by the hash of their key; an owner
 * (bpf/share.h) pays for each.
 *
 * Must hold: an item keeps its number until idtable_compact(), its address only until the next one
 * is added.
 */
#ifndef KRAIT_PROFILE_IDTABLE_H
#define KRAIT_PROFILE_IDTABLE_H

#include <linux/types.h>
#include <stddef.h>

#include "profile/idindex.h"

struct idtable {
	void *items; /* [0] is all zeroes, for id 0 */
	__u8 *owners;
	size_t size; /* of one item */
	__u32 cnt, cap; /* cnt without [0], cap with it */
	struct idindex index;
};

/* An all-zero table needs no freeing. Returns 0 or -ENOMEM. */
int idtable_init(struct idtable *t, size_t size) __attribute__((warn_unused_result));
void idtable_free(struct idtable *t);

/* Makes room for one more: 0 or -ENOMEM. */
int idtable_reserve(struct idtable *t) __attribute__((warn_unused_result));
/* There must be room. Returns the id of the copy. */
__u32 idtable_add(struct idtable *t, __u32 hash, const void *item, unsigned owner);

/*
 * Keeps the items whose map[] is not 0, and replaces it by their new ids, in the same order.
 * Empties the index: keys may have changed, so re-enter them with idtable_index().
 */
void idtable_compact(struct idtable *t, __u32 *map);
/* The index has room for all items. */
void idtable_index(struct idtable *t, __u32 hash, __u32 id);

#endif /* KRAIT_PROFILE_IDTABLE_H */
