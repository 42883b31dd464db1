/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_row_table.h - looks a rule up, as the kernel does (bpf/native/rows.h).
 */
#ifndef KRAIT_TESTS_SUPPORT_ROW_TABLE_H
#define KRAIT_TESTS_SUPPORT_ROW_TABLE_H

#include "bpf/abi.h"
#include "native/rows/row_table.h"

/* NULL: there is none for that offset. */
static inline const struct unwind_rule *row_table_find(const struct row_table *t, __u64 offset)
{
	__u64 page = (offset >> UNWIND_PAGE_SHIFT) - t->first_page;
	__u32 low, high, rule;

	if (offset >> UNWIND_PAGE_SHIFT < t->first_page || page >= t->page_cnt)
		return NULL;
	low = t->pages[page];
	high = t->pages[page + 1];
	/* Invariant: rows before low begin at or before the offset. */
	while (high - low > 1) {
		__u32 middle = low + (high - low) / 2;

		if (UNWIND_ROW_OFFSET(t->rows[middle]) <= (offset & (UNWIND_PAGE_SIZE - 1)))
			low = middle;
		else
			high = middle;
	}
	rule = UNWIND_ROW_RULE(t->rows[low]);
	return rule == UNWIND_NO_RULE ? NULL : &t->rules[rule];
}

/* Are the rows of each page in order, as the kernel's search wants them? */
static inline bool row_table_is_in_order(const struct row_table *t)
{
	for (__u32 page = 0; page < t->page_cnt; page++)
		for (__u32 i = t->pages[page] + 1; i < t->pages[page + 1]; i++)
			if (UNWIND_ROW_OFFSET(t->rows[i]) <= UNWIND_ROW_OFFSET(t->rows[i - 1]))
				return false;
	return true;
}

#endif /* KRAIT_TESTS_SUPPORT_ROW_TABLE_H */
