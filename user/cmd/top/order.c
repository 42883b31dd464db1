/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/top/order.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/cleanup.h"
#include "base/text/short_path.h"
#include "base/data/vec.h"

/*
 * In a tree, a row with at least 1/OPEN_SHARE of all is unfolded; one with less than 1/SMALL_SHARE
 * is hidden.
 */
#define OPEN_SHARE 20 /* one in so many */
#define SMALL_SHARE 500

struct rank {
	__u64 first, second; /* larger ones first */
	const char *name;
	__u32 row;
};

struct ordering {
	const struct rows *rows;
	const struct dict *dict;
	const struct order_options *options;
	struct order *order;
	struct rank *ranks;
	__u32 rank_cnt;
};

bool order_matches(const struct row_key *key, const struct dict *dict, const char *filter)
{
	char number[32];

	if (!*filter || strcasestr(dict__text(dict, key->name), filter) ||
	    strcasestr(short_path(dict__text(dict, key->file)), filter))
		return true;
	snprintf(number, sizeof(number), "%d", key->tid ? key->tid : key->pid);
	return (key->tid || key->pid) && !strcmp(number, filter);
}

static struct rank rank_of(const struct ordering *o, __u32 number)
{
	const struct row *row = &o->rows->list[number];
	const struct row_sums now = row_now(o->rows, row);
	unsigned m = o->options->measures;
	__u64 self = sum_of(now.self, m), total = sum_of(now.total, m);
	__u64 self_all = sum_of(row->all.self, m), total_all = sum_of(row->all.total, m);
	struct rank rank = { .name = dict__text(o->dict, row->key.name), .row = number };

	switch (o->options->sort) {
	case SORT_TOTAL:
		rank.first = total;
		rank.second = total_all;
		break;
	case SORT_SELF_ALL:
		rank.first = self_all;
		rank.second = total_all;
		break;
	case SORT_TOTAL_ALL:
		rank.first = total_all;
		rank.second = self_all;
		break;
	case SORT_NAME:
		break;
	default:
		rank.first = self;
		rank.second = self_all;
	}
	return rank;
}

static int compare_ranks(const void *x, const void *y)
{
	const struct rank *a = x, *b = y;
	int c;

	if (a->first != b->first)
		return a->first > b->first ? -1 : 1;
	if (a->second != b->second)
		return a->second > b->second ? -1 : 1;
	c = strcmp(a->name, b->name);
	return c ? c : (a->row > b->row) - (a->row < b->row);
}

static int add(struct order *order, __u32 row, __u32 depth)
{
	if (vec_reserve(order->list, order->cap, order->cnt + 1) ||
	    vec_reserve(order->depths, order->depth_cap, order->cnt + 1))
		return -ENOMEM;
	order->depths[order->cnt] = depth;
	order->list[order->cnt++] = row;
	return 0;
}

/* ---- flat ------------------------------------------------------------------------------------- */

static int make_flat(struct ordering *o)
{
	enum rows_view view = o->rows->spec.view;
	/* Rows that are not code have a column for each measure. */
	bool all = view >= ROWS_PROCESSES && view < ROWS_VIEW_CNT;
	unsigned measures = all ? (1U << MEASURE_CNT) - 1 : o->options->measures;
	int err = 0;

	for (__u32 i = 1; i < o->rows->cnt; i++) {
		const struct row *row = &o->rows->list[i];

		if (sum_of(row->all.total, measures) &&
		    order_matches(&row->key, o->dict, o->options->filter))
			o->ranks[o->rank_cnt++] = rank_of(o, i);
	}
	qsort(o->ranks, o->rank_cnt, sizeof(*o->ranks), compare_ranks);
	for (__u32 i = 0; i < o->rank_cnt && !err; i++)
		err = add(o->order, o->ranks[i].row, 0);
	return err;
}

/* ---- a tree ----------------------------------------------------------------------------------- */

static __u64 weight_of(const struct rows *rows, const struct row *row,
		       const struct order_options *options)
{
	struct row_sums now = row_now(rows, row);

	return options->sort == SORT_SELF || options->sort == SORT_TOTAL ?
		       sum_of(now.total, options->measures) :
		       sum_of(row->all.total, options->measures);
}

static __u64 weight_of_all(const struct rows *rows, const struct order_options *options)
{
	return options->sort == SORT_SELF || options->sort == SORT_TOTAL ?
		       sum_of(rows->now.total, options->measures) :
		       sum_of(rows->all.total, options->measures);
}

bool order_is_open(const struct rows *rows, __u32 row, const struct order_options *options)
{
	int said = options->folds && row < options->fold_cnt ? options->folds[row] : 0;
	__u64 all = weight_of_all(rows, options);

	if (said)
		return said > 0;
	return all && weight_of(rows, &rows->list[row], options) >= all / OPEN_SHARE;
}

/* 1: the row matches, or an ancestor or a descendant does. */
static void match_tree(const struct ordering *o, unsigned char *matches)
{
	const struct row *list = o->rows->list;

	/* A parent has a smaller number than its children. */
	for (__u32 i = 1; i < o->rows->cnt; i++)
		matches[i] = matches[list[i].key.parent] ||
			     order_matches(&list[i].key, o->dict, o->options->filter);
	for (__u32 i = o->rows->cnt - 1; i; i--) {
		if (matches[i] && list[i].key.parent)
			matches[list[i].key.parent] = 1;
	}
}

static bool is_large(const struct ordering *o, __u32 row)
{
	__u64 all = sum_of(o->rows->all.total, o->options->measures);
	__u64 own = sum_of(o->rows->list[row].all.total, o->options->measures);

	return own &&
	       (own >= all / SMALL_SHARE || weight_of(o->rows, &o->rows->list[row], o->options));
}

/*
 * Siblings form a sorted list: first[parent], next[...]. The walk is depth-first, with first[] as
 * its cursor.
 */
static int unfold(struct ordering *o, __u32 *first, const __u32 *next, __u32 *depths)
{
	__u32 at = 0;

	for (;;) {
		__u32 child = first[at];

		if (!child) {
			if (!at)
				return 0;
			at = o->rows->list[at].key.parent;
			continue;
		}
		/* A node with siblings gets a level of its own. */
		if (at && (next[child] || depths[child]))
			depths[child] = depths[at] + 1;
		else
			depths[child] = depths[at];
		if (next[child])
			depths[next[child]] = 1; /* it has a sibling */
		first[at] = next[child];
		if (add(o->order, child, depths[child]))
			return -ENOMEM;
		if (order_is_open(o->rows, child, o->options) || *o->options->filter)
			at = child;
	}
}

static int make_tree(struct ordering *o)
{
	__u32 cnt = o->rows->cnt;
	cleanup_free unsigned char *matches = calloc(cnt, 1);
	cleanup_free __u32 *first = calloc(cnt, sizeof(*first));
	cleanup_free __u32 *next = calloc(cnt, sizeof(*next));
	cleanup_free __u32 *depths = calloc(cnt, sizeof(*depths));
	struct order_options totals = *o->options;

	if (!matches || !first || !next || !depths)
		return -ENOMEM;
	/* A caller's worth is what it calls. */
	totals.sort = totals.sort == SORT_SELF	   ? SORT_TOTAL :
		      totals.sort == SORT_SELF_ALL ? SORT_TOTAL_ALL :
						     totals.sort;
	o->options = &totals;
	match_tree(o, matches);
	for (__u32 i = 1; i < cnt; i++) {
		if (matches[i] && is_large(o, i))
			o->ranks[o->rank_cnt++] = rank_of(o, i);
	}
	qsort(o->ranks, o->rank_cnt, sizeof(*o->ranks), compare_ranks);
	for (__u32 i = o->rank_cnt; i-- > 0;) {
		__u32 row = o->ranks[i].row, parent = o->rows->list[row].key.parent;

		next[row] = first[parent];
		first[parent] = row;
	}
	return unfold(o, first, next, depths);
}

int order_make(struct order *ret, const struct rows *rows, const struct dict *dict,
	       const struct order_options *options)
{
	cleanup_free struct rank *ranks = calloc(rows->cnt, sizeof(*ranks));
	struct ordering o = {
		.rows = rows, .dict = dict, .options = options, .order = ret, .ranks = ranks
	};

	ret->cnt = 0;
	if (!ranks)
		return -ENOMEM;
	return rows->spec.view == ROWS_TREE ? make_tree(&o) : make_flat(&o);
}

void order_free(struct order *o)
{
	free(o->list);
	free(o->depths);
	*o = (struct order){ 0 };
}
