/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * draw_source.c - a source file with the heat of its lines; also the help screen for keys.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "output/source_lookup.h"
#include "cmd/top/draw.h"
#include "cmd/top/source.h"
#include "cmd/top/text.h"

/* A line with this share of a CPU is hot. */
#define HOT_PERCENT 10.0
#define NUMBERS_WIDTH 30
#define TAB 8
#define LINE_MAX_BYTES 1024

static void expand_tabs(char *ret, size_t size, const char *text)
{
	size_t at = 0;

	for (; *text && at + TAB + 1 < size; text++) {
		if (*text != '\t') {
			ret[at++] = *text;
			continue;
		}
		do
			ret[at++] = ' ';
		while (at % TAB);
	}
	ret[at] = '\0';
}

static const struct row *row_of_line(const struct model *m, unsigned line)
{
	const struct row_key key = { .file = m->rows->spec.focus.file, .line = (int)line };
	__u32 row = rows__find(m->rows, &key);

	return row ? &m->rows->list[row] : NULL;
}

static void put_line(struct screen *s, unsigned y, const struct model *m, unsigned line,
		     const char *source, bool shares)
{
	const struct round *last = samples__round(m->samples, 0);
	const struct row *row = row_of_line(m, line);
	struct row_sums now = row ? row_now(m->rows, row) : (struct row_sums){ 0 };
	__u64 round_ns = last ? last->to_ns - last->from_ns : 0;
	__u64 all_ns = samples__all_ns(m->samples);
	unsigned measures = m->options.measures;
	__u64 self = sum_of(now.self, measures);
	__u64 self_all = row ? sum_of(row->all.self, measures) : 0;
	enum look look = round_ns && 100.0 * (double)self / (double)round_ns >= HOT_PERCENT ?
				 LOOK_HOT :
			 self_all ? LOOK_WARM :
				    LOOK_PLAIN;
	char number[16], text[LINE_MAX_BYTES];

	put_share(number, self, round_ns);
	screen_put(s, y, 0, 7, look, number);
	put_share(number, sum_of(now.total, measures), round_ns);
	screen_put(s, y, 7, 7, LOOK_PLAIN, number);
	if (shares)
		put_share(number, self_all, all_ns);
	else
		put_seconds(number, self_all);
	screen_put(s, y, 14, 9, LOOK_PLAIN, number);
	screen_printf(s, y, 23, LOOK_DIM, "%6u", line);
	expand_tabs(text, sizeof(text), source);
	screen_put(s, y, NUMBERS_WIDTH, s->columns, look, text);
}

/* Returns a line with samples, for files whose text cannot be shown. */
static unsigned line_at(const struct ui *ui, __u32 index)
{
	const struct model *m = ui->model;

	if (m->source && m->source->cnt)
		return index + 1;
	return index < m->order.cnt ? (unsigned)m->rows->list[m->order.list[index]].key.line : 0;
}

void draw_source(struct screen *s, unsigned y, unsigned end, struct ui *ui)
{
	const struct model *m = ui->model;
	const struct top_source *source = m->source;
	__u32 cnt = source && source->cnt ? source->cnt : m->order.cnt;

	screen_put(s, y, 0, s->columns, LOOK_HEAD,
		   ui->shares ? " Self% Total% All self%  Line " :
				" Self% Total%   Self s   Line ");
	screen_put(s, y, NUMBERS_WIDTH, s->columns, LOOK_HEAD,
		   source && source->err == -ETIMEDOUT ?
			   "Source (not shown: it could not be read in time)" :
			   source_lookup_say(source ? source->err : -ENOMEM, false));
	screen_fill(s, y, 0, LOOK_HEAD);
	for (__u32 i = ui->offset; ++y < end && i < cnt; i++) {
		put_line(s, y, m, line_at(ui, i), source && source->cnt ? source->lines[i] : "",
			 ui->shares);
		if (i == ui->cursor)
			screen_select(s, y);
	}
}

void draw_help(struct screen *s, bool off_cpu)
{
	static const char *const lines[] = {
		"krait top: what the Python programs of this machine do now",
		"",
		"  Self%, Total%   of the last interval: in the function itself, and with what it",
		"                  calls; 100% is one CPU. History: the last intervals",
		"  Self s, Total s since the start, in seconds; % shows shares instead. Below 100",
		"                  columns one of them: the one that rows are sorted by",
		"",
		"  Up Down PgUp PgDn Home End j k   move        q F10   quit",
		"  Tab or 1 functions 2 lines 3 processes 4 threads 5 containers 6 states",
		"  t F5   call tree and back        + - Right Left   unfold, fold in it",
		"  Enter  source of a function at its hottest line; into a process, thread, container",
		"  c      who calls the function, and what it calls (Tab: the other half)",
		"  Esc Backspace Left   back out",
		"  s > F6 sort: by self now, total now, self in all, total in all, name; < back",
		"  P T    sort by share now, by time in all",
		"  / F3 F4  filter as you type: names, files, a pid; Enter keeps, Esc drops it",
		"  Space  pause                     z   count from zero again",
		"  %      seconds or shares         n   in source: the next hot line",
		"  w      write what is on screen: the suffix says the format, .html .folded ...",
		"  h ? F1 these keys                Ctrl-L   draw the screen anew",
		"  m      of what: time on a CPU, waiting for the GIL, waiting, ready to run, all",
	};
	unsigned cnt = sizeof(lines) / sizeof(lines[0]) - !off_cpu;

	for (unsigned i = 0; i < cnt && i + 1 < s->rows; i++)
		screen_put(s, i, 0, s->columns, i ? LOOK_PLAIN : LOOK_BOLD, lines[i]);
	screen_put(s, s->rows - 1, 0, s->columns, LOOK_DIM, "any key goes back");
}
