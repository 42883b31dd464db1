/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * screen.h - what a terminal is to show, as cells: text and how it looks, before there is a terminal.
 *
 * Must hold: a cell holds one printable character, whatever was written; without UTF-8, ASCII only. What
 * does not fit is cut.
 */
#ifndef KRAIT_TOP_SCREEN_H
#define KRAIT_TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum look {
	LOOK_PLAIN,
	LOOK_HEAD, /* names of columns, bars */
	LOOK_BOLD,
	LOOK_DIM,
	LOOK_HOT,
	LOOK_WARM,
	LOOK_COOL, /* a history */
	LOOK_CNT
};

/* UTF-8: one character, and what combines with it. */
#define CELL_BYTES 8

struct cell {
	char text[CELL_BYTES]; /* "": covered by a wide one on its left */
	unsigned char look; /* enum look */
	bool selected;
};

struct screen {
	struct cell *cells;
	unsigned rows, columns;
	bool utf8;
};

/* Blank. 0 or -ENOMEM. */
int screen_init(struct screen *s, unsigned rows, unsigned columns, bool utf8)
	__attribute__((warn_unused_result));
void screen_free(struct screen *s);

static inline struct cell *screen_at(const struct screen *s, unsigned y, unsigned x)
{
	return &s->cells[(size_t)y * s->columns + x];
}

/*
 * Any text, made printable, from column x on, in width columns at most (also to the edge): where it is
 * longer its end is cut, or its beginning, and that is seen. The column behind it.
 */
unsigned screen_put(struct screen *s, unsigned y, unsigned x, unsigned width, enum look look,
		    const char *text);
unsigned screen_put_tail(struct screen *s, unsigned y, unsigned x, unsigned width, enum look look,
			 const char *text);
unsigned screen_printf(struct screen *s, unsigned y, unsigned x, enum look look, const char *format,
		       ...) __attribute__((format(printf, 5, 6)));
/* The whole row looks like that from column x on. */
void screen_fill(struct screen *s, unsigned y, unsigned x, enum look look);
void screen_select(struct screen *s, unsigned y);
/* One of so many steps of a bar, 0 .. 8. */
void screen_put_bar(struct screen *s, unsigned y, unsigned x, enum look look, unsigned step);
#define SCREEN_BAR_STEPS 8

/* A row as text, without blanks at its end. */
void screen_print_row(const struct screen *s, unsigned y, FILE *out);

#endif /* KRAIT_TOP_SCREEN_H */
