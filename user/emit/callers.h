/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * callers.h - a view turned round: a tree that begins with some functions, and goes on with who called them.
 *
 * Must hold: the total of a function's node is its total in the view, and the totals of the callers of a node
 * add up to at most its own (the rest was called by nobody: it is at the root).
 */
#ifndef KRAIT_EMIT_CALLERS_H
#define KRAIT_EMIT_CALLERS_H

#include "profile/view.h"

/*
 * Nodes in depth-first order, the largest first, [0] the root; their frames are the view's, self is 0. The
 * caller frees *ret. 0, -ENOMEM, or -ENOENT: the view has no such function.
 */
int callers_of(struct view_node **ret, __u32 *ret_cnt, const struct view *v, const char *pattern)
	__attribute__((warn_unused_result));

#endif /* KRAIT_EMIT_CALLERS_H */
