/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * html_measures.h - what the page can show over its one tree of stacks: time on a CPU, off it, waiting for the GIL, and
 * all of it. Where a recording has one event there is nothing to choose, and no measure.
 *
 * Must hold: of each node, wall = CPU + off the CPU, and what waited for the GIL is a part of the latter.
 */
#ifndef KRAIT_EMIT_HTML_MEASURES_H
#define KRAIT_EMIT_HTML_MEASURES_H

#include <stdio.h>

#include "profile/profile.h"
#include "profile/view.h"

/* All zero is none. */
struct html_measures {
	const char *first; /* the one that is shown first */
	const struct counts *all; /* what the tree is of */
	const struct counts *cpu, *gil; /* NULL where there is nothing to choose */
	const struct counts *before; /* of two that are compared; NULL: there is one */
	struct profile *own_wall;
	struct counts *own_gil, *own_sum;
};

/* event: the one that was asked for. 0 or -ENOMEM; to be freed in any case. */
int html_measures_choose(struct html_measures *m, const struct profile *p, unsigned event)
	__attribute__((warn_unused_result));
/* Two counts over one dictionary beside each other: the tree is of both. 0, -EINVAL (they differ in unit), -ENOMEM. */
int html_measures_compare(struct html_measures *m, const struct counts *before,
			  const struct counts *after) __attribute__((warn_unused_result));
void html_measures_free(struct html_measures *m);

/*
 * "nodes": depth, frame, self of each, depth first; then each measure that is not their sum, as pairs: how many nodes
 * behind the last one, and its own. v: a view of m->all that knows its nodes. *ret: by node of the dictionary the
 * number of the one that stands for it in the page; the caller frees it. 0 or -ENOMEM.
 */
int html_put_nodes(FILE *out, const struct view *v, const struct html_measures *m, __u32 **ret)
	__attribute__((warn_unused_result));

#endif /* KRAIT_EMIT_HTML_MEASURES_H */
