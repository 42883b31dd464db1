/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * summary.c - rows of text from a view.
 */
#include "output/text/summary.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "output/escape.h"
#include "output/label.h"
#include "output/text/origin_table.h"
#include "profile/view.h"
#include "profile/waits.h"
#include "base/data/cleanup.h"
#include "base/data/compare.h"
#include "base/data/search.h"
#include "base/text/stream.h"

/* Width of "100.0% 100.0%   12.3 s  " plus one column. */
#define NUMBERS_WIDTH 26
#define WAITS_TITLE "Waits for"
/* A narrower column says nothing: then it is better to wrap. */
#define MIN_COLUMN 16

/* A column's text and its width on the terminal. */
struct cell {
	char *text;
	size_t size;
	unsigned width;
};

/* How much of a frame's self is a wait for something. */
struct wait_share {
	__u32 frame; /* of the view */
	__u32 what; /* string id of a mark */
	__u64 self;
};

struct table {
	struct text_report report;
	struct view *view;
	struct wait_share *waits; /* by frame, the largest first; NULL: there is no such column */
	__u32 wait_cnt;
	unsigned waits_width, function_width, file_width; /* of the columns */
	enum report_length length; /* of names in the columns */
};

/* ---- what a function waits for ------------------------------------------------------------------ */

/* Shares below this are left out beside a larger one, and above the other one is all that is said. */
#define WAIT_PERCENT_MIN 10.0
#define WAIT_PERCENT_ALL 99.5
#define WAITS_SHOWN 2

static int compare_waits(const void *a, const void *b)
{
	const struct wait_share *x = a, *y = b;

	return compare_numbers(x->frame, y->frame)	 ?:
		       compare_numbers(y->self, x->self) ?:
							   compare_numbers(x->what, y->what);
}

/* Adds up entries of the same frame and mark, which are adjacent if sorted without their sizes. */
static int compare_marks(const void *a, const void *b)
{
	const struct wait_share *x = a, *y = b;

	return compare_numbers(x->frame, y->frame) ?: compare_numbers(x->what, y->what);
}

static int find_waits(struct table *t)
{
	const struct counts *c = t->view->counts;
	__u32 cnt, kept = 0;
	const struct label_count *labels = counts__labelled(c, &cnt);

	t->waits = calloc((size_t)cnt + 1, sizeof(*t->waits));
	if (!t->waits)
		return -ENOMEM;
	for (__u32 i = 0; i < cnt; i++) {
		const struct label_count *l = &labels[i + 1];

		t->waits[i] = (struct wait_share){
			.frame = t->view->nodes[t->view->node_of[l->node]].frame,
			.what = l->label,
			.self = c->uneven ? l->n.weight : l->n.samples,
		};
	}
	qsort(t->waits, cnt, sizeof(*t->waits), compare_marks);
	for (__u32 i = 0; i < cnt; i++) {
		if (kept && !compare_marks(&t->waits[kept - 1], &t->waits[i]))
			t->waits[kept - 1].self += t->waits[i].self;
		else
			t->waits[kept++] = t->waits[i];
	}
	qsort(t->waits, kept, sizeof(*t->waits), compare_waits);
	t->wait_cnt = kept;
	return 0;
}

/* "[io: read pipe]" without its brackets, on a narrow terminal also without the details. */
static int put_what(const struct table *t, FILE *out, __u32 what)
{
	const char *mark = dict__text(t->view->dict, what);
	const size_t len = strcspn(mark + 1, t->length == REPORT_WHOLE ? "]" : ":]");
	char text[64];

	snprintf(text, sizeof(text), "%.*s", (int)len, mark + 1);
	return put_printable(out, text);
}

/* "lock", or "lock 62%, gil 30%" if it is not all. */
static int put_waits(const struct table *t, FILE *out, __u32 frame)
{
	const __u64 all = t->view->sums[frame].self;
	const __u32 first = (__u32)sorted_below(t->wait_cnt, i, t->waits[i].frame < frame);
	int err = 0;

	for (__u32 i = first;
	     i < t->wait_cnt && t->waits[i].frame == frame && i - first < WAITS_SHOWN && !err;
	     i++) {
		double percent = all ? 100 * (double)t->waits[i].self / (double)all : 0;

		if (i > first && percent < WAIT_PERCENT_MIN)
			break;
		fputs(i > first ? ", " : "", out);
		err = put_what(t, out, t->waits[i].what);
		if (percent < WAIT_PERCENT_ALL)
			fprintf(out, " %.0f%%", percent);
	}
	return err;
}

/* ---- rows --------------------------------------------------------------------------------------- */

static int cell_fill_waits(struct cell *c, const struct table *t, __u32 frame)
{
	FILE *out = open_memstream(&c->text, &c->size);
	int err;

	if (!out)
		return -ENOMEM;
	err = t->waits ? put_waits(t, out, frame) : 0;
	if (fclose(out) || err)
		return -ENOMEM;
	c->width = text_width(c->text);
	return 0;
}

static int cell_fill(struct cell *c, const struct table *t, const struct profile_frame *f,
		     bool file)
{
	const struct view *v = t->view;
	FILE *out = open_memstream(&c->text, &c->size);
	const char *path = view_file(v, f);
	int line = f->line > 0 ? f->line : f->first_line, err;

	if (!out)
		return -ENOMEM;
	err = file ? put_short_file(out, path) : put_shown(out, label_name(v, f));
	if (file && *path && line > 0)
		fprintf(out, ":%d", line);
	if (fclose(out) || err)
		return -ENOMEM;
	if (file)
		report_shorten_file(c->text, t->length);
	else if (f->kind != FRAME_MARK)
		report_shorten_name(c->text, t->length);
	c->width = text_width(c->text);
	return 0;
}

static int put_row(const struct table *t, __u32 frame)
{
	const struct profile_frame *f = &t->view->frames[frame];
	const struct view_sums *sums = &t->view->sums[frame];
	struct cell waits = { 0 }, function = { 0 }, file = { 0 };
	FILE *out = t->report.out;
	/* A mark is never cut; it has no file either. */
	unsigned used, function_width = f->kind == FRAME_MARK ? UINT_MAX : t->function_width;
	int err;

	err = cell_fill_waits(&waits, t, frame);
	if (!err)
		err = cell_fill(&function, t, f, false);
	if (!err)
		err = cell_fill(&file, t, f, true);
	if (!err) {
		report_put_row(&t->report, sums->self, sums->total);
		if (t->waits_width)
			fprintf(out, "%s%*s", waits.text, (int)(t->waits_width - waits.width) + 2,
				"");
		report_put_tail(&t->report, function.text, function_width);
		used = function.width > function_width ? function_width : function.width;
		if (*file.text) {
			fprintf(out, "%*s%s",
				used < t->function_width ? (int)(t->function_width - used) + 2 : 2,
				"", report_color(&t->report, REPORT_DIM));
			report_put_tail(&t->report, file.text, t->file_width);
			fputs(report_color(&t->report, REPORT_RESET), out);
		}
		putc('\n', out);
	}
	free(waits.text);
	free(function.text);
	free(file.text);
	return err;
}

/* Makes columns as wide as needed. */
static int measure_columns(struct table *t, const __u32 *rows, __u32 cnt)
{
	t->waits_width = t->waits ? strlen(WAITS_TITLE) : 0;
	t->function_width = strlen("Function");
	t->file_width = strlen("File");
	for (__u32 i = 0; i < cnt; i++) {
		const struct profile_frame *f = &t->view->frames[rows[i]];
		struct cell a = { 0 }, b = { 0 }, w = { 0 };
		int err = cell_fill(&a, t, f, false);

		if (!err)
			err = cell_fill(&b, t, f, true);
		if (!err)
			err = cell_fill_waits(&w, t, rows[i]);
		t->waits_width = w.width > t->waits_width ? w.width : t->waits_width;
		t->function_width = a.width > t->function_width ? a.width : t->function_width;
		t->file_width = b.width > t->file_width ? b.width : t->file_width;
		free(a.text);
		free(b.text);
		free(w.text);
		if (err)
			return err;
	}
	return 0;
}

/* Makes columns as wide as needed, or fits them to the terminal with the longest names that fit. */
static int measure(struct table *t, const __u32 *rows, __u32 cnt)
{
	const unsigned width = t->report.options->width;
	unsigned beside, room = 0;
	int err;

	for (;; t->length++) {
		err = measure_columns(t, rows, cnt);
		beside = NUMBERS_WIDTH + (t->waits_width ? t->waits_width + 2 : 0) + 2;
		room = width < beside + 2 * MIN_COLUMN ? 2 * MIN_COLUMN : width - beside;
		if (err || !width || t->function_width + t->file_width <= room)
			return err;
		if (t->length == REPORT_NO_FOLDERS)
			break;
	}
	report_share_room(room, &t->function_width, &t->file_width);
	return 0;
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct table *t = ctx;
	const struct view *v = t->view;
	const __u32 x = *(const __u32 *)a, y = *(const __u32 *)b;
	int order = view_sums_compare(&v->sums[x], &v->sums[y],
				      t->report.options->sort == SUMMARY_TOTAL);

	return order ? order : view_frame_compare(v, &v->frames[x], &v->frames[y]);
}

/* Picks frames worth a row, sorted; the root and marks only if samples end in them. */
static int pick_rows(struct table *t, __u32 **ret, __u32 *ret_cnt)
{
	struct view *v = t->view;
	__u32 *rows = calloc(v->frame_cnt, sizeof(*rows)), cnt = 0, i;

	if (!rows)
		return -ENOMEM;
	for (i = 0; i < v->frame_cnt; i++) {
		const struct view_sums *sums = &v->sums[i];
		enum frame_kind kind = v->frames[i].kind;
		bool function = kind == FRAME_PYTHON || kind == FRAME_NATIVE ||
				kind == FRAME_KERNEL;

		if (function ? !sums->total : !sums->self)
			continue;
		if (report_percent(&t->report, sums->total) >= t->report.options->min_percent)
			rows[cnt++] = i;
	}
	qsort_r(rows, cnt, sizeof(*rows), compare_rows, t);
	*ret = rows;
	*ret_cnt = cnt;
	return 0;
}

static int print(struct table *t)
{
	FILE *out = t->report.out;
	cleanup_free __u32 *rows = NULL;
	__u32 cnt, limit, shown, i;
	int err = t->report.options->waits ? find_waits(t) : 0;

	if (!err)
		err = pick_rows(t, &rows, &cnt);
	if (err)
		return err;
	limit = report_rows(&t->report, t->view);
	shown = limit && limit < cnt ? limit : cnt;
	err = measure(t, rows, shown);
	if (err)
		return err;
	if (cnt)
		fprintf(out, "%s  Self  Total %9s  %-*s%s%-*s  %s%s\n",
			report_color(&t->report, REPORT_BOLD), report_amount_title(&t->report),
			(int)t->waits_width, t->waits ? WAITS_TITLE : "", t->waits ? "  " : "",
			(int)t->function_width, "Function", "File",
			report_color(&t->report, REPORT_RESET));
	for (i = 0; i < shown && !err; i++)
		err = put_row(t, rows[i]);
	if (err)
		return err;
	report_put_more(&t->report, cnt - shown);
	err = t->report.options->origins ? origin_put_block(&t->report) : 0;
	if (err)
		return err;
	report_put_footer(&t->report, t->view);
	return stream_finish(out);
}

/* "waits": what its self waited for, the largest first. */
static void put_json_waits(struct json *j, const struct table *t, __u32 frame)
{
	__u32 i = (__u32)sorted_below(t->wait_cnt, k, t->waits[k].frame < frame);

	json_put_array(j, "waits");
	for (; i < t->wait_cnt && t->waits[i].frame == frame; i++) {
		json_open_object(j);
		json_put_string(j, "for", dict__text(t->view->dict, t->waits[i].what));
		json_put_number(j, "self", (__s64)t->waits[i].self);
		json_close_object(j);
	}
	json_close_array(j);
}

static void put_json_row(struct json *j, const struct table *t, __u32 frame)
{
	const struct view *v = t->view;
	const struct profile_frame *f = &v->frames[frame];

	const bool line = t->report.options->json_lines;

	if (!line)
		json_newline(j);
	json_open_object(j);
	if (line)
		json_put_string(j, "event", t->report.counts->event.name);
	report_put_json_place(j, label_name(v, f), view_file(v, f),
			      f->line > 0 ? f->line : f->first_line, f->kind);
	json_put_number(j, "self", (__s64)v->sums[frame].self);
	json_put_number(j, "total", (__s64)v->sums[frame].total);
	if (t->waits)
		put_json_waits(j, t, frame);
	json_close_object(j);
	if (line)
		json_end_line(j);
}

static int put_json(struct json *j, struct table *t)
{
	const unsigned limit = t->report.options->limit;
	cleanup_free __u32 *rows = NULL;
	__u32 cnt;
	int err = t->report.options->waits ? find_waits(t) : 0;

	if (!err)
		err = pick_rows(t, &rows, &cnt);
	if (err)
		return err;
	report_put_json(j, t->report.counts);
	if (t->report.options->json_lines) {
		json_close_object(j);
		json_end_line(j);
	} else {
		json_put_array(j, "rows");
	}
	for (__u32 i = 0; i < cnt && (!limit || i < limit); i++)
		put_json_row(j, t, rows[i]);
	if (!t->report.options->json_lines)
		json_close_array(j);
	return 0;
}

/* j NULL: a table. */
static int print_table(FILE *out, struct json *j, const struct counts *c,
		       const struct summary_options *o)
{
	const struct view_options options = {
		.lines = o->lines, .sources = true, .nodes = o->waits, .order = VIEW_BY_COUNT
	};
	cleanup_view struct view *v = NULL;
	struct table t;
	int err;

	err = view__new(&v, c, &options);
	if (err)
		return err;
	t = (struct table){ .view = v };
	text_report_begin(&t.report, out, c, o);
	err = j ? put_json(j, &t) : print(&t);
	free(t.waits);
	return err;
}

static int print_any(FILE *out, struct json *j, const struct counts *c,
		     const struct summary_options *o)
{
	struct summary_options options = *o;
	struct counts *waits;
	int err;

	options.waits = waits_are_in(c);
	if (!options.waits && !event_is_bytes(&c->event))
		return print_table(out, j, c, &options);
	waits = waits__new_of_functions(c);
	if (!waits)
		return -ENOMEM;
	err = print_table(out, j, waits, &options);
	counts__free(waits);
	return err;
}

int summary_table(FILE *out, const struct counts *c, const struct summary_options *o)
{
	return print_any(out, NULL, c, o);
}

int summary_json(struct json *j, const struct counts *c, const struct summary_options *o)
{
	return print_any(j->out, j, c, o);
}
