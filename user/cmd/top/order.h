/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * order.h - which rows are shown and in which order: sorted, filtered, with a tree unfolded.
 */
#ifndef KRAIT_CMD_TOP_ORDER_H
#define KRAIT_CMD_TOP_ORDER_H

#include <linux/types.h>
#include <stdbool.h>

#include "profile/dict.h"
#include "cmd/top/rows.h"

enum row_sort {
	SORT_SELF, /* of the last round */
	SORT_TOTAL,
	SORT_SELF_ALL, /* since the start */
	SORT_TOTAL_ALL,
	SORT_NAME,
	SORT_CNT
};

struct order_options {
	enum row_sort sort;
	unsigned measures; /* bits of enum measure */
	const char *filter; /* part of a name, file, pid or tid, ignoring case; "": all */
	/*
	 * In a tree, the user's choice for a row: > 0 unfold, < 0 fold, 0 none: large rows are
	 * unfolded.
	 */
	const signed char *folds; /* by row; NULL: no choices */
	__u32 fold_cnt;
};

/* Initially all zero: empty. */
struct order {
	__u32 *list; /* rows */
	__u32 *depths; /* in a tree; a chain without branches has a single depth */
	__u32 cnt, cap, depth_cap;
};

/* Returns 0 or -ENOMEM. */
int order_make(struct order *ret, const struct rows *rows, const struct dict *dict,
	       const struct order_options *options) __attribute__((warn_unused_result));
void order_free(struct order *o);
/* Tells whether the row's text contains the filter. */
bool order_matches(const struct row_key *key, const struct dict *dict, const char *filter);
/* In a tree: tells whether the row's children are shown. */
bool order_is_open(const struct rows *rows, __u32 row, const struct order_options *options);

#endif /* KRAIT_CMD_TOP_ORDER_H */
