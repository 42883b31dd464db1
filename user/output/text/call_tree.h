/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * call_tree.h - stacks as a text tree: what functions call, from the root down, or who calls a
 * given function, from it up.
 *
 * A chain of calls without a branch keeps one indentation, so depth on the screen means branches,
 * not frames. Both trees end with the accounts, if there are any.
 */
#ifndef KRAIT_OUTPUT_TEXT_CALL_TREE_H
#define KRAIT_OUTPUT_TEXT_CALL_TREE_H

#include "output/text/text_report.h"

/* Returns 0 or -errno. */
int call_tree(FILE *out, const struct counts *c, const struct summary_options *o);

/*
 * Shows who calls the functions that match the pattern (profile/stack_filter.h), and each caller's
 * share of their totals. In a recursion the outermost call counts. Returns 0 or -errno; -ENOENT: no
 * stack has such a function.
 */
int callers_tree(FILE *out, const struct counts *c, const char *pattern,
		 const struct summary_options *o);

/* Likewise what they call, from them down: the sums of all their calls. */
int callees_tree(FILE *out, const struct counts *c, const char *pattern,
		 const struct summary_options *o);

#endif /* KRAIT_OUTPUT_TEXT_CALL_TREE_H */
