/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_code_rows.c - rows made by reading code, on any machine: the C library's code is the oracle.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "bpf/native/rows.h"
#include "process/proc/maps.h"
#include "native/rows/code_rows.h"
#include "native/rows/elf_rows.h"
#include "native/rows/row_table.h"
#include "support_row_table.h"

/* Any bytes: the analysis ends, and rows lie within them. */
static void any_bytes_have_an_end(void **state)
{
	static __u8 code[1 << 16];
	__u32 seed = 1;

	for (int round = 0; round < 20; round++) {
		struct row_table t;

		for (unsigned i = 0; i < sizeof(code); i++) {
			seed = seed * 1664525 + 1013904223;
			code[i] = round < 4 ? (__u8)(0x70 + round) : (__u8)(seed >> 24);
		}
		memset(&t, 0, sizeof(t));
		code_rows(code, sizeof(code), 0x1000, &t);
		assert_int_equal(row_table_end(&t), 0);
		assert_true(row_table_is_in_order(&t));
		assert_null(row_table_find(&t, 0xfff));
		assert_null(row_table_find(&t, 0x1000 + sizeof(code)));
		row_table_free(&t);
	}
}

static void libc_path(char *path, size_t size)
{
	cleanup_maps struct maps maps = { .fd = -1 };
	struct maps_line m;

	assert_int_equal(maps_open(&maps, getpid()), 0);
	while (maps_next(&maps, &m) > 0) {
		if (!strstr(m.path, "/libc.so.6") && !strstr(m.path, "/libc-2."))
			continue;
		snprintf(path, size, "%s", m.path);
		return;
	}
	skip();
}

/* Do these rows say within some instructions that the return address is saved where b says? */
static bool is_saved_soon(const struct row_table *said, __u64 at, const struct unwind_rule *b)
{
	for (__u64 next = at; next <= at + 32; next++) {
		const struct unwind_rule *a = row_table_find(said, next);

		if (a && a->ra == b->ra && a->ra_off == b->ra_off)
			return true;
	}
	return false;
}

/* The rules equal those of libc's own rows wherever both exist. */
static void it_says_what_libc_says(void **state)
{
	struct row_table said, read = { 0 };
	char path[512];
	struct stat st;
	const __u8 *file;
	unsigned both = 0;
	int fd;

	libc_path(path, sizeof(path));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_int_equal(elf_rows(fd, &said), 0);
	code_rows(file, (__u64)st.st_size & ~15ULL, 0, &read);
	assert_int_equal(row_table_end(&read), 0);
	for (__u64 at = 0; at < (__u64)st.st_size; at++) {
		const struct unwind_rule *a = row_table_find(&said, at);
		const struct unwind_rule *b = row_table_find(&read, at);

		/* A thread's first instructions are code like any. */
		if (!a || !b || a->cfa != UNWIND_CFA_REG || a->reg != b->reg ||
		    a->ra == UNWIND_RA_UNDEFINED)
			continue;
		both++;
		if (a->off != b->off)
			fail_msg("%llx: %d, and not %d", at, b->off, a->off);
		/* What has been loaded again is in its register and still where it was saved. */
		if (b->ra == UNWIND_RA_REG && a->ra == UNWIND_RA_CFA)
			continue;
		/* gcc may say some instructions later that it has been saved. */
		if (b->ra == UNWIND_RA_CFA && a->ra == UNWIND_RA_REG && is_saved_soon(&said, at, b))
			continue;
		if (a->ra != b->ra || a->ra_off != b->ra_off)
			fail_msg("%llx: return address %d %d, and not %d %d", at, b->ra, b->ra_off,
				 a->ra, a->ra_off);
	}
	print_message("# %u bytes of code agree\n", both);
	assert_true(both > 10000);
	row_table_free(&said);
	row_table_free(&read);
	munmap((void *)file, (size_t)st.st_size);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_bytes_have_an_end),
		cmocka_unit_test(it_says_what_libc_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
