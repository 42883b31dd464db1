/* SPDX-License-Identifier: BSD-2-Clause */
/* profile_events.c - what was counted: samples and weights of each event, and which is selected. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile_tables.h"

int profile__set_event(struct profile *p, unsigned index, const struct event_spec *spec)
{
	struct event *grown;

	if (index >= PROFILE_MAX_EVENTS)
		return -E2BIG;
	if (index >= p->event_cnt) {
		grown = reallocarray(p->events, index + 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		p->events = grown;
		for (; p->event_cnt <= index; p->event_cnt++) {
			grown[p->event_cnt] = (struct event){ 0 };
			event_default(&grown[p->event_cnt].public.spec);
		}
	}
	p->events[index].public.spec = *spec;
	return 0;
}

unsigned profile__event_cnt(const struct profile *p)
{
	return p->event_cnt;
}

const struct profile_event *profile__event_at(const struct profile *p, unsigned index)
{
	return &p->events[index < p->event_cnt ? index : 0].public;
}

unsigned profile__selected(const struct profile *p)
{
	return p->selected;
}

static int reserve_counts(struct event *e, __u32 cap)
{
	struct node_count *grown;

	if (cap <= e->cap)
		return 0;
	grown = reallocarray(e->counts, cap, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + e->cap, 0, (cap - e->cap) * sizeof(*grown));
	e->counts = grown;
	e->cap = cap;
	return 0;
}

/* The counts change places: those of the nodes and those beside. */
int profile__select(struct profile *p, unsigned index)
{
	struct event *from = &p->events[p->selected], *to;

	if (index >= p->event_cnt || index == p->selected)
		return 0;
	to = &p->events[index];
	if (reserve_counts(from, p->node_cnt + 1) || reserve_counts(to, p->node_cnt + 1))
		return -ENOMEM;
	for (__u32 i = 0; i <= p->node_cnt; i++) {
		struct profile_node *n = &p->nodes[i];

		from->counts[i] = (struct node_count){ n->self, n->self_weight };
		n->self = to->counts[i].samples;
		n->self_weight = to->counts[i].weight;
	}
	free(to->counts);
	to->counts = NULL;
	to->cap = 0;
	p->selected = index;
	return 0;
}

const char *profile__unit(const struct profile *p)
{
	return p->events[p->selected].public.uneven ? "events" : "samples";
}

__u64 profile__self(const struct profile *p, __u32 node)
{
	const struct profile_node *n = profile__node_at(p, node);

	return p->events[p->selected].public.uneven ? n->self_weight : n->self;
}

void profile__counts(const struct profile *p, __u32 node, unsigned event, __u64 *ret_samples,
		     __u64 *ret_weight)
{
	const struct event *e = &p->events[event];

	*ret_samples = *ret_weight = 0;
	if (event == p->selected) {
		*ret_samples = p->nodes[node].self;
		*ret_weight = p->nodes[node].self_weight;
	} else if (node < e->cap) {
		*ret_samples = e->counts[node].samples;
		*ret_weight = e->counts[node].weight;
	}
}

static void count_total(struct profile_event *e, __u64 samples, __u64 weight)
{
	if (!samples)
		return;
	if (!e->samples)
		e->sample_weight = weight / samples;
	if (!event_is_clock(&e->spec) && weight != e->sample_weight * samples)
		e->uneven = true;
	e->samples += samples;
	e->weight += weight;
}

static void count_at(struct profile *p, unsigned event, __u32 node, __u64 samples, __u64 weight)
{
	struct event *e;

	if (event >= p->event_cnt)
		event = p->selected;
	if (node > p->node_cnt)
		node = 0;
	e = &p->events[event];
	count_total(&e->public, samples, weight);
	if (event == p->selected) {
		p->nodes[node].self += samples;
		p->nodes[node].self_weight += weight;
		return;
	}
	/* Without room for more nodes: at the root, which is always there. */
	if (node >= e->cap && reserve_counts(e, p->node_cap))
		node = 0;
	if (node < e->cap) {
		e->counts[node].samples += samples;
		e->counts[node].weight += weight;
	}
}

void profile__add_many(struct profile *p, __u32 node, __u64 samples, __u64 weight)
{
	count_at(p, p->selected, node, samples, weight);
}

void profile__add(struct profile *p, __u32 node, __u64 weight)
{
	count_at(p, p->selected, node, 1, weight);
}

void profile__count(struct profile *p, unsigned event, __u32 node, __u64 weight)
{
	count_at(p, event, node, 1, weight);
}

struct accounts *profile__event_accounts(struct profile *p, unsigned event)
{
	return &p->events[event < p->event_cnt ? event : p->selected].public.accounts;
}

struct accounts *profile__accounts(struct profile *p)
{
	return profile__event_accounts(p, p->selected);
}

const struct accounts *profile__accounts_of(const struct profile *p)
{
	return &p->events[p->selected].public.accounts;
}
