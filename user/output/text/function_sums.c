/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * function_sums.c - merges counts over one dictionary by function, into a tree whose nodes have a
 * number for each counts, and sums these up.
 */
#include "output/text/function_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/cleanup.h"
#include "base/text/short_path.h"

/* A function below its callers. Parents come before their children. */
struct node {
	__u32 parent; /* 0: the root */
	__u32 function; /* its place */
};

static const struct node *nodes(const struct function_sums *s)
{
	return s->nodes.items;
}

void function_sums_free(struct function_sums *s)
{
	idtable_free(&s->nodes);
	places_free(&s->places);
	strtab_free(&s->files);
	free(s->self);
	free(s->total);
	free(s->all);
}

const char *function_sums_file(const struct function_sums *s, const struct profile_frame *at)
{
	bool named = at->kind == FRAME_NATIVE && *dict__text(s->dict, at->name) == '[';

	return named ? "" : strtab_text(&s->files, at->file);
}

static __u32 function_of(struct function_sums *s, const struct profile_frame *f)
{
	char buf[SHORT_FILE_SIZE];
	const char *file = short_file(buf, dict__text(s->dict, f->file));
	const struct profile_frame place = {
		.kind = f->kind,
		.name = f->name,
		.file = strtab_add(&s->files, file, strlen(file), 0),
		.first_line = -1,
		.line = -1,
	};

	return *file && !place.file ? PLACE_NONE : places_add(&s->places, &place);
}

static int add_child(struct function_sums *s, __u32 parent, __u32 function, __u32 *ret)
{
	__u32 hash = idindex_hash_pair(parent, function);
	const struct node new = { parent, function };
	const struct idindex_slot *slot;

	if (function == PLACE_NONE)
		return -ENOMEM;
	idindex_for_each(&s->nodes.index, hash, slot) {
		const struct node *n = &nodes(s)[slot->id];

		*ret = slot->id;
		if (n->parent == parent && n->function == function)
			return 0;
	}
	if (idtable_reserve(&s->nodes))
		return -ENOMEM;
	*ret = idtable_add(&s->nodes, hash, &new, 0);
	return 0;
}

/* Builds the tree. map: by node of the dictionary, the tree's. */
static int merge(struct function_sums *s, __u32 *map)
{
	int err = 0;

	for (__u32 i = 1; i <= dict__node_cnt(s->dict) && !err; i++) {
		const struct profile_node *n = dict__node_at(s->dict, i);
		const struct profile_frame *f = dict__frame_at(s->dict, n->frame);

		map[i] = map[n->parent];
		if (is_code(f))
			err = add_child(s, map[i], function_of(s, f), &map[i]);
	}
	return err;
}

/* A function's total is the sum over its outermost nodes. */
static bool is_outermost(const struct function_sums *s, __u32 node)
{
	__u32 function = nodes(s)[node].function;

	while ((node = nodes(s)[node].parent))
		if (nodes(s)[node].function == function)
			return false;
	return true;
}

static int sum_up(struct function_sums *s, const __u32 *map)
{
	const size_t cnt = s->cnt, node_cnt = (size_t)s->nodes.cnt + 1;
	cleanup_free __u64 *self = calloc(node_cnt * cnt, sizeof(*self));
	cleanup_free __u64 *total = calloc(node_cnt * cnt, sizeof(*total));

	s->self = calloc(((size_t)s->places.cnt + 1) * cnt, sizeof(*s->self));
	s->total = calloc(((size_t)s->places.cnt + 1) * cnt, sizeof(*s->total));
	s->all = calloc(cnt, sizeof(*s->all));
	if (!self || !total || !s->self || !s->total || !s->all)
		return -ENOMEM;
	for (__u32 i = 0; i <= dict__node_cnt(s->dict); i++)
		for (size_t k = 0; k < cnt; k++)
			self[map[i] * cnt + k] += counts__self(s->counts[k], i);
	for (size_t i = node_cnt; i-- > 0;) {
		const struct node *n = &nodes(s)[i];
		bool outermost = i && is_outermost(s, (__u32)i);

		for (size_t k = 0; k < cnt; k++) {
			__u64 here = total[i * cnt + k] += self[i * cnt + k];

			if (!i) {
				s->all[k] = here;
				continue;
			}
			total[n->parent * cnt + k] += here;
			s->self[n->function * cnt + k] += self[i * cnt + k];
			s->total[n->function * cnt + k] += outermost ? here : 0;
		}
	}
	return 0;
}

int function_sums_init(struct function_sums *s, const struct counts *const *counts, unsigned cnt)
{
	cleanup_free __u32 *map = NULL;
	int err;

	*s = (struct function_sums){ .counts = counts, .cnt = cnt, .dict = counts[0]->dict };
	for (unsigned i = 1; i < cnt; i++)
		if (counts[i]->dict != s->dict)
			return -EINVAL;
	map = calloc((size_t)dict__node_cnt(s->dict) + 1, sizeof(*map));
	err = map ? strtab_init(&s->files) : -ENOMEM;
	if (!err)
		err = idtable_init(&s->nodes, sizeof(struct node));
	if (!err)
		err = merge(s, map);
	return err ? err : sum_up(s, map);
}
