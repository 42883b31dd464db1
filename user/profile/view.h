/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * view.h - counts as an output wants them: frames merged by function or by line, with or without
 * process and thread levels, children in a fixed order, totals and a flat table.
 *
 * All outputs and the summary take their numbers from here, so they agree.
 *
 * Nodes are in depth-first order: [0] is the root, a parent comes right before its first child, and
 * the descendants of node i are i + 1 .. end - 1. So an output is one loop, at most with a stack of
 * ancestors; nothing recurses, because stacks are thousands deep.
 *
 * Numbers are in the unit of shares: samples, or the events that these stand for.
 *
 * Must hold: a node's total = its self + its children's totals; the root's total = the sum of self
 * over all nodes = samples (or events) counted = the sum of self over all functions + the root's
 * self.
 */
#ifndef KRAIT_PROFILE_VIEW_H
#define KRAIT_PROFILE_VIEW_H

#include <linux/types.h>
#include <stdbool.h>

#include "profile/counts.h"

enum view_order {
	VIEW_BY_NAME, /* in strcmp() order, so the same profile gives the same text */
	VIEW_BY_COUNT, /* largest total first */
};

struct view_options {
	bool lines; /* one entry per line instead of per function */
	bool sources; /* with lines: also for native code, with its source files */
	bool processes; /* keep the process level */
	bool threads; /* keep the thread level */
	bool ids; /* keep processes and threads of the same name apart, by pid and tid */
	bool tids; /* only threads */
	bool instructions; /* with lines: one entry per Python instruction */
	bool nodes; /* remember where each dictionary node went */
	enum view_order order;
};

/* The sums of a frame, in the share unit. */
struct view_sums {
	__u64 self; /* what ends here */
	__u64 total; /* what has it anywhere on the stack; recursion counts once */
};

/*
 * < 0, 0, > 0: the order of a table's rows, the largest self (or with by_total, the largest total)
 * first, then by the other sum.
 */
static inline int view_sums_compare(const struct view_sums *a, const struct view_sums *b,
				    bool by_total)
{
	int self = (a->self < b->self) - (a->self > b->self);
	int total = (a->total < b->total) - (a->total > b->total);

	return by_total ? (total ? total : self) : (self ? self : total);
}

struct view_node {
	__u32 frame; /* view frame; 0 for the root */
	__u32 parent; /* view node */
	__u32 depth; /* 0 for the root */
	__u32 end; /* one past the last descendant */
	__u64 self, total;
};

/* The counts and their dictionary must outlive the view and not change meanwhile. */
struct view {
	const struct counts *counts;
	const struct dict *dict; /* of the counts */
	struct view_options options;
	struct view_node *nodes;
	/*
	 * Functions, or their lines; also processes, threads and marks. These are frames of the
	 * dictionary without what the options do not distinguish: that is -1, or 0. [0] stands for
	 * the root.
	 */
	struct profile_frame *frames;
	struct view_sums *sums; /* by frame */
	__u32 *node_of; /* by dictionary node, with options.nodes; 0 if it has no counts */
	__u32 node_cnt, frame_cnt; /* including [0] */
	__u32 max_depth;
};

/* Returns 0 or -ENOMEM. */
int view__new(struct view **ret, const struct counts *c, const struct view_options *options)
	__attribute__((warn_unused_result));
void view__free(struct view *v);

static inline void view_cleanup_(struct view **v)
{
	view__free(*v);
}
#define cleanup_view __attribute__((cleanup(view_cleanup_)))

/* What remains of a dictionary frame after applying the options. */
struct profile_frame view_frame(const struct view_options *o, const struct profile_frame *f);
const char *view_name(const struct view *v, const struct profile_frame *f);
const char *view_file(const struct view *v, const struct profile_frame *f);

/*
 * < 0, 0, > 0: by kind, name, file, first line, line, instruction, pid, tid; a total order of
 * frames.
 */
int view_frame_compare(const struct view *v, const struct profile_frame *a,
		       const struct profile_frame *b);
/* < 0, 0, > 0: the largest total first, then by frame as above. */
int view_node_compare(const struct view *v, const struct view_node *a, const struct view_node *b);

#endif /* KRAIT_PROFILE_VIEW_H */
