/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/text/thread_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/escape.h"
#include "output/label.h"
#include "base/data/cleanup.h"
#include "base/text/stream.h"

/* Rows when above another table. */
#define PROGRAM_ROWS 5

static int compare_totals(const void *a, const void *b, void *ctx)
{
	const struct view *v = ctx;

	return view_node_compare(v, &v->nodes[*(const __u32 *)a], &v->nodes[*(const __u32 *)b]);
}

/* A thread names its process unless both have the same name. */
static int put_task(FILE *out, const struct view *v, const struct view_node *n)
{
	const struct profile_frame *f = &v->frames[n->frame];
	const struct profile_frame *parent = &v->frames[v->nodes[n->parent].frame];
	int err;

	if (f->kind == FRAME_THREAD)
		fprintf(out, "%7d/%-7d  ", f->pid, f->tid);
	else if (f->kind == FRAME_PROCESS)
		fprintf(out, "%7d  ", f->pid);
	else
		fprintf(out, "%7s  ", "-");
	err = put_shown(out, label_name(v, f));
	if (!err && f->kind == FRAME_THREAD && parent->name != f->name) {
		fputs(" of ", out);
		err = put_shown(out, label_name(v, parent));
	}
	putc('\n', out);
	return err;
}

static const char *const titles[] = {
	[ROWS_PROGRAMS] = "Program",
	[ROWS_PROCESSES] = "    PID  Process",
	[ROWS_THREADS] = "    PID/TID      Thread",
};

/* Picks nodes of the level that are worth a row, the largest first. */
static int pick(__u32 **ret, __u32 *ret_cnt, const struct text_report *r, struct view *v,
		__u32 depth)
{
	__u32 *rows = calloc(v->node_cnt, sizeof(*rows)), cnt = 0;

	*ret = rows;
	if (!rows)
		return -ENOMEM;
	for (__u32 i = 1; i < v->node_cnt; i++) {
		if (v->nodes[i].depth == depth &&
		    report_percent(r, v->nodes[i].total) >= r->options->min_percent)
			rows[cnt++] = i;
	}
	qsort_r(rows, cnt, sizeof(*rows), compare_totals, v);
	*ret_cnt = cnt;
	return 0;
}

static int put_row(const struct text_report *r, const struct view *v, const struct view_node *n,
		   enum thread_table_rows rows)
{
	char amount[24];
	int err;

	report_amount(r, amount, n->total);
	fprintf(r->out, "%5.1f%% %9s  ", report_percent(r, n->total), amount);
	if (rows != ROWS_PROGRAMS)
		return put_task(r->out, v, n);
	err = put_shown(r->out, label_name(v, &v->frames[n->frame]));
	putc('\n', r->out);
	return err;
}

static int put_table(const struct text_report *r, struct view *v, enum thread_table_rows rows)
{
	cleanup_free __u32 *list = NULL;
	__u32 cnt, shown;
	int err = pick(&list, &cnt, r, v, rows == ROWS_THREADS ? 2 : 1);

	if (err)
		return err;
	shown = r->options->limit && r->options->limit < cnt ? r->options->limit : cnt;
	fprintf(r->out, "%s Share %9s  %s%s\n", report_color(r, REPORT_BOLD), report_total_title(r),
		titles[rows], report_color(r, REPORT_RESET));
	for (__u32 i = 0; i < shown && !err; i++)
		err = put_row(r, v, &v->nodes[list[i]], rows);
	report_put_more(r, cnt - shown);
	return err;
}

int thread_table(FILE *out, const struct counts *c, const struct summary_options *o,
		 enum thread_table_rows rows)
{
	const struct view_options options = {
		.processes = true,
		.threads = rows == ROWS_THREADS,
		.ids = rows != ROWS_PROGRAMS,
		.order = VIEW_BY_COUNT,
	};
	cleanup_view struct view *v = NULL;
	struct text_report r;
	int err = view__new(&v, c, &options);

	if (err)
		return err;
	text_report_begin(&r, out, c, o);
	err = put_table(&r, v, rows);
	if (err)
		return err;
	report_put_footer(&r, v);
	return stream_finish(out);
}

/*
 * There are several programs, and stacks begin with them: stacks from other tools may begin with
 * any function.
 */
static bool has_programs(const struct view *v)
{
	unsigned cnt = 0;

	for (__u32 i = 1; i < v->node_cnt; i = v->nodes[i].end) {
		enum frame_kind kind = v->frames[v->nodes[i].frame].kind;

		if (kind != FRAME_PROCESS && kind != FRAME_MARK)
			return false;
		cnt += kind == FRAME_PROCESS;
	}
	return cnt > 1;
}

int program_table(FILE *out, const struct counts *c, const struct summary_options *o)
{
	const struct view_options options = { .processes = true, .order = VIEW_BY_COUNT };
	struct summary_options few = *o;
	cleanup_view struct view *v = NULL;
	struct text_report r;
	int err = view__new(&v, c, &options);

	if (err || !has_programs(v))
		return err;
	few.limit = PROGRAM_ROWS;
	text_report_begin(&r, out, c, &few);
	err = put_table(&r, v, ROWS_PROGRAMS);
	putc('\n', out);
	return err;
}
