/* SPDX-License-Identifier: BSD-2-Clause */
#include "emit/thread_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emit/escape.h"
#include "emit/label.h"
#include "util/cleanup.h"
#include "util/stream.h"

static int compare_totals(const void *a, const void *b, void *ctx)
{
	const struct view *v = ctx;
	const struct view_node *x = &v->nodes[*(const __u32 *)a];
	const struct view_node *y = &v->nodes[*(const __u32 *)b];

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return view_frame_compare(v, &v->frames[x->frame], &v->frames[y->frame]);
}

/* A thread says whose it is unless that has the same name. */
static int put_task(FILE *out, const struct view *v, const struct view_node *n)
{
	const struct view_frame *f = &v->frames[n->frame];
	const struct view_frame *parent = &v->frames[v->nodes[n->parent].frame];
	int err;

	if (f->kind == FRAME_THREAD)
		fprintf(out, "%7d/%-7d  ", f->pid, f->tid);
	else if (f->kind == FRAME_PROCESS)
		fprintf(out, "%7d  ", f->pid);
	else
		fprintf(out, "%7s  ", "-");
	err = put_printable(out, label_name(v, f));
	if (!err && f->kind == FRAME_THREAD && parent->name != f->name) {
		fputs(" of ", out);
		err = put_printable(out, label_name(v, parent));
	}
	putc('\n', out);
	return err;
}

int thread_table(FILE *out, const struct counts *c, const struct summary_options *o, bool threads)
{
	const struct view_options options = {
		.processes = true,
		.threads = threads,
		.ids = true,
		.order = VIEW_BY_COUNT,
	};
	const __u32 depth = threads ? 2 : 1;
	cleanup_view struct view *v = NULL;
	cleanup_free __u32 *rows = NULL;
	__u32 cnt = 0, shown;
	double total;
	int err = view__new(&v, c, &options);

	if (err)
		return err;
	rows = calloc(v->node_cnt, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	total = v->nodes[0].total ? (double)v->nodes[0].total : 1;
	for (__u32 i = 1; i < v->node_cnt; i++) {
		if (v->nodes[i].depth == depth &&
		    100 * (double)v->nodes[i].total / total >= o->min_percent)
			rows[cnt++] = i;
	}
	qsort_r(rows, cnt, sizeof(*rows), compare_totals, v);
	shown = o->limit && o->limit < cnt ? o->limit : cnt;
	fprintf(out, " Share %8s  %s\n",
		strcmp(counts__share_unit(c), "events") ? "Samples" : "Events",
		threads ? "    PID/TID      Thread" : "    PID  Process");
	for (__u32 i = 0; i < shown && !err; i++) {
		const struct view_node *n = &v->nodes[rows[i]];

		fprintf(out, "%5.1f%% %8llu  ", 100 * (double)n->total / total, n->total);
		err = put_task(out, v, n);
	}
	if (shown < cnt)
		fprintf(out, "… %u more\n", cnt - shown);
	fprintf(out, "%llu %s\n", v->nodes[0].total, counts__share_unit(c));
	if (!err)
		err = stream_finish(out);
	return err;
}
