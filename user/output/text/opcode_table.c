/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/text/opcode_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/label.h"
#include "profile/opcodes.h"
#include "profile/stack_filter.h"
#include "profile/view.h"
#include "base/data/cleanup.h"
#include "base/text/stream.h"

/* Stands for a Python frame without an opcode: it was unknown, or another recording has it. */
#define NAME_NO_OPCODE "[opcode not known]"
/* Places listed below the table; annotate shows them all. */
#define PLACES_MAX 10U
/* A smaller share says nothing. */
#define PLACES_MIN_PERCENT 0.5

struct row {
	__u32 covered; /* nodes before this one are descendants of a node of this row */
	__u16 opcode;
	struct view_sums sums;
};

struct opcode_rows {
	struct view *view;
	struct row *opcodes; /* by opcode */
	struct row *places; /* by frame of the view: self only */
	bool any; /* at least one opcode is known */
};

static void rows_free(struct opcode_rows *r)
{
	view__free(r->view);
	free(r->opcodes);
	free(r->places);
}

/* Returns whether any is. */
static bool choose(bool *wanted, const struct view *v, const char *function, enum pattern_use use)
{
	bool any = false;

	for (__u32 i = 1; i < v->frame_cnt; i++) {
		const struct profile_frame *f = &v->frames[i];

		wanted[i] = f->kind == FRAME_PYTHON &&
			    (!function || frame_matches(function, use, f->kind, view_name(v, f),
							view_file(v, f)));
		any |= wanted[i];
	}
	return any;
}

/*
 * Credits the innermost Python frame with what ends below it. A node below another of its opcode
 * adds nothing to the total.
 */
static int count(struct opcode_rows *r, const char *function)
{
	const struct view *v = r->view;
	cleanup_free __u32 *inner = calloc(v->node_cnt, sizeof(*inner));
	cleanup_free bool *wanted = calloc(v->frame_cnt, sizeof(*wanted));

	if (!inner || !wanted)
		return -ENOMEM;
	if (!choose(wanted, v, function, PATTERN_LITERAL))
		choose(wanted, v, function, PATTERN_GLOB);
	for (__u32 i = 1; i < v->node_cnt; i++) {
		const struct view_node *n = &v->nodes[i];
		const struct profile_frame *f = &v->frames[n->frame];
		struct row *row = &r->opcodes[f->opcode];

		inner[i] = f->kind == FRAME_PYTHON ? n->frame : inner[n->parent];
		if (inner[i] && wanted[inner[i]]) {
			r->opcodes[v->frames[inner[i]].opcode].sums.self += n->self;
			r->places[inner[i]].sums.self += n->self;
		}
		if (!wanted[n->frame])
			continue;
		r->any |= f->opcode != 0;
		if (i < row->covered)
			continue;
		row->sums.total += n->total;
		row->covered = n->end;
	}
	return 0;
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct summary_options *o = ctx;
	const struct row *x = a, *y = b;
	int order = view_sums_compare(&x->sums, &y->sums, o->sort == SUMMARY_TOTAL);

	return order ? order : (x->opcode > y->opcode) - (x->opcode < y->opcode);
}

/* versions: opcodes of several versions occur, which may share a name. */
static void put_opcode(FILE *out, __u16 opcode, bool versions)
{
	const char *form = opcode_form_name(opcode_form(opcode));
	char name[OPCODE_NAME_SIZE + 8], buf[OPCODE_NAME_SIZE];

	if (!opcode) {
		fputs(NAME_NO_OPCODE, out);
		return;
	}
	snprintf(name, sizeof(name), "%s", opcode_name(opcode, buf));
	if (versions)
		snprintf(name, sizeof(name), "%s, 3.%u", opcode_name(opcode, buf),
			 opcode_minor(opcode));
	if (*form)
		fprintf(out, "%-36s %s", name, form);
	else
		fputs(name, out);
}

static bool has_versions(const struct row *rows, __u32 cnt)
{
	unsigned minor = 0;

	for (__u32 i = 0; i < cnt; i++) {
		if (minor && rows[i].opcode && opcode_minor(rows[i].opcode) != minor)
			return true;
		minor = rows[i].opcode ? opcode_minor(rows[i].opcode) : minor;
	}
	return false;
}

static void put_forms(const struct text_report *report, const __u64 *forms)
{
	__u64 could = forms[OPCODE_GENERIC] + forms[OPCODE_SPECIAL];

	if (could)
		fprintf(report->out,
			"%.1f%% in instructions that have special forms: %.1f%% of that in one of them\n",
			report_percent(report, could),
			100.0 * (double)forms[OPCODE_SPECIAL] / (double)could);
	if (forms[OPCODE_JIT])
		fprintf(report->out,
			"%.1f%% in traces of the JIT, which begin at these instructions\n",
			report_percent(report, forms[OPCODE_JIT]));
}

static void put_rows(const struct text_report *report, struct opcode_rows *r)
{
	const struct summary_options *o = report->options;
	__u64 forms[OPCODE_FORM_CNT] = { 0 };
	__u32 cnt = 0, shown;
	bool versions;

	for (__u32 i = 0; i < OPCODE_LIMIT; i++) {
		struct row row = r->opcodes[i];

		row.opcode = (__u16)i;
		forms[opcode_form(row.opcode)] += row.sums.self;
		if (row.sums.total && report_percent(report, row.sums.total) >= o->min_percent)
			r->opcodes[cnt++] = row;
	}
	qsort_r(r->opcodes, cnt, sizeof(*r->opcodes), compare_rows, (void *)o);
	shown = o->limit && o->limit < cnt ? o->limit : cnt;
	versions = has_versions(r->opcodes, cnt);
	fprintf(report->out, "%s  Self  Total %9s  Opcode%s\n", report_color(report, REPORT_BOLD),
		report_amount_title(report), report_color(report, REPORT_RESET));
	for (__u32 i = 0; i < shown; i++) {
		report_put_row(report, r->opcodes[i].sums.self, r->opcodes[i].sums.total);
		put_opcode(report->out, r->opcodes[i].opcode, versions);
		putc('\n', report->out);
	}
	report_put_more(report, cnt - shown);
	put_forms(report, forms);
}

static int compare_places(const void *a, const void *b, void *ctx)
{
	const struct profile_frame *frames = ctx;
	const struct row *x = a, *y = b;
	int order = view_sums_compare(&x->sums, &y->sums, false);

	return order ? order : frames[x->covered].unit - frames[y->covered].unit;
}

static int put_place(const struct text_report *report, const struct view *v, const struct row *row)
{
	const struct profile_frame *f = &v->frames[row->covered];
	char amount[24], buf[OPCODE_NAME_SIZE];
	int err;

	report_amount(report, amount, row->sums.self);
	report_put_self(report, row->sums.self);
	fprintf(report->out, " %9s  %-20s @%-5d ", amount, opcode_name(f->opcode, buf),
		2 * f->unit);
	err = put_label(report->out, v, f);
	if (f->column >= 0)
		fprintf(report->out, ", column %d", f->column + 1);
	putc('\n', report->out);
	return err;
}

/* Lists generic instructions, the hottest first. */
static int put_generic(const struct text_report *report, struct opcode_rows *r)
{
	const struct view *v = r->view;
	__u32 cnt = 0, shown;
	int err = 0;

	for (__u32 i = 1; i < v->frame_cnt; i++) {
		const __u64 self = r->places[i].sums.self;

		if (opcode_form(v->frames[i].opcode) == OPCODE_GENERIC &&
		    report_percent(report, self) >= PLACES_MIN_PERCENT)
			r->places[cnt++] = (struct row){ .covered = i, .sums.self = self };
	}
	if (!cnt)
		return 0;
	qsort_r(r->places, cnt, sizeof(*r->places), compare_places, v->frames);
	shown = report->options->limit && cnt > PLACES_MAX ? PLACES_MAX : cnt;
	fprintf(report->out, "\n%sHot and not specialised:%s\n", report_color(report, REPORT_BOLD),
		report_color(report, REPORT_RESET));
	for (__u32 i = 0; i < shown && !err; i++)
		err = put_place(report, v, &r->places[i]);
	report_put_more(report, cnt - shown);
	putc('\n', report->out);
	return err;
}

int opcode_table(FILE *out, const struct counts *c, const char *function,
		 const struct summary_options *o)
{
	const struct view_options options = {
		.lines = true,
		.instructions = true,
		.order = VIEW_BY_NAME,
	};
	struct opcode_rows r = { 0 };
	struct text_report report;
	int err = view__new(&r.view, c, &options);

	if (!err) {
		r.opcodes = calloc(OPCODE_LIMIT, sizeof(*r.opcodes));
		r.places = calloc(r.view->frame_cnt, sizeof(*r.places));
		err = r.opcodes && r.places ? count(&r, function) : -ENOMEM;
	}
	if (!err && !r.any)
		err = -ENODATA;
	if (!err) {
		text_report_begin(&report, out, c, o);
		put_rows(&report, &r);
		err = put_generic(&report, &r);
	}
	if (!err)
		report_put_footer(&report, r.view);
	rows_free(&r);
	return err ? err : stream_finish(out);
}
