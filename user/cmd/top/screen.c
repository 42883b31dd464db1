/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/top/screen.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "output/escape.h"
#include "base/data/cleanup.h"
#include "base/text/printable.h"

/* The target's names can have any length; nobody sees more than this. */
#define MAX_TEXT 4096

int screen_init(struct screen *s, unsigned rows, unsigned columns, bool utf8)
{
	*s = (struct screen){ .rows = rows, .columns = columns, .utf8 = utf8 };
	s->cells = calloc((size_t)rows * columns + 1, sizeof(*s->cells));
	if (!s->cells)
		return -ENOMEM;
	for (size_t i = 0; i < (size_t)rows * columns; i++)
		s->cells[i].text[0] = ' ';
	return 0;
}

void screen_free(struct screen *s)
{
	free(s->cells);
	*s = (struct screen){ 0 };
}

static void put_cell(struct screen *s, unsigned y, unsigned x, enum look look, const char *text,
		     size_t bytes)
{
	struct cell *c = screen_at(s, y, x);

	*c = (struct cell){ .look = (unsigned char)look, .selected = c->selected };
	memcpy(c->text, text, bytes);
}

/* Adds a zero-width character to the cell on its left; drops it if that is full. */
static void combine(struct screen *s, unsigned y, unsigned x, const char *text, size_t bytes)
{
	struct cell *c = x ? screen_at(s, y, x - 1) : NULL;
	size_t len = c ? strlen(c->text) : 0;

	if (len && len + bytes < CELL_BYTES)
		memcpy(c->text + len, text, bytes);
}

/* Puts printable text that fits. Returns the column behind it. */
static unsigned put_chars(struct screen *s, unsigned y, unsigned x, unsigned end, enum look look,
			  const char *text)
{
	size_t bytes;

	for (; *text && x < end; text += bytes) {
		unsigned width = char_width(text, &bytes);
		bool plain = bytes == 1 || s->utf8;

		if (x + width > end)
			break;
		if (!width) {
			if (plain)
				combine(s, y, x, text, bytes);
			continue;
		}
		put_cell(s, y, x, look, plain ? text : "?", plain ? bytes : 1);
		if (width == 2)
			put_cell(s, y, x + 1, look, plain ? "" : "?", !plain);
		x += width;
	}
	return x;
}

static const char *ellipsis(const struct screen *s, unsigned *ret_width)
{
	*ret_width = s->utf8 ? 1 : 2;
	return s->utf8 ? "…" : "..";
}

/* Limits the width to the screen. */
static unsigned end_of(const struct screen *s, unsigned x, unsigned width)
{
	return x >= s->columns ? x : width < s->columns - x ? x + width : s->columns;
}

static unsigned put(struct screen *s, unsigned y, unsigned x, unsigned width, enum look look,
		    const char *raw, bool tail)
{
	unsigned end = end_of(s, x, width), dots, needed;
	cleanup_free char *cut = strndup(raw, MAX_TEXT), *text = cut ? printable(cut) : NULL;
	const char *at = text, *mark = ellipsis(s, &dots);
	size_t bytes;

	if (!text || y >= s->rows || x >= end)
		return x;
	needed = text_width(text);
	if (needed <= end - x || end - x <= dots)
		return put_chars(s, y, x, end, look, text);
	if (!tail) {
		x = put_chars(s, y, x, end - dots, look, text);
		return put_chars(s, y, x, end, look, mark);
	}
	for (; needed > end - x - dots; at += bytes)
		needed -= char_width(at, &bytes);
	x = put_chars(s, y, x, end, look, mark);
	return put_chars(s, y, x, end, look, at);
}

unsigned screen_put(struct screen *s, unsigned y, unsigned x, unsigned width, enum look look,
		    const char *text)
{
	return put(s, y, x, width, look, text, false);
}

unsigned screen_put_tail(struct screen *s, unsigned y, unsigned x, unsigned width, enum look look,
			 const char *text)
{
	return put(s, y, x, width, look, text, true);
}

unsigned screen_printf(struct screen *s, unsigned y, unsigned x, enum look look, const char *format,
		       ...)
{
	char text[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	return screen_put(s, y, x, s->columns, look, text);
}

void screen_fill(struct screen *s, unsigned y, unsigned x, enum look look)
{
	for (; y < s->rows && x < s->columns; x++)
		screen_at(s, y, x)->look = (unsigned char)look;
}

void screen_select(struct screen *s, unsigned y)
{
	for (unsigned x = 0; y < s->rows && x < s->columns; x++)
		screen_at(s, y, x)->selected = true;
}

void screen_put_bar(struct screen *s, unsigned y, unsigned x, enum look look, unsigned step)
{
	static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const ascii[] = { " ", ".", ":", "-", "=", "+", "*", "#", "@" };
	const char *text = s->utf8 ? blocks[step] : ascii[step];

	if (y < s->rows && x < s->columns)
		put_cell(s, y, x, look, text, strlen(text));
}

void screen_print_row(const struct screen *s, unsigned y, FILE *out)
{
	unsigned end = s->columns;

	while (end && !strcmp(screen_at(s, y, end - 1)->text, " "))
		end--;
	for (unsigned x = 0; x < end; x++)
		fputs(screen_at(s, y, x)->text, out);
	putc('\n', out);
}
