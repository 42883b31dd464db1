/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counts.h - one measure over one window: how many samples, and how much of what they stand for, each
 * stack of a dictionary has.
 *
 * The events of a recording, its windows, what comes before and after, time on and off the CPU: each is
 * counts of its own over the same dictionary, so that they can be compared stack by stack, and added
 * where they have the same unit.
 *
 * A label distinguishes samples of one stack, by a state or a task: it is a string of the dictionary. What has
 * one is counted twice, at the node as any other sample, and at the node with its label.
 *
 * Must hold: Σ over all nodes, the root included, = samples; what the labels of a node have is at most
 * what the node has.
 */
#ifndef KRAIT_PROFILE_COUNTS_H
#define KRAIT_PROFILE_COUNTS_H

#include <linux/types.h>
#include <stdbool.h>

#include "profile/accounts.h"
#include "profile/dict.h"
#include "profile/idtable.h"
#include "util/event.h"

/* Pairs of a node and a label: 50 MB. What comes after is counted without its label. */
#define COUNTS_MAX_LABELLED (1U << 20)

struct node_count {
	__u64 samples;
	__u64 weight; /* Σ period of these: ns for cpu-clock */
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
	__u64 samples, weight; /* Σ over all nodes */
	/*
	 * Samples stand for different numbers of events (sampling by frequency): shares are those of
	 * the weights. Never set of a clock.
	 */
	bool uneven;
	__u64 sample_weight; /* of the first sample */
	__u64 unlabelled; /* samples whose label found no room */
	struct accounts accounts; /* the caller fills them in */

	struct node_count *by_node; /* see counts__at() */
	__u32 cnt, cap; /* cnt: up to the last node that was counted at */
	struct idtable labelled; /* of struct label_count */
	struct dict_holder holder;
};

/* All zero, of the dictionary, which outlives them. NULL when out of memory. */
struct counts *counts__new(struct dict *dict, const struct event_spec *event);
void counts__free(struct counts *c);

/* So many samples that end at the node, and their sum. A node that is none is the root. */
void counts__add(struct counts *c, __u32 node, __u64 samples, __u64 weight);
/* The same of one label; 0 is none. */
void counts__add_labelled(struct counts *c, __u32 node, __u32 label, __u64 samples, __u64 weight);
/*
 * What is counted at nodes 1 .. cnt is counted at nodes[...] instead; 0: it stays. Labels go with it. 0 or
 * -ENOMEM, when all stays as it is.
 */
int counts__move(struct counts *c, const __u32 *nodes, __u32 cnt)
	__attribute__((warn_unused_result));
/* Nothing is counted any more: a new window begins. Accounts and times are the caller's. */
void counts__clear(struct counts *c);
/*
 * What from has, too: both windows, and what lies between them. 0; -EINVAL: it is in another unit or over
 * another dictionary; -ENOMEM. All stays as it is on failure.
 */
int counts__merge(struct counts *c, const struct counts *from) __attribute__((warn_unused_result));

/* What ends at the node. */
static inline struct node_count counts__at(const struct counts *c, __u32 node)
{
	return node < c->cnt ? c->by_node[node] : (struct node_count){ 0 };
}

/* Counts of their own of what has that label. NULL when out of memory. */
struct counts *counts__new_of_label(const struct counts *c, const char *label);

/* Pairs 1 .. count, in the order in which they were met. */
const struct label_count *counts__labelled(const struct counts *c, __u32 *ret_cnt);

/*
 * What shares are shares of: "samples", or "events" where samples stand for different numbers of them; and
 * how many of these end at the node.
 */
const char *counts__share_unit(const struct counts *c);
/* Nanoseconds that one of these stands for, on average; 0: it is no time, or its length is not known. */
double counts__unit_ns(const struct counts *c);
__u64 counts__self(const struct counts *c, __u32 node);

#endif /* KRAIT_PROFILE_COUNTS_H */
