/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/frames.h"
#include "profile/marks.h"
#include "profile/profile.h"
#include "base/data/vec.h"

static const struct parts_entry *find(const struct parts *p, __u32 frame)
{
	const struct idindex_slot *slot;

	idindex_for_each(&p->index, idindex_hash_pair(frame, 0), slot) {
		if (p->entries[slot->id - 1].frame == frame)
			return &p->entries[slot->id - 1];
	}
	return NULL;
}

/* The frame consists of these frames. Returns 0 or -ENOMEM. */
static int set(struct parts *p, __u32 frame, const __u32 *frames, __u32 cnt)
{
	if (!frame || find(p, frame))
		return 0;
	if (vec_reserve(p->entries, p->entry_cap, p->entry_cnt + 1) ||
	    vec_reserve(p->frames, p->cap, p->cnt + cnt) || idindex_reserve(&p->index))
		return -ENOMEM;
	p->entries[p->entry_cnt] = (struct parts_entry){ frame, p->cnt, cnt };
	memcpy(p->frames + p->cnt, frames, cnt * sizeof(*frames));
	p->cnt += cnt;
	idindex_insert(&p->index, idindex_hash_pair(frame, 0), ++p->entry_cnt);
	return 0;
}

const __u32 *parts_of(const struct parts *p, __u32 frame, __u32 *ret_cnt)
{
	const struct parts_entry *e = find(p, frame);

	*ret_cnt = e ? e->cnt : 0;
	return e ? p->frames + e->first : NULL;
}

struct parts *parts__new(void)
{
	return calloc(1, sizeof(struct parts));
}

void parts__free(struct parts *p)
{
	if (p)
		parts__clear(p);
	free(p);
}

void parts__clear(struct parts *p)
{
	free(p->entries);
	free(p->frames);
	free(p->nodes);
	idindex_free(&p->index);
	*p = (struct parts){ 0 };
}

/* The part's frame; within a line it is not distinguished by address. */
static __u32 part_frame(struct dict *d, const struct native_place *place,
			const struct source_frame *line, bool is_inlined)
{
	struct native_place part = *place;

	part.address = 0;
	part.source = line->file;
	part.line = line->line;
	part.is_inlined = is_inlined;
	if (is_inlined) {
		part.name = line->name ? line->name : NAME_INLINE_UNKNOWN;
		part.is_wrapper = false;
	}
	return frame_native(d, &part);
}

int parts_add(struct dict *d, __u32 frame, const struct native_place *place,
	      const struct source_frame *lines, unsigned cnt, bool inlined)
{
	__u32 list[SOURCE_FRAMES_MAX];

	if (!cnt)
		return 0;
	if (!inlined) {
		lines += cnt - 1;
		cnt = 1;
	}
	for (unsigned i = 0; i < cnt && i < SOURCE_FRAMES_MAX; i++) {
		list[i] = part_frame(d, place, &lines[i], i > 0);
		if (!list[i])
			return -ENOMEM;
	}
	return set(dict__parts(d), frame, list, cnt < SOURCE_FRAMES_MAX ? cnt : SOURCE_FRAMES_MAX);
}

/* ---- stacks ------------------------------------------------------------------------------------ */

__u32 parts_child(struct dict *d, __u32 parent, __u32 frame)
{
	__u32 cnt;
	const __u32 *frames = parts_of(dict__parts(d), frame, &cnt);

	if (!cnt)
		return dict__child(d, parent, frame);
	for (__u32 i = 0; i < cnt && (parent || !i); i++)
		parent = dict__child(d, parent, frames[i]);
	return parent;
}

int parts_expand(struct profile *p)
{
	struct dict *d = p->dict;
	__u32 cnt = dict__node_cnt(d);
	__u32 *nodes;
	int err = 0;

	if (!dict__parts(d)->entry_cnt || dict__parts(d)->nodes)
		return 0;
	nodes = calloc((size_t)cnt + 1, sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	dict__parts(d)->nodes = nodes;
	dict__parts(d)->node_cnt = cnt;
	for (__u32 i = 1; i <= cnt; i++) {
		const struct profile_node *n = dict__node_at(d, i);
		__u32 parent = nodes[n->parent];

		/* If the parent found no room, everything below stays as well. */
		if (parent || !n->parent)
			nodes[i] = parts_child(d, parent, n->frame);
	}
	for (unsigned i = 0; i < p->event_cnt && !err; i++)
		err = counts__move(profile__counts(p, i), nodes, cnt);
	return err;
}
