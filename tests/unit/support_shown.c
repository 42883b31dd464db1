/* SPDX-License-Identifier: BSD-2-Clause */
#include "support_shown.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

const struct top_status shown_status = {
	.clock = "12:00:00", .frequency = 100, .processes = 2, .cpus = 4
};

const char *shown_draw(struct shown *x, unsigned rows, unsigned columns, bool utf8)
{
	FILE *out = fmemopen(x->text, sizeof(x->text), "w");
	struct screen s;

	assert_int_equal(screen_init(&s, rows, columns, utf8), 0);
	draw_top(&s, &x->ui, &shown_status);
	for (unsigned y = 0; y < rows; y++)
		screen_print_row(&s, y, out);
	fclose(out);
	screen_free(&s);
	return x->text;
}

enum ui_wish shown_keys(struct shown *x, const char *text)
{
	enum ui_wish wish = WISH_NONE;

	for (; *text; text++)
		wish = ui_key(&x->ui, (unsigned char)*text, x->fed.now_ns);
	shown_draw(x, 24, 80, true);
	return wish;
}

enum ui_wish shown_key(struct shown *x, int key)
{
	enum ui_wish wish = ui_key(&x->ui, key, x->fed.now_ns);

	shown_draw(x, 24, 80, true);
	return wish;
}

void shown_begin(struct shown *x, bool off_cpu)
{
	fed_begin(&x->fed, off_cpu);
	x->ui = (struct ui){ .model = x->fed.model };
	fed_cpu(&x->fed, fed_stack(&x->fed, PID_A, "main;work;hot"), 60);
	fed_cpu(&x->fed, fed_stack(&x->fed, PID_A, "main;work;warm"), 20);
	fed_cpu(&x->fed, fed_stack(&x->fed, PID_B, "main;other"), 10);
	fed_round(&x->fed);
	shown_draw(x, 24, 80, true);
}

void shown_end(struct shown *x)
{
	fed_end(&x->fed);
}

void assert_shown(const struct shown *x, const char *text)
{
	if (!strstr(x->text, text))
		fail_msg("no \"%s\" in\n%s", text, x->text);
}

void assert_hidden(const struct shown *x, const char *text)
{
	if (strstr(x->text, text))
		fail_msg("\"%s\" in\n%s", text, x->text);
}
