/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html_measures.h - the measures that the page can show over its one tree of stacks: time on CPU,
 * off CPU, waiting for the GIL, and the whole. A recording with one event has nothing to choose and
 * no measures.
 *
 * Must hold: for each node, wall = on CPU + off CPU, and waiting for the GIL is part of off CPU.
 */
#ifndef KRAIT_OUTPUT_PAGE_HTML_MEASURES_H
#define KRAIT_OUTPUT_PAGE_HTML_MEASURES_H

#include <stdio.h>

#include "profile/profile.h"
#include "profile/view.h"

/* Initially all zero: no measures. */
struct html_measures {
	const char *first; /* the one shown first */
	const struct counts *all; /* what the tree counts */
	const struct counts *cpu, *gil; /* NULL if there is nothing to choose */
	const struct counts *before; /* the first of two that are compared; NULL: no comparison */
	struct profile *own_wall;
	struct counts *own_gil, *own_sum;
};

/* event: the requested one. Returns 0 or -ENOMEM; must be freed in either case. */
int html_measures_choose(struct html_measures *m, const struct profile *p, unsigned event)
	__attribute__((warn_unused_result));
/*
 * Compares two counts over one dictionary: the tree has both. Returns 0, -EINVAL if their units
 * differ, or -ENOMEM.
 */
int html_measures_compare(struct html_measures *m, const struct counts *before,
			  const struct counts *after) __attribute__((warn_unused_result));
void html_measures_free(struct html_measures *m);

/*
 * "nodes": depth, frame and self of each, depth first; then each measure that is not their sum, as
 * pairs: how many nodes to skip, and the value. v: a view that knows its nodes, of m->all, or of
 * that with moved: waits without the kernel. *ret: by node of the dictionary, the number of the page's node for it; the caller frees it. Returns 0 or
 * -ENOMEM.
 */
int html_put_nodes(FILE *out, const struct view *v, const struct html_measures *m, bool moved,
		   __u32 **ret) __attribute__((warn_unused_result));

#endif /* KRAIT_OUTPUT_PAGE_HTML_MEASURES_H */
