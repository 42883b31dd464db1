/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * row_table.h - the rows of rows.h while samples are added to them: found by their key, and their sums.
 */
#ifndef KRAIT_TOP_ROW_TABLE_H
#define KRAIT_TOP_ROW_TABLE_H

#include "profile/idindex.h"
#include "top/row_path.h"
#include "top/rows.h"

struct row_table {
	struct rows public;
	struct dict *dict;
	rows_group_fn group;
	void *ctx;
	__u32 cap;
	struct idindex index;
	__u32 *of_node; /* rows of nodes whose rows depend on nothing else; 0 not asked yet */
	__u32 of_node_cap;
	struct row_path path;
	__u64 seen; /* samples */
	/* The sample that is being added. */
	enum measure measure;
	__u64 number, weight, samples;
	bool into_all; /* it is new since the start, too */
	bool into_now;
};

/* The number of that row, which is new where there was none; 0: no memory. */
__u32 row_table_row(struct row_table *t, const struct row_key *key);
/* Where the row of a node is kept whose rows depend on nothing else: what is asked once. NULL: no memory. */
__u32 *row_table_of_node(struct row_table *t, __u32 node);

/* The sample to that row, once. self: it ends there. */
void row_table_add(struct row_table *t, __u32 number, bool self);
/* To sums of now and of all, by what the sample is part of. */
void row_table_sum(const struct row_table *t, struct row_sums *now, struct row_sums *all, bool self,
		   bool total);

/* The sample, whose path is in the table, to all rows that the view has of it (row_views.c). */
void row_table_add_path(struct row_table *t, enum state state);

#endif /* KRAIT_TOP_ROW_TABLE_H */
