/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/text/call_tree.h"

#include <errno.h>
#include <stdlib.h>

#include "output/text/callers.h"
#include "output/escape.h"
#include "output/label.h"
#include "profile/waits.h"
#include "base/data/cleanup.h"
#include "base/text/stream.h"

/* Levels of branches that are drawn; deeper rows state their depth. */
#define LEVELS_MAX 60
/* With more rows of kernel functions than this, we mention --no-kernel. */
#define KERNEL_ROWS_MANY 10

struct tree {
	struct text_report report;
	const struct view *view; /* by frame */
	const struct view_node *nodes; /* in depth-first order, [0] the root */
	__u32 cnt;
	bool callers;
	__u32 *branches; /* by node: its children that are shown and not yet printed */
	__u32 *level; /* by node: branches above it */
	bool *forks; /* by node: more than one of its children is shown */
	bool open[LEVELS_MAX + 1]; /* more children follow at that level */
	unsigned levels; /* that fit on the screen */
	unsigned kernel_rows; /* printed */
};

static bool is_shown(const struct tree *t, __u32 i)
{
	return report_percent(&t->report, t->nodes[i].total) >= t->report.options->min_percent;
}

static int count_branches(struct tree *t)
{
	t->branches = calloc(t->cnt, sizeof(*t->branches));
	t->level = calloc(t->cnt, sizeof(*t->level));
	t->forks = calloc(t->cnt, sizeof(*t->forks));
	if (!t->branches || !t->level || !t->forks)
		return -ENOMEM;
	for (__u32 i = 1; i < t->cnt; i++) {
		if (is_shown(t, i))
			t->branches[t->nodes[i].parent]++;
	}
	for (__u32 i = 0; i < t->cnt; i++)
		t->forks[i] = t->branches[i] > 1;
	return 0;
}

static const char *piece(const struct tree *t, const char *utf8, const char *ascii)
{
	return t->report.options->ascii ? ascii : utf8;
}

/* Draws "│ ├─" for a branch; an only child stands right below its parent. */
static void put_guides(struct tree *t, __u32 i)
{
	__u32 parent = t->nodes[i].parent, level = t->level[i];
	bool branch = t->forks[parent];
	__u32 drawn = branch ? level - 1 : level;

	t->branches[parent]--;
	if (level > t->levels) {
		fprintf(t->report.out, "%*s[%u] ", (int)t->levels * 2, "", t->nodes[i].depth);
		return;
	}
	for (__u32 l = 1; l <= drawn; l++)
		fputs(t->open[l] ? piece(t, "│ ", "| ") : "  ", t->report.out);
	if (!branch)
		return;
	t->open[level] = t->branches[parent] > 0;
	fputs(t->open[level] ? piece(t, "├ ", "|-") : piece(t, "└ ", "`-"), t->report.out);
}

static int put_name(const struct tree *t, const struct profile_frame *f)
{
	const char *file = view_file(t->view, f);
	int line = f->line > 0 ? f->line : f->first_line;
	int err;

	if ((f->kind != FRAME_PYTHON && f->kind != FRAME_NATIVE) || !*file ||
	    (f->kind == FRAME_NATIVE && *label_name(t->view, f) == '['))
		return put_label(t->report.out, t->view, f);
	err = put_shown(t->report.out, label_name(t->view, f));
	fprintf(t->report.out, " %s(", report_color(&t->report, REPORT_DIM));
	if (!err)
		err = put_short_file(t->report.out, file);
	if (line > 0)
		fprintf(t->report.out, ":%d", line);
	fprintf(t->report.out, ")%s", report_color(&t->report, REPORT_RESET));
	return err;
}

static int put_node(struct tree *t, __u32 i)
{
	const struct view_node *n = &t->nodes[i];
	char amount[24];
	int err;

	fprintf(t->report.out, "%5.1f%% ", report_percent(&t->report, n->total));
	if (t->callers) {
		report_amount(&t->report, amount, n->total);
		fprintf(t->report.out, "%9s", amount);
	} else {
		report_put_self(&t->report, n->self);
	}
	fputs("  ", t->report.out);
	t->kernel_rows += t->view->frames[n->frame].kind == FRAME_KERNEL;
	put_guides(t, i);
	err = put_name(t, &t->view->frames[n->frame]);
	putc('\n', t->report.out);
	return err;
}

static int put_nodes(struct tree *t)
{
	__u32 hidden = 0, i;
	int err = 0;

	for (i = 1; i < t->cnt && !err;) {
		__u32 parent = t->nodes[i].parent;

		if (!is_shown(t, i)) {
			hidden += t->nodes[i].end - i;
			i = t->nodes[i].end;
			continue;
		}
		t->level[i] = t->level[parent] + t->forks[parent];
		err = put_node(t, i++);
	}
	if (hidden)
		fprintf(t->report.out, "%s%s %u nodes below %g%%%s\n",
			report_color(&t->report, REPORT_DIM), report_ellipsis(&t->report), hidden,
			t->report.options->min_percent, report_color(&t->report, REPORT_RESET));
	if (t->kernel_rows > KERNEL_ROWS_MANY && t->report.options->can_leave_kernel)
		fprintf(t->report.out, "%s%u rows are kernel functions (--no-kernel)%s\n",
			report_color(&t->report, REPORT_DIM), t->kernel_rows,
			report_color(&t->report, REPORT_RESET));
	return err;
}

static int print(struct tree *t)
{
	unsigned width = t->report.options->width;
	int err = count_branches(t);
	char title[16];

	snprintf(title, sizeof(title), "%9s", report_total_title(&t->report));
	/* Levels take at most a third of the screen's width. */
	t->levels = width && width / 6 < LEVELS_MAX ? width / 6 : width ? LEVELS_MAX : 30;
	fprintf(t->report.out, "%s Total %s  Function%s\n", report_color(&t->report, REPORT_BOLD),
		t->callers ? title : "  Self", report_color(&t->report, REPORT_RESET));
	if (!err)
		err = put_nodes(t);
	free(t->branches);
	free(t->level);
	free(t->forks);
	if (err)
		return err;
	report_put_footer(&t->report, t->view);
	return stream_finish(t->report.out);
}

/* pattern NULL: from the root. */
static int tree_of(FILE *out, const struct counts *c, const char *pattern, bool callees,
		   const struct summary_options *o)
{
	const struct view_options options = { .lines = o->lines,
					      .sources = true,
					      .processes = !pattern && o->tree_processes,
					      .order = VIEW_BY_COUNT };
	cleanup_view struct view *v = NULL;
	cleanup_free struct view_node *nodes = NULL;
	struct tree t = { .callers = pattern && !callees };
	int err = view__new(&v, c, &options);

	if (!err && pattern)
		err = callers_of(&nodes, &t.cnt, v, pattern, callees);
	if (err)
		return err;
	t.view = v;
	t.nodes = pattern ? nodes : v->nodes;
	t.cnt = pattern ? t.cnt : v->node_cnt;
	text_report_begin(&t.report, out, c, o);
	return print(&t);
}

/* Kernel code below a wait is the same everywhere, and hides who waits. */
static int print_tree(FILE *out, const struct counts *c, const char *pattern, bool callees,
		      const struct summary_options *o)
{
	struct counts *waits;
	int err;

	if (o->wait_kernel || !waits_are_in(c))
		return tree_of(out, c, pattern, callees, o);
	waits = waits__new_without_kernel(c);
	if (!waits)
		return -ENOMEM;
	err = tree_of(out, waits, pattern, callees, o);
	counts__free(waits);
	return err;
}

int call_tree(FILE *out, const struct counts *c, const struct summary_options *o)
{
	return print_tree(out, c, NULL, false, o);
}

int callers_tree(FILE *out, const struct counts *c, const char *pattern,
		 const struct summary_options *o)
{
	return print_tree(out, c, pattern, false, o);
}

int callees_tree(FILE *out, const struct counts *c, const char *pattern,
		 const struct summary_options *o)
{
	return print_tree(out, c, pattern, true, o);
}
