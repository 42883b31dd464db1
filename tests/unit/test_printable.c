/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_printable.c - what may reach a terminal.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/data/cleanup.h"
#include "base/text/printable.h"

static void assert_shown(const char *text, const char *expected)
{
	cleanup_free char *shown = printable(text);

	assert_non_null(shown);
	assert_string_equal(shown, expected);
}

static void test_ordinary_text_stays(void **state)
{
	assert_shown("", "");
	assert_shown("C:\\new\\table.py", "C:\\new\\table.py");
	assert_shown("Größe.Ж.☃.\xf0\x9f\x90\x8d <lambda>", "Größe.Ж.☃.\xf0\x9f\x90\x8d <lambda>");
}

static void test_controls_are_escaped(void **state)
{
	assert_shown("a\nb\tc\rd", "a\\nb\\tc\\rd");
	assert_shown("\x1b[2J\a\x01\x7f", "\\x1b[2J\\x07\\x01\\x7f");
	assert_shown("\xc2\x80\xc2\x85\xc2\x9b\xc2\x9f\xc2\xa0",
		     "\\u0080\\u0085\\u009b\\u009f\xc2\xa0");
}

static void test_direction_and_line_ends_are_escaped(void **state)
{
	assert_shown("\xe2\x80\xaa\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9",
		     "\\u202a\\u202e\\u2066\\u2069");
	assert_shown("\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\x8e\xd8\x9c",
		     "\\u2028\\u2029\\u200e\\u061c");
	assert_shown("\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa",
		     "\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa");
}

static void test_what_is_not_utf8_is_shown_by_bytes(void **state)
{
	assert_shown("\xff\xfe", "\\xff\\xfe");
	assert_shown("\x80x", "\\x80x");
	assert_shown("\xc0\x8a\xc1\xbf", "\\xc0\\x8a\\xc1\\xbf"); /* overlong */
	assert_shown("\xe0\x9f\xbf", "\\xe0\\x9f\\xbf");
	assert_shown("\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf");
	assert_shown("\xed\xa0\x80", "\\xed\\xa0\\x80"); /* surrogate */
	assert_shown("\xf4\x90\x80\x80\xf8", "\\xf4\\x90\\x80\\x80\\xf8");
	assert_shown("\xe2\x80", "\\xe2\\x80"); /* cut off */
	assert_shown("\xf0\x9f\x90", "\\xf0\\x9f\\x90");
	assert_shown("\xc3", "\\xc3");
	assert_shown("\xe2\x80z", "\\xe2\\x80z");
}

static void test_every_single_byte_ends_up_harmless(void **state)
{
	for (int c = 1; c < 256; c++) {
		char text[2] = { (char)c, '\0' };
		cleanup_free char *shown = printable(text);

		for (char *p = shown; *p; p++)
			assert_in_range(*p, 0x20, 0x7e);
	}
}

static void test_buffer_is_cut_between_pieces(void **state)
{
	static const char text[] = "a\nЖ\xf0\x9f\x90\x8d\x1b\xe2\x80\xae.";
	static const char shown[] = "a\\nЖ\xf0\x9f\x90\x8d\\x1b\\u202e.";
	static const size_t cuts[] = { 0, 1, 3, 5, 9, 13, 19, 20 };
	size_t cut = 0;
	char buf[32];

	for (size_t size = 1; size <= sizeof(shown) + 2; size++) {
		memset(buf, 'z', sizeof(buf));
		printable_into(buf, size, text);
		while (cut + 1 < sizeof(cuts) / sizeof(cuts[0]) && cuts[cut + 1] < size)
			cut++;
		assert_int_equal(strlen(buf), cuts[cut]);
		assert_memory_equal(buf, shown, cuts[cut]);
		for (size_t i = size; i < sizeof(buf); i++)
			assert_int_equal(buf[i], 'z');
	}
	printable_into(buf, 0, text);
	assert_int_equal(buf[0], 'a');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ordinary_text_stays),
		cmocka_unit_test(test_controls_are_escaped),
		cmocka_unit_test(test_direction_and_line_ends_are_escaped),
		cmocka_unit_test(test_what_is_not_utf8_is_shown_by_bytes),
		cmocka_unit_test(test_every_single_byte_ends_up_harmless),
		cmocka_unit_test(test_buffer_is_cut_between_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
