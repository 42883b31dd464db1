/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_elf_rows.c - any bytes as an ELF file with .eh_frame: pages and rows are sorted, and every
 * row has a rule.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "native/rows/elf_rows.h"
#include "base/data/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct row_table *t)
{
	for (__u32 p = 0; p < t->page_cnt; p++) {
		if (t->pages[p] >= t->pages[p + 1] || UNWIND_ROW_OFFSET(t->rows[t->pages[p]]))
			abort();
		for (__u32 i = t->pages[p] + 1; i < t->pages[p + 1]; i++)
			if (UNWIND_ROW_OFFSET(t->rows[i]) <= UNWIND_ROW_OFFSET(t->rows[i - 1]))
				abort();
	}
	for (__u32 i = 0; i < t->row_cnt; i++)
		if (UNWIND_ROW_RULE(t->rows[i]) >= t->rule_cnt)
			abort();
	if (t->page_cnt && t->pages[t->page_cnt] != t->row_cnt)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_close int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct row_table t;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	if (elf_rows(fd, &t))
		return 0;
	check(&t);
	row_table_free(&t);
	return 0;
}
