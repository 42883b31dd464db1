/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/places.h"

#include <stdlib.h>

#include "output/label.h"
#include "profile/marks.h"
#include "profile/view.h"
#include "base/data/cleanup.h"
#include "base/data/vec.h"

static bool same(const struct profile_frame *a, const struct profile_frame *b)
{
	return a->kind == b->kind && a->name == b->name && a->file == b->file &&
	       a->first_line == b->first_line && a->line == b->line;
}

__u32 places_add(struct places *x, const struct profile_frame *place)
{
	const __u32 key[] = { (__u32)place->kind,	place->name,	    place->file,
			      (__u32)place->first_line, (__u32)place->line, 0 };
	__u32 hash = idindex_hash_bytes(key, sizeof(key), 0);
	const struct idindex_slot *slot;

	/* idindex needs ids from 1. */
	idindex_for_each(&x->index, hash, slot)
		if (same(&x->list[slot->id - 1], place))
			return slot->id - 1;
	if (vec_reserve(x->list, x->cap, x->cnt + 1) || idindex_reserve(&x->index))
		return PLACE_NONE;
	x->list[x->cnt] = *place;
	idindex_insert(&x->index, hash, x->cnt + 1);
	return x->cnt++;
}

__u32 places_add_string(struct places *x, __u32 string)
{
	const struct profile_frame place = { .name = string, .first_line = -1, .line = -1 };

	return places_add(x, &place);
}

__u32 places_add_frame(struct places *x, const struct profile_frame *frame, bool lines)
{
	const struct view_options options = { .lines = lines, .sources = lines };
	const struct profile_frame place = view_frame(&options, frame);

	return places_add(x, &place);
}

static bool is_counted(const struct profile *p, __u32 node)
{
	for (unsigned i = 0; i < p->event_cnt; i++) {
		if (counts__at(profile__counts(p, i), node).samples)
			return true;
	}
	return false;
}

bool *places_counted(const struct profile *p)
{
	const __u32 cnt = dict__node_cnt(p->dict);
	cleanup_free bool *nodes = calloc((size_t)cnt + 1, sizeof(*nodes));
	bool *frames = calloc((size_t)dict__frame_cnt(p->dict) + 1, sizeof(*frames));

	if (!nodes || !frames) {
		free(frames);
		return NULL;
	}
	/* Going backwards visits children before their parents. */
	for (__u32 i = cnt; i > 0; i--) {
		const struct profile_node *n = dict__node_at(p->dict, i);

		if (!nodes[i] && !is_counted(p, i))
			continue;
		nodes[n->parent] = true;
		frames[n->frame] = true;
	}
	return frames;
}

void places_free(struct places *x)
{
	free(x->list);
	idindex_free(&x->index);
	*x = (struct places){ 0 };
}

const char *place_name(const struct dict *dict, const struct profile_frame *place)
{
	const char *name = dict__text(dict, place->name);

	return *name ? name : NAME_EMPTY;
}
