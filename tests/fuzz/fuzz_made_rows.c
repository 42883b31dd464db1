/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_made_rows.c - any bytes as the memory of generated code, searched for .eh_frame, trampolines
 * and functions: rows lie within the code that the header names.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "native/rows/made_rows.h"
#include "base/data/cleanup.h"
#include "tests/unit/support_row_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE 0x7f0000000000ULL
#define CODE_SIZE 0x4000ULL

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_close int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct made_header h = { .code_cnt = 1, .piece_cnt = 2, .base = BASE };
	const __u32 half = (__u32)size / 2;
	struct row_table t;

	if (fd < 0 || size > CODE_SIZE)
		return 0;
	h.code[0] = (struct made_code_range){ BASE, BASE + CODE_SIZE };
	h.pieces[0] = (struct made_piece){ .addr = BASE, .size = half };
	h.pieces[1] = (struct made_piece){ .addr = BASE + CODE_SIZE, .size = (__u32)size - half };
	if (write(fd, &h, sizeof(h)) != sizeof(h) || write(fd, data, size) != (ssize_t)size)
		return 0;
	if (made_rows(fd, &t))
		return 0;
	if (row_table_find(&t, CODE_SIZE) || t.first_page || t.page_cnt > 2)
		abort();
	row_table_free(&t);
	return 0;
}
