/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/text/origin_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/escape.h"
#include "output/label.h"
#include "profile/origin.h"
#include "profile/strtab.h"
#include "profile/view.h"
#include "base/data/cleanup.h"
#include "base/text/stream.h"

struct row {
	__u32 name; /* index of names */
	__u32 covered; /* nodes before this one are descendants of a node of this origin */
	struct view_sums sums;
};

struct origins {
	struct view *view;
	struct strtab names;
	struct row *rows; /* by name */
	__u32 *row_of; /* by frame of the view */
	bool by_total; /* sort so */
};

static void origins_free(struct origins *o)
{
	view__free(o->view);
	strtab_free(&o->names);
	free(o->rows);
	free(o->row_of);
}

static int name_frames(struct origins *o)
{
	const struct view *v = o->view;

	o->row_of = calloc(v->frame_cnt, sizeof(*o->row_of));
	o->rows = calloc((size_t)v->frame_cnt + 1, sizeof(*o->rows));
	if (!o->row_of || !o->rows || strtab_init(&o->names))
		return -ENOMEM;
	for (__u32 i = 0; i < v->frame_cnt; i++) {
		const struct profile_frame *f = &v->frames[i];
		char name[ORIGIN_NAME_SIZE];

		origin_name(name, f, view_file(v, f), label_name(v, f));
		o->row_of[i] = strtab_add(&o->names, name, strlen(name), 0);
		if (!o->row_of[i])
			return -ENOMEM;
		o->rows[o->row_of[i]].name = o->row_of[i];
	}
	return 0;
}

/* As on the page. */
static const char *shown_name(const char *origin)
{
	return strcmp(origin, "application") ? origin : "own code";
}

/* A node below another of its origin adds nothing to the total. */
static void count(struct origins *o)
{
	for (__u32 i = 0; i < o->view->node_cnt; i++) {
		const struct view_node *n = &o->view->nodes[i];
		struct row *r = &o->rows[o->row_of[n->frame]];

		if (!i && !n->self)
			continue;
		r->sums.self += n->self;
		if (!i || i < r->covered)
			continue;
		r->sums.total += n->total;
		r->covered = n->end;
	}
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct row *x = a, *y = b;
	const struct origins *o = ctx;
	int order = view_sums_compare(&x->sums, &y->sums, o->by_total);

	if (order)
		return order;
	return strcmp(strtab_text(&o->names, x->name), strtab_text(&o->names, y->name));
}

/* Leaves the rows worth showing, sorted. Returns their number. */
static __u32 pick_rows(struct origins *o, const struct text_report *report)
{
	__u32 cnt = 0;

	for (__u32 i = 1; i < o->names.cnt; i++) {
		const struct row *r = &o->rows[i];

		/* A mark stands for missing code: it counts only if samples end there. */
		bool counts = r->sums.self ||
			      (r->sums.total && *strtab_text(&o->names, r->name) != '[');

		if (counts && report_percent(report, r->sums.total) >= report->options->min_percent)
			o->rows[cnt++] = *r;
	}
	qsort_r(o->rows, cnt, sizeof(*o->rows), compare_rows, o);
	return cnt;
}

static int put_rows(const struct text_report *report, const struct origins *o, __u32 cnt,
		    __u32 limit)
{
	const __u32 shown = limit && limit < cnt ? limit : cnt;
	int err = 0;

	fprintf(report->out, "%s  Self  Total %9s  Origin%s\n", report_color(report, REPORT_BOLD),
		report_amount_title(report), report_color(report, REPORT_RESET));
	for (__u32 i = 0; i < shown && !err; i++) {
		const struct row *r = &o->rows[i];

		report_put_row(report, r->sums.self, r->sums.total);
		err = put_shown(report->out, shown_name(strtab_text(&o->names, r->name)));
		putc('\n', report->out);
	}
	report_put_more(report, cnt - shown);
	return err;
}

static int find_origins(struct origins *o, const struct counts *c)
{
	const struct view_options options = { .order = VIEW_BY_COUNT };
	int err = view__new(&o->view, c, &options);

	if (!err)
		err = name_frames(o);
	if (!err)
		count(o);
	return err;
}

int origin_table(FILE *out, const struct counts *c, const struct summary_options *o)
{
	struct origins origins = { .by_total = o->sort == SUMMARY_TOTAL };
	struct text_report report;
	int err = find_origins(&origins, c);

	text_report_begin(&report, out, c, o);
	if (!err)
		err = put_rows(&report, &origins, pick_rows(&origins, &report), o->limit);
	if (!err)
		report_put_footer(&report, origins.view);
	origins_free(&origins);
	return err ? err : stream_finish(out);
}

/* Marks are in the table above. */
static bool has_several(const struct origins *o, __u32 cnt)
{
	unsigned found = 0;

	for (__u32 i = 0; i < cnt; i++)
		found += *strtab_text(&o->names, o->rows[i].name) != '[';
	return found > 1;
}

int origin_put_block(const struct text_report *r)
{
	struct origins origins = { .by_total = r->options->sort == SUMMARY_TOTAL };
	int err = find_origins(&origins, r->counts);
	__u32 cnt = err ? 0 : pick_rows(&origins, r);

	if (has_several(&origins, cnt)) {
		putc('\n', r->out);
		err = put_rows(r, &origins, cnt, r->options->origins);
		putc('\n', r->out);
	}
	origins_free(&origins);
	return err;
}
