/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call_graph.h - who calls whom, for formats that have calls instead of stacks: pstats, callgrind.
 *
 * Must hold: recursion counts once: a call inside the same call adds nothing to its total.
 */
#ifndef KRAIT_OUTPUT_FORMATS_CALL_GRAPH_H
#define KRAIT_OUTPUT_FORMATS_CALL_GRAPH_H

#include "output/places.h"
#include "profile/idindex.h"
#include "profile/view.h"

/* A caller that stands for all of them, and for none. */
#define CALLER_ANY (~0U)

struct call {
	__u32 from; /* function, or view frame (call_graph.lines), or CALLER_ANY */
	__u32 to; /* function */
	__u64 self, total; /* in the share unit */
	__u32 covered; /* one past the last node below the outermost such call */
};

struct call_graph {
	struct view *view;
	struct places functions;
	__u32 *function_of; /* by view frame */
	struct call *calls; /* [0] is unused */
	__u32 call_cnt, call_cap;
	struct idindex index; /* until they are sorted */
};

struct call_graph_options {
	struct view_options view;
	/* What makes frames one function. Returns 0 or -ENOMEM. */
	int (*place)(void *ctx, const struct view *v, const struct profile_frame *f,
		     struct profile_frame *ret);
	void *ctx;
	bool lines; /* callers are view frames: a call for each line */
	bool sums; /* also a call of each function from CALLER_ANY */
};

/* Returns 0 or -ENOMEM; free it in either case. */
int call_graph_init(struct call_graph *g, const struct counts *counts,
		    const struct call_graph_options *o) __attribute__((warn_unused_result));
void call_graph_free(struct call_graph *g);

/* Sorts the calls by caller and function, or the other way round (CALLER_ANY comes last). */
void call_graph_sort(struct call_graph *g, bool by_caller);

#endif /* KRAIT_OUTPUT_FORMATS_CALL_GRAPH_H */
