/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_browser.c - krait report --tui without a terminal: what its screens show at 80x24 and 200x50, what keys do, and that
 * numbers are the view's.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cmd/report/browser.h"
#include "cmd/top/terminal.h"
#include "output/label.h"
#include "profile/marks.h"
#include "profile/sources.h"
#include "support_profile.h"

static struct profile *profile;
static struct browser browser;

static int begin(void **state)
{
	profile = small_profile();
	assert_int_equal(browser_init(&browser, profile__counts(profile, 0), "small.data"), 0);
	return 0;
}

static int end(void **state)
{
	browser_free(&browser);
	profile__free(profile);
	return 0;
}

/* Presses keys; '>' and '<' are Right and Left, '\n' Enter, '\x1b' Escape, 'v' Down. */
static void press(const char *keys)
{
	for (; *keys; keys++)
		assert_true(browser_key(&browser, *keys == '>'	  ? KEY_OF_RIGHT :
						  *keys == '<'	  ? KEY_OF_LEFT :
						  *keys == '\n'	  ? KEY_OF_ENTER :
						  *keys == '\x1b' ? KEY_OF_ESCAPE :
						  *keys == 'v'	  ? KEY_OF_DOWN :
								    (unsigned char)*keys));
}

static char *screen_text(unsigned rows, unsigned columns)
{
	struct screen s;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(screen_init(&s, rows, columns, true), 0);
	browser_draw(&browser, &s);
	for (unsigned y = 0; y < rows; y++) {
		bool selected = screen_at(&s, y, 0)->selected;

		fputs(selected ? ">" : "|", out);
		screen_print_row(&s, y, out);
	}
	fclose(out);
	screen_free(&s);
	return text;
}

static void assert_screen(const char *name, unsigned rows, unsigned columns)
{
	char *text = screen_text(rows, columns);

	assert_golden(name, text);
	free(text);
}

static const struct browser_row *row_of(const char *name)
{
	for (__u32 i = 0; i < browser.row_cnt; i++)
		if (!browser.rows[i].node &&
		    !strcmp(label_name(browser.view, &browser.view->frames[browser.rows[i].frame]),
			    name))
			return &browser.rows[i];
	return NULL;
}

static void go_to(const char *name)
{
	const struct browser_row *row = row_of(name);

	assert_non_null(row);
	browser.cursor = (__u32)(row - browser.rows);
}

static void screens_are_as_they_were(void **state)
{
	assert_screen("browser-80x24.txt", 24, 80);
	assert_screen("browser-200x50.txt", 50, 200);
	go_to("walk");
	press(">v>");
	assert_screen("browser-callers-80x24.txt", 24, 80);
	press("c");
	go_to("Server.run");
	press(">v>");
	assert_screen("browser-callees-80x24.txt", 24, 80);
	press("t");
	assert_screen("browser-threads-80x24.txt", 24, 80);
	press("d");
	assert_screen("browser-files-80x24.txt", 24, 80);
	press("?");
	assert_screen("browser-help-80x24.txt", 24, 80);
}

static void a_row_of_callers_is_opened_level_by_level(void **state)
{
	__u32 before = browser.row_cnt;
	__u64 total, below = 0;

	go_to("JSONEncoder.encode");
	total = browser.rows[browser.cursor].total;
	press(">");
	assert_true(browser.row_cnt > before);
	for (__u32 i = browser.cursor + 1; i < browser.row_cnt && browser.rows[i].depth; i++)
		below += browser.rows[i].total;
	assert_int_equal(below, total);
	press("v>");
	assert_int_equal(browser.rows[browser.cursor].depth, 1);
	assert_int_equal(browser.rows[browser.cursor + 1].depth, 2);
	/* Closes it, goes up, closes that. */
	press("<<");
	assert_int_equal(browser.rows[browser.cursor].depth, 0);
	press("<");
	assert_int_equal(browser.row_cnt, before);
}

static void zoomed_threads_add_up(void **state)
{
	__u64 all = browser.view->nodes[0].total, sum = 0;
	__u32 threads;

	press("t");
	threads = browser.row_cnt;
	assert_true(threads >= 2);
	for (__u32 i = 0; i < threads; i++) {
		browser.cursor = i;
		press("\n");
		assert_true(browser.zoomed && browser.list == BROWSER_FUNCTIONS);
		assert_int_equal(browser_counts(&browser)->samples, browser.view->nodes[0].total);
		sum += browser.view->nodes[0].total;
		press("\x1b");
		assert_null(browser.zoomed);
		press("t");
	}
	assert_true(sum <= all && sum > 0);
	press("\x1bp\n");
	assert_non_null(strstr(browser.zoom, "program "));
}

static void files_and_search_choose_rows(void **state)
{
	const __u32 all = browser.row_cnt;
	__u32 some;

	press("/WALK");
	assert_int_equal(browser.row_cnt, 1);
	press("\n");
	assert_int_equal(browser.row_cnt, 1);
	press("\x1b");
	assert_int_equal(browser.row_cnt, all);
	press("/nothing of that");
	assert_int_equal(browser.row_cnt, 0);
	/* Keys that need a row do nothing. */
	press("\n\n>");
	press("\x1b");
	press("d\n");
	some = browser.row_cnt;
	assert_true(some && some < all && browser.file);
	press("\x1b");
	assert_int_equal(browser.row_cnt, all);
}

static void enter_shows_the_source(void **state)
{
	static const char text[] = "a\nb\n";
	char *screen;

	go_to("Cart.total");
	press("\n");
	assert_non_null(browser.source);
	browser.cursor = 0;
	screen = screen_text(24, 80);
	assert_non_null(strstr(screen, "cart.py"));
	assert_non_null(strstr(screen, "the file is not here"));
	free(screen);
	press("/57\n");
	assert_non_null(strstr(browser.source->lines[browser.cursor], " 57 "));
	press("\x1b");
	assert_null(browser.source);
	assert_int_equal(sources_add(dict__sources(profile->dict), 0,
				     view_file(browser.view,
					       &browser.view->frames[row_of("Cart.total")->frame]),
				     text, 1, 2),
			 0);
	press("\n");
	browser.cursor = 0;
	screen = screen_text(24, 80);
	assert_non_null(strstr(screen, "as they were"));
	free(screen);
}

/* Of a line of source on the screen: the look of its first character. */
static int look_of(const char *number)
{
	struct screen s;
	int look = -1;

	assert_int_equal(screen_init(&s, 100, 80, true), 0);
	browser_draw(&browser, &s);
	for (unsigned y = 0; y < s.rows; y++) {
		char *text;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		screen_print_row(&s, y, out);
		fclose(out);
		if (size > 25 && !strncmp(text + 25, number, strlen(number)))
			look = screen_at(&s, y, 0)->look;
		free(text);
	}
	screen_free(&s);
	return look;
}

/* Lines without samples have a number, too, and may have a "%". */
static void only_self_is_hot(void **state)
{
	static const char text[] = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\nrun()\n\n\n\n\n\n\n\n20\n"
				   "print('50 %' % all)\n";
	char *whole = NULL, *tree = NULL;

	/* walk has 85 at its line 12, 60 at 9; and calls itself. */
	assert_int_equal(
		sources_add(dict__sources(profile->dict), 0,
			    view_file(browser.view, &browser.view->frames[row_of("walk")->frame]),
			    text, 1, 21),
		0);
	go_to("walk");
	press("\n");
	assert_non_null(strstr(browser.source->lines[browser.cursor], "    12  "));
	browser.offset = 0;
	assert_int_equal(look_of("     9"), LOOK_WARM);
	assert_int_equal(look_of("    12  "), LOOK_WARM);
	assert_int_equal(look_of("    11  "), LOOK_PLAIN);
	assert_int_equal(look_of("    21  print"), LOOK_PLAIN);
	press("\x1b");
	/* Only Total. */
	go_to("<module>");
	press("\n");
	assert_non_null(strstr(browser.source->lines[browser.cursor], "    88  "));
	assert_int_equal(look_of("    88"), LOOK_PLAIN);
	/* One line has all of it. */
	assert_true(asprintf(&whole, "100.00%% %8s 100.00%% %6d  x = 1", "3.00 s", 7) > 0);
	assert_true(browser_share(whole, BROWSER_SELF) == 100);
	assert_true(browser_share(whole, BROWSER_TOTAL) == 100);
	assert_true(asprintf(&tree, "%7s %8s %7s %6d  12.00%%", "", "", "", 123456) > 0);
	assert_true(browser_share(tree, BROWSER_SELF) == 0);
	assert_true(browser_share(tree, BROWSER_TOTAL) == 0);
	free(whole);
	free(tree);
}

/* As krait annotate counts: C below a line is the line's. A file with the same name elsewhere is another. */
static void source_has_its_own_c(void **state)
{
	struct profile *p = profile__new();
	struct profile_frame c = { .kind = FRAME_NATIVE,
				   .name = dict__string(p->dict, "vdot"),
				   .file = dict__string(p->dict, "/lib/blas.so"),
				   .line = -1,
				   .column = -1,
				   .end_column = -1,
				   .unit = -1 };
	__u32 root = push(p, 0, add_process(p, "python3", 1));
	__u32 line = push(p, root, add_function(p, "solve", "/app/a.py", 1, 3));
	struct browser own;

	add_samples(p, line, 10);
	add_samples(p, push(p, line, dict__frame(p->dict, &c)), 60);
	add_samples(p,
		    push(p, push(p, line, dict__frame(p->dict, &c)),
			 add_mark(p, MARK_NATIVE_TRUNCATED)),
		    5);
	add_samples(p, push(p, root, add_function(p, "other", "/srv/app/a.py", 1, 2)), 25);
	assert_int_equal(browser_init(&own, profile__counts(p, 0), "a.data"), 0);
	for (own.cursor = 0;
	     strcmp(label_name(own.view, &own.view->frames[own.rows[own.cursor].frame]), "solve");)
		own.cursor++;
	assert_true(browser_key(&own, KEY_OF_ENTER));
	assert_non_null(own.source);
	assert_int_equal(own.source->cnt, 5);
	assert_string_equal(own.source->lines[0], "/app/a.py: 75 samples, 75.0%");
	assert_int_equal(own.cursor, 2);
	assert_true(browser_share(own.source->lines[2], BROWSER_SELF) == 75);
	assert_non_null(strstr(own.source->lines[4], "25.0% in other functions"));
	browser_free(&own);
	profile__free(p);
}

static void it_ends_and_fits(void **state)
{
	for (unsigned rows = 1; rows < 30; rows++)
		for (unsigned columns = 1; columns < 140; columns += 13)
			free(screen_text(rows, columns));
	press("/q");
	assert_true(browser.typing);
	press("\x1b");
	assert_false(browser_key(&browser, 'q'));
	assert_false(browser_key(&browser, 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(screens_are_as_they_were, begin, end),
		cmocka_unit_test_setup_teardown(a_row_of_callers_is_opened_level_by_level, begin,
						end),
		cmocka_unit_test_setup_teardown(zoomed_threads_add_up, begin, end),
		cmocka_unit_test_setup_teardown(files_and_search_choose_rows, begin, end),
		cmocka_unit_test_setup_teardown(enter_shows_the_source, begin, end),
		cmocka_unit_test_setup_teardown(only_self_is_hot, begin, end),
		cmocka_unit_test(source_has_its_own_c),
		cmocka_unit_test_setup_teardown(it_ends_and_fits, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
