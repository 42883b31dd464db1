/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_keep_parts.c - parts of what an agent keeps: names of captures, tables of lines, notes
 * beside a capture.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/keep/line_rows.h"
#include "agent/keep/merge_notes.h"
#include "agent/keep/slices.h"
#include "python/code/linetable.h"

/* ---- names ------------------------------------------------------------------------------------ */

static void a_name_says_when_it_was(void **state)
{
	static const char *const others[] = {
		"",
		"lock",
		"x.data",
		"20261123T170000.123Z-534211-8f3a12bc.data.krait",
		"20261123T170000.123Z-534211-8f3a12bc.dat",
		"20261123T170000.1234Z-1-8f3a12bc.data",
		"20261123T170000.123Z-0534211-8f3a12bc.data",
		"20261323T170000.123Z-1-8f3a12bc.data",
		"20261123T170000.123Z--5-8f3a12bc.data",
		"20261123T170000.123Z-1-8F3A12BC.data",
		"20261123T170000.123Z-1-8f3a12bc.data/..",
	};
	struct slice s = { .wall_ms = 1795453200123, .monotonic_ms = 534211, .boot = 0x8f3a12bc },
		     again;

	slice_name(&s);
	assert_string_equal(s.name, "20261123T170000.123Z-534211-8f3a12bc.data");
	assert_true(slice_parse(&again, s.name));
	assert_int_equal(again.wall_ms, s.wall_ms);
	assert_int_equal(again.monotonic_ms, s.monotonic_ms);
	assert_int_equal(again.boot, s.boot);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(slice_parse(&again, others[i]));
}

/* ---- lines ------------------------------------------------------------------------------------ */

static void rows_are_read_as_they_were_written(void **state)
{
	enum { UNITS = 3000 };
	int lines[UNITS], columns[UNITS], ends[UNITS];
	struct line_rows rows = { 0 };
	struct linetable_cursor c;
	struct linetable_entry e = { 0 };
	int line = 70;

	srand(5);
	line_rows_init(&rows, 100);
	for (int i = 0; i < UNITS; i++) {
		if (rand() % 3 == 0)
			line += rand() % 400 - 150;
		line = line < 1 ? 1 : line;
		lines[i] = rand() % 20 ? line : -1;
		columns[i] = lines[i] < 0 || rand() % 10 == 0 ? -1 : rand() % 3000;
		ends[i] = columns[i] < 0 || rand() % 10 == 0 ? -1 : columns[i] + rand() % 100;
		line_rows_add(&rows, lines[i], columns[i], ends[i]);
	}
	line_rows_end(&rows);
	linetable_cursor_init(&c, rows.bytes.data, (__u32)rows.bytes.len, 100);
	for (__u32 i = 0; i < UNITS; i++) {
		if (i >= e.unit_end)
			assert_true(linetable_next(&c, &e));
		assert_int_equal(e.position.line, lines[i]);
		assert_int_equal(e.position.column, columns[i]);
		assert_int_equal(e.position.end_column, ends[i]);
	}
	assert_false(linetable_next(&c, &e));
	bytes_free(&rows.bytes);
}

/* ---- notes ------------------------------------------------------------------------------------ */

static void numbers_are_added_and_names_are_said_once(void **state)
{
	struct merge_notes *n = merge_notes__new();
	__u64 interrupts, lost;
	const char *why;
	char *text;

	assert_int_equal(
		merge_notes__add(
			n, "milliseconds 2000\nbegan_ns 700\ninterrupts 10\nlost.ring full 1\n"
			   "event1.interrupts 7\nkernel ffffffff81000001 [ext4] one\n"
			   "native /a\n 10 f\n = 5 a.c\n 20 g\nids 7 0 0\n"),
		0);
	assert_int_equal(
		merge_notes__add(
			n,
			"milliseconds 3000\nbegan_ns 500\ninterrupts 5\nevent1.lost.ring full 2\n"
			"kernel ffffffff81000001 [ext4] other\nkernel ffffffff81000002 [ext4] two\n"
			"native /a\n 10 f\n = 6 b.c\n 30 h\nnative /b\n 10 f\nids 7 0 0\nids 8 0 0\n"),
		0);
	/* From a truncated one. */
	assert_int_equal(merge_notes__add_names(n, "interrupts 99\nnative /a\n 40 i\n"), 0);
	text = merge_notes__text(n);
	assert_string_equal(
		text,
		"milliseconds 5000\nbegan_ns 500\ninterrupts 15\nlost.ring full 1\n"
		"event1.interrupts 7\nevent1.lost.ring full 2\n"
		"kernel ffffffff81000001 [ext4] one\nkernel ffffffff81000002 [ext4] two\n"
		"native /a\n 10 f\n = 5 a.c\n 20 g\n 30 h\nnative /b\n 10 f\nnative /a\n 40 i\n"
		"ids 7 0 0\nids 8 0 0\n");
	merge_notes__totals(n, &interrupts, &lost, &why);
	assert_string_equal(why, "ring full");
	assert_int_equal(interrupts, 22);
	assert_int_equal(lost, 3);
	free(text);
	merge_notes__free(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_says_when_it_was),
		cmocka_unit_test(rows_are_read_as_they_were_written),
		cmocka_unit_test(numbers_are_added_and_names_are_said_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
