/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * profile.c - the frame table and the stack tree: arrays indexed by id, each with an index over
 * its keys. Children are found by (parent, frame), the one look-up that has to be fast.
 */
#include "profile/profile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile_tables.h"

#define PROFILE_MIN_CAP 256U

struct profile *profile__new(void)
{
	return profile__new_limited(profile_limits_default());
}

struct profile *profile__new_limited(const struct profile_limits *limits)
{
	struct profile *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->frames = calloc(PROFILE_MIN_CAP, sizeof(*p->frames));
	p->nodes = calloc(PROFILE_MIN_CAP, sizeof(*p->nodes));
	p->codes = calloc(PROFILE_MIN_CAP, sizeof(*p->codes));
	p->events = calloc(1, sizeof(*p->events));
	p->event_cnt = p->events ? 1 : 0;
	if (strtab_init(&p->strings) || profile_room_init(p, limits) || !p->frames || !p->nodes ||
	    !p->codes || !p->events) {
		profile__free(p);
		errno = ENOMEM;
		return NULL;
	}
	event_default(&p->events[0].public.spec);
	p->frame_cap = p->node_cap = p->code_cap = PROFILE_MIN_CAP;
	return p;
}

void profile__free(struct profile *p)
{
	if (!p)
		return;
	strtab_free(&p->strings);
	profile_room_free(p);
	free(p->frames);
	free(p->nodes);
	for (__u32 i = 1; i <= p->code_cnt; i++)
		free((void *)p->codes[i].lines);
	free(p->codes);
	for (unsigned i = 0; i < p->event_cnt; i++)
		free(p->events[i].counts);
	free(p->events);
	idindex_free(&p->code_index);
	idindex_free(&p->frame_index);
	idindex_free(&p->node_index);
	identities_free(&p->identities);
	free(p);
}

/* Memory for element number cnt + 1 of *array and its entry in the index. */
static int grow(void *array, size_t size, __u32 cnt, __u32 *cap, struct idindex *x)
{
	void *grown;

	if (cnt + 1 >= *cap) {
		grown = reallocarray(*(void **)array, (size_t)*cap * 2, size);
		if (!grown)
			return -ENOMEM;
		*(void **)array = grown;
		*cap *= 2;
	}
	return idindex_reserve(x);
}

/* The same, paid for. */
static int reserve(struct profile *p, enum profile_resource resource, void *array, size_t size,
		   __u32 cnt, __u32 *cap, struct idindex *x)
{
	int err = profile_room_take(p, resource, 1);

	if (!err)
		err = grow(array, size, cnt, cap, x);
	if (err == -ENOMEM)
		profile_room_give(p, resource, 1);
	return err;
}

__u32 profile__string(struct profile *p, const char *text)
{
	size_t len = strlen(text);
	__u32 id = strtab_find(&p->strings, text, len);

	if (id || !len || profile_room_take(p, PROFILE_STRING_BYTES, len + STRTAB_OVERHEAD))
		return id;
	id = strtab_add(&p->strings, text, len);
	if (!id)
		profile_room_give(p, PROFILE_STRING_BYTES, len + STRTAB_OVERHEAD);
	return id;
}

static int same_frame(const struct profile_frame *a, const struct profile_frame *b)
{
	return a->kind == b->kind && a->name == b->name && a->file == b->file &&
	       a->first_line == b->first_line && a->line == b->line && a->end_line == b->end_line &&
	       a->column == b->column && a->end_column == b->end_column && a->pid == b->pid &&
	       a->tid == b->tid && a->code == b->code && a->unit == b->unit &&
	       a->address == b->address;
}

static __u32 hash_frame(const struct profile_frame *f)
{
	const __u32 key[] = { (__u32)f->kind,	 f->name,
			      f->file,		 (__u32)f->first_line,
			      (__u32)f->line,	 (__u32)f->end_line,
			      (__u32)f->column,	 (__u32)f->end_column,
			      (__u32)f->pid,	 (__u32)f->tid,
			      f->code,		 (__u32)f->unit,
			      (__u32)f->address, (__u32)(f->address >> 32) };

	return idindex_hash_bytes(key, sizeof(key), 0);
}

__u32 profile__frame(struct profile *p, const struct profile_frame *frame)
{
	__u32 hash = hash_frame(frame);
	const struct idindex_slot *slot;

	idindex_for_each(&p->frame_index, hash,
			 slot) if (same_frame(&p->frames[slot->id], frame)) return slot->id;
	/* Without its name it would be another one. */
	if (p->refused)
		return 0;
	if (reserve(p, PROFILE_FRAMES, &p->frames, sizeof(*p->frames), p->frame_cnt, &p->frame_cap,
		    &p->frame_index))
		return 0;
	p->frames[++p->frame_cnt] = *frame;
	idindex_insert(&p->frame_index, hash, p->frame_cnt);
	return p->frame_cnt;
}

static bool same_code(const struct profile_code *a, const struct profile_code *b)
{
	return a->name == b->name && a->file == b->file && a->first_line == b->first_line &&
	       a->unit_cnt == b->unit_cnt && a->lines_size == b->lines_size &&
	       (!a->lines_size || !memcmp(a->lines, b->lines, a->lines_size));
}

/* The copy of the line table, which stays empty where it finds no room. */
static void copy_lines(struct profile *p, struct profile_code *code,
		       const struct profile_code *from)
{
	__u8 *copy = NULL;

	if (from->lines_size && !profile_room_take(p, PROFILE_LINE_BYTES, from->lines_size)) {
		copy = malloc(from->lines_size);
		if (!copy)
			profile_room_give(p, PROFILE_LINE_BYTES, from->lines_size);
	}
	code->lines = copy;
	code->lines_size = copy ? from->lines_size : 0;
	if (copy)
		memcpy(copy, from->lines, from->lines_size);
}

__u32 profile__code(struct profile *p, const struct profile_code *code)
{
	const __u32 key[] = { code->name, code->file, (__u32)code->first_line, code->unit_cnt };
	__u32 hash = idindex_hash_bytes(code->lines, code->lines_size,
					idindex_hash_bytes(key, sizeof(key), 0));
	const struct idindex_slot *slot;

	idindex_for_each(&p->code_index, hash,
			 slot) if (same_code(&p->codes[slot->id], code)) return slot->id;
	if (reserve(p, PROFILE_CODES, &p->codes, sizeof(*p->codes), p->code_cnt, &p->code_cap,
		    &p->code_index))
		return 0;
	p->codes[++p->code_cnt] = *code;
	copy_lines(p, &p->codes[p->code_cnt], code);
	idindex_insert(&p->code_index, hash, p->code_cnt);
	return p->code_cnt;
}

__u32 profile__child(struct profile *p, __u32 parent_node, __u32 frame)
{
	__u32 hash = idindex_hash_pair(parent_node, frame);
	const struct idindex_slot *slot;

	idindex_for_each(&p->node_index, hash, slot)
	{
		const struct profile_node *n = &p->nodes[slot->id];

		if (n->parent == parent_node && n->frame == frame)
			return slot->id;
	}
	if (!frame || frame > p->frame_cnt || parent_node > p->node_cnt) {
		p->refused = true;
		return 0;
	}
	if (reserve(p, PROFILE_NODES, &p->nodes, sizeof(*p->nodes), p->node_cnt, &p->node_cap,
		    &p->node_index))
		return 0;
	p->nodes[++p->node_cnt] = (struct profile_node){
		.parent = parent_node,
		.frame = frame,
		.depth = p->nodes[parent_node].depth + 1,
	};
	idindex_insert(&p->node_index, hash, p->node_cnt);
	return p->node_cnt;
}

/* ---- access ----------------------------------------------------------------------------------- */

const char *profile__text(const struct profile *p, __u32 string)
{
	return strtab_text(&p->strings, string);
}

const struct profile_frame *profile__frame_at(const struct profile *p, __u32 frame)
{
	return &p->frames[frame <= p->frame_cnt ? frame : 0];
}

const struct profile_node *profile__node_at(const struct profile *p, __u32 node)
{
	return &p->nodes[node <= p->node_cnt ? node : 0];
}

__u32 profile__node_cnt(const struct profile *p)
{
	return p->node_cnt;
}

__u32 profile__frame_cnt(const struct profile *p)
{
	return p->frame_cnt;
}

const struct profile_code *profile__code_at(const struct profile *p, __u32 code)
{
	return &p->codes[code <= p->code_cnt ? code : 0];
}

__u32 profile__code_cnt(const struct profile *p)
{
	return p->code_cnt;
}

__u32 profile__plain_frame(struct profile *p, enum frame_kind kind, const char *name,
			   const char *file, __u64 address)
{
	const struct profile_frame frame = {
		.kind = kind,
		.name = profile__string(p, name),
		.file = profile__string(p, file),
		.first_line = -1,
		.line = -1,
		.end_line = -1,
		.column = -1,
		.end_column = -1,
		.unit = -1,
		.address = address,
	};

	return profile__frame(p, &frame);
}

__u32 profile__named_child(struct profile *p, __u32 parent_node, enum frame_kind kind,
			   const char *name, int pid, int tid)
{
	const struct profile_frame frame = {
		.kind = kind,
		.name = profile__string(p, name),
		.line = -1,
		.end_line = -1,
		.column = -1,
		.end_column = -1,
		.pid = pid,
		.tid = tid,
	};

	return profile__child(p, parent_node, profile__frame(p, &frame));
}

struct identities *profile__identities(struct profile *p)
{
	return &p->identities;
}

const struct identities *profile__identities_of(const struct profile *p)
{
	return &p->identities;
}
