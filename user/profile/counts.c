/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/cleanup.h"
#include "base/data/vec.h"

static struct label_count *labelled(const struct counts *c)
{
	return c->labelled.items;
}

/* ---- a holder of its nodes and labels --------------------------------------------------------- */

static struct counts *counts_of(struct dict_holder *h)
{
	return (struct counts *)((char *)h - offsetof(struct counts, holder));
}

static void mark(struct dict_holder *h, struct dict_map *live)
{
	const struct counts *c = counts_of(h);

	for (__u32 i = 1; i < c->cnt; i++) {
		if (c->by_node[i].samples)
			live->nodes[i] = 1;
	}
	for (__u32 i = 1; i <= c->labelled.cnt; i++)
		live->strings[labelled(c)[i].label] = 1;
}

/* Call after the nodes or labels have changed. */
static void index_labelled(struct counts *c)
{
	idindex_clear(&c->labelled.index, c->labelled.cnt);
	for (__u32 i = 1; i <= c->labelled.cnt; i++)
		idtable_index(&c->labelled,
			      idindex_hash_pair(labelled(c)[i].node, labelled(c)[i].label), i);
}

static void move(struct dict_holder *h, const struct dict_map *ids)
{
	struct counts *c = counts_of(h);

	/* New ids keep the order, and none is larger than the old one. */
	for (__u32 i = 1; i < c->cnt; i++) {
		struct node_count n = c->by_node[i];

		c->by_node[i] = (struct node_count){ 0 };
		if (n.samples)
			c->by_node[ids->nodes[i]] = n;
	}
	for (__u32 i = 1; i <= c->labelled.cnt; i++) {
		labelled(c)[i].node = ids->nodes[labelled(c)[i].node];
		labelled(c)[i].label = ids->strings[labelled(c)[i].label];
	}
	index_labelled(c);
}

/* ---- counting --------------------------------------------------------------------------------- */

/* Makes room for the node. Returns 0 or -ENOMEM. */
static int reach(struct counts *c, __u32 node)
{
	__u32 cnt = node + 1;

	if (node < c->cnt)
		return 0;
	if (vec_reserve(c->by_node, c->cap, cnt))
		return -ENOMEM;
	memset(c->by_node + c->cnt, 0, (cnt - c->cnt) * sizeof(*c->by_node));
	c->cnt = cnt;
	return 0;
}

struct counts *counts__new(struct dict *dict, const struct event_spec *event)
{
	struct counts *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	/* The root counts everything that finds no room. */
	if (reach(c, 0)) {
		free(c);
		return NULL;
	}
	c->event = *event;
	c->dict = dict;
	c->holder = (struct dict_holder){ .mark = mark, .move = move };
	dict__hold(dict, &c->holder);
	return c;
}

void counts__free(struct counts *c)
{
	if (!c)
		return;
	dict__release(c->dict, &c->holder);
	free(c->by_node);
	idtable_free(&c->labelled);
	free(c);
}

/* Waits that happen to be equally long do not make the measure even. */
static bool is_of_lengths(const struct counts *c)
{
	return (event_is_time(&c->event) && !event_is_clock(&c->event)) ||
	       event_is_bytes(&c->event);
}

/*
 * Do these samples stand for something else than the first one? Those of a clock do if fewer are taken of costly
 * processes (--budget) or the rate changes; what its timer is off by means nothing.
 */
static bool differ(const struct counts *c, __u64 samples, __u64 weight)
{
	const __u64 even = c->sample_weight * samples;

	if (!event_is_clock(&c->event))
		return weight != even;
	return even && weight && (weight > even + even / 2 || weight < even / 2);
}

static void count_total(struct counts *c, __u64 samples, __u64 weight)
{
	if (!samples)
		return;
	if (!c->samples)
		c->sample_weight = weight / samples;
	if (is_of_lengths(c) || differ(c, samples, weight))
		c->uneven = true;
	c->samples += samples;
	c->weight += weight;
}

void counts__add(struct counts *c, __u32 node, __u64 samples, __u64 weight)
{
	/* If there is no room for more nodes, counts at the root, which always exists. */
	if (node > dict__node_cnt(c->dict) || reach(c, node))
		node = 0;
	count_total(c, samples, weight);
	c->by_node[node].samples += samples;
	c->by_node[node].weight += weight;
}

/* NULL: no room for the pair. */
static struct label_count *find_labelled(struct counts *c, __u32 node, __u32 label)
{
	__u32 hash = idindex_hash_pair(node, label);
	const struct label_count new = { .node = node, .label = label };
	const struct idindex_slot *slot;

	idindex_for_each(&c->labelled.index, hash, slot) {
		struct label_count *l = &labelled(c)[slot->id];

		if (l->node == node && l->label == label)
			return l;
	}
	if (!c->labelled.items && idtable_init(&c->labelled, sizeof(new)))
		return NULL;
	if (c->labelled.cnt == COUNTS_MAX_LABELLED || idtable_reserve(&c->labelled))
		return NULL;
	return &labelled(c)[idtable_add(&c->labelled, hash, &new, 0)];
}

void counts__add_labelled(struct counts *c, __u32 node, __u32 label, __u64 samples, __u64 weight)
{
	struct label_count *l;

	counts__add(c, node, samples, weight);
	if (!label)
		return;
	l = find_labelled(c, node, label);
	if (l) {
		l->n.samples += samples;
		l->n.weight += weight;
	} else {
		c->unlabelled += samples;
	}
}

/* Merged nodes must have each label once. */
static void merge_labelled(struct counts *c)
{
	__u32 cnt = c->labelled.cnt;

	c->labelled.cnt = 0;
	idindex_clear(&c->labelled.index, cnt);
	for (__u32 i = 1; i <= cnt; i++) {
		struct label_count from = labelled(c)[i], *to;

		/* There is room: no more entries than before, at their old places or earlier. */
		to = find_labelled(c, from.node, from.label);
		if (!to) {
			c->unlabelled += from.n.samples;
			continue;
		}
		to->n.samples += from.n.samples;
		to->n.weight += from.n.weight;
	}
}

int counts__move(struct counts *c, const __u32 *nodes, __u32 cnt)
{
	cleanup_free struct node_count *old = NULL;
	__u32 last = c->cnt - 1 < cnt ? c->cnt - 1 : cnt;

	for (__u32 i = 1; i <= last; i++) {
		if (reach(c, nodes[i]))
			return -ENOMEM;
	}
	old = calloc((size_t)last + 1, sizeof(*old));
	if (!old)
		return -ENOMEM;
	memcpy(old, c->by_node, ((size_t)last + 1) * sizeof(*old));
	memset(c->by_node + 1, 0, last * sizeof(*old));
	for (__u32 i = 1; i <= last; i++) {
		struct node_count *to = &c->by_node[nodes[i] ? nodes[i] : i];

		to->samples += old[i].samples;
		to->weight += old[i].weight;
	}
	for (__u32 i = 1; i <= c->labelled.cnt; i++) {
		__u32 node = labelled(c)[i].node;

		if (node && node <= cnt && nodes[node])
			labelled(c)[i].node = nodes[node];
	}
	merge_labelled(c);
	return 0;
}

void counts__clear(struct counts *c)
{
	if (c->cnt)
		memset(c->by_node, 0, c->cnt * sizeof(*c->by_node));
	c->cnt = 1;
	c->samples = c->weight = c->unlabelled = c->sample_weight = 0;
	c->uneven = false;
	c->labelled.cnt = 0;
	idindex_clear(&c->labelled.index, 0);
}

/* Nanoseconds are the same unit on a CPU and off it; any other event matches only itself. */
static bool same_unit(const struct event_spec *a, const struct event_spec *b)
{
	if (event_is_bytes(a) || event_is_bytes(b))
		return !strcmp(a->name, b->name);
	if (event_is_time(a) || event_is_time(b))
		return event_is_time(a) && event_is_time(b);
	return a->type == b->type && a->config == b->config;
}

static void merge_window(struct counts *c, const struct counts *from)
{
	if (!from->to_ns)
		return;
	if (!c->to_ns || from->from_ns < c->from_ns)
		c->from_ns = from->from_ns;
	if (from->to_ns > c->to_ns)
		c->to_ns = from->to_ns;
}

int counts__merge(struct counts *c, const struct counts *from)
{
	if (c->dict != from->dict || !same_unit(&c->event, &from->event))
		return -EINVAL;
	if (reach(c, from->cnt - 1))
		return -ENOMEM;
	for (__u32 i = 0; i < from->cnt; i++) {
		c->by_node[i].samples += from->by_node[i].samples;
		c->by_node[i].weight += from->by_node[i].weight;
	}
	for (__u32 i = 1; i <= from->labelled.cnt; i++) {
		const struct label_count *l = &labelled(from)[i];
		struct label_count *own = find_labelled(c, l->node, l->label);

		if (own) {
			own->n.samples += l->n.samples;
			own->n.weight += l->n.weight;
		} else {
			c->unlabelled += l->n.samples;
		}
	}
	c->unlabelled += from->unlabelled;
	c->uneven = c->uneven || from->uneven || (from->samples && is_of_lengths(c)) ||
		    (c->samples && from->samples && !event_is_clock(&c->event) &&
		     c->sample_weight != from->sample_weight);
	if (!c->samples)
		c->sample_weight = from->sample_weight;
	c->samples += from->samples;
	c->weight += from->weight;
	accounts_add(&c->accounts, &from->accounts);
	merge_window(c, from);
	return 0;
}

struct counts *counts__new_of_label(const struct counts *c, const char *label)
{
	struct counts *own = counts__new(c->dict, &c->event);

	for (__u32 i = 1; own && i <= c->labelled.cnt; i++) {
		const struct label_count *l = &labelled(c)[i];

		if (strcmp(dict__text(c->dict, l->label), label))
			continue;
		/* Counting at the root would lose its stack. */
		if (reach(own, l->node)) {
			counts__free(own);
			return NULL;
		}
		counts__add(own, l->node, l->n.samples, l->n.weight);
	}
	return own;
}

const struct label_count *counts__labelled(const struct counts *c, __u32 *ret_cnt)
{
	*ret_cnt = c->labelled.cnt;
	return labelled(c);
}

const char *counts__share_unit(const struct counts *c)
{
	return !c->uneven		 ? "samples" :
	       event_is_time(&c->event)	 ? "nanoseconds" :
	       event_is_bytes(&c->event) ? "bytes" :
					   "events";
}

double counts__unit_ns(const struct counts *c)
{
	double ns;

	if (!event_is_time(&c->event) || !c->samples)
		return 0;
	if (c->uneven)
		return 1;
	ns = (double)c->weight / (double)c->samples;
	/* Folded stacks count samples, and do not say of what. */
	return ns >= EVENT_CLOCK_MIN_NS ? ns : 0;
}

__u64 counts__self(const struct counts *c, __u32 node)
{
	struct node_count n = counts__at(c, node);

	return c->uneven ? n.weight : n.samples;
}
