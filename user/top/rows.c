/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rows.c - each sample is a path; a view says which rows that has, and at which of them it ends.
 */
#include "top/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/idindex.h"
#include "top/row_path.h"
#include "util/vec.h"

struct row_table {
	struct rows public;
	struct dict *dict;
	rows_group_fn group;
	void *ctx;
	__u32 cap;
	struct idindex index;
	__u32 *of_node; /* rows of nodes whose rows depend on nothing else; 0 not asked yet */
	__u32 of_node_cap;
	struct row_path path;
	__u64 seen; /* samples */
	/* The sample that is being added. */
	enum measure measure;
	__u64 number, weight, samples;
	bool into_all; /* it is new since the start, too */
	bool into_now;
};

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

/* ---- rows by key ------------------------------------------------------------------------------ */

static __u32 hash_key(const struct row_key *key)
{
	return idindex_hash_bytes(key, sizeof(*key), 0);
}

__u32 rows__find(const struct rows *rows, const struct row_key *key)
{
	const struct row_table *t = (const struct row_table *)rows;
	const struct idindex_slot *slot;

	idindex_for_each(&t->index, hash_key(key), slot)
		if (!memcmp(&rows->list[slot->id].key, key, sizeof(*key)))
			return slot->id;
	return 0;
}

/* The number of the row; 0: no memory. */
static __u32 row_of(struct row_table *t, const struct row_key *key)
{
	struct rows *rows = &t->public;
	__u32 found = rows__find(rows, key);

	if (found)
		return found;
	if (idindex_reserve(&t->index) || vec_reserve(rows->list, t->cap, rows->cnt + 1))
		return 0;
	memset(&rows->list[rows->cnt], 0, sizeof(rows->list[0]));
	rows->list[rows->cnt].key = *key;
	idindex_insert(&t->index, hash_key(key), rows->cnt);
	return rows->cnt++;
}

/* What depends on the node alone is asked once. */
static __u32 *row_of_node(struct row_table *t, __u32 node)
{
	__u32 old = t->of_node_cap;

	if (node < old)
		return &t->of_node[node];
	if (vec_reserve(t->of_node, t->of_node_cap, node + 1))
		return NULL;
	memset(t->of_node + old, 0, (t->of_node_cap - old) * sizeof(*t->of_node));
	return &t->of_node[node];
}

/* ---- one sample ------------------------------------------------------------------------------- */

static void begin_round(struct row *row, __u64 number)
{
	if (number <= row->number)
		return;
	for (__u64 n = number - row->number > ROUNDS_MAX ? number - ROUNDS_MAX : row->number;
	     n < number; n++)
		row->history[(n + 1) % ROUNDS_MAX] = 0;
	row->now = (struct row_sums){ 0 };
	row->number = number;
}

static bool in_history(const struct row_table *t)
{
	return t->number && t->public.number - t->number < ROUNDS_MAX &&
	       t->public.spec.measures & 1U << t->measure;
}

static void add_sums(const struct row_table *t, struct row_sums *now, struct row_sums *all,
		     bool self, bool total)
{
	if (t->into_all) {
		all->self[t->measure] += self ? t->weight : 0;
		all->total[t->measure] += total ? t->weight : 0;
	}
	if (t->into_now && t->number == t->public.number) {
		now->self[t->measure] += self ? t->weight : 0;
		now->total[t->measure] += total ? t->weight : 0;
	}
}

/* Thousands of threads that wait are more than fits. */
static void add_to_column(__u32 *column, __u64 us)
{
	__u64 sum = *column + us;

	*column = sum > ~0U ? ~0U : (__u32)sum;
}

/* At its leaf a sample is a row's own. Once in each row. */
static void add_to(struct row_table *t, __u32 number, bool self)
{
	struct row *row = &t->public.list[number];
	bool again = row->seen == t->seen;

	if (!number) {
		t->public.refused++;
		return;
	}
	begin_round(row, t->public.number);
	add_sums(t, &row->now, &row->all, self, !again);
	row->seen = t->seen;
	if (again)
		return;
	row->samples += t->into_all ? t->samples : 0;
	if (t->into_now && in_history(t))
		add_to_column(&row->history[t->number % ROUNDS_MAX], t->weight / 1000);
}

/* A name for something that has none in the stack: a container, a state. */
static void add_named(struct row_table *t, __u32 name)
{
	const struct row_key key = {
		.kind = FRAME_MARK, .name = name, .first_line = -1, .line = -1
	};

	add_to(t, row_of(t, &key), true);
}

static const struct profile_frame *frame_of(const struct row_table *t, __u32 node)
{
	return dict__frame_at(t->dict, dict__node_at(t->dict, node)->frame);
}

static void add_code(struct row_table *t, bool lines)
{
	for (__u32 i = 0; i < t->path.codes; i++) {
		__u32 *row = row_of_node(t, t->path.nodes[i]);

		if (row && !*row) {
			struct row_key key = row_key_of_code(frame_of(t, t->path.nodes[i]), lines);

			*row = row_of(t, &key);
		}
		add_to(t, row ? *row : 0, !i);
	}
}

static void add_task(struct row_table *t, __u32 frame)
{
	struct row_key key;

	if (!frame)
		return;
	key = row_key_of_task(dict__frame_at(t->dict, frame));
	add_to(t, row_of(t, &key), true);
}

/* A wrapper and what it wraps, i, are one function. */
static bool is_wrapped(const struct row_table *t, __u32 i, __u32 parent, const struct row_key *key)
{
	const struct profile_frame *f = frame_of(t, t->path.nodes[i]);

	return f->kind == FRAME_NATIVE && !f->wrapper && parent && i + 1 < t->path.cnt &&
	       frame_of(t, t->path.nodes[i + 1])->wrapper &&
	       row_key_is_same_function(&t->public.list[parent].key, key);
}

/* From the root; a process is above its functions, unless only one is shown. */
static void add_tree(struct row_table *t)
{
	__u32 parent = 0;

	for (__u32 i = t->path.cnt; i-- > 0;) {
		const struct profile_frame *f = frame_of(t, t->path.nodes[i]);
		__u32 *row = row_of_node(t, t->path.nodes[i]);
		struct row_key key;

		if (f->kind == FRAME_THREAD || (f->kind == FRAME_PROCESS && t->public.spec.pid))
			continue;
		if (row && !*row) {
			bool task = f->kind == FRAME_PROCESS;

			key = task ? row_key_of_task(f) : row_key_of_code(f, false);
			key.parent = parent;
			*row = is_wrapped(t, i, parent, &key) ? parent : row_of(t, &key);
		}
		parent = row ? *row : 0;
		add_to(t, parent, !i);
		if (!parent)
			return;
	}
}

static bool is_focus(const struct row_table *t, __u32 i)
{
	struct row_key key = row_key_of_code(frame_of(t, t->path.nodes[i]), false);

	return row_key_is_same_function(&key, &t->public.spec.focus);
}

/* Who calls it, where it is called by another one. */
static void add_callers(struct row_table *t)
{
	for (__u32 i = 0; i + 1 < t->path.cnt; i++) {
		const struct profile_frame *f = frame_of(t, t->path.nodes[i + 1]);
		struct row_key key;

		if (i >= t->path.codes || !is_focus(t, i))
			continue;
		if (f->kind == FRAME_THREAD && t->path.process)
			f = dict__frame_at(t->dict, t->path.process);
		key = i + 1 < t->path.codes ? row_key_of_code(f, false) : row_key_of_task(f);
		add_to(t, row_of(t, &key), false);
	}
}

/* What it calls; what it does itself is a row of its own, the focus. */
static void add_callees(struct row_table *t)
{
	for (__u32 i = 0; i < t->path.codes; i++) {
		struct row_key key;

		if (!is_focus(t, i))
			continue;
		key = row_key_of_code(frame_of(t, t->path.nodes[i ? i - 1 : 0]), false);
		add_to(t, row_of(t, &key), !i);
	}
}

static void add_source(struct row_table *t)
{
	for (__u32 i = 0; i < t->path.codes; i++) {
		struct row_key key = row_key_of_code(frame_of(t, t->path.nodes[i]), true);

		if (key.file != t->public.spec.focus.file || key.line <= 0)
			continue;
		/* Functions that share a line are one row. */
		key = (struct row_key){ .file = key.file, .line = key.line };
		add_to(t, row_of(t, &key), !i);
	}
}

/* Of processes that have ended nobody knows it any more (trim.h). */
static __u32 container_of_path(const struct row_table *t)
{
	if (!t->path.pid && t->path.process)
		return dict__frame_at(t->dict, t->path.process)->name;
	return t->group ? t->group(t->ctx, t->path.pid) : 0;
}

static void add_one(struct row_table *t, enum state state)
{
	switch (t->public.spec.view) {
	case ROWS_FUNCTIONS:
	case ROWS_LINES:
		add_code(t, t->public.spec.view == ROWS_LINES);
		break;
	case ROWS_PROCESSES:
		add_task(t, t->path.process);
		break;
	case ROWS_THREADS:
		add_task(t, t->path.thread);
		break;
	case ROWS_CONTAINERS:
		add_named(t, container_of_path(t));
		break;
	case ROWS_STATES:
		add_named(t, dict__string(t->dict, state_name(state)));
		break;
	case ROWS_TREE:
		add_tree(t);
		break;
	case ROWS_CALLERS:
		add_callers(t);
		break;
	case ROWS_CALLEES:
		add_callees(t);
		break;
	case ROWS_SOURCE:
		add_source(t);
		break;
	}
}

/* False where the stack is not wanted, or there is no memory for it. */
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
	const struct top_sample *sample;
};

static void add_part(void *ctx, __u64 number, __u64 ns)
{
	struct adding *a = ctx;
	struct row_table *t = a->table;

	t->number = number;
	t->weight = ns;
	add_sums(t, &t->public.now, &t->public.all, true, true);
	/* Each part is a sample as far as rows are concerned. */
	t->seen++;
	add_one(t, a->sample->state);
	t->samples = 0;
}

static void add_sample(struct row_table *t, const struct samples *s, unsigned age,
		       const struct top_sample *sample, bool into_all)
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

	for (__u32 i = 0; i < r->cnt; i++)
		add_sample(t, s, age, &r->list[i], into_all);
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
	add_sums(t, &t->public.now, &t->public.all, true, true);
	add_one(t, state);
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

struct row_sums row_now(const struct rows *rows, const struct row *row)
{
	return row->number == rows->number ? row->now : (struct row_sums){ 0 };
}

__u32 row_history(const struct rows *rows, const struct row *row, unsigned age)
{
	__u64 number = rows->number - age;

	if (age >= ROUNDS_MAX || age >= rows->number || number > row->number ||
	    row->number - number >= ROUNDS_MAX)
		return 0;
	return row->history[number % ROUNDS_MAX];
}

__u64 sum_of(const __u64 by_measure[MEASURE_CNT], unsigned measures)
{
	__u64 sum = 0;

	for (int i = 0; i < MEASURE_CNT; i++)
		sum += measures & 1U << i ? by_measure[i] : 0;
	return sum;
}
