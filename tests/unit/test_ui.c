/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ui.c - keys lead to the right places, and screens of all sizes show them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "profile/frames.h"
#include "support_profile.h"
#include "support_shown.h"
#include "cmd/top/lines.h"
#include "cmd/top/pick.h"
#include "cmd/top/source.h"

static void a_screen_of_functions(void **state)
{
	struct shown x;

	shown_begin(&x, false);
	assert_string_equal(
		x.text,
		"krait top  12:00:00  since 0:00:01  100 Hz  2 processes\n"
		"CPU 90.0% of 400% (100% with the GIL)\n"
		"Functions, by self now\n"
		" Self% Total%   Total s History    Function   File\n"
		"  60.0   60.0      0.60          ▆ hot        app.py:80\n"
		"  20.0   20.0      0.20          ▂ warm       app.py:230\n"
		"  10.0   10.0      0.10          ▁ other      app.py:150\n"
		"         90.0      0.90          █ main       app.py:130\n"
		"         80.0      0.80          █ work       app.py:230\n"
		"\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
		"q quit  h help  / filter  Enter source  c callers  Tab view  Space pause\n");
	shown_end(&x);
}

/* Presses keys, and appends what they lead to. */
static void put_screen(FILE *out, struct shown *x, const char *keys, unsigned rows,
		       unsigned columns)
{
	shown_keys(x, keys);
	fprintf(out, "---- \"%s\"\n%s", keys, shown_draw(x, rows, columns, true));
}

/* Each view as it was, in both sizes; keys lead from one to the next. */
static void screens_are_as_they_were(void **state)
{
	static const unsigned sizes[][2] = { { 24, 80 }, { 50, 200 } };
	static const char *const keys[] = { "", "c", "cs", "%", "t", "t2", "3", "4", "5", "1h" };

	for (unsigned off_cpu = 0; off_cpu < 2; off_cpu++) {
		for (unsigned i = 0; i < 2; i++) {
			char *text, name[64];
			struct shown x;
			size_t size;
			FILE *out = open_memstream(&text, &size);

			shown_begin(&x, off_cpu);
			if (off_cpu)
				fed_wait(&x.fed, fed_stack(&x.fed, PID_B, "main;other"),
					 STATE_SLEEP, SECOND / 4);
			fed_round(&x.fed);
			for (unsigned k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
				put_screen(out, &x, keys[k], sizes[i][0], sizes[i][1]);
			fclose(out);
			shown_end(&x);
			snprintf(name, sizeof(name), "top%s-%ux%u.txt", off_cpu ? "-off-cpu" : "",
				 sizes[i][1], sizes[i][0]);
			assert_golden(name, text);
			free(text);
		}
	}
}

/* Captures have lines of C: the screen says so and names the command. */
static void native_functions_have_no_source_here(void **state)
{
	const struct native_place place = { .name = "memcpy", .path = "/lib/libc.so.6" };
	struct shown x;
	struct dict *dict;

	shown_begin(&x, false);
	dict = x.fed.session->dict;
	fed_cpu(&x.fed,
		dict__child(dict, fed_stack(&x.fed, PID_A, "main"), frame_native(dict, &place)),
		99);
	fed_round(&x.fed);
	shown_draw(&x, 24, 80, true);
	shown_key(&x, KEY_OF_HOME);
	assert_shown(&x, "memcpy");
	shown_key(&x, KEY_OF_ENTER);
	assert_shown(&x, "krait annotate --native");
	assert_shown(&x, "Functions, by");
	shown_end(&x);
}

static void views_by_key(void **state)
{
	struct shown x;

	shown_begin(&x, false);
	shown_keys(&x, "2");
	assert_shown(&x, "Lines, by");
	assert_shown(&x, "app.py:81");
	shown_keys(&x, "3");
	assert_shown(&x, "  80.0      0.80          █     100 python100\n");
	shown_keys(&x, "4");
	assert_shown(&x, "    200     201 thread");
	shown_keys(&x, "5");
	assert_shown(&x, "(no container)");
	shown_keys(&x, "6");
	assert_shown(&x, "on a CPU with the GIL");
	shown_keys(&x, "\t");
	assert_shown(&x, "Functions, by");
	shown_keys(&x, "t");
	assert_shown(&x, "Call tree");
	assert_shown(&x, "- python100");
	shown_key(&x, KEY_OF_LEFT);
	assert_shown(&x, "+ python100");
	assert_hidden(&x, "hot");
	shown_keys(&x, "+");
	assert_shown(&x, "hot");
	shown_keys(&x, "t");
	assert_shown(&x, "Functions, by");
	shown_end(&x);
}

static void into_a_process_and_out(void **state)
{
	struct shown x;

	shown_begin(&x, false);
	shown_keys(&x, "3j");
	shown_key(&x, KEY_OF_ENTER);
	assert_shown(&x, "Functions, process 200");
	assert_shown(&x, "other");
	assert_hidden(&x, "hot");
	shown_keys(&x, "t");
	assert_hidden(&x, "python200");
	shown_key(&x, KEY_OF_ESCAPE);
	assert_shown(&x, "Processes");
	/* The cursor has not moved. */
	assert_int_equal(x.ui.cursor, 1);
	shown_key(&x, KEY_OF_ESCAPE);
	assert_shown(&x, "Processes");
	shown_end(&x);
}

static void filter_as_you_type(void **state)
{
	struct shown x;

	shown_begin(&x, false);
	shown_keys(&x, "/W");
	assert_shown(&x, "Filter: W_");
	assert_shown(&x, "warm");
	assert_shown(&x, "work");
	assert_hidden(&x, "hot");
	shown_keys(&x, "ar");
	assert_hidden(&x, " work ");
	shown_key(&x, KEY_OF_BACK);
	shown_key(&x, KEY_OF_BACK);
	assert_shown(&x, " work ");
	shown_key(&x, KEY_OF_ENTER);
	assert_shown(&x, ", with W");
	/* The prompt has ended, so keys are keys again. */
	shown_keys(&x, "/zzz");
	assert_shown(&x, "nothing has that in its name");
	shown_key(&x, KEY_OF_ESCAPE);
	assert_shown(&x, ", with W");
	shown_key(&x, KEY_OF_ESCAPE);
	assert_shown(&x, "hot");
	shown_end(&x);
}

static void callers_and_back(void **state)
{
	struct shown x;

	shown_begin(&x, false);
	shown_keys(&x, "/work");
	shown_key(&x, KEY_OF_ENTER);
	shown_keys(&x, "c");
	assert_shown(&x, "Callers and callees of work");
	assert_shown(&x, "Called by");
	assert_shown(&x, "main ");
	assert_shown(&x, "hot ");
	/* To the lower half, and through its rows. */
	shown_keys(&x, "\t");
	assert_true(x.ui.callees);
	shown_key(&x, KEY_OF_ENTER);
	assert_shown(&x, "callees of hot");
	assert_shown(&x, "[itself]");
	shown_key(&x, KEY_OF_ESCAPE);
	shown_key(&x, KEY_OF_ESCAPE);
	assert_shown(&x, ", with work");
	shown_end(&x);
}

static void a_source_with_its_heat(void **state)
{
	struct shown x;
	char *text = NULL;
	size_t size;
	FILE *f;

	shown_begin(&x, false);
	shown_key(&x, KEY_OF_ENTER);
	assert_shown(&x, "Source app.py");
	assert_shown(&x, "the file is not here");
	assert_shown(&x, "  60.0   60.0     0.60     81\n");
	f = open_memstream(&text, &size);
	for (int i = 1; i <= 300; i++)
		fprintf(f, i == 81 ? "\tthe hot one \x1b[31m\n" : "line %d\n", i);
	fclose(f);
	top_source__free(x.fed.model->source);
	x.fed.model->source = top_source__of_text(text);
	x.ui.anew = true;
	shown_draw(&x, 24, 80, true);
	assert_shown(&x, "  60.0   60.0     0.60     81         the hot one \\x1b[31m\n");
	/* Opens at the function's hottest line, with what leads to it. */
	assert_int_equal(x.ui.cursor + 1, 81);
	assert_shown(&x, "     80 line 80\n");
	shown_keys(&x, "nn");
	assert_int_equal(x.ui.cursor + 1, 231);
	assert_shown(&x, "    231 line 231\n");
	shown_keys(&x, "n");
	assert_int_equal(x.ui.cursor + 1, 81);
	shown_key(&x, KEY_OF_END);
	assert_shown(&x, "    300 line 300\n");
	shown_key(&x, KEY_OF_ESCAPE);
	assert_shown(&x, "Functions, by");
	shown_end(&x);
}

static void sorts_and_shares(void **state)
{
	struct shown x;
	char names[256];

	shown_begin(&x, false);
	shown_keys(&x, "s");
	assert_string_equal(fed_names(&x.fed, names, sizeof(names)), "main work hot warm other");
	shown_keys(&x, "ssss");
	assert_string_equal(fed_names(&x.fed, names, sizeof(names)), "hot warm other main work");
	shown_keys(&x, "<");
	assert_string_equal(fed_names(&x.fed, names, sizeof(names)), "hot main other warm work");
	shown_keys(&x, "P%");
	assert_shown(&x, " Self% Total%  All tot% History");
	assert_shown(&x, "  60.0   60.0      60.0 ");
	shown_draw(&x, 24, 100, true);
	assert_shown(&x, "All self% All tot%");
	assert_shown(&x, "  60.0   60.0      60.0     60.0");
	/* One column since the start is the one that rows are sorted by. */
	shown_draw(&x, 24, 99, true);
	shown_keys(&x, "ss");
	assert_shown(&x, " Self% Total% All self% History");
	shown_draw(&x, 24, 80, true);
	/* On the first line the cursor stays at the top; on another it follows its row. */
	shown_keys(&x, "jT");
	assert_int_equal(x.ui.cursor, 3);
	shown_key(&x, KEY_OF_HOME);
	shown_keys(&x, "P");
	assert_int_equal(x.ui.cursor, 0);
	shown_end(&x);
}

static void pause_and_zero(void **state)
{
	struct shown x;

	shown_begin(&x, false);
	shown_keys(&x, " ");
	assert_shown(&x, "PAUSED");
	fed_cpu(&x.fed, fed_stack(&x.fed, PID_A, "main;work;hot"), 60);
	fed_round(&x.fed);
	shown_draw(&x, 24, 80, true);
	assert_shown(&x, "  60.0   60.0      0.60          ▆ hot");
	shown_keys(&x, " ");
	fed_round(&x.fed);
	shown_draw(&x, 24, 80, true);
	assert_shown(&x, "1.20 ");
	assert_hidden(&x, "PAUSED");
	shown_keys(&x, "z");
	assert_hidden(&x, "1.20");
	shown_end(&x);
}

static void time_off_the_cpu(void **state)
{
	struct shown x;

	shown_begin(&x, false);
	shown_keys(&x, "m");
	assert_shown(&x, "--off-cpu");
	shown_end(&x);
	shown_begin(&x, true);
	x.fed.now_ns += SECOND;
	fed_wait(&x.fed, fed_stack(&x.fed, PID_B, "main;other"), STATE_GIL, SECOND / 4);
	x.fed.now_ns -= SECOND;
	fed_round(&x.fed);
	shown_keys(&x, "m");
	assert_shown(&x, "by self now: waiting for the GIL");
	assert_shown(&x, "  25.0   25.0      0.25          █ other");
	assert_hidden(&x, "hot");
	shown_keys(&x, "3");
	assert_shown(&x, "  CPU%   GIL%  Wait% Ready%");
	shown_keys(&x, "mmm");
	assert_shown(&x, "all time");
	shown_end(&x);
}

static void wishes(void **state)
{
	struct shown x;

	shown_begin(&x, false);
	assert_int_equal(shown_keys(&x, "w"), WISH_NONE);
	assert_shown(&x, "Write to: krait-top.html_");
	/* Another name takes its place; who edits it keeps it. */
	shown_keys(&x, "/");
	assert_shown(&x, "Write to: /_");
	shown_key(&x, KEY_OF_ESCAPE);
	shown_keys(&x, "w");
	shown_key(&x, KEY_OF_BACK);
	shown_keys(&x, "x");
	assert_shown(&x, "Write to: krait-top.htmx_");
	shown_key(&x, KEY_OF_ESCAPE);
	shown_keys(&x, "w");
	shown_key(&x, 'U' - '@');
	shown_keys(&x, "x.folded");
	assert_int_equal(ui_key(&x.ui, KEY_OF_ENTER, 0), WISH_WRITE);
	assert_string_equal(x.ui.input, "x.folded");
	shown_keys(&x, "?");
	assert_shown(&x, "any key goes back");
	assert_int_equal(shown_keys(&x, "q"), WISH_NONE);
	assert_int_equal(shown_keys(&x, "q"), WISH_QUIT);
	shown_end(&x);
}

static const char *all_keys = "jjk\t\t3\t456t+-c1c\tsss<PT%m zn/a/w?hq";

/* Any size with any key. */
static void any_size(void **state)
{
	struct shown x;

	shown_begin(&x, true);
	for (const char *k = all_keys; *k; k++) {
		for (unsigned rows = 1; rows < 12; rows += 2) {
			for (unsigned columns = 1; columns < 140; columns += 9)
				shown_draw(&x, rows, columns, columns & 1);
		}
		ui_key(&x.ui, *k, x.fed.now_ns);
		ui_key(&x.ui, KEY_OF_ENTER, x.fed.now_ns);
		fed_round(&x.fed);
	}
	shown_end(&x);
}

static void hostile_names_do_no_harm(void **state)
{
	struct profile *p;
	struct shown x;

	fed_begin(&x.fed, false);
	p = x.fed.session;
	x.ui = (struct ui){ .model = x.fed.model };
	for (int i = 0; hostile_names[i]; i++) {
		__u32 node = push(p, 0, add_process(p, hostile_names[i], 5));

		node = push(p, node, add_thread(p, hostile_names[i], 5, 6));
		fed_cpu(&x.fed,
			push(p, node, add_function(p, hostile_names[i], hostile_names[i], 1, 2)),
			1);
	}
	fed_round(&x.fed);
	for (const char *k = "123456t1"; *k; k++) {
		shown_keys(&x, (char[]){ *k, '\0' });
		for (const char *c = shown_draw(&x, 50, 80, true); *c; c++)
			assert_true((unsigned char)*c >= ' ' || *c == '\n');
	}
	fed_end(&x.fed);
}

static void lines_for_scripts(void **state)
{
	const struct lines_options options = { .limit = 2 };
	struct shown x;
	FILE *out;

	shown_begin(&x, false);
	out = fmemopen(x.text, sizeof(x.text), "w");
	assert_int_equal(lines_print(out, x.fed.model, &shown_status, &options), 0);
	fclose(out);
	assert_string_equal(x.text, "krait top  12:00:00  since 0:00:01  100 Hz  2 processes\n"
				    "CPU 90.0% of 400% (100% with the GIL)\n"
				    " Self% Total%    Self s  Total s Function   File\n"
				    "  60.0   60.0      0.60     0.60 hot        app.py:80\n"
				    "  20.0   20.0      0.20     0.20 warm       app.py:230\n"
				    "\n");
	shown_end(&x);
}

static bool count_sample(void *ctx, const struct profile_sample *sample)
{
	++*(unsigned *)ctx;
	return true;
}

static void assert_picked(struct shown *x, unsigned expected)
{
	struct profile *p = pick_profile(x->fed.model);
	unsigned cnt = 0;

	assert_int_equal(profile__counts(p, 0)->samples, expected);
	assert_int_equal(profile__counts(p, 0)->weight, expected * TICK);
	profile__free(p);
	assert_int_equal(pick_samples(x->fed.model, count_sample, &cnt), 0);
	assert_int_equal(cnt, expected);
}

/* The samples that w writes. */
static void what_is_on_screen_is_picked(void **state)
{
	struct shown x;

	shown_begin(&x, false);
	assert_picked(&x, 90);
	shown_keys(&x, "/warm");
	assert_picked(&x, 20);
	shown_key(&x, KEY_OF_ENTER);
	shown_keys(&x, "c");
	assert_picked(&x, 20);
	shown_key(&x, KEY_OF_ESCAPE);
	shown_key(&x, KEY_OF_ESCAPE);
	shown_keys(&x, "3");
	shown_key(&x, KEY_OF_ENTER);
	assert_picked(&x, 80);
	shown_key(&x, KEY_OF_ENTER);
	assert_shown(&x, "Source app.py");
	assert_picked(&x, 80);
	shown_end(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_screen_of_functions),
		cmocka_unit_test(screens_are_as_they_were),
		cmocka_unit_test(native_functions_have_no_source_here),
		cmocka_unit_test(views_by_key),
		cmocka_unit_test(into_a_process_and_out),
		cmocka_unit_test(filter_as_you_type),
		cmocka_unit_test(callers_and_back),
		cmocka_unit_test(a_source_with_its_heat),
		cmocka_unit_test(sorts_and_shares),
		cmocka_unit_test(pause_and_zero),
		cmocka_unit_test(time_off_the_cpu),
		cmocka_unit_test(wishes),
		cmocka_unit_test(any_size),
		cmocka_unit_test(hostile_names_do_no_harm),
		cmocka_unit_test(lines_for_scripts),
		cmocka_unit_test(what_is_on_screen_is_picked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
