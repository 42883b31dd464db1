/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * summary.c - rows of text from a view.
 */
#include "emit/summary.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "emit/escape.h"
#include "emit/label.h"
#include "profile/view.h"
#include "util/cleanup.h"
#include "util/stream.h"

/* Width of "100.0% 100.0%   12.3 s  " plus one column. */
#define NUMBERS_WIDTH 26
/* A narrower column says nothing: then it is better to wrap. */
#define MIN_COLUMN 16

/* A column's text and its width on the terminal. */
struct cell {
	char *text;
	size_t size;
	unsigned width;
};

struct table {
	struct text_report report;
	struct view *view;
	unsigned function_width, file_width; /* of the columns */
	enum report_length length; /* of names in the columns */
};

static int cell_fill(struct cell *c, const struct table *t, const struct profile_frame *f,
		     bool file)
{
	const struct view *v = t->view;
	FILE *out = open_memstream(&c->text, &c->size);
	const char *path = view_file(v, f);
	int line = f->line > 0 ? f->line : f->first_line, err;

	if (!out)
		return -ENOMEM;
	err = file ? put_short_file(out, path) : put_printable(out, label_name(v, f));
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
	struct cell function = { 0 }, file = { 0 };
	FILE *out = t->report.out;
	/* A mark is never cut; it has no file either. */
	unsigned used, function_width = f->kind == FRAME_MARK ? UINT_MAX : t->function_width;
	int err;

	err = cell_fill(&function, t, f, false);
	if (!err)
		err = cell_fill(&file, t, f, true);
	if (!err) {
		report_put_row(&t->report, sums->self, sums->total);
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
	free(function.text);
	free(file.text);
	return err;
}

/* Makes columns as wide as needed. */
static int measure_columns(struct table *t, const __u32 *rows, __u32 cnt)
{
	t->function_width = strlen("Function");
	t->file_width = strlen("File");
	for (__u32 i = 0; i < cnt; i++) {
		const struct profile_frame *f = &t->view->frames[rows[i]];
		struct cell a = { 0 }, b = { 0 };
		int err = cell_fill(&a, t, f, false);

		if (!err)
			err = cell_fill(&b, t, f, true);
		t->function_width = a.width > t->function_width ? a.width : t->function_width;
		t->file_width = b.width > t->file_width ? b.width : t->file_width;
		free(a.text);
		free(b.text);
		if (err)
			return err;
	}
	return 0;
}

/* Makes columns as wide as needed, or fits them to the terminal with the longest names that fit. */
static int measure(struct table *t, const __u32 *rows, __u32 cnt)
{
	unsigned room = t->report.options->width;
	int err;

	if (room && room < NUMBERS_WIDTH + 2 * MIN_COLUMN + 2)
		room = NUMBERS_WIDTH + 2 * MIN_COLUMN + 2;
	if (room)
		room -= NUMBERS_WIDTH + 2;
	for (;; t->length++) {
		err = measure_columns(t, rows, cnt);
		if (err || !room || t->function_width + t->file_width <= room)
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

int summary_table(FILE *out, const struct counts *c, const struct summary_options *o)
{
	const struct view_options options = { .lines = o->lines,
					      .sources = true,
					      .order = VIEW_BY_COUNT };
	cleanup_view struct view *v = NULL;
	cleanup_free __u32 *rows = NULL;
	struct table t;
	__u32 cnt, limit, shown, i;
	int err;

	err = view__new(&v, c, &options);
	if (err)
		return err;
	t = (struct table){ .view = v };
	text_report_begin(&t.report, out, c, o);
	err = pick_rows(&t, &rows, &cnt);
	if (err)
		return err;
	limit = report_rows(&t.report, v);
	shown = limit && limit < cnt ? limit : cnt;
	err = measure(&t, rows, shown);
	if (err)
		return err;
	if (cnt)
		fprintf(out, "%s  Self  Total %9s  %-*s  %s%s\n",
			report_color(&t.report, REPORT_BOLD), report_amount_title(&t.report),
			(int)t.function_width, "Function", "File",
			report_color(&t.report, REPORT_RESET));
	for (i = 0; i < shown && !err; i++)
		err = put_row(&t, rows[i]);
	if (err)
		return err;
	report_put_more(&t.report, cnt - shown);
	report_put_footer(&t.report, v);
	return stream_finish(out);
}
