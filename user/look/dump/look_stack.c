/* SPDX-License-Identifier: BSD-2-Clause */
#include "look/dump/look_stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "look/dump/look_join.h"
#include "look/dump/look_thread.h"
#include "profile/marks.h"
#include "python/code/linetable.h"
#include "python/code/symbolizer.h"
#include "process/probe/probe_threads.h"

bool look_stack_place(struct symbolizer *symbolizer, const struct frame *f, struct code_symbol *ret,
		      int *ret_line)
{
	const struct code_query query = {
		.code_addr = f->code_addr,
		.fingerprint = f->fingerprint,
		.instr_off = f->instr_off,
	};
	struct source_position position = { -1, -1, -1, -1 };

	if (symbolizer__resolve(symbolizer, &query, ret, &position) != SYMBOL_OK)
		return false;
	*ret_line = position.line;
	return true;
}

/* Names the frame; the interpreter's own frames have no name. */
static int name_frame(struct look_thread *t, struct symbolizer *symbolizer, const struct frame *f)
{
	struct code_symbol code;
	int line;

	/* Entry frames stand for C code. */
	if (!f->code_addr)
		return 0;
	if (!look_stack_place(symbolizer, f, &code, &line))
		return look_thread_add_mark(t, NAME_UNREADABLE);
	if (code.roles & CODE_INTERNAL)
		return 0;
	return look_thread_add(t, code.qualname, code.filename, line) ? 0 : -ENOMEM;
}

static const char *why_lost(enum reason reason)
{
	switch (reason) {
	case REASON_CYCLE:
		return "its frames form a cycle";
	case REASON_BAD_FRAME:
		return "one of its frames is malformed";
	default:
		return "its memory could not be read";
	}
}

/*
 * Gives a list frame's variables to the frame named last. *next: earlier variables belong to
 * earlier frames; both are in the same order.
 */
static int take_locals(struct look_thread *t, const struct probe_threads *l, __u32 frame,
		       __u32 *next)
{
	struct look_frame *f = &t->frames[t->frame_cnt - 1];
	__u32 first = *next, end;

	while (first < l->local_cnt && l->locals[first].frame < frame)
		first++;
	for (end = first; end < l->local_cnt && l->locals[end].frame == frame;)
		end++;
	*next = end;
	if (first == end)
		return 0;
	f->locals = calloc(end - first, sizeof(*f->locals));
	if (!f->locals)
		return -ENOMEM;
	for (; first < end; first++) {
		struct look_local *new = &f->locals[f->local_cnt++];

		new->name = strdup(l->texts + l->locals[first].name);
		new->value = strdup(l->texts + l->locals[first].value);
		new->changed = l->locals[first].changed;
		if (!new->name || !new->value)
			return -ENOMEM;
	}
	return 0;
}

/* Takes a frame of the list, with its variables. */
static int take_frame(struct look_thread *t, struct symbolizer *symbolizer,
		      const struct probe_threads *l, __u32 frame, __u32 *next_local)
{
	const __u32 named = t->frame_cnt;
	int err = name_frame(t, symbolizer, &l->frames[frame]);

	return err || t->frame_cnt == named ? err : take_locals(t, l, frame, next_local);
}

static int take_joined(struct look_thread *t, struct symbolizer *symbolizer,
		       const struct probe_threads *l, const struct look_join *j, __u32 *next_local)
{
	const struct probe_thread *os = &t->os;
	const struct items *joined;
	int err = look_join(j, l, os, &joined);

	for (__u32 i = err ? 0 : joined->cnt; i-- > 0 && !err;) {
		const struct item *item = &joined->list[i];

		if (item->kind == ITEM_PYTHON)
			err = take_frame(t, symbolizer, l,
					 os->first_frame + os->frame_cnt - 1 - item->index,
					 next_local);
		else if (item->kind != ITEM_HIDDEN)
			err = look_join_add(j, t, item);
	}
	t->joined = !err;
	return err;
}

static int take_python(struct look_thread *t, struct symbolizer *symbolizer,
		       const struct probe_threads *l, __u32 *next_local)
{
	const struct probe_thread *os = &t->os;
	int err = 0;

	for (__u32 i = 0; i < os->frame_cnt && !err; i++)
		err = take_frame(t, symbolizer, l, os->first_frame + i, next_local);
	return err;
}

/* For a thread without Python: all of its stack is native. */
static int take_foreign(struct look_thread *t, struct symbolizer *symbolizer,
			const struct probe_threads *l, const struct look_join *j)
{
	__u32 no_local = 0;
	int err = 0;

	t->how = LOOK_NATIVE;
	if (j->process && t->os.flags & PROBE_THREAD_HELD)
		err = take_joined(t, symbolizer, l, j, &no_local);
	return err || !t->joined ? err : look_thread_add_mark(t, mark_of(REASON_NATIVE_THREAD));
}

int look_stack_take(struct look_thread *t, struct symbolizer *symbolizer,
		    const struct probe_threads *l, const struct look_join *j, __u32 *next_local)
{
	const struct probe_thread *os = &t->os;
	char mark[MARK_SIZE];
	int err;

	/* What its thread state says is no longer true. */
	if (os->state == 'Z' || os->state == 'X') {
		t->how = LOOK_ENDED;
		return 0;
	}
	if (!(os->flags & PROBE_THREAD_PYTHON))
		return take_foreign(t, symbolizer, l, j);
	if (!(os->flags & PROBE_THREAD_HELD)) {
		t->why = "it did not hold still";
		return 0;
	}
	if (reason_outcome(os->reason) == OUTCOME_LOST) {
		t->why = why_lost(os->reason);
		return 0;
	}
	err = j->process ? take_joined(t, symbolizer, l, j, next_local) :
			   take_python(t, symbolizer, l, next_local);
	if (!err && reason_outcome(os->reason) == OUTCOME_TRUNCATED) {
		mark_truncated(mark, os->reason);
		err = look_thread_add_mark(t, mark);
	}
	t->how = LOOK_AT_REST;
	return err;
}
