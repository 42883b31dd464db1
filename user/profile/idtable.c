/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/idtable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define IDTABLE_MIN_CAP 256U

static void *item_at(const struct idtable *t, __u32 id)
{
	return (char *)t->items + id * t->size;
}

int idtable_init(struct idtable *t, size_t size)
{
	*t = (struct idtable){ .size = size, .cap = IDTABLE_MIN_CAP };
	t->items = calloc(t->cap, size);
	t->owners = calloc(t->cap, sizeof(*t->owners));
	if (t->items && t->owners)
		return 0;
	idtable_free(t);
	return -ENOMEM;
}

void idtable_free(struct idtable *t)
{
	free(t->items);
	free(t->owners);
	idindex_free(&t->index);
	*t = (struct idtable){ 0 };
}

/* Resizes both arrays to cap items, but never below the present ones. */
static int resize(struct idtable *t, __u32 cap)
{
	void *items = reallocarray(t->items, cap, t->size);
	__u8 *owners;

	if (!items)
		return -ENOMEM;
	t->items = items;
	owners = reallocarray(t->owners, cap, sizeof(*owners));
	if (!owners) {
		t->cap = t->cap < cap ? t->cap : cap;
		return -ENOMEM;
	}
	t->owners = owners;
	t->cap = cap;
	return 0;
}

int idtable_reserve(struct idtable *t)
{
	if (t->cnt + 1 >= t->cap && resize(t, t->cap * 2))
		return -ENOMEM;
	return idindex_reserve(&t->index);
}

__u32 idtable_add(struct idtable *t, __u32 hash, const void *item, unsigned owner)
{
	__u32 id = ++t->cnt;

	memcpy(item_at(t, id), item, t->size);
	t->owners[id] = (__u8)owner;
	idindex_insert(&t->index, hash, id);
	return id;
}

void idtable_compact(struct idtable *t, __u32 *map)
{
	__u32 kept = 0;

	map[0] = 0;
	for (__u32 id = 1; id <= t->cnt; id++) {
		if (!map[id])
			continue;
		map[id] = ++kept;
		if (kept == id)
			continue;
		memcpy(item_at(t, kept), item_at(t, id), t->size);
		t->owners[kept] = t->owners[id];
	}
	t->cnt = kept;
	idindex_clear(&t->index, kept);
	/* Failing to shrink does no harm. */
	if (t->cap > IDTABLE_MIN_CAP && kept < t->cap / 4)
		(void)resize(t, kept * 2 > IDTABLE_MIN_CAP ? kept * 2 : IDTABLE_MIN_CAP);
}

void idtable_index(struct idtable *t, __u32 hash, __u32 id)
{
	idindex_insert(&t->index, hash, id);
}
