/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counts.h - one measure in one window: how many samples each stack of a dictionary has, and how
 * much they stand for.
 *
 * The events of a recording, its windows, before and after, time on and off the CPU: each has its
 * own counts over the same dictionary, so that they can be compared stack by stack, and added if
 * they have the same unit.
 *
 * A label, which is a string of the dictionary, distinguishes samples of one stack by a state or a
 * task. A labelled sample is counted twice: at the node like any other, and at the node with its
 * label.
 *
 * Must hold: the sum over all nodes, including the root, equals samples; the labels of a node never
 * add up to more than the node.
 */
#ifndef KRAIT_PROFILE_COUNTS_H
#define KRAIT_PROFILE_COUNTS_H

#include <linux/types.h>
#include <stdbool.h>

#include "profile/accounts.h"
#include "profile/dict.h"
#include "profile/idtable.h"
#include "base/system/event.h"

/* Pairs of a node and a label: 50 MB. Beyond that samples are counted without their label. */
#define COUNTS_MAX_LABELLED (1U << 20)

struct node_count {
	__u64 samples;
	__u64 weight; /* sum of their periods: ns for cpu-clock */
};

struct label_count {
	__u32 node;
	__u32 label; /* string id */
	struct node_count n;
};

struct counts {
	struct dict *dict; /* borrowed */
	struct event_spec event; /* what was counted, and in which unit */
	__u64 from_ns, to_ns; /* the window, CLOCK_MONOTONIC; both 0: unknown */
	__u64 samples, weight; /* sums over all nodes */
	/*
	 * Samples stand for different numbers of events (sampling by frequency, fewer samples of costly
	 * processes), so shares use the weights.
	 */
	bool uneven;
	__u64 sample_weight; /* weight of the first sample */
	__u64 unlabelled; /* samples whose label found no room */
	struct accounts accounts; /* the caller fills them in */

	struct node_count *by_node; /* use counts__at() */
	__u32 cnt, cap; /* cnt: one past the last node with counts */
	struct idtable labelled; /* struct label_count */
	struct dict_holder holder;
};

/* All zero, over a dictionary that outlives them. NULL: out of memory. */
struct counts *counts__new(struct dict *dict, const struct event_spec *event);
void counts__free(struct counts *c);

/* Adds samples that end at the node, and their total weight. An invalid node counts as the root. */
void counts__add(struct counts *c, __u32 node, __u64 samples, __u64 weight);
/* The same with a label; 0: none. */
void counts__add_labelled(struct counts *c, __u32 node, __u32 label, __u64 samples, __u64 weight);
/*
 * Moves the counts of nodes 1 .. cnt to nodes[...]; 0: no change. Labels move, too. Returns 0, or
 * -ENOMEM with everything unchanged.
 */
int counts__move(struct counts *c, const __u32 *nodes, __u32 cnt)
	__attribute__((warn_unused_result));
/* Resets all counts: a new window begins. The caller resets accounts and times. */
void counts__clear(struct counts *c);
/*
 * Adds the counts of from; the window then covers both, and what lies between. Returns 0; -EINVAL:
 * another unit or dictionary; -ENOMEM. On failure everything is unchanged.
 */
int counts__merge(struct counts *c, const struct counts *from) __attribute__((warn_unused_result));

/* Counts of stacks that end at the node. */
static inline struct node_count counts__at(const struct counts *c, __u32 node)
{
	return node < c->cnt ? c->by_node[node] : (struct node_count){ 0 };
}

/* New counts of only what has that label. NULL: out of memory. */
struct counts *counts__new_of_label(const struct counts *c, const char *label);

/* Pairs 1 .. count, in order of first occurrence. */
const struct label_count *counts__labelled(const struct counts *c, __u32 *ret_cnt);

/*
 * The unit of shares: "samples", or "events" if samples stand for different numbers of them
 * ("nanoseconds" if these are time); and how many of these end at the node.
 */
const char *counts__share_unit(const struct counts *c);
/* Nanoseconds that one unit stands for, on average; 0: it is not time, or unknown. */
double counts__unit_ns(const struct counts *c);
__u64 counts__self(const struct counts *c, __u32 node);

#endif /* KRAIT_PROFILE_COUNTS_H */
