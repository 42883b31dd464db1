/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_row_table.h - what must hold of each row table.
 */
#ifndef KRAIT_TESTS_SUPPORT_ROW_TABLE_H
#define KRAIT_TESTS_SUPPORT_ROW_TABLE_H

#include "bpf/abi.h"
#include "native/rows/row_table.h"

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
