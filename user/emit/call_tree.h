/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call_tree.h - stacks as a tree of text: what functions call, from the root; or who calls one, from there.
 *
 * A chain of calls without a branch stays at one indentation, so that depth on the screen is branches, not
 * frames. Both end with the accounts where there are any.
 */
#ifndef KRAIT_EMIT_CALL_TREE_H
#define KRAIT_EMIT_CALL_TREE_H

#include "emit/text_report.h"

/* 0 or -errno. */
int call_tree(FILE *out, const struct counts *c, const struct summary_options *o);

/*
 * Who calls the functions that the pattern (profile/stack_filter.h) names, and how much of their totals each
 * caller has; of a recursion the outermost call counts. 0 or -errno; -ENOENT: no stack has such a function.
 */
int callers_tree(FILE *out, const struct counts *c, const char *pattern,
		 const struct summary_options *o);

#endif /* KRAIT_EMIT_CALL_TREE_H */
