/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ui_keys.c - each key of krait top, under all its names and at the ends of its range; other
 * keys do nothing, and the help lists every key.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support_shown.h"

#define KEY_OF_F(n) (KEY_OF_F1 + (n)-1)

/* Five rows, and so many more. */
#define MORE_ROWS 40
#define LAST_ROW (5 + MORE_ROWS - 1)

static void begin_long(struct shown *x)
{
	shown_begin(x, false);
	for (int i = 0; i < MORE_ROWS; i++) {
		char stack[32];

		snprintf(stack, sizeof(stack), "main;f%02d", i);
		fed_cpu(&x->fed, fed_stack(&x->fed, PID_A, stack), 1);
	}
	fed_round(&x->fed);
	shown_draw(x, 24, 80, true);
}

static void assert_moves(struct shown *x, int key, unsigned row)
{
	assert_int_equal(shown_key(x, key), WISH_NONE);
	assert_int_equal(x->ui.cursor, row);
	assert_true(x->ui.offset <= row && row < x->ui.offset + x->ui.page);
}

static void moving(void **state)
{
	struct shown x;
	unsigned page;

	begin_long(&x);
	page = x.ui.page;
	assert_in_range(page, 10, LAST_ROW / 2);
	assert_moves(&x, KEY_OF_UP, 0);
	assert_moves(&x, KEY_OF_DOWN, 1);
	assert_moves(&x, 'j', 2);
	assert_moves(&x, 'k', 1);
	assert_moves(&x, KEY_OF_UP, 0);
	assert_moves(&x, 'k', 0);
	assert_moves(&x, KEY_OF_PAGE_UP, 0);
	assert_moves(&x, KEY_OF_PAGE_DOWN, page);
	assert_moves(&x, KEY_OF_PAGE_DOWN, 2 * page);
	assert_moves(&x, KEY_OF_PAGE_UP, page);
	assert_moves(&x, KEY_OF_END, LAST_ROW);
	assert_moves(&x, KEY_OF_DOWN, LAST_ROW);
	assert_moves(&x, KEY_OF_PAGE_DOWN, LAST_ROW);
	assert_moves(&x, KEY_OF_PAGE_UP, LAST_ROW - page);
	assert_moves(&x, KEY_OF_HOME, 0);
	shown_end(&x);
}

static void views(void **state)
{
	static const char *const titles[] = { "Functions, by", "Lines, by",	 "Processes, by",
					      "Threads, by",   "Containers, by", "States, by" };
	struct shown x;

	shown_begin(&x, false);
	for (int i = 0; i < 6; i++) {
		shown_key(&x, '1' + i);
		assert_shown(&x, titles[i]);
	}
	shown_keys(&x, "1");
	for (int i = 1; i <= 6; i++) {
		shown_keys(&x, "\t");
		assert_shown(&x, titles[i % 6]);
	}
	shown_end(&x);
}

static void a_tree(void **state)
{
	struct shown x;

	shown_begin(&x, false);
	shown_key(&x, KEY_OF_F(5));
	assert_shown(&x, "Call tree");
	shown_keys(&x, "-");
	assert_shown(&x, "+ python100");
	assert_hidden(&x, "hot");
	shown_key(&x, KEY_OF_RIGHT);
	assert_shown(&x, "- python100");
	assert_shown(&x, "hot");
	shown_key(&x, KEY_OF_F(5));
	assert_shown(&x, "Functions, by");
	shown_end(&x);
}

/* Left folds a tree; elsewhere it goes back, like Esc and Backspace. */
static void ways_back(void **state)
{
	static const int back[] = { KEY_OF_LEFT, KEY_OF_ESCAPE, KEY_OF_BACK };
	struct shown x;

	shown_begin(&x, false);
	for (size_t i = 0; i < sizeof(back) / sizeof(back[0]); i++) {
		shown_keys(&x, "3");
		shown_key(&x, KEY_OF_ENTER);
		assert_shown(&x, "Functions, process 100");
		shown_key(&x, KEY_OF_RIGHT);
		assert_shown(&x, "Functions, process 100");
		shown_key(&x, back[i]);
		assert_shown(&x, "Processes, by");
		shown_key(&x, back[i]);
		assert_shown(&x, "Processes, by");
	}
	shown_end(&x);
}

static void assert_sorted(struct shown *x, int key, const char *names)
{
	char buf[256];

	shown_key(x, key);
	assert_string_equal(fed_names(&x->fed, buf, sizeof(buf)), names);
}

static void sorting(void **state)
{
	static const char *const orders[] = {
		"hot warm other main work", "main work hot warm other", "hot warm other main work",
		"main work hot warm other", "hot main other warm work"
	};
	static const int next[] = { 's', '>', KEY_OF_F(6) };
	struct shown x;

	shown_begin(&x, false);
	for (size_t i = 0; i < sizeof(next) / sizeof(next[0]); i++) {
		for (int k = 1; k <= 5; k++)
			assert_sorted(&x, next[i], orders[k % 5]);
	}
	for (int k = 4; k >= 0; k--)
		assert_sorted(&x, '<', orders[k]);
	assert_sorted(&x, 'T', orders[3]);
	assert_shown(&x, "by total");
	assert_sorted(&x, 'P', orders[0]);
	assert_shown(&x, "by self now");
	shown_end(&x);
}

static void beginning_a_filter(void **state)
{
	static const int begin[] = { '/', KEY_OF_F(3), KEY_OF_F(4) };
	struct shown x;

	shown_begin(&x, false);
	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++) {
		shown_key(&x, begin[i]);
		shown_keys(&x, "hot");
		assert_shown(&x, "Filter: hot_");
		assert_hidden(&x, "warm");
		shown_key(&x, KEY_OF_ESCAPE);
		assert_shown(&x, "warm");
	}
	shown_end(&x);
}

/* Deletes characters, not bytes; ignores input that is too long. */
static void typing(void **state)
{
	const char *filter;
	struct shown x;

	shown_begin(&x, false);
	filter = model_place(x.fed.model)->filter;
	shown_keys(&x, "/a\xc3\xa9");
	assert_string_equal(filter, "a\xc3\xa9");
	shown_key(&x, KEY_OF_BACK);
	assert_string_equal(filter, "a");
	shown_key(&x, KEY_OF_BACK);
	shown_key(&x, KEY_OF_BACK);
	assert_string_equal(filter, "");
	assert_shown(&x, "Filter: _");
	for (int i = 0; i < 200; i++)
		shown_keys(&x, "x");
	assert_int_equal(strlen(filter), sizeof(x.ui.before) - 1);
	/* Keys that type nothing. */
	shown_key(&x, KEY_OF_UP);
	shown_key(&x, KEY_OF_F(5));
	assert_int_equal(strlen(filter), sizeof(x.ui.before) - 1);
	shown_key(&x, 'U' - '@');
	assert_string_equal(filter, "");
	shown_end(&x);
}

static void writing_nothing(void **state)
{
	struct shown x;

	shown_begin(&x, false);
	shown_keys(&x, "w");
	assert_int_equal(shown_key(&x, KEY_OF_ESCAPE), WISH_NONE);
	assert_hidden(&x, "Write to");
	shown_keys(&x, "w");
	shown_key(&x, 'U' - '@');
	assert_int_equal(shown_key(&x, KEY_OF_ENTER), WISH_NONE);
	assert_hidden(&x, "Write to");
	shown_end(&x);
}

/* Source has no filter, and the last line mentions none. */
static void no_filter_in_a_source(void **state)
{
	struct shown x;

	shown_begin(&x, false);
	assert_shown(&x, "/ filter");
	shown_key(&x, KEY_OF_ENTER);
	assert_shown(&x, "Source app.py");
	assert_hidden(&x, "/ filter");
	shown_keys(&x, "/");
	assert_int_equal(x.ui.prompt, PROMPT_NONE);
	shown_end(&x);
}

/* The help lists each key, on the smallest usual screen, and in it any key only leaves it. */
static void help(void **state)
{
	static const int begin[] = { 'h', '?', KEY_OF_F(1) };
	static const char *const named[] = {
		"Up Down PgUp PgDn Home End j k",
		"q F10",
		"Tab or 1",
		"t F5",
		"+ - Right Left",
		"Enter  ",
		"c      ",
		"Esc Backspace Left",
		"s > F6",
		"< back",
		"P T    ",
		"/ F3 F4",
		"Space  ",
		"z   count",
		"%      ",
		"n   in source",
		"w      ",
		"h ? F1",
		"Ctrl-L",
		"m      ",
		"ready to run, all\n",
		"6 states",
		"Esc drops it\n",
	};
	struct shown x;

	shown_begin(&x, true);
	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++) {
		shown_key(&x, begin[i]);
		for (size_t k = 0; k < sizeof(named) / sizeof(named[0]); k++)
			assert_shown(&x, named[k]);
		assert_shown(&x, "any key goes back");
		assert_int_equal(shown_key(&x, KEY_OF_F10), WISH_NONE);
		assert_shown(&x, "Functions, by");
	}
	assert_int_equal(shown_key(&x, KEY_OF_F10), WISH_QUIT);
	shown_end(&x);
}

static void other_keys_do_nothing(void **state)
{
	static const char keys[] = "\t %+-/123456<>?PTchjkmnqstwz";
	static char before[sizeof(((struct shown *)0)->text)];
	struct shown x;

	shown_begin(&x, false);
	snprintf(before, sizeof(before), "%s", x.text);
	for (int key = 0; key < 256; key++) {
		if (key && strchr(keys, key))
			continue;
		assert_int_equal(shown_key(&x, key), WISH_NONE);
		assert_string_equal(x.text, before);
	}
	for (int n = 2; n < 10; n++) {
		if (n >= 3 && n <= 6)
			continue;
		assert_int_equal(shown_key(&x, KEY_OF_F(n)), WISH_NONE);
		assert_string_equal(x.text, before);
	}
	shown_end(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moving),
		cmocka_unit_test(views),
		cmocka_unit_test(a_tree),
		cmocka_unit_test(ways_back),
		cmocka_unit_test(sorting),
		cmocka_unit_test(beginning_a_filter),
		cmocka_unit_test(typing),
		cmocka_unit_test(writing_nothing),
		cmocka_unit_test(no_filter_in_a_source),
		cmocka_unit_test(help),
		cmocka_unit_test(other_keys_do_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
