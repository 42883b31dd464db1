/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * row_table.h - the rows of rows.h while samples are added to them: lookup by key, and sums.
 */
#ifndef KRAIT_CMD_TOP_ROW_TABLE_H
#define KRAIT_CMD_TOP_ROW_TABLE_H

#include "profile/idindex.h"
#include "cmd/top/row_path.h"
#include "cmd/top/rows.h"

struct row_table {
	struct rows public;
	struct dict *dict;
	rows_group_fn group;
	void *ctx;
	__u32 cap;
	struct idindex index;
	/* cached rows of nodes whose rows depend on nothing else; 0: not looked up yet */
	__u32 *of_node;
	__u32 of_node_cap;
	struct row_path path;
	__u64 seen; /* samples */
	/* The sample being added. */
	enum measure measure;
	__u64 number, weight, samples;
	bool into_all; /* also counts since the start */
	bool into_now;
};

/* Returns the row's number and creates it if needed; 0: out of memory. */
__u32 row_table_row(struct row_table *t, const struct row_key *key);
/*
 * Returns the cache slot for the row of a node whose row depends on nothing else. NULL: out of
 * memory.
 */
__u32 *row_table_of_node(struct row_table *t, __u32 node);

/* Adds the sample to that row, once. self: the sample ends there. */
void row_table_add(struct row_table *t, __u32 number, bool self);
/* Adds the sample to the sums of now and of all, as far as it belongs to them. */
void row_table_sum(const struct row_table *t, struct row_sums *now, struct row_sums *all, bool self,
		   bool total);

/* Adds the sample, whose path is in the table, to all its rows in the view (row_views.c). */
void row_table_add_path(struct row_table *t, enum state state);

#endif /* KRAIT_CMD_TOP_ROW_TABLE_H */
