/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "cmd/report/browser.h"
#include "output/label.h"
#include "output/text/text_report.h"
#include "base/text/short_path.h"

/* A function with this share is hot. */
#define HOT_PERCENT 10.0
#define NAME_COLUMN 27
#define FILE_WIDTH 22
#define INDENT 2
#define TAB 8

static void draw_help(struct screen *s)
{
	static const char *const lines[] = {
		"krait report --tui: the samples of a capture",
		"",
		"  Self, Total   in the function itself, and with what it calls; Time: Total",
		"",
		"  Up Down PgUp PgDn Home End j k   move",
		"  Right +   who calls the function, level by level     Left -   close it",
		"  c         what it calls instead, and back",
		"  Enter a   source of the function's file, at its hottest line",
		"  t p d     threads, programs, files (libraries); Enter zooms into one",
		"  Esc Backspace   back out: of source, search, list, zoom",
		"  s         order by Self or by Total",
		"  /         search as you type, in names and files; Enter keeps, Esc drops it;",
		"            in source Enter goes to the next line that has it, n further",
		"  ? h F1    these keys                                 q F10 Ctrl-C   quit",
	};

	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]) && i + 1 < s->rows; i++)
		screen_put(s, i, 0, s->columns, i ? LOOK_PLAIN : LOOK_BOLD, lines[i]);
	screen_put(s, s->rows - 1, 0, s->columns, LOOK_DIM, "any key goes back");
}

static double percent(const struct browser *b, __u64 n)
{
	const __u64 all = b->view->nodes[0].total;

	return all ? 100 * (double)n / (double)all : 0;
}

static void put_time(const struct browser *b, char text[24], __u64 n)
{
	const double ns = counts__unit_ns(browser_counts(b));

	if (ns > 0)
		report_time(text, (double)n * ns);
	else
		snprintf(text, 24, "%llu", n);
}

static void draw_head(const struct browser *b, struct screen *s)
{
	static const char *const titles[BROWSER_LISTS] = { "Function", "Thread", "Program",
							   "File" };
	const struct counts *c = browser_counts(b);
	char time[24];
	unsigned x;

	put_time(b, time, b->view->nodes[0].total);
	x = screen_printf(s, 0, 0, LOOK_BOLD, "%s", b->title);
	screen_printf(s, 0, x, LOOK_PLAIN, "  %s  %llu samples  %s", c->event.name, c->samples,
		      time);
	x = screen_printf(s, 1, 0, LOOK_PLAIN, "%s", b->zoomed ? b->zoom : "all threads");
	if (b->file)
		x = screen_printf(s, 1, x, LOOK_PLAIN, ", in %s",
				  short_path(dict__text(c->dict, b->file)));
	if (*b->filter && !b->typing)
		screen_printf(s, 1, x, LOOK_PLAIN, ", with \"%s\"", b->filter);
	if (b->source)
		return;
	screen_printf(s, 2, 0, LOOK_HEAD, "%8s %7s %9s  %s",
		      b->list == BROWSER_THREADS || b->list == BROWSER_PROGRAMS ? "" :
		      b->list == BROWSER_FUNCTIONS && !b->by_total		? "Self<" :
										  "Self",
		      b->list == BROWSER_FUNCTIONS && b->by_total ? "Total<" : "Total", "Time",
		      titles[b->list]);
	if (b->list == BROWSER_FUNCTIONS && s->columns > 2 * FILE_WIDTH + NAME_COLUMN)
		screen_put(s, 2, s->columns - FILE_WIDTH, FILE_WIDTH, LOOK_HEAD,
			   b->callees ? "File (+: callees)" : "File (+: callers)");
	screen_fill(s, 2, 0, LOOK_HEAD);
}

static void draw_row(const struct browser *b, struct screen *s, unsigned y,
		     const struct browser_row *row)
{
	const struct profile_frame *f = &b->view->frames[row->frame];
	const enum look look = percent(b, row->node ? row->total : row->self) >= HOT_PERCENT ?
				       LOOK_HOT :
				       LOOK_PLAIN;
	const bool files = b->list == BROWSER_FUNCTIONS &&
			   s->columns > 2 * FILE_WIDTH + NAME_COLUMN;
	unsigned x = NAME_COLUMN + row->depth * INDENT,
		 end = s->columns - (files ? FILE_WIDTH + 1 : 0);
	char time[24], place[SHORT_FILE_SIZE + 16], path[SHORT_FILE_SIZE];

	put_time(b, time, row->total);
	if ((row->node && !b->callees) || b->list == BROWSER_THREADS || b->list == BROWSER_PROGRAMS)
		screen_printf(s, y, 0, LOOK_PLAIN, "%8s", "");
	else
		screen_printf(s, y, 0, look, "%7.2f%%", percent(b, row->self));
	screen_printf(s, y, 9, look, "%6.2f%% %9s", percent(b, row->total), time);
	if (b->list == BROWSER_FUNCTIONS)
		x = screen_put(s, y, x, INDENT, LOOK_DIM,
			       !row->has_more ? "  " :
			       row->open      ? "- " :
						"+ ");
	if (b->list == BROWSER_FILES)
		screen_put_tail(s, y, x, end > x ? end - x : 0, look, view_file(b->view, f));
	else if (x < end)
		screen_put(s, y, x, end - x, look, label_name(b->view, f));
	if (!files || !f->file)
		return;
	snprintf(place, sizeof(place), f->first_line > 0 ? "%s:%d" : "%s",
		 short_file(path, view_file(b->view, f)), f->first_line);
	screen_put_tail(s, y, s->columns - FILE_WIDTH, FILE_WIDTH, LOOK_DIM, place);
}

static void draw_line(struct screen *s, unsigned y, const char *line)
{
	const double self = browser_share(line, BROWSER_SELF);

	screen_put(s, y, 0, s->columns,
		   self >= HOT_PERCENT ? LOOK_HOT :
		   self > 0	       ? LOOK_WARM :
					 LOOK_PLAIN,
		   line);
}

static void draw_foot(const struct browser *b, struct screen *s)
{
	const unsigned y = s->rows - 1;

	if (b->typing)
		screen_printf(s, y, 0, LOOK_BOLD, "search: %s_", b->filter);
	else if (*b->message)
		screen_put(s, y, 0, s->columns, LOOK_BOLD, b->message);
	else if (b->source)
		screen_put(s, y, 0, s->columns, LOOK_DIM,
			   "Esc back  / search  n next  ? help  q quit");
	else if (b->list == BROWSER_FUNCTIONS)
		screen_put(
			s, y, 0, s->columns, LOOK_DIM,
			"Enter source  + - callers  c callees  t p d zoom  s sort  / search  ? help");
	else
		screen_put(s, y, 0, s->columns, LOOK_DIM,
			   "Enter zooms in  Esc back  / search  ? help  q quit");
}

void browser_draw(struct browser *b, struct screen *s)
{
	const unsigned from = b->source ? 2 : 3;
	const __u32 cnt = b->source ? b->source->cnt : b->row_cnt;

	if (b->help || s->rows < from + 2) {
		draw_help(s);
		return;
	}
	b->page = s->rows - from - 1;
	if (b->cursor < b->offset)
		b->offset = b->cursor;
	if (b->cursor >= b->offset + b->page)
		b->offset = b->cursor - b->page + 1;
	draw_head(b, s);
	for (unsigned i = 0; i < b->page && b->offset + i < cnt; i++) {
		if (b->source)
			draw_line(s, from + i, b->source->lines[b->offset + i]);
		else
			draw_row(b, s, from + i, &b->rows[b->offset + i]);
		if (b->offset + i == b->cursor)
			screen_select(s, from + i);
	}
	draw_foot(b, s);
}
