/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/items.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/data/vec.h"

_Static_assert(offsetof(struct frame, fingerprint) == 20, "named_of() takes what precedes it, too");

int items_begin(struct items *s, __u32 cnt)
{
	int err = vec_reserve(s->room, s->cap, cnt);

	s->list = s->room;
	s->cnt = 0;
	return err;
}

int items_grow(struct items *s)
{
	size_t at = (size_t)(s->list - s->room);
	int err = vec_reserve(s->room, s->cap, at + s->cnt + 1);

	s->list = s->room + at;
	return err;
}

void items_free(struct items *s)
{
	free(s->room);
	*s = (struct items){ 0 };
}

static bool is_same(const struct named_item *was, const struct item *item)
{
	struct named_item now = named_of(item);

	return was->address == now.address && was->detail == now.detail && was->kind == now.kind;
}

__u32 named_same(const struct named *n, const struct named_under *under, const struct items *now,
		 __u32 from, __u32 alive)
{
	bool same_code = n->under.code_generation == under->code_generation &&
			 n->under.interp_addr == under->interp_addr;
	__u32 cnt = n->cnt < now->cnt ? n->cnt : now->cnt, i;

	if (n->under.root_tag != under->root_tag || n->under.digest != under->digest)
		return 0;
	for (i = from < cnt ? from : cnt; i < cnt; i++) {
		const struct item *item = &now->list[i];

		if (!is_same(&n->list[i], item) ||
		    (!same_code && item->kind == ITEM_PYTHON && item->index >= alive))
			break;
	}
	return i;
}
