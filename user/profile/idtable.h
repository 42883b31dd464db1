/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * idtable.h - distinct items of one size, numbered from 1, found by the hash of their key; each was paid
 * for by an owner (bpf/share.h).
 *
 * Must hold: an item keeps its number until idtable_compact(); its address, only until the next one is
 * added.
 */
#ifndef KRAIT_PROFILE_IDTABLE_H
#define KRAIT_PROFILE_IDTABLE_H

#include <linux/types.h>
#include <stddef.h>

#include "profile/idindex.h"

struct idtable {
	void *items; /* [0] is all zeroes, for the id that is none */
	__u8 *owners;
	size_t size; /* of one */
	__u32 cnt, cap; /* cnt without [0], cap with it */
	struct idindex index;
};

/* All zero is one that needs no freeing. 0 or -ENOMEM. */
int idtable_init(struct idtable *t, size_t size) __attribute__((warn_unused_result));
void idtable_free(struct idtable *t);

/* Makes room for one more: 0 or -ENOMEM. */
int idtable_reserve(struct idtable *t) __attribute__((warn_unused_result));
/* There must be room. The id of the copy. */
__u32 idtable_add(struct idtable *t, __u32 hash, const void *item, unsigned owner);

/*
 * Keeps the items of which map[] is not 0, which makes it their new ids; those keep their order. The
 * index is empty then: their keys may have changed, and idtable_index() enters them again.
 */
void idtable_compact(struct idtable *t, __u32 *map);
/* There is room in the index for all items. */
void idtable_index(struct idtable *t, __u32 hash, __u32 id);

#endif /* KRAIT_PROFILE_IDTABLE_H */
