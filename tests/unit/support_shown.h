/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_shown.h - krait top without a terminal: keys go in, and the screen comes out as text. In
 * process 100, hot and warm have run, called by work; in process 200, other.
 */
#ifndef KRAIT_TESTS_SUPPORT_SHOWN_H
#define KRAIT_TESTS_SUPPORT_SHOWN_H

#include "support_top.h"
#include "cmd/top/draw.h"

struct shown {
	struct fed fed;
	struct ui ui;
	char text[65536]; /* the screen as last drawn */
};

/* The content of the first line. */
extern const struct top_status shown_status;

void shown_begin(struct shown *x, bool off_cpu);
void shown_end(struct shown *x);

const char *shown_draw(struct shown *x, unsigned rows, unsigned columns, bool utf8);
/*
 * Presses each character as a key. Returns the last one's wish. Draws the screen with 80 columns
 * and 24 rows.
 */
enum ui_wish shown_keys(struct shown *x, const char *text);
enum ui_wish shown_key(struct shown *x, int key);

void assert_shown(const struct shown *x, const char *text);
void assert_hidden(const struct shown *x, const char *text);

#endif /* KRAIT_TESTS_SUPPORT_SHOWN_H */
