/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * diff.c - both profiles are put into a third one, whose nodes and functions have two counts each.
 */
#include "emit/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "emit/escape.h"
#include "emit/label.h"
#include "emit/places.h"
#include "util/cleanup.h"
#include "util/printable.h"
#include "util/short_path.h"

#define ROW_HEIGHT 17
#define PAGE_WIDTH 1600.0
/* Narrower boxes cannot be seen; narrower than this they have no text. */
#define LEAST_WIDTH 0.4
#define LEAST_TEXT_WIDTH 30.0
#define CHARACTER_WIDTH 7.0

/* Of one function, or of one node: samples in the first and the second profile. */
struct pair {
	__u64 self[2], total[2];
};

struct diff {
	struct profile *both;
	struct pair *nodes; /* by node of both */
	struct pair *functions; /* by place */
	struct places places;
	__u32 *place_of; /* by frame of both; PLACE_NONE for processes and threads */
	__u32 node_cap;
	double all[2];
	const char *units[2]; /* what the counts are of */
	const struct diff_options *options;
};

static void diff_free(struct diff *d)
{
	profile__free(d->both);
	places_free(&d->places);
	free(d->nodes);
	free(d->functions);
	free(d->place_of);
}

/* Functions by name and the end of the file's path: checkouts differ, line numbers move. */
static __u32 common_frame(struct diff *d, const struct profile *p, const struct profile_frame *f)
{
	return profile__plain_frame(d->both, f->kind, profile__text(p, f->name),
				    short_path(profile__text(p, f->file)), 0);
}

static int reserve_nodes(struct diff *d, __u32 cnt)
{
	struct pair *grown;

	if (cnt < d->node_cap)
		return 0;
	grown = reallocarray(d->nodes, (size_t)cnt * 2, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + d->node_cap, 0, ((size_t)cnt * 2 - d->node_cap) * sizeof(*grown));
	d->nodes = grown;
	d->node_cap = cnt * 2;
	return 0;
}

static int add_profile(struct diff *d, const struct profile *p, int side)
{
	__u32 cnt = profile__node_cnt(p);
	cleanup_free __u32 *map = calloc((size_t)cnt + 1, sizeof(*map));
	int err = map ? reserve_nodes(d, 256) : -ENOMEM;

	d->units[side] = profile__unit(p);
	for (__u32 i = 0; i <= cnt && !err; i++) {
		const struct profile_node *n = profile__node_at(p, i);
		const struct profile_frame *f = profile__frame_at(p, n->frame);

		if (i)
			map[i] = map[n->parent];
		if (i && is_code(f))
			map[i] = profile__child(d->both, map[i], common_frame(d, p, f));
		err = reserve_nodes(d, map[i] + 1);
		if (!err)
			d->nodes[map[i]].self[side] += profile__self(p, i);
	}
	return err;
}

/* A function's total is that of its outermost nodes: recursion counts once. */
static bool is_outermost(const struct diff *d, __u32 node, __u32 place)
{
	for (;;) {
		node = profile__node_at(d->both, node)->parent;
		if (!node)
			return true;
		if (d->place_of[profile__node_at(d->both, node)->frame] == place)
			return false;
	}
}

static int sum_up(struct diff *d)
{
	__u32 cnt = profile__node_cnt(d->both), frames = profile__frame_cnt(d->both);

	d->place_of = calloc((size_t)frames + 1, sizeof(*d->place_of));
	d->functions = calloc((size_t)frames + 1, sizeof(*d->functions));
	if (!d->place_of || !d->functions)
		return -ENOMEM;
	for (__u32 i = 1; i <= frames; i++) {
		d->place_of[i] = places_add_frame(&d->places, profile__frame_at(d->both, i), false);
		if (d->place_of[i] == PLACE_NONE)
			return -ENOMEM;
	}
	for (__u32 i = cnt + 1; i-- > 0;) {
		struct pair *n = &d->nodes[i];

		for (int side = 0; side < 2; side++) {
			n->total[side] += n->self[side];
			if (i)
				d->nodes[profile__node_at(d->both, i)->parent].total[side] +=
					n->total[side];
		}
	}
	for (__u32 i = 1; i <= cnt; i++) {
		__u32 place = d->place_of[profile__node_at(d->both, i)->frame];
		bool outermost = is_outermost(d, i, place);

		for (int side = 0; side < 2; side++) {
			d->functions[place].self[side] += d->nodes[i].self[side];
			if (outermost)
				d->functions[place].total[side] += d->nodes[i].total[side];
		}
	}
	for (int side = 0; side < 2; side++)
		d->all[side] = d->nodes[0].total[side] ? (double)d->nodes[0].total[side] : 1;
	return 0;
}

static int diff_init(struct diff *d, const struct profile *a, const struct profile *b)
{
	int err;

	d->both = profile__new();
	if (!d->both)
		return -ENOMEM;
	err = add_profile(d, a, 0);
	if (!err)
		err = add_profile(d, b, 1);
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

/* The file to name beside a function; "" for code without a symbol, which is called after its own. */
static const char *file_beside(const struct diff *d, enum frame_kind kind, __u32 name, __u32 file)
{
	bool named = kind == FRAME_NATIVE && *profile__text(d->both, name) == '[';

	return named ? "" : short_path(profile__text(d->both, file));
}

static int put_row(const struct diff *d, FILE *out, __u32 place)
{
	const struct pair *f = &d->functions[place];
	const struct place *at = &d->places.list[place];
	const char *file = file_beside(d, at->kind, at->name, at->file);
	int err;

	fprintf(out, "%+7.2f  %6.2f%% %6.2f%%  %+7.2f  %6.2f%% %6.2f%%  ", change(d, f->self),
		share(d, f->self, 0), share(d, f->self, 1), change(d, f->total),
		share(d, f->total, 0), share(d, f->total, 1));
	err = put_printable(out, place_name(d->both, at));
	if (!err && *file) {
		fputs(" (", out);
		err = put_printable(out, file);
		putc(')', out);
	}
	putc('\n', out);
	return err;
}

static int check(FILE *out, int err)
{
	errno = 0;
	if (!err && (fflush(out) || ferror(out)))
		err = errno ? -errno : -EIO;
	return err;
}

static int write_table(struct diff *d, FILE *out)
{
	cleanup_free __u32 *rows = calloc((size_t)d->places.cnt + 1, sizeof(*rows));
	__u32 cnt = 0, shown;
	int err = 0;

	if (!rows)
		return -ENOMEM;
	for (__u32 i = 0; i < d->places.cnt; i++) {
		if (fabs(change(d, counts_of(d, i))) >= d->options->min_points)
			rows[cnt++] = i;
	}
	qsort_r(rows, cnt, sizeof(*rows), compare_changes, d);
	shown = d->options->limit && d->options->limit < cnt ? d->options->limit : cnt;
	fprintf(out, "A: %s, %llu %s\nB: %s, %llu %s\n", d->options->name_a, d->nodes[0].total[0],
		d->units[0], d->options->name_b, d->nodes[0].total[1], d->units[1]);
	fputs("   Self       A       B    Total       A       B  Function\n", out);
	for (__u32 i = 0; i < shown && !err; i++)
		err = put_row(d, out, rows[i]);
	if (shown < cnt)
		fprintf(out, "… %u more\n", cnt - shown);
	return check(out, err);
}

int diff_table(FILE *out, const struct profile *a, const struct profile *b,
	       const struct diff_options *o)
{
	struct diff d = { .options = o };
	int err = diff_init(&d, a, b);

	if (!err)
		err = write_table(&d, out);
	diff_free(&d);
	return err;
}

/* ---- page ------------------------------------------------------------------------------------- */

/* At most limit columns; what is cut ends in dots. */
static int put_markup(FILE *out, const char *text, size_t limit)
{
	cleanup_free char *copy = printable(text);
	size_t at = 0, bytes, width = copy ? text_width(copy) : 0;
	int err = copy ? 0 : -ENOMEM;

	for (const char *s = copy; !err && *s; s += bytes) {
		at += char_width(s, &bytes);
		if (width > limit && at >= limit) {
			fputs("\u2026", out);
			break;
		}
		if (*s == '<')
			fputs("&lt;", out);
		else if (*s == '&')
			fputs("&amp;", out);
		else if (*s == '"')
			fputs("&quot;", out);
		else
			fwrite(s, 1, bytes, out);
	}
	return err;
}

/* White is unchanged; the colour is full where a share has doubled or halved. */
static void put_color(const struct diff *d, FILE *out, const __u64 total[2])
{
	double a = share(d, total, 0), b = share(d, total, 1);
	double strength = fmin(1, fabs(b - a) / fmax(fmin(a, b), 0.01));
	int pale = 245 - (int)(strength * 150);

	if (!total[0])
		fputs("rgb(250,220,70)", out);
	else if (b > a)
		fprintf(out, "rgb(250,%d,%d)", pale, pale);
	else
		fprintf(out, "rgb(%d,%d,250)", pale, pale);
}

static int put_box(const struct diff *d, FILE *out, __u32 node, double x, double width)
{
	const struct profile_node *n = profile__node_at(d->both, node);
	const struct profile_frame *f = profile__frame_at(d->both, n->frame);
	const char *name = node ? profile__text(d->both, f->name) : "all";
	const char *file = node ? file_beside(d, f->kind, f->name, f->file) : "";
	const __u64 *total = d->nodes[node].total;
	unsigned y = n->depth * ROW_HEIGHT;
	int err;

	fprintf(out, "<g><title>");
	err = put_markup(out, *name ? name : LABEL_NO_NAME, 1000);
	if (!err && *file) {
		fputs(" (", out);
		err = put_markup(out, file, 1000);
		putc(')', out);
	}
	fprintf(out,
		"\nA %.2f%%, B %.2f%%, change %+.2f points</title><rect x=%.1f y=%u width=%.1f "
		"height=%d fill=\"",
		share(d, total, 0), share(d, total, 1), change(d, total), x, y, width,
		ROW_HEIGHT - 1);
	put_color(d, out, total);
	fputs("\"/>", out);
	if (!err && width >= LEAST_TEXT_WIDTH) {
		fprintf(out, "<text x=%.1f y=%u>", x + 3, y + 12);
		err = put_markup(out, *name ? name : LABEL_NO_NAME,
				 (size_t)((width - 6) / CHARACTER_WIDTH));
		fputs("</text>", out);
	}
	fputs("</g>\n", out);
	return err;
}

static int put_head(const struct diff *d, FILE *out, __u32 depth)
{
	int err;

	fputs("<!DOCTYPE html>\n<html lang=en><meta charset=utf-8><title>krait diff</title>\n<meta "
	      "http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src "
	      "'unsafe-inline'\">\n<style>body{font:14px sans-serif;margin:1em;background:#fff;color:"
	      "#000}text{font:11px monospace;pointer-events:none}g:hover rect{stroke:#000}"
	      "</style>\n<p>From A, <b>",
	      out);
	err = put_markup(out, d->options->name_a, 500);
	fprintf(out, "</b> (%llu %s), to B, <b>", d->nodes[0].total[0], d->units[0]);
	if (!err)
		err = put_markup(out, d->options->name_b, 500);
	fprintf(out,
		"</b> (%llu %s). Width is the share in B. Red: a larger share than in A; "
		"blue: a smaller one; yellow: not in A. What is only in A is not here: swap the two "
		"to see it.</p>\n<svg width=100%% viewBox=\"0 0 %.0f %u\">\n",
		d->nodes[0].total[1], d->units[1], PAGE_WIDTH, (depth + 1) * ROW_HEIGHT);
	return err;
}

static int write_page(struct diff *d, FILE *out)
{
	__u32 cnt = profile__node_cnt(d->both), depth = 0;
	cleanup_free double *starts = calloc((size_t)cnt + 1, sizeof(*starts));
	int err;

	if (!starts)
		return -ENOMEM;
	for (__u32 i = 1; i <= cnt; i++) {
		const struct profile_node *n = profile__node_at(d->both, i);

		if (n->depth > depth &&
		    PAGE_WIDTH * share(d, d->nodes[i].total, 1) / 100 >= LEAST_WIDTH)
			depth = n->depth;
	}
	err = put_head(d, out, depth);
	/* Parents come before their children: starts[] is where the next child goes. */
	for (__u32 i = 0; i <= cnt && !err; i++) {
		__u32 parent = profile__node_at(d->both, i)->parent;
		double width = PAGE_WIDTH * share(d, d->nodes[i].total, 1) / 100;
		double x = i ? starts[parent] : 0;

		if (i)
			starts[parent] += width;
		starts[i] = x;
		if (width >= LEAST_WIDTH)
			err = put_box(d, out, i, x, width);
	}
	fputs("</svg>\n</html>\n", out);
	return check(out, err);
}

int diff_page(FILE *out, const struct profile *a, const struct profile *b,
	      const struct diff_options *o)
{
	struct diff d = { .options = o };
	int err = diff_init(&d, a, b);

	if (!err)
		err = write_page(&d, out);
	diff_free(&d);
	return err;
}
