/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/top/draw_table.h"

#include <stdio.h>
#include <string.h>

#include "output/escape.h"
#include "output/text/text_report.h"
#include "cmd/top/row_path.h"
#include "cmd/top/text.h"
#include "base/data/cleanup.h"
#include "base/text/printable.h"

/* A narrower screen has one of the two columns since the start, and files without folders. */
#define BOTH_COLUMNS_MIN 100
/* A narrower screen shows no history. */
#define HISTORY_COLUMNS_MIN 72
#define HISTORY_WIDTH 10
#define HISTORY_WIDTH_WIDE 30
#define WIDE_COLUMNS 120
/* A share of a CPU worth a second look. */
#define HOT_PERCENT 10.0
#define NAME_MAX_BYTES 1024
#define SHARE_WIDTH 7
#define SECONDS_WIDTH 9
#define PID_WIDTH 8
#define INDENT 2
/* Deeper indentation would leave too little room for names. */
#define MAX_INDENT 40

struct layout {
	const struct draw_table *t;
	bool task; /* rows have pids but no self */
	bool code; /* rows have files */
	bool narrow;
	unsigned history; /* width; 0: none */
	unsigned text, name_width, file_width; /* columns where names begin */
	__u64 round_ns, all_ns;
	__u32 history_max; /* over all visible rows */
};

static unsigned measures_of(const struct layout *l)
{
	return l->t->model->options.measures;
}

/* Where there is room for one column since the start, it is the one that rows are sorted by. */
static bool all_is_self(const struct layout *l)
{
	return l->t->model->options.sort == SORT_SELF_ALL;
}

static bool is_code_view(enum rows_view view)
{
	return view == ROWS_FUNCTIONS || view == ROWS_LINES || view == ROWS_TREE ||
	       view == ROWS_CALLERS || view == ROWS_CALLEES;
}

/* ---- figures ---------------------------------------------------------------------------------- */

static unsigned put_now(struct screen *s, unsigned y, unsigned x, const struct layout *l, __u64 ns)
{
	double percent = l->round_ns ? 100.0 * (double)ns / (double)l->round_ns : 0;
	char text[16];

	put_share(text, ns, l->round_ns);
	screen_put(s, y, x, SHARE_WIDTH, percent >= HOT_PERCENT ? LOOK_HOT : LOOK_PLAIN, text);
	return x + SHARE_WIDTH;
}

static unsigned put_all(struct screen *s, unsigned y, unsigned x, const struct layout *l, __u64 ns)
{
	char text[16];

	if (l->t->shares)
		put_share(text, ns, l->all_ns);
	else
		put_seconds(text, ns);
	screen_put(s, y, x + 1 + (l->t->shares ? SECONDS_WIDTH - SHARE_WIDTH : 0), SECONDS_WIDTH,
		   LOOK_PLAIN, text);
	return x + SECONDS_WIDTH;
}

static unsigned put_history(struct screen *s, unsigned y, unsigned x, const struct layout *l,
			    const struct row *row)
{
	if (!l->history)
		return x;
	for (unsigned i = 0; i < l->history; i++) {
		__u32 us = row_history(l->t->rows, row, l->history - 1 - i);
		__u64 max = l->history_max ? l->history_max : 1;
		unsigned step = (unsigned)((us * (__u64)SCREEN_BAR_STEPS + max - 1) / max);

		screen_put_bar(s, y, x + 1 + i, LOOK_COOL, step);
	}
	return x + l->history + 2;
}

static unsigned put_figures(struct screen *s, unsigned y, const struct layout *l,
			    const struct row *row)
{
	struct row_sums now = row_now(l->t->rows, row);
	unsigned m = measures_of(l), x = 0;

	if (l->code) {
		x = put_now(s, y, x, l, sum_of(now.self, m));
		x = put_now(s, y, x, l, sum_of(now.total, m));
		if (!l->narrow || all_is_self(l))
			x = put_all(s, y, x, l, sum_of(row->all.self, m));
		if (!l->narrow || !all_is_self(l))
			x = put_all(s, y, x, l, sum_of(row->all.total, m));
		return x;
	}
	if (!l->t->model->off_cpu) {
		x = put_now(s, y, x, l, now.total[MEASURE_CPU]);
		return put_all(s, y, x, l, row->all.total[MEASURE_CPU]);
	}
	for (int i = 0; i < MEASURE_CNT; i++)
		x = put_now(s, y, x, l, now.total[i]);
	return put_all(s, y, x, l, sum_of(row->all.total, m));
}

/* ---- columns ---------------------------------------------------------------------------------- */

static unsigned figures_width(const struct layout *l)
{
	if (l->code)
		return 2 * SHARE_WIDTH + (l->narrow ? 1 : 2) * SECONDS_WIDTH;
	return (l->t->model->off_cpu ? MEASURE_CNT : 1) * SHARE_WIDTH + SECONDS_WIDTH;
}

static void put_file(char *text, size_t size, const struct layout *l, const struct row *row)
{
	row_file(text, size, l->t->model->session->dict, &row->key);
	if (l->narrow)
		report_shorten_file(text, REPORT_NO_FOLDERS);
}

static unsigned width_of(const char *raw)
{
	cleanup_free char *text = printable(raw);

	return text ? text_width(text) : 0;
}

/* i: index in the order. */
static unsigned indent_of(const struct layout *l, __u32 i)
{
	unsigned depth = l->t->order->depths[i];

	if (l->t->rows->spec.view != ROWS_TREE)
		return 0;
	return (depth > MAX_INDENT ? MAX_INDENT : depth) * INDENT + INDENT;
}

/*
 * Makes columns as wide as needed, or shares the room; a file gets at least a third if it needs
 * that.
 */
static void share_width(struct layout *l, unsigned columns, unsigned name, unsigned file)
{
	unsigned room = columns > l->text ? columns - l->text : 0;

	if (name + 2 + file > room) {
		unsigned third = room / 3;

		file = file < third ? file : name + 2 + third > room ? third : room - name - 2;
		name = room > file + 2 ? room - file - 2 : room;
	}
	l->name_width = name;
	l->file_width = file;
}

static struct layout layout_of(const struct screen *s, unsigned lines, const struct draw_table *t)
{
	enum rows_view view = t->rows->spec.view;
	const struct round *last = samples__round(t->model->samples, 0);
	struct layout l = {
		.t = t,
		.task = view == ROWS_PROCESSES || view == ROWS_THREADS,
		.code = is_code_view(view),
		.narrow = !t->plain && s->columns < BOTH_COLUMNS_MIN,
		.round_ns = last ? last->to_ns - last->from_ns : 0,
		.all_ns = samples__all_ns(t->model->samples),
	};
	unsigned name = strlen("Called by"), file = strlen("File");
	char text[NAME_MAX_BYTES];

	if (!t->plain && s->columns >= HISTORY_COLUMNS_MIN)
		l.history = s->columns >= WIDE_COLUMNS ? HISTORY_WIDTH_WIDE : HISTORY_WIDTH;
	l.text = figures_width(&l) + (l.history ? l.history + 2 : 1) +
		 (l.task ? PID_WIDTH * (view == ROWS_THREADS ? 2 : 1) : 0);
	for (unsigned i = 0; i < lines && t->first + i < t->order->cnt; i++) {
		const struct row *row = &t->rows->list[t->order->list[t->first + i]];
		unsigned width;

		for (unsigned age = 0; age < l.history; age++) {
			__u32 us = row_history(t->rows, row, age);

			l.history_max = us > l.history_max ? us : l.history_max;
		}
		row_name(text, sizeof(text), t->model->session->dict, view, &row->key);
		width = width_of(text) + indent_of(&l, t->first + i);
		name = width > name ? width : name;
		put_file(text, sizeof(text), &l, row);
		width = width_of(text);
		file = width > file ? width : file;
	}
	share_width(&l, s->columns, name, l.code ? file : 0);
	return l;
}

static void put_head(struct screen *s, unsigned y, const struct layout *l)
{
	static const char *const measures[] = { "   CPU%", "   GIL%", "  Wait%", " Ready%" };
	enum rows_view view = l->t->rows->spec.view;
	const char *name = view == ROWS_PROCESSES  ? "Process" :
			   view == ROWS_THREADS	   ? "Thread" :
			   view == ROWS_CONTAINERS ? "Container" :
			   view == ROWS_STATES	   ? "State" :
			   view == ROWS_CALLERS	   ? "Called by" :
			   view == ROWS_CALLEES	   ? "Calls" :
						     "Function";
	unsigned x = 0;

	screen_fill(s, y, 0, LOOK_HEAD);
	if (l->code) {
		x = screen_put(s, y, x, s->columns, LOOK_HEAD, " Self% Total%");
		x = 2 * SHARE_WIDTH;
		if (!l->narrow || all_is_self(l))
			x = screen_put(s, y, x, s->columns, LOOK_HEAD,
				       l->t->shares ? "All self%" : "   Self s");
		if (!l->narrow || !all_is_self(l))
			screen_put(s, y, x, s->columns, LOOK_HEAD,
				   l->t->shares ? " All tot%" : "  Total s");
		x = figures_width(l);
	} else {
		for (int i = 0; i < (l->t->model->off_cpu ? MEASURE_CNT : 1); i++)
			x = screen_put(s, y, x, s->columns, LOOK_HEAD, measures[i] + (i ? 0 : 1));
		x = screen_put(s, y, x, s->columns, LOOK_HEAD,
			       l->t->shares ? "      All%" : "    Time s");
		x = figures_width(l);
	}
	if (l->history)
		screen_put(s, y, x + 1, s->columns, LOOK_HEAD, "History");
	x += l->history ? l->history + 2 : 1;
	if (l->task)
		x = screen_put(s, y, x, s->columns, LOOK_HEAD,
			       view == ROWS_THREADS ? "    PID     TID " : "    PID ");
	screen_put(s, y, l->text, l->name_width, LOOK_HEAD, name);
	if (l->code)
		screen_put(s, y, l->text + l->name_width + 2, l->file_width, LOOK_HEAD, "File");
	screen_fill(s, y, 0, LOOK_HEAD);
}

/* In a tree, "+" and "-" mark folded and unfolded rows. */
static unsigned put_indent(struct screen *s, unsigned y, const struct layout *l, __u32 i)
{
	struct order_options options = l->t->model->options;
	unsigned indent = indent_of(l, i), most = l->name_width / 2;

	if (!indent)
		return 0;
	indent = indent > most ? most : indent;
	if (indent < INDENT)
		return 0;
	options.folds = l->t->model->folds;
	options.fold_cnt = options.folds ? l->t->rows->cnt : 0;
	options.sort = options.sort == SORT_SELF     ? SORT_TOTAL :
		       options.sort == SORT_SELF_ALL ? SORT_TOTAL_ALL :
						       options.sort;
	screen_put(s, y, l->text + indent - INDENT, 1, LOOK_DIM,
		   order_is_open(l->t->rows, l->t->order->list[i], &options) ? "-" : "+");
	return indent;
}

static void put_row(struct screen *s, unsigned y, const struct layout *l, __u32 i)
{
	__u32 number = l->t->order->list[i];
	const struct row *row = &l->t->rows->list[number];
	const struct dict *d = l->t->model->session->dict;
	enum rows_view view = l->t->rows->spec.view;
	unsigned x = put_figures(s, y, l, row), indent;
	bool idle = !sum_of(row_now(l->t->rows, row).total, (1U << MEASURE_CNT) - 1);
	enum look look = idle || row->key.kind == FRAME_KERNEL ? LOOK_DIM : LOOK_PLAIN;
	char text[NAME_MAX_BYTES];

	x = put_history(s, y, x, l, row);
	x += !l->history;
	if (l->task && row->key.pid)
		screen_printf(s, y, x, LOOK_PLAIN, "%7d", row->key.pid);
	if (view == ROWS_THREADS && row->key.tid)
		screen_printf(s, y, x + PID_WIDTH, LOOK_PLAIN, "%7d", row->key.tid);
	indent = put_indent(s, y, l, i);
	row_name(text, sizeof(text), d, view, &row->key);
	if (view == ROWS_CALLEES && row_key_is_same_function(&row->key, &l->t->rows->spec.focus))
		snprintf(text, sizeof(text), "%s", "[itself]");
	if (view == ROWS_TREE)
		screen_put(s, y, l->text + indent, l->name_width - indent, look, text);
	else
		screen_put_tail(s, y, l->text, l->name_width, look, text);
	put_file(text, sizeof(text), l, row);
	if (l->code)
		screen_put_tail(s, y, l->text + l->name_width + 2, l->file_width, LOOK_DIM, text);
}

void draw_table(struct screen *s, unsigned y, unsigned end, const struct draw_table *t)
{
	struct layout l = layout_of(s, end > y + 1 ? end - y - 1 : 0, t);

	put_head(s, y, &l);
	for (__u32 i = t->first; ++y < end && i < t->order->cnt; i++) {
		put_row(s, y, &l, i);
		if (i == t->cursor)
			screen_select(s, y);
	}
}
