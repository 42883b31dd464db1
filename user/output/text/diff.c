/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff.c - merges two counts over one dictionary by function, into a tree whose nodes and functions
 * have two numbers each.
 */
#include "output/text/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output/escape.h"
#include "output/page/html.h"
#include "output/places.h"
#include "output/text/text_report.h"
#include "profile/strtab.h"
#include "profile/waits.h"
#include "profile/idtable.h"
#include "base/data/cleanup.h"
#include "base/text/printable.h"
#include "base/text/short_path.h"
#include "base/text/stream.h"

/* Below this width the table drops self or total, so that function names have room. */
#define WIDE_TABLE 120
/* Width of one change, "+7.04  7.77%  14.81%  30 ms  24 ms  ". */
#define CHANGE_WIDTH 47
/* A shorter name says nothing: then it is better to wrap. */
#define MIN_NAME 24

/* Samples of one function or node, before and after. */
struct pair {
	__u64 self[2], total[2];
};

/* A function below its callers. Parents come before their children. */
struct node {
	__u32 parent; /* 0: the root */
	__u32 function; /* its place */
	struct pair n;
};

struct diff {
	const struct counts *counts[2];
	const struct dict *dict; /* of both */
	struct strtab files; /* short paths of files */
	struct places places; /* file is an index of files */
	struct idtable nodes; /* of struct node; [0] is the root */
	struct pair *functions; /* by place */
	double all[2];
	const struct diff_options *options;
};

static struct node *nodes(const struct diff *d)
{
	return d->nodes.items;
}

static void diff_free(struct diff *d)
{
	idtable_free(&d->nodes);
	places_free(&d->places);
	strtab_free(&d->files);
	free(d->functions);
}

/*
 * Identifies functions by name and the end of the file's path: checkouts and CPython versions
 * differ, and line numbers move.
 */
static __u32 function_of(struct diff *d, const struct profile_frame *f)
{
	char buf[SHORT_FILE_SIZE];
	const char *file = short_file(buf, dict__text(d->dict, f->file));
	const struct profile_frame place = {
		.kind = f->kind,
		.name = f->name,
		.file = strtab_add(&d->files, file, strlen(file), 0),
		.first_line = -1,
		.line = -1,
	};

	return *file && !place.file ? PLACE_NONE : places_add(&d->places, &place);
}

static int add_child(struct diff *d, __u32 parent, __u32 function, __u32 *ret)
{
	__u32 hash = idindex_hash_pair(parent, function);
	const struct node new = { parent, function, { { 0 } } };
	const struct idindex_slot *slot;

	if (function == PLACE_NONE)
		return -ENOMEM;
	idindex_for_each(&d->nodes.index, hash, slot) {
		const struct node *n = &nodes(d)[slot->id];

		*ret = slot->id;
		if (n->parent == parent && n->function == function)
			return 0;
	}
	if (idtable_reserve(&d->nodes))
		return -ENOMEM;
	*ret = idtable_add(&d->nodes, hash, &new, 0);
	return 0;
}

/* Builds the tree with the samples that end at each node. */
static int merge(struct diff *d)
{
	__u32 cnt = dict__node_cnt(d->dict);
	cleanup_free __u32 *map = calloc((size_t)cnt + 1, sizeof(*map));
	int err = map ? 0 : -ENOMEM;

	for (__u32 i = 0; i <= cnt && !err; i++) {
		const struct profile_node *n = dict__node_at(d->dict, i);
		const struct profile_frame *f = dict__frame_at(d->dict, n->frame);

		if (i)
			map[i] = map[n->parent];
		if (i && is_code(f))
			err = add_child(d, map[i], function_of(d, f), &map[i]);
		for (int side = 0; side < 2 && !err; side++)
			nodes(d)[map[i]].n.self[side] += counts__self(d->counts[side], i);
	}
	return err;
}

/* A function's total is the sum over its outermost nodes: recursion counts once. */
static bool is_outermost(const struct diff *d, __u32 node)
{
	__u32 function = nodes(d)[node].function;

	for (;;) {
		node = nodes(d)[node].parent;
		if (!node)
			return true;
		if (nodes(d)[node].function == function)
			return false;
	}
}

static int sum_up(struct diff *d)
{
	d->functions = calloc((size_t)d->places.cnt + 1, sizeof(*d->functions));
	if (!d->functions)
		return -ENOMEM;
	for (__u32 i = d->nodes.cnt + 1; i-- > 0;) {
		struct node *n = &nodes(d)[i];

		for (int side = 0; side < 2; side++) {
			n->n.total[side] += n->n.self[side];
			if (i)
				nodes(d)[n->parent].n.total[side] += n->n.total[side];
		}
	}
	for (__u32 i = 1; i <= d->nodes.cnt; i++) {
		const struct node *n = &nodes(d)[i];
		bool outermost = is_outermost(d, i);

		for (int side = 0; side < 2; side++) {
			d->functions[n->function].self[side] += n->n.self[side];
			if (outermost)
				d->functions[n->function].total[side] += n->n.total[side];
		}
	}
	for (int side = 0; side < 2; side++)
		d->all[side] = nodes(d)->n.total[side] ? (double)nodes(d)->n.total[side] : 1;
	return 0;
}

static int diff_init(struct diff *d, const struct counts *a, const struct counts *b)
{
	int err = a->dict == b->dict ? 0 : -EINVAL;

	d->counts[0] = a;
	d->counts[1] = b;
	d->dict = a->dict;
	if (!err)
		err = strtab_init(&d->files);
	if (!err)
		err = idtable_init(&d->nodes, sizeof(struct node));
	if (!err)
		err = merge(d);
	return err ? err : sum_up(d);
}

static double share(const struct diff *d, const __u64 counts[2], int side)
{
	return 100 * (double)counts[side] / d->all[side];
}

static double change(const struct diff *d, const __u64 counts[2])
{
	return share(d, counts, 1) - share(d, counts, 0);
}

static const __u64 *counts_of(const struct diff *d, __u32 place)
{
	return d->options->by_total ? d->functions[place].total : d->functions[place].self;
}

static int compare_changes(const void *a, const void *b, void *ctx)
{
	const struct diff *d = ctx;
	__u32 p = *(const __u32 *)a, q = *(const __u32 *)b;
	double x = fabs(change(d, counts_of(d, p))), y = fabs(change(d, counts_of(d, q)));

	return x != y ? (x > y ? -1 : 1) : (p > q) - (p < q);
}

/* ---- table ------------------------------------------------------------------------------------ */

/*
 * Returns the file to show beside a function; "" for code without a symbol, which is named after
 * its file anyway.
 */
static const char *file_beside(const struct diff *d, const struct profile_frame *at)
{
	bool named = at->kind == FRAME_NATIVE && *dict__text(d->dict, at->name) == '[';

	return named ? "" : strtab_text(&d->files, at->file);
}

/* The table and how to print each side's numbers. */
struct diff_report {
	const struct diff *diff;
	struct summary_options options;
	struct text_report sides[2];
	bool self, total; /* which a row shows */
};

static void begin_report(struct diff_report *r, const struct diff *d, FILE *out)
{
	const struct diff_options *o = d->options;
	bool wide = !o->width || o->width >= WIDE_TABLE;

	*r = (struct diff_report){
		.diff = d,
		.options = { .samples = o->samples, .ascii = o->ascii },
		.self = wide || !o->by_total,
		.total = wide || o->by_total,
	};
	for (int side = 0; side < 2; side++)
		text_report_begin(&r->sides[side], out, d->counts[side], &r->options);
}

/* "Time A", "Samples B". */
static void put_titles(const struct diff_report *r, FILE *out, const char *what)
{
	char titles[2][16];

	for (int side = 0; side < 2; side++)
		snprintf(titles[side], sizeof(titles[side]), "%s %c",
			 report_total_title(&r->sides[side]), "AB"[side]);
	fprintf(out, "%7s  %7s %7s  %9s %9s  ", what, "A", "B", titles[0], titles[1]);
}

static void put_heads(const struct diff_report *r, FILE *out)
{
	for (int side = 0; side < 2; side++) {
		fprintf(out, "%c: %s, ", "AB"[side],
			side ? r->diff->options->name_b : r->diff->options->name_a);
		report_put_total(&r->sides[side]);
	}
	if (r->self)
		put_titles(r, out, "Self");
	if (r->total)
		put_titles(r, out, "Total");
	fputs("Function\n", out);
}

static void put_change(const struct diff_report *r, FILE *out, const __u64 counts[2])
{
	const struct diff *d = r->diff;
	char amounts[2][24];

	for (int side = 0; side < 2; side++)
		report_amount(&r->sides[side], amounts[side], counts[side]);
	fprintf(out, "%+7.2f  %6.2f%% %6.2f%%  %9s %9s  ", change(d, counts), share(d, counts, 0),
		share(d, counts, 1), amounts[0], amounts[1]);
}

/* Prints "Cart.total (cart.py)", shortened to the terminal. A mark has no file and is never cut. */
static int put_function(const struct diff_report *r, FILE *out, const struct profile_frame *at)
{
	const struct diff *d = r->diff;
	cleanup_free char *name = shown_text(place_name(d->dict, at));
	cleanup_free char *file = shown_text(file_beside(d, at));
	unsigned numbers = (r->self + r->total) * CHANGE_WIDTH + (unsigned)strlen(" ()"), widths[2];
	unsigned room = d->options->width > numbers + MIN_NAME ? d->options->width - numbers :
								 MIN_NAME;

	if (!name || !file)
		return -ENOMEM;
	for (int length = REPORT_WHOLE; length <= REPORT_NO_FOLDERS; length++) {
		report_shorten_name(name, length);
		report_shorten_file(file, length);
		widths[0] = text_width(name);
		widths[1] = text_width(file);
		if (!d->options->width || widths[0] + widths[1] <= room)
			break;
	}
	if (d->options->width && *file)
		report_share_room(room, &widths[0], &widths[1]);
	report_put_tail(&r->sides[0], name, widths[0]);
	if (*file) {
		fputs(" (", out);
		report_put_tail(&r->sides[0], file, widths[1]);
		putc(')', out);
	}
	putc('\n', out);
	return 0;
}

static int put_row(const struct diff_report *r, FILE *out, __u32 place)
{
	const struct diff *d = r->diff;

	if (r->self)
		put_change(r, out, d->functions[place].self);
	if (r->total)
		put_change(r, out, d->functions[place].total);
	return put_function(r, out, &d->places.list[place]);
}

/* Stores the places that are worth a row, sorted, and their number. */
static int pick_rows(struct diff *d, __u32 **ret, __u32 *ret_cnt)
{
	__u32 *rows = calloc((size_t)d->places.cnt + 1, sizeof(*rows)), cnt = 0;

	if (!rows)
		return -ENOMEM;
	for (__u32 i = 0; i < d->places.cnt; i++) {
		const __u64 *total = d->functions[i].total;

		if ((total[0] || total[1]) &&
		    fabs(change(d, counts_of(d, i))) >= d->options->min_points)
			rows[cnt++] = i;
	}
	qsort_r(rows, cnt, sizeof(*rows), compare_changes, d);
	*ret = rows;
	*ret_cnt = cnt;
	return 0;
}

static void put_json_sides(struct json *j, const char *key, const __u64 sides[2])
{
	json_put_array(j, key);
	json_number(j, (__s64)sides[0]);
	json_number(j, (__s64)sides[1]);
	json_close_array(j);
}

static int write_json(struct diff *d, struct json *j)
{
	cleanup_free __u32 *rows = NULL;
	const unsigned limit = d->options->limit;
	__u32 cnt;
	int err = pick_rows(d, &rows, &cnt);

	if (err)
		return err;
	json_put_array(j, "sides");
	for (int side = 0; side < 2; side++) {
		json_open_object(j);
		json_put_string(j, "name", side ? d->options->name_b : d->options->name_a);
		report_put_json(j, d->counts[side]);
		json_close_object(j);
	}
	json_close_array(j);
	json_put_array(j, "rows");
	for (__u32 i = 0; i < cnt && (!limit || i < limit); i++) {
		const struct profile_frame *at = &d->places.list[rows[i]];

		json_newline(j);
		json_open_object(j);
		report_put_json_place(j, place_name(d->dict, at), file_beside(d, at), -1, at->kind);
		put_json_sides(j, "self", d->functions[rows[i]].self);
		put_json_sides(j, "total", d->functions[rows[i]].total);
		json_close_object(j);
	}
	json_close_array(j);
	return 0;
}

static int write_table(struct diff *d, FILE *out)
{
	cleanup_free __u32 *rows = NULL;
	struct diff_report r;
	__u32 cnt, shown;
	int err = pick_rows(d, &rows, &cnt);

	if (err)
		return err;
	shown = d->options->limit && d->options->limit < cnt ? d->options->limit : cnt;
	begin_report(&r, d, out);
	put_heads(&r, out);
	for (__u32 i = 0; i < shown && !err; i++)
		err = put_row(&r, out, rows[i]);
	if (shown < cnt)
		report_put_more(&r.sides[0], cnt - shown);
	return err ? err : stream_finish(out);
}

/* j NULL: a table. */
static int print_any(FILE *out, struct json *j, const struct counts *a, const struct counts *b,
		     const struct diff_options *o)
{
	struct diff d = { .options = o };
	int err = diff_init(&d, a, b);

	if (!err)
		err = j ? write_json(&d, j) : write_table(&d, out);
	diff_free(&d);
	return err;
}

static int print_functions(FILE *out, struct json *j, const struct counts *a,
			   const struct counts *b, const struct diff_options *o)
{
	struct counts *waits_a, *waits_b;
	int err = -ENOMEM;

	if (!waits_are_in(a) && !waits_are_in(b))
		return print_any(out, j, a, b, o);
	waits_a = waits__new_of_functions(a);
	waits_b = waits__new_of_functions(b);
	if (waits_a && waits_b)
		err = print_any(out, j, waits_a, waits_b, o);
	counts__free(waits_a);
	counts__free(waits_b);
	return err;
}

int diff_table(FILE *out, const struct counts *a, const struct counts *b,
	       const struct diff_options *o)
{
	return print_functions(out, NULL, a, b, o);
}

int diff_json(struct json *j, const struct counts *a, const struct counts *b,
	      const struct diff_options *o)
{
	return print_functions(j->out, j, a, b, o);
}

/* ---- page ------------------------------------------------------------------------------------- */

int diff_page(FILE *out, const struct counts *a, const struct counts *b,
	      const struct diff_options *o)
{
	cleanup_free char *title = NULL;
	struct emit_options options = { 0 };
	struct html_measures measures = { 0 };
	const struct html_content content = {
		.measures = &measures,
		.seconds = { o->seconds[0], o->seconds[1] },
	};
	int err = asprintf(&title, "%s → %s", o->name_a, o->name_b) < 0 ? -ENOMEM : 0;

	options.title = title;
	if (!err)
		err = html_measures_compare(&measures, a, b);
	if (!err)
		err = html_page(out, &options, &content);
	html_measures_free(&measures);
	return err;
}
