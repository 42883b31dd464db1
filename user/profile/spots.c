/* SPDX-License-Identifier: BSD-2-Clause */
#include "profile/spots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/view.h"
#include "base/data/cleanup.h"
#include "base/data/compare.h"
#include "base/data/search.h"

void spots_free(struct spots *s)
{
	free(s->list);
	*s = (struct spots){ 0 };
}

static int compare(const void *x, const void *y, void *ctx)
{
	const struct spot *a = x, *b = y;
	const struct dict *dict = ctx;
	int c = a->file == b->file ? 0 :
				     strcmp(dict__text(dict, a->file), dict__text(dict, b->file));

	if (!c)
		c = compare_numbers(a->line, b->line);
	if (!c)
		c = compare_numbers(a->column, b->column);
	if (!c)
		c = compare_numbers(a->end_column, b->end_column);
	if (!c)
		c = compare_numbers(a->first_line, b->first_line);
	if (!c && a->name != b->name)
		c = strcmp(dict__text(dict, a->name), dict__text(dict, b->name));
	if (!c)
		c = compare_numbers(a->unit, b->unit);
	return c ? c : compare_numbers(a->opcode, b->opcode);
}

/* Does a spot come before that line? */
static bool is_before(const struct spots *s, const struct spot *a, __u32 file, int line)
{
	int c = a->file == file ? 0 :
				  strcmp(dict__text(s->dict, a->file), dict__text(s->dict, file));

	return c ? c < 0 : a->line < line;
}

const struct spot *spots_of_line(const struct spots *s, __u32 file, int line, __u32 *ret_cnt)
{
	__u32 first = (__u32)sorted_below(s->cnt, i, is_before(s, &s->list[i], file, line));
	__u32 end = first;

	while (end < s->cnt && s->list[end].file == file && s->list[end].line == line)
		end++;
	*ret_cnt = end - first;
	return end > first ? &s->list[first] : NULL;
}

/* The spot of a frame, without counts. */
static struct spot spot_of(const struct profile_frame *f)
{
	return (struct spot){
		.file = f->file,
		.name = f->name,
		.first_line = f->first_line,
		.line = f->line,
		.column = f->column,
		.end_column = f->end_column,
		.unit = f->unit,
		.opcode = f->opcode,
	};
}

/* Time that ends at a node belongs to its innermost Python place: its own, or its caller's. */
static int give_self(struct spots *s, const struct view *v, const __u32 *spot_of_frame)
{
	cleanup_free __u32 *inner = calloc(v->node_cnt, sizeof(*inner));

	if (!inner)
		return -ENOMEM;
	for (__u32 i = 1; i < v->node_cnt; i++) {
		const struct view_node *n = &v->nodes[i];
		const __u32 own = spot_of_frame[n->frame];

		inner[i] = own ? own : inner[n->parent];
		if (!inner[i])
			continue;
		s->list[inner[i] - 1].self += n->self;
		s->self += n->self;
	}
	return 0;
}

static bool is_listed(const struct profile_frame *f)
{
	return f->kind == FRAME_PYTHON && f->opcode && f->unit >= 0 && f->line > 0;
}

static int compare_instructions(const struct spot *a, const struct spot *b, const struct dict *dict)
{
	struct spot x = *a, y = *b;

	x.opcode = y.opcode = 0;
	return compare(&x, &y, (void *)dict);
}

/*
 * For one instruction keeps the spots with counts, whatever their form; otherwise one that names
 * it.
 */
static void merge_instructions(struct spots *s)
{
	__u32 kept = 0, end;

	for (__u32 i = 0; i < s->cnt; i = end) {
		bool counted = false;

		for (end = i;
		     end < s->cnt &&
		     (end == i || !compare_instructions(&s->list[i], &s->list[end], s->dict));
		     end++)
			counted |= s->list[end].total != 0;
		for (__u32 k = i; k < end; k++)
			if (s->list[k].total || (!counted && k == i))
				s->list[kept++] = s->list[k];
	}
	s->cnt = kept;
}

/* Adds instructions that the dictionary has but nobody has counted. */
static int add_instructions(struct spots *s)
{
	__u32 cnt = 0;
	struct spot *list;

	if (!s->has_opcodes)
		return 0;
	for (__u32 i = 1; i <= dict__frame_cnt(s->dict); i++)
		cnt += is_listed(dict__frame_at(s->dict, i));
	if (!cnt)
		return 0;
	list = reallocarray(s->list, (size_t)s->cnt + cnt, sizeof(*list));
	if (!list)
		return -ENOMEM;
	s->list = list;
	for (__u32 i = 1; i <= dict__frame_cnt(s->dict); i++) {
		const struct profile_frame *f = dict__frame_at(s->dict, i);

		if (is_listed(f))
			s->list[s->cnt++] = spot_of(f);
	}
	return 0;
}

int spots_make(struct spots *ret, const struct counts *c)
{
	const struct view_options options = {
		.lines = true,
		.instructions = true,
		.order = VIEW_BY_NAME,
	};
	cleanup_free __u32 *spot_of_frame = NULL;
	cleanup_view struct view *v = NULL;
	struct spots s = { .dict = c->dict };
	int err = view__new(&v, c, &options);

	if (err)
		return err;
	spot_of_frame = calloc(v->frame_cnt, sizeof(*spot_of_frame));
	s.list = calloc(v->frame_cnt, sizeof(*s.list));
	if (!spot_of_frame || !s.list)
		err = -ENOMEM;
	for (__u32 i = 1; i < v->frame_cnt && !err; i++) {
		if (v->frames[i].kind != FRAME_PYTHON || !v->sums[i].total)
			continue;
		s.list[s.cnt] = spot_of(&v->frames[i]);
		s.list[s.cnt].total = v->sums[i].total;
		s.has_opcodes |= v->frames[i].opcode != 0;
		spot_of_frame[i] = ++s.cnt;
	}
	s.all = v->nodes[0].total;
	if (!err)
		err = give_self(&s, v, spot_of_frame);
	if (!err)
		err = add_instructions(&s);
	if (err) {
		free(s.list);
		return err;
	}
	qsort_r(s.list, s.cnt, sizeof(*s.list), compare, (void *)c->dict);
	if (s.has_opcodes)
		merge_instructions(&s);
	*ret = s;
	return 0;
}
