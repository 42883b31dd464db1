/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * row_table.h - builds the rows of one file (bpf/rows.h), in the order of their offsets.
 *
 * Must hold: at most ROW_TABLE_ROWS_MAX rows and ROW_TABLE_PAGES_MAX pages, whatever is put; a row is
 * only there where the rule changes, and once more where a page begins.
 */
#ifndef KRAIT_UNWIND_ROW_TABLE_H
#define KRAIT_UNWIND_ROW_TABLE_H

#include <linux/types.h>
#include <stdbool.h>

#include "rows.h"

/* The largest libraries have 6 million; 4 bytes each. */
#define ROW_TABLE_ROWS_MAX (8U << 20)
/* 4 GiB of a file: no text is larger. */
#define ROW_TABLE_PAGES_MAX 65536U

struct row_table {
	__u64 first_page; /* offset >> UNWIND_PAGE_SHIFT */
	__u32 *rows;
	__u32 row_cnt, row_cap;
	__u32 *pages; /* first row of each; one more behind the last, after row_table_end() */
	__u32 page_cnt, page_cap;
	struct unwind_rule *rules; /* the first is none */
	__u32 rule_cnt, rule_cap;
	/* of the building */
	__u32 *index; /* open addressing: number of a rule + 1 */
	__u32 index_size;
	__u32 last; /* rule that holds at the end */
	int err;
};

/* All zeroes at first. The rule holds from offset on. Offsets only grow. */
void row_table_put(struct row_table *t, __u64 offset, const struct unwind_rule *rule);
/* Nothing is known from offset on. */
void row_table_put_none(struct row_table *t, __u64 offset);
/* 0, -ENOMEM or -E2BIG. */
int row_table_end(struct row_table *t) __attribute__((warn_unused_result));
void row_table_free(struct row_table *t);

/* The rule for an offset, or NULL. */
const struct unwind_rule *row_table_find(const struct row_table *t, __u64 offset);

#endif /* KRAIT_UNWIND_ROW_TABLE_H */
