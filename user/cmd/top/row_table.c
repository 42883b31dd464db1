/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/top/row_table.h"

#include <string.h>

#include "base/data/vec.h"

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

/* Returns the row's number; 0: out of memory. */
__u32 row_table_row(struct row_table *t, const struct row_key *key)
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

/* Caches what depends only on the node. */
__u32 *row_table_of_node(struct row_table *t, __u32 node)
{
	__u32 old = t->of_node_cap;

	if (node < old)
		return &t->of_node[node];
	if (vec_reserve(t->of_node, t->of_node_cap, node + 1))
		return NULL;
	memset(t->of_node + old, 0, (t->of_node_cap - old) * sizeof(*t->of_node));
	return &t->of_node[node];
}

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

void row_table_sum(const struct row_table *t, struct row_sums *now, struct row_sums *all, bool self,
		   bool total)
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

/* The sum of thousands of waiting threads may not fit, so it saturates. */
static void add_to_column(__u32 *column, __u64 us)
{
	__u64 sum = *column + us;

	*column = sum > ~0U ? ~0U : (__u32)sum;
}

/* At its leaf a sample counts as the row's self. It counts once per row. */
void row_table_add(struct row_table *t, __u32 number, bool self)
{
	struct row *row = &t->public.list[number];
	bool again = row->seen == t->seen;

	if (!number) {
		t->public.refused++;
		return;
	}
	begin_round(row, t->public.number);
	row_table_sum(t, &row->now, &row->all, self, !again);
	row->seen = t->seen;
	if (again)
		return;
	row->samples += t->into_all ? t->samples : 0;
	if (t->into_now && in_history(t))
		add_to_column(&row->history[t->number % ROUNDS_MAX], t->weight / 1000);
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
