/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rows.c - which samples are added when: everything once at the start, then each round as it ends.
 */
#include "cmd/top/rows.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/top/row_table.h"
#include "base/data/vec.h"

static struct row_table *table_of(struct rows *rows)
{
	return (struct row_table *)rows;
}

struct rows *rows__new(struct dict *dict, const struct rows_spec *spec, rows_group_fn group,
		       void *ctx)
{
	struct row_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->dict = dict;
	t->group = group;
	t->ctx = ctx;
	t->public.spec = *spec;
	if (vec_reserve(t->public.list, t->cap, 1)) {
		free(t);
		return NULL;
	}
	memset(t->public.list, 0, sizeof(t->public.list[0]));
	t->public.cnt = 1;
	return &t->public;
}

void rows__free(struct rows *rows)
{
	struct row_table *t = table_of(rows);

	if (!rows)
		return;
	idindex_free(&t->index);
	free(rows->list);
	free(t->of_node);
	free(t->path.nodes);
	free(t);
}

/* Returns false if the stack is not wanted or memory ran out. */
static bool take_path(struct row_table *t, __u32 node)
{
	if (!row_path_of(&t->path, t->dict, node))
		return row_path_is_of(&t->path, &t->public.spec, t->group, t->ctx);
	t->public.refused++;
	return false;
}

/* ---- all of them ------------------------------------------------------------------------------ */

struct adding {
	struct row_table *table;
	const struct stored_sample *sample;
};

static void add_part(void *ctx, __u64 number, __u64 ns)
{
	struct adding *a = ctx;
	struct row_table *t = a->table;

	t->number = number;
	t->weight = ns;
	row_table_sum(t, &t->public.now, &t->public.all, true, true);
	/* Rows treat each part as a sample. */
	t->seen++;
	row_table_add_path(t, a->sample->state);
	t->samples = 0;
}

static void add_sample(struct row_table *t, const struct samples *s, unsigned age,
		       const struct stored_sample *sample, bool into_all)
{
	struct adding a = { t, sample };

	if (!take_path(t, sample->node))
		return;
	t->measure = measure_of(sample->event, sample->state);
	t->samples = 1;
	t->into_all = into_all;
	t->into_now = true;
	samples__split(s, age, sample, add_part, &a);
}

static void add_round(struct row_table *t, const struct samples *s, unsigned age, bool into_all)
{
	const struct round *r = samples__round(s, age);

	for (__u32 i = 0; i < r->samples.cnt; i++)
		add_sample(t, s, age, &r->samples.list[i], into_all);
}

static void add_count(void *ctx, __u32 node, __u32 event, enum state state, __u64 samples,
		      __u64 weight)
{
	struct row_table *t = ctx;

	if (!take_path(t, node))
		return;
	t->measure = measure_of(event, state);
	t->number = 0;
	t->weight = weight;
	t->samples = samples;
	t->into_all = true;
	t->into_now = false;
	t->seen++;
	row_table_sum(t, &t->public.now, &t->public.all, true, true);
	row_table_add_path(t, state);
}

int rows__fill(struct rows *rows, const struct samples *s)
{
	struct row_table *t = table_of(rows);
	const struct round *last = samples__round(s, 0);
	int err = samples__each(s, add_count, t);
	unsigned cnt = 0;

	if (err || !last)
		return err;
	rows->number = last->number;
	while (samples__round(s, cnt))
		cnt++;
	while (cnt--)
		add_round(t, s, cnt, false);
	return 0;
}

void rows__add_round(struct rows *rows, const struct samples *s)
{
	const struct round *last = samples__round(s, 0);

	if (!last)
		return;
	rows->number = last->number;
	rows->now = (struct row_sums){ 0 };
	add_round(table_of(rows), s, 0, true);
}
