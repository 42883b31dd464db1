/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * summary.c - rows of text from a view.
 */
#include "emit/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "emit/escape.h"
#include "emit/label.h"
#include "profile/view.h"
#include "profile/marks.h"
#include "util/cleanup.h"
#include "util/short_path.h"
#include "util/stream.h"

#define SUMMARY_ROWS 20
/* "100.0% 100.0% 12345678  " */
#define NUMBERS_WIDTH 24
/* Below, a column says nothing: better to wrap. */
#define MIN_COLUMN 16
/* Share that is worth a second look. */
#define HOT_PERCENT 10.0

#define BOLD "\x1b[1m"
#define DIM "\x1b[2m"
#define RED "\x1b[31m"
#define RESET "\x1b[0m"

/* A text for one column, with what it takes on the terminal. */
struct cell {
	char *text;
	size_t size;
	unsigned width;
};

struct table {
	FILE *out;
	const struct summary_options *options;
	struct view *view;
	double total;
	unsigned function_width, file_width; /* of the columns */
};

void summary_options_init(struct summary_options *o, FILE *out)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
	struct winsize size;
	int fd = fileno(out);

	*o = (struct summary_options){ .limit = SUMMARY_ROWS };
	if (fd < 0 || !isatty(fd))
		return;
	o->width = !ioctl(fd, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : 80;
	o->color = !(no_color && *no_color) && term && strcmp(term, "dumb");
}

static const char *color(const struct table *t, const char *code)
{
	return t->options->color ? code : "";
}

static double percent(const struct table *t, __u64 samples)
{
	return t->total > 0 ? 100.0 * (double)samples / t->total : 0;
}

/* The end of a text is what tells functions and files apart, so the start goes: "…Class.method". */
static void put_tail(FILE *out, const char *text, unsigned width, unsigned limit)
{
	size_t bytes;

	if (width > limit) {
		for (; *text && width > limit - 1; text += bytes)
			width -= char_width(text, &bytes);
		fputs("…", out);
	}
	fputs(text, out);
}

static int cell_fill(struct cell *c, const struct view *v, const struct view_frame *f, bool file)
{
	FILE *out = open_memstream(&c->text, &c->size);
	const char *path = view_file(v, f);
	int line = f->line > 0 ? f->line : f->first_line, err;

	if (!out)
		return -ENOMEM;
	err = put_printable(out, file ? short_path(path) : label_name(v, f));
	if (file && *path && line > 0)
		fprintf(out, ":%d", line);
	if (fclose(out) || err)
		return -ENOMEM;
	c->width = text_width(c->text);
	return 0;
}

static void put_numbers(const struct table *t, __u64 self, __u64 total)
{
	double hot = percent(t, self);

	fprintf(t->out, "%s%5.1f%%%s %5.1f%% %8llu  ", color(t, hot >= HOT_PERCENT ? BOLD RED : ""),
		hot, color(t, hot >= HOT_PERCENT ? RESET : ""), percent(t, total),
		(unsigned long long)self);
}

static int put_row(const struct table *t, const struct view_frame *f)
{
	struct cell function = { 0 }, file = { 0 };
	unsigned used;
	int err;

	err = cell_fill(&function, t->view, f, false);
	if (!err)
		err = cell_fill(&file, t->view, f, true);
	if (!err) {
		put_numbers(t, f->self, f->total);
		put_tail(t->out, function.text, function.width, t->function_width);
		used = function.width;
		if (used > t->function_width)
			used = t->function_width;
		if (*file.text) {
			fprintf(t->out, "%*s%s", (int)(t->function_width - used) + 2, "",
				color(t, DIM));
			put_tail(t->out, file.text, file.width, t->file_width);
			fputs(color(t, RESET), t->out);
		}
		putc('\n', t->out);
	}
	free(function.text);
	free(file.text);
	return err;
}

/* Column widths: as needed, or shared so that a row fits the terminal. */
static int measure(struct table *t, const __u32 *rows, __u32 cnt)
{
	unsigned room = t->options->width, function = strlen("Function"), file = strlen("File");
	__u32 i;
	int err;

	for (i = 0; i < cnt; i++) {
		const struct view_frame *f = &t->view->frames[rows[i]];
		struct cell a = { 0 }, b = { 0 };

		err = cell_fill(&a, t->view, f, false);
		if (!err)
			err = cell_fill(&b, t->view, f, true);
		function = a.width > function ? a.width : function;
		file = b.width > file ? b.width : file;
		free(a.text);
		free(b.text);
		if (err)
			return err;
	}
	if (room && room < NUMBERS_WIDTH + 2 * MIN_COLUMN + 2)
		room = NUMBERS_WIDTH + 2 * MIN_COLUMN + 2;
	if (room)
		room -= NUMBERS_WIDTH + 2;
	if (room && function + file > room) {
		file = file > room / 2 && function > room / 2 ? room / 2 :
		       file > room / 2			      ? room - function :
								file;
		function = room - file;
	}
	t->function_width = function;
	t->file_width = file;
	return 0;
}

static int compare_self(const void *a, const void *b, void *ctx)
{
	const struct view *v = ctx;
	const struct view_frame *x = &v->frames[*(const __u32 *)a];
	const struct view_frame *y = &v->frames[*(const __u32 *)b];

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return view_frame_compare(v, x, y);
}

static int compare_total(const void *a, const void *b, void *ctx)
{
	const struct view *v = ctx;
	const struct view_frame *x = &v->frames[*(const __u32 *)a];
	const struct view_frame *y = &v->frames[*(const __u32 *)b];

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return compare_self(a, b, ctx);
}

/* Frames worth a row, sorted; the root and marks only if samples end in them. */
static int pick_rows(const struct table *t, __u32 **ret, __u32 *ret_cnt)
{
	struct view *v = t->view;
	__u32 *rows = calloc(v->frame_cnt, sizeof(*rows)), cnt = 0, i;

	if (!rows)
		return -ENOMEM;
	for (i = 0; i < v->frame_cnt; i++) {
		const struct view_frame *f = &v->frames[i];

		bool function = f->kind == FRAME_PYTHON || f->kind == FRAME_NATIVE ||
				f->kind == FRAME_KERNEL;

		if (function ? !f->total : !f->self)
			continue;
		if (percent(t, f->total) >= t->options->min_percent)
			rows[cnt++] = i;
	}
	qsort_r(rows, cnt, sizeof(*rows),
		t->options->sort == SUMMARY_TOTAL ? compare_total : compare_self, v);
	*ret = rows;
	*ret_cnt = cnt;
	return 0;
}

/* "5602 samples"; of what, unless it is time; and how many events they are, where that is not clear. */
static void put_total(FILE *out, const struct counts *c, __u64 total)
{
	fprintf(out, "%llu %s", (unsigned long long)total, counts__share_unit(c));
	if (!event_is_clock(&c->event))
		fprintf(out, " of %s", c->event.name);
	if (c->uneven)
		fprintf(out, " in %llu samples", (unsigned long long)c->samples);
	else if (!event_is_clock(&c->event) && c->sample_weight > 1)
		fprintf(out, ", each of %llu", (unsigned long long)c->sample_weight);
	putc('\n', out);
}

static void put_accounts(FILE *out, const struct counts *c)
{
	const struct accounts *a = &c->accounts;
	char books[512];

	if (!a->interrupts)
		return;
	accounts_format(a, books, sizeof(books));
	fprintf(out, "%s", books);
	if (a->unknown_frames)
		fprintf(out, "; %llu unknown frames", (unsigned long long)a->unknown_frames);
	if (a->events_dropped)
		fprintf(out, "; %llu process events dropped",
			(unsigned long long)a->events_dropped);
	putc('\n', out);
}

/* The mark is a word for what is hidden, not for what is missing: the sample itself is whole. */
static void put_hidden(FILE *out, const struct view *v)
{
	for (__u32 i = 1; i < v->frame_cnt; i++) {
		const struct view_frame *f = &v->frames[i];

		if (f->kind != FRAME_MARK || !f->total ||
		    strcmp(view_name(v, f), MARK_NATIVE_TRUNCATED))
			continue;
		fprintf(out,
			MARK_NATIVE_TRUNCATED
			" in %.1f%%: C code without frame pointers hides its callers "
			"in C; nothing is lost\n",
			100 * (double)f->total /
				(double)(v->nodes[0].total ? v->nodes[0].total : 1));
	}
}

static int flush(FILE *out)
{
	return stream_finish(out);
}

int summary_table(FILE *out, const struct counts *c, const struct summary_options *o)
{
	const struct view_options options = { .lines = o->lines,
					      .sources = true,
					      .order = VIEW_BY_COUNT };
	struct table t = { .out = out, .options = o };
	cleanup_view struct view *v = NULL;
	cleanup_free __u32 *rows = NULL;
	__u32 cnt, shown, i;
	int err;

	err = view__new(&v, c, &options);
	if (err)
		return err;
	t.view = v;
	t.total = (double)v->nodes[0].total;
	err = pick_rows(&t, &rows, &cnt);
	if (err)
		return err;
	shown = o->limit && o->limit < cnt ? o->limit : cnt;
	err = measure(&t, rows, shown);
	if (err)
		return err;
	fprintf(out, "%s  Self  Total %8s  %-*s  %s%s\n", color(&t, BOLD),
		strcmp(counts__share_unit(c), "events") ? "Samples" : "Events",
		(int)t.function_width, "Function", "File", color(&t, RESET));
	for (i = 0; i < shown && !err; i++)
		err = put_row(&t, &v->frames[rows[i]]);
	if (err)
		return err;
	if (shown < cnt)
		fprintf(out, "%s… %u more%s\n", color(&t, DIM), cnt - shown, color(&t, RESET));
	put_total(out, c, v->nodes[0].total);
	put_accounts(out, c);
	put_hidden(out, v);
	return flush(out);
}

/* Deep stacks would leave the screen: the indent ends at a third of it, then the depth is said. */
static void put_indent(const struct table *t, __u32 depth)
{
	unsigned limit = t->options->width ? t->options->width / 6 : 30;

	if (depth <= limit)
		fprintf(t->out, "%*s", (int)depth * 2, "");
	else
		fprintf(t->out, "%*s[%u] ", (int)limit * 2, "", depth);
}

int summary_tree(FILE *out, const struct counts *c, const struct summary_options *o)
{
	const struct view_options options = { .lines = o->lines,
					      .sources = true,
					      .processes = o->tree_processes,
					      .order = VIEW_BY_COUNT };
	struct table t = { .out = out, .options = o };
	cleanup_view struct view *v = NULL;
	__u32 i, hidden = 0;
	int err;

	err = view__new(&v, c, &options);
	if (err)
		return err;
	t.view = v;
	t.total = (double)v->nodes[0].total;
	fprintf(out, "%s Total   Self  Function%s\n", color(&t, BOLD), color(&t, RESET));
	for (i = 1; i < v->node_cnt;) {
		const struct view_node *n = &v->nodes[i];
		double total = percent(&t, n->total), self = percent(&t, n->self);

		if (total < o->min_percent) {
			hidden += n->end - i;
			i = n->end;
			continue;
		}
		fprintf(out, "%5.1f%% %s%5.1f%%%s  ", total,
			color(&t, self >= HOT_PERCENT ? BOLD RED : ""), self,
			color(&t, self >= HOT_PERCENT ? RESET : ""));
		put_indent(&t, n->depth - 1);
		err = put_label(out, v, &v->frames[n->frame]);
		if (err)
			return err;
		putc('\n', out);
		i++;
	}
	if (hidden)
		fprintf(out, "%s… %u nodes below %g %%%s\n", color(&t, DIM), hidden, o->min_percent,
			color(&t, RESET));
	put_total(out, c, v->nodes[0].total);
	put_accounts(out, c);
	put_hidden(out, v);
	return flush(out);
}
