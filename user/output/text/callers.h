/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * callers.h - a view from some functions: a tree whose top level they are and whose lower levels are
 * their callers, or what they call.
 *
 * Must hold: the total of a function's node equals its total in the view. The totals of a node's
 * callers add up to at most its own (the rest was called by nobody: it is at the root). Of several
 * functions that call each other, callees of the outermost have what runs in all of them.
 */
#ifndef KRAIT_OUTPUT_TEXT_CALLERS_H
#define KRAIT_OUTPUT_TEXT_CALLERS_H

#include "profile/view.h"

/*
 * Stores the nodes in depth-first order, the largest first, [0] the root. Frames are the view's;
 * self is 0, with callees what runs there. The caller frees *ret. Returns 0, -ENOMEM, or -ENOENT if the view has no such
 * function.
 */
int callers_of(struct view_node **ret, __u32 *ret_cnt, const struct view *v, const char *pattern,
	       bool callees) __attribute__((warn_unused_result));
/* The same of one frame of the view. */
int callers_of_frame(struct view_node **ret, __u32 *ret_cnt, const struct view *v, __u32 frame,
		     bool callees) __attribute__((warn_unused_result));

#endif /* KRAIT_OUTPUT_TEXT_CALLERS_H */
