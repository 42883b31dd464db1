/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_screen.c - cells hold what was written, and nothing that a terminal would execute.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "support_profile.h"
#include "cmd/top/screen.h"

static char *row_text(const struct screen *s, unsigned y)
{
	static char text[1024];
	FILE *out = fmemopen(text, sizeof(text), "w");

	screen_print_row(s, y, out);
	fclose(out);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static const char *put(struct screen *s, bool tail, unsigned width, const char *text)
{
	bool utf8 = s->utf8;

	screen_free(s);
	assert_int_equal(screen_init(s, 2, 20, utf8), 0);
	if (tail)
		screen_put_tail(s, 0, 2, width, LOOK_PLAIN, text);
	else
		screen_put(s, 0, 2, width, LOOK_PLAIN, text);
	assert_string_equal(row_text(s, 1), "");
	return row_text(s, 0);
}

static void what_does_not_fit_is_cut(void **state)
{
	struct screen s = { .utf8 = true };

	assert_string_equal(put(&s, false, 5, "abcde"), "  abcde");
	assert_string_equal(put(&s, false, 5, "abcdef"), "  abcd…");
	assert_string_equal(put(&s, true, 5, "abcdef"), "  …cdef");
	assert_string_equal(put(&s, false, 100, "abcdefghijklmnopqrstuvwxyz"),
			    "  abcdefghijklmnopq…");
	assert_string_equal(put(&s, false, 1, "abc"), "  a");
	assert_string_equal(put(&s, false, 0, "abc"), "");
	s.utf8 = false;
	assert_string_equal(put(&s, false, 5, "abcdef"), "  abc..");
	assert_string_equal(put(&s, true, 5, "abcdef"), "  ..def");
	assert_int_equal(screen_put(&s, 7, 0, 5, LOOK_PLAIN, "beyond"), 0);
	assert_int_equal(screen_put(&s, 0, 20, 5, LOOK_PLAIN, "beyond"), 20);
	screen_free(&s);
}

static void wide_and_combining_characters(void **state)
{
	struct screen s = { .utf8 = true };

	assert_string_equal(put(&s, false, 10, "表計算"), "  表計算");
	assert_string_equal(put(&s, false, 4, "表計算"), "  表…");
	assert_string_equal(put(&s, false, 5, "表計算"), "  表計…");
	assert_string_equal(put(&s, false, 10, "e\u0301a"), "  e\u0301a");
	/* More combining characters than fit in a cell. */
	assert_true(strlen(put(&s, false, 10, "e\u0301\u0301\u0301\u0301\u0301\u0301\u0301")) < 12);
	s.utf8 = false;
	assert_string_equal(put(&s, false, 10, "表é"), "  ???");
	screen_free(&s);
}

static void names_order_no_terminal(void **state)
{
	for (int utf8 = 0; utf8 < 2; utf8++) {
		struct screen s = { .utf8 = utf8 };

		for (int i = 0; hostile_names[i]; i++) {
			const unsigned char *text =
				(const unsigned char *)put(&s, i & 1, 18, hostile_names[i]);

			for (; *text; text++) {
				assert_true(*text >= ' ' && *text != 0x7f);
				assert_true(utf8 || *text < 0x80);
				/* C1 controls. */
				assert_false(text[0] == 0xc2 && text[1] < 0xa0);
			}
		}
		screen_free(&s);
	}
}

static void bars_have_nine_steps(void **state)
{
	struct screen s;

	for (int utf8 = 0; utf8 < 2; utf8++) {
		assert_int_equal(screen_init(&s, 1, 9, utf8), 0);
		for (unsigned i = 0; i <= SCREEN_BAR_STEPS; i++)
			screen_put_bar(&s, 0, i, LOOK_COOL, i);
		assert_string_equal(row_text(&s, 0), utf8 ? " ▁▂▃▄▅▆▇█" : " .:-=+*#@");
		screen_free(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_does_not_fit_is_cut),
		cmocka_unit_test(wide_and_combining_characters),
		cmocka_unit_test(names_order_no_terminal),
		cmocka_unit_test(bars_have_nine_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
