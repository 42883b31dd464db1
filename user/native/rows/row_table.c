/* SPDX-License-Identifier: BSD-2-Clause */
#include "native/rows/row_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for one more; false: out of memory. */
static bool grow(void **list, __u32 cnt, __u32 *cap, size_t size)
{
	void *grown;

	if (cnt < *cap)
		return true;
	*cap = *cap ? 2 * *cap : 64;
	grown = reallocarray(*list, *cap, size);
	if (!grown)
		return false;
	*list = grown;
	return true;
}

/* ---- rules ------------------------------------------------------------------------------------ */

static __u32 hash_rule(const struct unwind_rule *rule)
{
	__u64 words[2];

	memcpy(words, rule, sizeof(words));
	return (__u32)(((words[0] ^ words[1] * 0x9e3779b97f4a7c15ULL) * 0xbf58476d1ce4e5b9ULL) >>
		       32);
}

static void index_rule(struct row_table *t, __u32 number)
{
	__u32 slot = hash_rule(&t->rules[number]) & (t->index_size - 1);

	while (t->index[slot])
		slot = (slot + 1) & (t->index_size - 1);
	t->index[slot] = number + 1;
}

static bool grow_index(struct row_table *t)
{
	__u32 size = t->index_size ? 2 * t->index_size : 256;
	__u32 *index;

	if (t->rule_cnt < t->index_size / 2)
		return true;
	index = calloc(size, sizeof(*index));
	if (!index)
		return false;
	free(t->index);
	t->index = index;
	t->index_size = size;
	for (__u32 i = 0; i < t->rule_cnt; i++)
		index_rule(t, i);
	return true;
}

/* The number of a rule; if there are too many, that of "none". */
static __u32 number_of(struct row_table *t, const struct unwind_rule *rule)
{
	__u32 slot;

	if (t->rule_cnt && !memcmp(&t->rules[t->last], rule, sizeof(*rule)))
		return t->last;
	if (!grow_index(t) || !grow((void **)&t->rules, t->rule_cnt, &t->rule_cap, sizeof(*rule))) {
		t->err = -ENOMEM;
		return UNWIND_NO_RULE;
	}
	slot = hash_rule(rule) & (t->index_size - 1);
	for (; t->index[slot]; slot = (slot + 1) & (t->index_size - 1))
		if (!memcmp(&t->rules[t->index[slot] - 1], rule, sizeof(*rule)))
			return t->index[slot] - 1;
	if (t->rule_cnt == UNWIND_RULES_MAX)
		return UNWIND_NO_RULE;
	t->rules[t->rule_cnt] = *rule;
	t->index[slot] = ++t->rule_cnt;
	return t->rule_cnt - 1;
}

/* ---- rows ------------------------------------------------------------------------------------- */

static void put_row(struct row_table *t, __u32 offset, __u32 rule)
{
	__u32 *last = t->row_cnt ? &t->rows[t->row_cnt - 1] : NULL;

	/* A row at the same offset as the previous one replaces it. */
	if (last && t->row_cnt > t->pages[t->page_cnt - 1] && UNWIND_ROW_OFFSET(*last) == offset) {
		*last = UNWIND_ROW(offset, rule);
		return;
	}
	if (t->row_cnt == ROW_TABLE_ROWS_MAX)
		t->err = -E2BIG;
	else if (!grow((void **)&t->rows, t->row_cnt, &t->row_cap, sizeof(*t->rows)))
		t->err = -ENOMEM;
	else
		t->rows[t->row_cnt++] = UNWIND_ROW(offset, rule);
}

/* Its first row repeats the rule that held at the end of the previous page. */
static void add_page(struct row_table *t)
{
	if (t->page_cnt == ROW_TABLE_PAGES_MAX)
		t->err = -E2BIG;
	else if (!grow((void **)&t->pages, t->page_cnt, &t->page_cap, sizeof(*t->pages)))
		t->err = -ENOMEM;
	if (t->err)
		return;
	t->pages[t->page_cnt++] = t->row_cnt;
	put_row(t, 0, t->last);
}

static void put(struct row_table *t, __u64 offset, const struct unwind_rule *rule)
{
	__u64 page = offset >> UNWIND_PAGE_SHIFT;
	__u32 number;

	if (t->err)
		return;
	if (!t->page_cnt)
		t->first_page = page;
	while (!t->err && t->page_cnt <= page - t->first_page)
		add_page(t);
	number = number_of(t, rule);
	if (t->err || number == t->last)
		return;
	put_row(t, (__u32)(offset & (UNWIND_PAGE_SIZE - 1)), number);
	t->last = number;
}

void row_table_put_none(struct row_table *t, __u64 offset)
{
	static const struct unwind_rule none;

	put(t, offset, &none);
}

void row_table_put(struct row_table *t, __u64 offset, const struct unwind_rule *rule)
{
	/* Rule 0 is "none". */
	if (!t->rule_cnt)
		row_table_put_none(t, offset);
	put(t, offset, rule);
}

const struct unwind_rule *row_table_find(const struct row_table *t, __u64 offset)
{
	__u64 page = (offset >> UNWIND_PAGE_SHIFT) - t->first_page;
	__u32 low, high, rule;

	if (offset >> UNWIND_PAGE_SHIFT < t->first_page || page >= t->page_cnt)
		return NULL;
	low = t->pages[page];
	high = page + 1 < t->page_cnt ? t->pages[page + 1] : t->row_cnt;
	/* Invariant: rows before low begin at or before the offset. */
	while (high - low > 1) {
		__u32 middle = low + (high - low) / 2;

		if (UNWIND_ROW_OFFSET(t->rows[middle]) <= (offset & (UNWIND_PAGE_SIZE - 1)))
			low = middle;
		else
			high = middle;
	}
	rule = UNWIND_ROW_RULE(t->rows[low]);
	return rule == UNWIND_NO_RULE ? NULL : &t->rules[rule];
}

int row_table_end(struct row_table *t)
{
	if (!t->err && !grow((void **)&t->pages, t->page_cnt, &t->page_cap, sizeof(*t->pages)))
		t->err = -ENOMEM;
	if (!t->err)
		t->pages[t->page_cnt] = t->row_cnt;
	free(t->index);
	t->index = NULL;
	t->index_size = 0;
	return t->err;
}

void row_table_free(struct row_table *t)
{
	free(t->rows);
	free(t->pages);
	free(t->rules);
	free(t->index);
	*t = (struct row_table){ 0 };
}
