/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * row_table.h - builds the rows of one file (bpf/native/rows.h), in the order of their offsets.
 *
 * Must hold: at most ROW_TABLE_ROWS_MAX rows and ROW_TABLE_PAGES_MAX pages, whatever is put; there
 * is a row only where the rule changes, and at the start of each page.
 */
#ifndef KRAIT_NATIVE_ROWS_ROW_TABLE_H
#define KRAIT_NATIVE_ROWS_ROW_TABLE_H

#include <linux/types.h>
#include <stdbool.h>

#include "bpf/native/rows.h"

/* The largest libraries have 6 million; 4 bytes each. */
#define ROW_TABLE_ROWS_MAX (8U << 20)
/* 4 GiB of a file: no text is larger. */
#define ROW_TABLE_PAGES_MAX 65536U

struct row_table {
	__u64 first_page; /* offset >> UNWIND_PAGE_SHIFT */
	__u32 *rows;
	__u32 row_cnt, row_cap;
	/* index of each page's first row; after row_table_end() plus one past the last */
	__u32 *pages;
	__u32 page_cnt, page_cap;
	struct unwind_rule *rules; /* the first is none */
	__u32 rule_cnt, rule_cap;
	/* used while building */
	__u32 *index; /* open addressing: number of a rule + 1 */
	__u32 index_size;
	__u32 last; /* rule that holds at the end */
	int err;
};

/* The rule holds from offset on. Offsets must not decrease. Initially the table is all zeroes. */
void row_table_put(struct row_table *t, __u64 offset, const struct unwind_rule *rule);
/* Nothing is known from offset on. */
void row_table_put_none(struct row_table *t, __u64 offset);
/* The rule for an offset; NULL: none. For what has been put so far, too. */
const struct unwind_rule *row_table_find(const struct row_table *t, __u64 offset);
/* 0, -ENOMEM or -E2BIG. */
int row_table_end(struct row_table *t) __attribute__((warn_unused_result));
void row_table_free(struct row_table *t);

#endif /* KRAIT_NATIVE_ROWS_ROW_TABLE_H */
