/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_linetable_old.c - user/python/code/linetable_old.c: the line tables of 3.8 to 3.10.
 * test_linetable.c compares them with the interpreters' own statements.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "python/code/linetable.h"
#include "python/code/linetable_old.h"

enum { FIRST = 100 };

static int line_at(__u8 *bytes, __u32 size, __u32 unit)
{
	struct source_position p;
	struct linetable t;

	assert_int_equal(linetable_init(&t, bytes, size, FIRST), 0);
	p = linetable_lookup(&t, unit);
	t.bytes = NULL;
	linetable_deinit(&t);
	assert_int_equal(p.end_line, p.line);
	assert_int_equal(p.column, -1);
	assert_int_equal(p.end_column, -1);
	return p.line;
}

/* Checks the line of each unit, and that the last is the end. */
static void assert_lines(__u8 *bytes, __u32 size, const int *lines, __u32 cnt)
{
	for (__u32 i = 0; i < cnt; i++)
		assert_int_equal(line_at(bytes, size, i), lines[i]);
	assert_int_equal(line_at(bytes, size, cnt), -1);
	free(bytes);
}

#define assert_lnotab(code_size, table, lines)                                                     \
	do {                                                                                       \
		__u8 *bytes_ = NULL;                                                               \
		__u32 size_ = 0;                                                                   \
		assert_int_equal(linetable_from_lnotab(table, sizeof(table), code_size, &bytes_,   \
						       &size_),                                    \
				 0);                                                               \
		assert_lines(bytes_, size_, lines, sizeof(lines) / sizeof(lines[0]));              \
	} while (0)

#define assert_3_10(table, lines)                                                                  \
	do {                                                                                       \
		__u8 *bytes_ = NULL;                                                               \
		__u32 size_ = 0;                                                                   \
		assert_int_equal(linetable_from_3_10(table, sizeof(table), &bytes_, &size_), 0);   \
		assert_lines(bytes_, size_, lines, sizeof(lines) / sizeof(lines[0]));              \
	} while (0)

static void lnotab_says_where_the_next_line_begins(void **state)
{
	static const __u8 table[] = { 0, 1, 4, 2, 2, 0xff };
	static const int lines[] = { 101, 101, 103, 102, 102 };

	assert_lnotab(10, table, lines);
}

static void an_empty_lnotab_is_all_of_the_first_line(void **state)
{
	static const int lines[] = { FIRST, FIRST, FIRST };
	__u8 *bytes;
	__u32 size;

	assert_int_equal(linetable_from_lnotab(NULL, 0, 6, &bytes, &size), 0);
	assert_lines(bytes, size, lines, 3);
}

static void steps_that_do_not_fit_a_byte_come_in_pieces(void **state)
{
	static const __u8 table[] = { 255, 0, 45, 127, 0, 127, 0, 46 };
	__u8 *bytes;
	__u32 size;

	assert_int_equal(linetable_from_lnotab(table, sizeof(table), 400, &bytes, &size), 0);
	assert_int_equal(line_at(bytes, size, 0), FIRST);
	assert_int_equal(line_at(bytes, size, 149), FIRST);
	assert_int_equal(line_at(bytes, size, 150), FIRST + 300);
	assert_int_equal(line_at(bytes, size, 199), FIRST + 300);
	assert_int_equal(line_at(bytes, size, 200), -1);
	free(bytes);
}

static void lines_beyond_the_code_were_optimised_away(void **state)
{
	static const __u8 table[] = { 2, 1, 200, 5, 6, 7 };
	static const int lines[] = { 100, 101 };

	assert_lnotab(4, table, lines);
}

static void ranges_of_3_10_have_lines_or_none(void **state)
{
	static const __u8 table[] = { 4, 0, 2, 0x80, 2, 3, 0, 20, 4, 0xfe };
	static const int lines[] = { 100, 100, -1, 103, 121, 121 };

	assert_3_10(table, lines);
}

static void half_a_pair_is_nothing(void **state)
{
	static const __u8 table[] = { 4, 1, 2 };
	static const int lines[] = { 101, 101 };

	assert_3_10(table, lines);
}

/* All byte values and lengths: no crash, and a bounded result that linetable.c can read to its end. */
static void any_bytes_give_a_table_that_can_be_read(void **state)
{
	unsigned seed = 1;

	for (int round = 0; round < 2000; round++) {
		__u8 table[64], *bytes = NULL;
		__u32 len = (__u32)(rand_r(&seed) % (int)sizeof(table)), size = 0;
		struct linetable_entry entry;
		struct linetable_cursor c;

		for (__u32 i = 0; i < len; i++)
			table[i] = (__u8)rand_r(&seed);
		if (round % 2)
			assert_int_equal(linetable_from_3_10(table, len, &bytes, &size), 0);
		else
			assert_int_equal(linetable_from_lnotab(table, len,
							       (__u32)(rand_r(&seed) % 9000),
							       &bytes, &size),
					 0);
		linetable_cursor_init(&c, bytes, size, 1);
		while (linetable_next(&c, &entry))
			;
		assert_int_equal(c.offset, size);
		free(bytes);
	}
}

static void a_huge_table_ends_somewhere(void **state)
{
	enum { SIZE = 2 << 20 };
	__u8 *table = malloc(SIZE), *bytes;
	__u32 size;

	assert_non_null(table);
	memset(table, 0xfe, SIZE);
	assert_int_equal(linetable_from_3_10(table, SIZE, &bytes, &size), 0);
	assert_in_range(size, 1 << 20, LINETABLE_OLD_MAX_SZ);
	free(bytes);
	free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lnotab_says_where_the_next_line_begins),
		cmocka_unit_test(an_empty_lnotab_is_all_of_the_first_line),
		cmocka_unit_test(steps_that_do_not_fit_a_byte_come_in_pieces),
		cmocka_unit_test(lines_beyond_the_code_were_optimised_away),
		cmocka_unit_test(ranges_of_3_10_have_lines_or_none),
		cmocka_unit_test(half_a_pair_is_nothing),
		cmocka_unit_test(any_bytes_give_a_table_that_can_be_read),
		cmocka_unit_test(a_huge_table_ends_somewhere),
	};

	return cmocka_run_group_tests_name("user/python/code/linetable_old.c", tests, NULL, NULL);
}
