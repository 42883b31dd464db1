/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * screen.h - what a terminal will show, as cells with text and look; needs no terminal.
 *
 * Must hold: a cell holds one printable character, whatever was written; without UTF-8, only ASCII.
 * Text that does not fit is cut.
 */
#ifndef KRAIT_CMD_TOP_SCREEN_H
#define KRAIT_CMD_TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum look {
	LOOK_PLAIN,
	LOOK_HEAD, /* column titles, bars */
	LOOK_BOLD,
	LOOK_DIM,
	LOOK_HOT,
	LOOK_WARM,
	LOOK_COOL, /* a history */
	LOOK_CNT
};

/* UTF-8: one character and its combining characters. */
#define CELL_BYTES 8

struct cell {
	char text[CELL_BYTES]; /* "": covered by a wide character on its left */
	unsigned char look; /* enum look */
	bool selected;
};

struct screen {
	struct cell *cells;
	unsigned rows, columns;
	bool utf8;
};

/* Makes a blank screen. Returns 0 or -ENOMEM. */
int screen_init(struct screen *s, unsigned rows, unsigned columns, bool utf8)
	__attribute__((warn_unused_result));
void screen_free(struct screen *s);

static inline struct cell *screen_at(const struct screen *s, unsigned y, unsigned x)
{
	return &s->cells[(size_t)y * s->columns + x];
}

/*
 * Puts any text, made printable, from column x on, within width columns and the screen. A longer
 * text loses its end or its beginning, with a mark. Returns the column behind it.
 */
unsigned screen_put(struct screen *s, unsigned y, unsigned x, unsigned width, enum look look,
		    const char *text);
unsigned screen_put_tail(struct screen *s, unsigned y, unsigned x, unsigned width, enum look look,
			 const char *text);
unsigned screen_printf(struct screen *s, unsigned y, unsigned x, enum look look, const char *format,
		       ...) __attribute__((format(printf, 5, 6)));
/* Gives the row that look from column x on. */
void screen_fill(struct screen *s, unsigned y, unsigned x, enum look look);
void screen_select(struct screen *s, unsigned y);
/* Puts a bar of so many steps, 0 to 8. */
void screen_put_bar(struct screen *s, unsigned y, unsigned x, enum look look, unsigned step);
#define SCREEN_BAR_STEPS 8

/* Prints a row as text without trailing blanks. */
void screen_print_row(const struct screen *s, unsigned y, FILE *out);

#endif /* KRAIT_CMD_TOP_SCREEN_H */
