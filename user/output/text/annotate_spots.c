/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/text/annotate_spots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/escape.h"
#include "output/text/text_report.h"
#include "profile/opcodes.h"
#include "base/data/cleanup.h"
#include "base/data/compare.h"

/* Bytes shown of the source text that an instruction evaluates. */
#define SNIPPET_MAX 48

/* A part of a line: all spots with the same columns. */
struct span {
	int column, end_column;
	__u64 self, total;
};

static double percent(const struct annotated_line *l, __u64 units)
{
	return 100 * (double)units / l->all;
}

static __u64 at_most_line(const struct annotated_line *l, __u64 total)
{
	return total < l->total ? total : l->total;
}

/*
 * Returns how many spans there are; ret has room for one per spot. A spot without columns belongs
 * to the whole line.
 */
static __u32 find_spans(const struct annotated_line *l, struct span *ret)
{
	__u32 cnt = 0;

	for (__u32 i = 0; i < l->spot_cnt; i++) {
		const struct spot *s = &l->spots[i];

		if (s->column < 0 || !s->total)
			continue;
		if (!cnt || ret[cnt - 1].column != s->column ||
		    ret[cnt - 1].end_column != s->end_column)
			ret[cnt++] =
				(struct span){ .column = s->column, .end_column = s->end_column };
		ret[cnt - 1].self += s->self;
		ret[cnt - 1].total = at_most_line(l, ret[cnt - 1].total + s->total);
	}
	return cnt;
}

static bool is_inside_char(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* Returns the terminal column of a byte of the text, with tabs as wide as they are shown. */
static unsigned screen_column(const char *text, int byte)
{
	unsigned column = 0;
	size_t bytes;

	for (const char *s = text; *s && s - text < byte; s += bytes) {
		if (*s == '\t') {
			column += 8 - column % 8;
			bytes = 1;
		} else {
			column += char_width(s, &bytes);
		}
	}
	return column;
}

void annotate_put_amount(FILE *out, double percent, __u64 units, bool is_time)
{
	char text[24];

	if (is_time)
		report_time(text, (double)units);
	else if (units < 100000000)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)units);
	else
		snprintf(text, sizeof(text), "%.*f %s", units < 10000000000ULL ? 1 : 0,
			 (double)units / (units < 10000000000ULL ? 1e6 : 1e9),
			 units < 10000000000ULL ? "M" : "G");
	if (units)
		fprintf(out, "%6.2f%% %8s", percent, text);
	else
		fprintf(out, "%7s %8s", "", "");
}

static void put_numbers(FILE *out, const struct annotated_line *l, __u64 self, __u64 total)
{
	annotate_put_amount(out, percent(l, self), self, l->is_time);
	if (total)
		fprintf(out, " %6.2f%% %6s  ", percent(l, total), "");
	else
		fprintf(out, " %7s %6s  ", "", "");
}

int annotate_put_columns(FILE *out, const struct annotated_line *l)
{
	cleanup_free struct span *spans = calloc((size_t)l->spot_cnt + 1, sizeof(*spans));
	__u32 cnt;

	if (!spans)
		return -ENOMEM;
	cnt = find_spans(l, spans);
	for (__u32 i = 0; i < cnt; i++) {
		unsigned from = screen_column(l->text, spans[i].column);
		unsigned to = screen_column(l->text, spans[i].end_column);

		put_numbers(out, l, spans[i].self, spans[i].total);
		if ((size_t)spans[i].column >= strlen(l->text)) {
			fprintf(out, "column %d to %d\n", spans[i].column + 1, spans[i].end_column);
			continue;
		}
		fprintf(out, "%*s^", (int)from, "");
		for (unsigned at = from + 1; at < to; at++)
			putc('~', out);
		fputs(spans[i].end_column < 0 ? "..\n" : "\n", out);
	}
	return 0;
}

/* Copies the part of the text that a spot evaluates, cut to the size. */
static void snippet(char ret[SNIPPET_MAX + 4], const char *text, const struct spot *s)
{
	size_t len = strlen(text), from = s->column > 0 ? (size_t)s->column : 0;
	size_t end = s->end_column >= 0 ? (size_t)s->end_column : len, cut;

	end = end < len ? end : len;
	*ret = '\0';
	if (s->column < 0 || from >= end)
		return;
	cut = end - from > SNIPPET_MAX ? from + SNIPPET_MAX : end;
	while (cut > from && cut < len && is_inside_char(text[cut]))
		cut--;
	memcpy(ret, text + from, cut - from);
	strcpy(ret + (cut - from), cut < end ? "..." : "");
	for (char *c = ret; *c; c++)
		if (*c == '\t')
			*c = ' ';
}

static int put_instruction(FILE *out, const struct annotated_line *l, const struct spot *s,
			   bool color)
{
	const enum opcode_form form = opcode_form(s->opcode);
	const char *red = form == OPCODE_GENERIC && s->self ? "\x1b[31m" : "";
	char text[SNIPPET_MAX + 4], name[OPCODE_NAME_SIZE];
	int err;

	snippet(text, l->text, s);
	put_numbers(out, l, s->self, at_most_line(l, s->total));
	fprintf(out, "%s@%-5d %-34s %-16s%s", color ? red : "", 2 * s->unit,
		opcode_name(s->opcode, name), opcode_form_name(form),
		color && *red ? "\x1b[0m" : "");
	err = put_printable(out, text);
	putc('\n', out);
	return err;
}

static int compare_units(const void *x, const void *y)
{
	const struct spot *a = x, *b = y;

	return compare_numbers(a->first_line, b->first_line) ?:
		       compare_numbers(a->name, b->name)     ?:
		       compare_numbers(a->unit, b->unit)     ?:
							       compare_numbers(a->opcode, b->opcode);
}

int annotate_put_instructions(FILE *out, const struct annotated_line *l, bool color)
{
	cleanup_free struct spot *sorted = calloc((size_t)l->spot_cnt + 1, sizeof(*sorted));
	int err = sorted ? 0 : -ENOMEM;

	if (l->spot_cnt && sorted) {
		memcpy(sorted, l->spots, l->spot_cnt * sizeof(*sorted));
		qsort(sorted, l->spot_cnt, sizeof(*sorted), compare_units);
	}
	for (__u32 i = 0; i < l->spot_cnt && !err; i++)
		if (sorted[i].opcode)
			err = put_instruction(out, l, &sorted[i], color);
	return err;
}
