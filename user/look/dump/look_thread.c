/* SPDX-License-Identifier: BSD-2-Clause */
#include "look/dump/look_thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"
#include "record/samples/stack_nodes.h"
#include "base/data/vec.h"

void look_thread_clear(struct look_thread *t)
{
	for (__u32 i = 0; i < t->frame_cnt; i++)
		free(t->frames[i].locals);
	free(t->frames);
	t->frames = NULL;
	t->frame_cnt = t->frame_cap = 0;
}

const char *look_text(struct strtab *strings, const char *text)
{
	return strtab_text(strings, strtab_add(strings, text, strlen(text), 0));
}

struct look_frame look_frame_of(struct strtab *strings, const struct dict *dict, __u32 frame)
{
	const struct profile_frame *f = dict__frame_at(dict, frame);

	return (struct look_frame){
		.name = look_text(strings, dict__text(dict, f->name)),
		.file = look_text(strings, dict__text(dict, f->file)),
		.line = f->line,
		.mark = f->kind == FRAME_MARK || f->unknown,
		.native = f->kind == FRAME_NATIVE,
	};
}

int look_thread_take(struct look_thread *t, struct strtab *strings, const struct stack_nodes *list)
{
	look_thread_clear(t);
	if (vec_reserve(t->frames, t->frame_cap, list->items.cnt))
		return -ENOMEM;
	for (__u32 i = list->items.cnt; i-- > 0;) {
		const struct item *item = &list->items.list[i];
		__u32 frame = stack_nodes_frame(list, i);
		struct look_frame *new = &t->frames[t->frame_cnt];

		if (!frame)
			continue;
		*new = look_frame_of(strings, list->naming.profile->dict, frame);
		if (item->kind == ITEM_PYTHON)
			new->python = item->frame;
		t->frame_cnt++;
	}
	return 0;
}

bool look_thread_equal(const struct look_thread *a, const struct look_thread *b)
{
	if (a->how != b->how || a->frame_cnt != b->frame_cnt || a->os.state != b->os.state ||
	    a->os.syscall != b->os.syscall)
		return false;
	for (__u32 i = 0; i < a->frame_cnt; i++) {
		const struct look_frame *f = &a->frames[i], *g = &b->frames[i];

		if (f->line != g->line || strcmp(f->name, g->name) || strcmp(f->file, g->file))
			return false;
	}
	return true;
}

/* ---- the same frames -------------------------------------------------------------------------- */

/* The last Python frame before *i, towards the leaf; NULL: there is none. */
static struct look_frame *next_python(const struct look_thread *t, __u32 *i)
{
	while (*i > 0)
		if (t->frames[--*i].python.code_addr)
			return &t->frames[*i];
	return NULL;
}

static bool is_same_run(const struct frame *a, const struct frame *b)
{
	return a->frame_addr == b->frame_addr && a->code_addr == b->code_addr;
}

/* Are both at the same place, to the last frame? */
static bool is_same_stack(const struct look_thread *a, const struct look_thread *b)
{
	__u32 i = a->frame_cnt, k = b->frame_cnt;
	const struct look_frame *f, *g;

	do {
		f = next_python(a, &i);
		g = next_python(b, &k);
	} while (f && g && is_same_run(&f->python, &g->python) &&
		 f->python.instr_off == g->python.instr_off);
	return !f && !g;
}

void look_thread_move_locals(struct look_thread *from, struct look_thread *to)
{
	__u32 i = from->frame_cnt, k = to->frame_cnt;
	struct look_frame *f, *g;

	do {
		f = next_python(from, &i);
		g = next_python(to, &k);
		if (!f || !g || !is_same_run(&f->python, &g->python))
			return;
		free(g->locals);
		g->locals = f->locals;
		g->local_cnt = f->local_cnt;
		f->locals = NULL;
		f->local_cnt = 0;
	} while (f->python.instr_off == g->python.instr_off);
}

void look_thread_join(struct look_thread *t, struct look_thread *from, bool at_rest)
{
	bool rests = t->how == LOOK_AT_REST && is_same_stack(t, from);

	look_thread_move_locals(t, from);
	if (!rests && t->how != LOOK_NATIVE && t->how != LOOK_ENDED)
		t->how = at_rest ? LOOK_AT_REST : LOOK_INTERRUPTED;
	look_thread_clear(t);
	t->frames = from->frames;
	t->frame_cnt = from->frame_cnt;
	t->frame_cap = from->frame_cap;
	t->joined = true;
	from->frames = NULL;
	from->frame_cnt = from->frame_cap = 0;
}
