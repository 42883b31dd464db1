/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff.c - tables and pages of two counts over one dictionary.
 */
#include "output/text/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output/escape.h"
#include "output/page/html.h"
#include "output/text/function_sums.h"
#include "output/text/text_report.h"
#include "profile/waits.h"
#include "base/data/cleanup.h"
#include "base/text/stream.h"

/* Below this width the table drops self or total, so that function names have room. */
#define WIDE_TABLE 120
/* Width of one change, "+7.04  7.77%  14.81%  30 ms  24 ms  ". */
#define CHANGE_WIDTH 47
/* A shorter name says nothing: then it is better to wrap. */
#define MIN_NAME 24

struct diff {
	struct function_sums sums; /* of both sides */
	const struct counts *counts[2];
	const struct diff_options *options;
};

static int diff_init(struct diff *d, const struct counts *a, const struct counts *b)
{
	d->counts[0] = a;
	d->counts[1] = b;
	return function_sums_init(&d->sums, d->counts, 2);
}

static double share(const struct diff *d, const __u64 counts[2], int side)
{
	return d->sums.all[side] ? 100 * (double)counts[side] / (double)d->sums.all[side] : 0;
}

static double change(const struct diff *d, const __u64 counts[2])
{
	return share(d, counts, 1) - share(d, counts, 0);
}

static const __u64 *counts_of(const struct diff *d, __u32 place)
{
	return d->options->by_total ? sums_total(&d->sums, place) : sums_self(&d->sums, place);
}

static int compare_changes(const void *a, const void *b, void *ctx)
{
	const struct diff *d = ctx;
	__u32 p = *(const __u32 *)a, q = *(const __u32 *)b;
	double x = fabs(change(d, counts_of(d, p))), y = fabs(change(d, counts_of(d, q)));

	return x != y ? (x > y ? -1 : 1) : (p > q) - (p < q);
}

/* ---- table ------------------------------------------------------------------------------------ */

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
	cleanup_free char *name = shown_text(place_name(d->sums.dict, at));
	cleanup_free char *file = shown_text(function_sums_file(&d->sums, at));
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
		put_change(r, out, sums_self(&d->sums, place));
	if (r->total)
		put_change(r, out, sums_total(&d->sums, place));
	return put_function(r, out, &d->sums.places.list[place]);
}

/* Stores the places that are worth a row, sorted, and their number. */
static int pick_rows(struct diff *d, __u32 **ret, __u32 *ret_cnt)
{
	__u32 *rows = calloc((size_t)d->sums.places.cnt + 1, sizeof(*rows)), cnt = 0;

	if (!rows)
		return -ENOMEM;
	for (__u32 i = 0; i < d->sums.places.cnt; i++) {
		const __u64 *total = sums_total(&d->sums, i);

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
		const struct profile_frame *at = &d->sums.places.list[rows[i]];

		json_newline(j);
		json_open_object(j);
		report_put_json_place(j, place_name(d->sums.dict, at),
				      function_sums_file(&d->sums, at), -1, at->kind);
		put_json_sides(j, "self", sums_self(&d->sums, rows[i]));
		put_json_sides(j, "total", sums_total(&d->sums, rows[i]));
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
	function_sums_free(&d.sums);
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
