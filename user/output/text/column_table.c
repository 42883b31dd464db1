/* SPDX-License-Identifier: BSD-2-Clause */
#include "output/text/column_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/escape.h"
#include "profile/marks.h"
#include "base/data/cleanup.h"
#include "base/text/short_path.h"
#include "base/text/stream.h"

static const struct {
	const char *names[3]; /* perf's */
	const char *title;
} columns[COLUMN_CNT] = {
	[COLUMN_OVERHEAD] = { { "overhead" }, "Overhead" },
	[COLUMN_SAMPLE] = { { "sample" }, "Samples" },
	[COLUMN_PERIOD] = { { "period" }, "Period" },
	[COLUMN_COMM] = { { "comm" }, "Command" },
	[COLUMN_PID] = { { "pid" }, "Pid:Command" },
	[COLUMN_TID] = { { "tid" }, "Tid:Command" },
	[COLUMN_DSO] = { { "dso" }, "Shared Object" },
	[COLUMN_SYMBOL] = { { "symbol", "sym" }, "Symbol" },
	[COLUMN_SRCLINE] = { { "srcline" }, "Source:Line" },
};

const char column_names[] = "overhead, sample, period, comm, pid, tid, dso, symbol (sym), srcline";

static bool is_number(enum column column)
{
	return column < COLUMN_COMM;
}

const char *column_name(unsigned i)
{
	return i < COLUMN_CNT ? columns[i].names[0] : NULL;
}

/* ---- options ---------------------------------------------------------------------------------- */

static bool find_column(enum column *ret, const char *word, size_t len)
{
	for (unsigned i = 0; i < COLUMN_CNT; i++) {
		for (unsigned k = 0; k < 3 && columns[i].names[k]; k++) {
			if (strlen(columns[i].names[k]) == len &&
			    !strncmp(columns[i].names[k], word, len)) {
				*ret = (enum column)i;
				return true;
			}
		}
	}
	return false;
}

int column_options_add(struct column_options *o, const char *text, const char **ret_word)
{
	for (;;) {
		size_t len = strcspn(text, ",");
		enum column column;
		bool has = false;

		if (!find_column(&column, text, len)) {
			*ret_word = text;
			return -EINVAL;
		}
		for (unsigned i = 0; i < o->cnt; i++)
			has = has || o->columns[i] == column;
		if (!has && o->cnt == COLUMN_MAX)
			return -E2BIG;
		if (!has)
			o->columns[o->cnt++] = column;
		if (!text[len])
			return 0;
		text += len + 1;
	}
}

static bool is_listed(const char *list, const char *name)
{
	size_t len = strlen(name);

	while (list && *list) {
		size_t word = strcspn(list, ",");

		if (word == len && !strncmp(list, name, len))
			return true;
		list += word + (list[word] == ',');
	}
	return !list;
}

/* ---- rows ------------------------------------------------------------------------------------- */

/* What distinguishes rows; 0 if no column shows it. Texts are ids of strings. */
struct row {
	__u32 comm, name, file;
	int pid, tid, line;
	enum frame_kind kind;
	__u64 self, samples, weight;
};

struct table {
	struct text_report report;
	const struct counts *counts;
	const struct dict *dict;
	struct column_options columns;
	struct row *rows;
	__u32 cnt;
	unsigned widths[COLUMN_MAX];
};

static bool has(const struct table *t, enum column column)
{
	for (unsigned i = 0; i < t->columns.cnt; i++) {
		if (t->columns.columns[i] == column)
			return true;
	}
	return false;
}

static const char *symbol_of(const struct table *t, const struct row *r)
{
	const char *name = dict__text(t->dict, r->name);

	if (r->kind == FRAME_PROCESS || r->kind == FRAME_THREAD)
		return "[unknown]";
	if (r->kind == FRAME_MARK && !*name)
		return MARK_NO_STACK;
	return *name ? name : NAME_EMPTY;
}

/* perf's: where the code is. Python's is in its own file. */
static const char *object_of(const struct table *t, const struct row *r, char buf[SHORT_FILE_SIZE])
{
	const char *file = dict__text(t->dict, r->file);

	return *file ? short_file(buf, file) : "[unknown]";
}

static bool is_wanted(const struct table *t, const struct row *r)
{
	const struct column_options *o = &t->columns;
	char buf[SHORT_FILE_SIZE];

	return is_listed(o->comms, dict__text(t->dict, r->comm)) &&
	       is_listed(o->symbols, symbol_of(t, r)) &&
	       (!o->symbol_filter || strstr(symbol_of(t, r), o->symbol_filter)) &&
	       (is_listed(o->dsos, object_of(t, r, buf)) ||
		is_listed(o->dsos, dict__text(t->dict, r->file)));
}

/* Leaves out what no column shows, so that equal rows become one. */
static void reduce(const struct table *t, struct row *r)
{
	if (!has(t, COLUMN_COMM) && !has(t, COLUMN_PID) && !has(t, COLUMN_TID))
		r->comm = 0;
	if (!has(t, COLUMN_PID))
		r->pid = 0;
	if (!has(t, COLUMN_TID))
		r->tid = 0;
	if (!has(t, COLUMN_SYMBOL)) {
		r->name = 0;
		r->kind = FRAME_PYTHON;
	}
	if (!has(t, COLUMN_DSO) && !has(t, COLUMN_SRCLINE) && !has(t, COLUMN_SYMBOL))
		r->file = 0;
	if (!has(t, COLUMN_SRCLINE))
		r->line = 0;
}

/* Whose a stack is: a node's parent has a smaller number. */
struct whose {
	__u32 comm;
	int pid, tid;
};

static int collect(struct table *t)
{
	const __u32 nodes = dict__node_cnt(t->dict);
	cleanup_free struct whose *whose = calloc((size_t)nodes + 1, sizeof(*whose));

	t->rows = calloc((size_t)nodes + 1, sizeof(*t->rows));
	if (!whose || !t->rows)
		return -ENOMEM;
	for (__u32 i = 0; i <= nodes; i++) {
		const struct node_count n = counts__at(t->counts, i);
		const struct profile_node *node = i ? dict__node_at(t->dict, i) : NULL;
		const struct profile_frame *f = node ? dict__frame_at(t->dict, node->frame) : NULL;
		struct row row = { .kind = FRAME_MARK };

		if (f) {
			whose[i] = whose[node->parent];
			if (f->kind == FRAME_PROCESS || f->kind == FRAME_THREAD) {
				whose[i].comm = f->name;
				whose[i].pid = f->pid;
				whose[i].tid = f->tid ? f->tid : f->pid;
			}
			row = (struct row){ .name = f->name,
					    .file = f->file,
					    .line = f->line > 0 ? f->line : f->first_line,
					    .kind = f->kind };
		}
		if (!n.samples)
			continue;
		row.comm = whose[i].comm;
		row.pid = whose[i].pid;
		row.tid = whose[i].tid;
		row.self = counts__self(t->counts, i);
		row.samples = n.samples;
		row.weight = n.weight;
		if (!is_wanted(t, &row))
			continue;
		reduce(t, &row);
		t->rows[t->cnt++] = row;
	}
	return 0;
}

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static int compare_keys(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = ORDER(x->comm, y->comm);

	order = order ? order : ORDER(x->pid, y->pid);
	order = order ? order : ORDER(x->tid, y->tid);
	order = order ? order : ORDER(x->file, y->file);
	order = order ? order : ORDER(x->name, y->name);
	order = order ? order : ORDER(x->kind, y->kind);
	return order ? order : ORDER(x->line, y->line);
}

static int compare_sizes(const void *a, const void *b, void *ctx)
{
	const struct table *t = ctx;
	const struct row *x = a, *y = b;
	int order = ORDER(y->self, x->self);

	order = order ? order : strcmp(symbol_of(t, x), symbol_of(t, y));
	return order ? order : compare_keys(a, b);
}

static void merge_rows(struct table *t)
{
	__u32 kept = 0;

	qsort(t->rows, t->cnt, sizeof(*t->rows), compare_keys);
	for (__u32 i = 0; i < t->cnt; i++) {
		struct row *last = kept ? &t->rows[kept - 1] : NULL;

		if (last && !compare_keys(last, &t->rows[i])) {
			last->self += t->rows[i].self;
			last->samples += t->rows[i].samples;
			last->weight += t->rows[i].weight;
		} else {
			t->rows[kept++] = t->rows[i];
		}
	}
	t->cnt = kept;
	qsort_r(t->rows, t->cnt, sizeof(*t->rows), compare_sizes, t);
}

/* ---- printing --------------------------------------------------------------------------------- */

static int put_cell(FILE *out, const struct table *t, const struct row *r, enum column column)
{
	char buf[SHORT_FILE_SIZE];
	int err = 0;

	switch (column) {
	case COLUMN_OVERHEAD:
		fprintf(out, "%.2f%%", report_percent(&t->report, r->self));
		break;
	case COLUMN_SAMPLE:
		fprintf(out, "%llu", r->samples);
		break;
	case COLUMN_PERIOD:
		fprintf(out, "%llu", r->weight);
		break;
	case COLUMN_PID:
	case COLUMN_TID:
		fprintf(out, "%d:", column == COLUMN_PID ? r->pid : r->tid);
		return put_shown(out, dict__text(t->dict, r->comm));
	case COLUMN_COMM:
		return put_shown(out, dict__text(t->dict, r->comm));
	case COLUMN_DSO:
		return put_shown(out, object_of(t, r, buf));
	case COLUMN_SYMBOL:
		fputs(r->kind == FRAME_KERNEL ? "[k] " : "[.] ", out);
		return put_shown(out, symbol_of(t, r));
	case COLUMN_SRCLINE:
		err = put_shown(out, object_of(t, r, buf));
		if (!err && r->line > 0)
			fprintf(out, ":%d", r->line);
		return err;
	case COLUMN_CNT:
		break;
	}
	return err;
}

/* The text of a cell, malloc'ed; NULL: out of memory. */
static char *cell_of(const struct table *t, const struct row *r, enum column column)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int err = out ? put_cell(out, t, r, column) : -ENOMEM;

	if (out && !fclose(out) && !err)
		return text;
	free(text);
	return NULL;
}

/* Two passes: first without printing, for the widths. The last column needs none. */
static int put_rows(struct table *t, __u32 shown, bool print)
{
	for (__u32 i = 0; i < shown; i++) {
		for (unsigned k = 0; k < t->columns.cnt; k++) {
			const enum column column = t->columns.columns[k];
			cleanup_free char *text = cell_of(t, &t->rows[i], column);
			unsigned width;
			int pad;

			if (!text)
				return -ENOMEM;
			width = text_width(text);
			if (!print) {
				t->widths[k] = width > t->widths[k] ? width : t->widths[k];
				continue;
			}
			pad = (int)(t->widths[k] - width);
			fprintf(t->report.out, "%s%*s%s%*s", k ? "  " : "",
				is_number(column) ? pad : 0, "", text,
				is_number(column) || k + 1 == t->columns.cnt ? 0 : pad, "");
		}
		if (print)
			putc('\n', t->report.out);
	}
	return 0;
}

static void put_titles(struct table *t)
{
	fputs(report_color(&t->report, REPORT_BOLD), t->report.out);
	for (unsigned k = 0; k < t->columns.cnt; k++) {
		const enum column column = t->columns.columns[k];
		bool last = k + 1 == t->columns.cnt && !is_number(column);

		fprintf(t->report.out, "%s%*s", k ? "  " : "",
			last		  ? 0 :
			is_number(column) ? (int)t->widths[k] :
					    -(int)t->widths[k],
			columns[column].title);
	}
	fprintf(t->report.out, "%s\n", report_color(&t->report, REPORT_RESET));
}

static int print(struct table *t)
{
	const struct summary_options *o = t->report.options;
	__u32 worth = 0, shown;
	int err;

	while (worth < t->cnt && report_percent(&t->report, t->rows[worth].self) >= o->min_percent)
		worth++;
	shown = o->limit && o->limit < worth ? o->limit : worth;
	for (unsigned k = 0; k < t->columns.cnt; k++)
		t->widths[k] = (unsigned)strlen(columns[t->columns.columns[k]].title);
	err = put_rows(t, shown, false);
	if (err)
		return err;
	put_titles(t);
	err = put_rows(t, shown, true);
	if (err)
		return err;
	report_put_more(&t->report, worth - shown);
	report_put_total(&t->report);
	return stream_finish(t->report.out);
}

/* perf shows the overhead even if -F or --sort does not name it, unless a number is among the columns. */
static void complete_columns(struct column_options *o)
{
	static const enum column usual[] = { COLUMN_COMM, COLUMN_DSO, COLUMN_SYMBOL };
	bool number = false, key = false;

	for (unsigned i = 0; i < o->cnt; i++) {
		number = number || is_number(o->columns[i]);
		key = key || !is_number(o->columns[i]);
	}
	for (unsigned i = 0; i < 3 && !key; i++)
		o->columns[o->cnt++] = usual[i];
	if (number)
		return;
	memmove(o->columns + 1, o->columns, o->cnt * sizeof(o->columns[0]));
	o->columns[0] = COLUMN_OVERHEAD;
	o->cnt++;
}

int column_table(FILE *out, const struct counts *c, const struct column_options *options,
		 const struct summary_options *o)
{
	struct table t = { .counts = c, .dict = c->dict, .columns = *options };
	int err;

	complete_columns(&t.columns);
	text_report_begin(&t.report, out, c, o);
	err = collect(&t);
	if (!err) {
		merge_rows(&t);
		err = t.cnt ? print(&t) : -ENOENT;
	}
	free(t.rows);
	return err;
}
