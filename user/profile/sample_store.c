/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/sample_store.h"

#include <stddef.h>
#include <stdlib.h>

#include "profile/states.h"
#include "base/data/vec.h"

static struct sample_store *store_of(struct dict_holder *h)
{
	return (struct sample_store *)((char *)h - offsetof(struct sample_store, holder));
}

static void mark_nodes(struct dict_holder *h, struct dict_map *live)
{
	const struct sample_store *s = store_of(h);

	for (__u32 i = 0; i < s->cnt; i++) {
		if (s->list[i].node)
			live->nodes[s->list[i].node] = 1;
	}
}

static void move_nodes(struct dict_holder *h, const struct dict_map *ids)
{
	struct sample_store *s = store_of(h);

	for (__u32 i = 0; i < s->cnt; i++)
		s->list[i].node = s->list[i].node ? ids->nodes[s->list[i].node] : 0;
}

void sample_store_begin(struct sample_store *s, struct dict *dict, __u32 max)
{
	*s = (struct sample_store){ .dict = dict, .max = max };
	s->holder = (struct dict_holder){ .mark = mark_nodes, .move = move_nodes };
	dict__hold(dict, &s->holder);
}

bool sample_store_add(struct sample_store *s, const struct profile_sample *from)
{
	if (s->cnt == s->max || vec_reserve(s->list, s->cap, s->cnt + 1)) {
		s->dropped++;
		return false;
	}
	s->list[s->cnt++] = (struct stored_sample){
		.time_ns = from->time_ns,
		.weight = from->period,
		.node = from->node,
		.state = state_of(from->state),
		.event = from->event,
		.image = from->image,
		.thread = from->thread,
		.cpu = from->cpu,
		.pid = from->pid,
		.tid = from->tid,
	};
	return true;
}

void sample_store_clear(struct sample_store *s)
{
	free(s->list);
	s->list = NULL;
	s->cnt = s->cap = 0;
	s->dropped = 0;
}

void sample_store_end(struct sample_store *s)
{
	if (!s->dict)
		return;
	dict__release(s->dict, &s->holder);
	sample_store_clear(s);
	s->dict = NULL;
}
