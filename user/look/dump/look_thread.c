/* SPDX-License-Identifier: BSD-2-Clause */
#include "look/dump/look_thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/dict.h"
#include "base/data/vec.h"

static void free_locals(struct look_frame *f)
{
	for (__u32 i = 0; i < f->local_cnt; i++) {
		free(f->locals[i].name);
		free(f->locals[i].value);
	}
	free(f->locals);
}

void look_thread_clear(struct look_thread *t)
{
	for (__u32 i = 0; i < t->frame_cnt; i++) {
		free_locals(&t->frames[i]);
		free(t->frames[i].name);
		free(t->frames[i].file);
	}
	t->frame_cnt = 0;
}

struct look_frame *look_thread_add(struct look_thread *t, const char *name, const char *file,
				   int line)
{
	struct look_frame f = { .name = strdup(name), .file = strdup(file), .line = line };

	if (f.name && f.file && !vec_reserve(t->frames, t->frame_cap, t->frame_cnt + 1)) {
		t->frames[t->frame_cnt] = f;
		return &t->frames[t->frame_cnt++];
	}
	free(f.name);
	free(f.file);
	return NULL;
}

int look_thread_add_profiled(struct look_thread *t, const struct dict *dict, __u32 frame)
{
	const struct profile_frame *f = dict__frame_at(dict, frame);
	struct look_frame *new =
		look_thread_add(t, dict__text(dict, f->name), dict__text(dict, f->file), f->line);

	if (!new)
		return -ENOMEM;
	new->mark = f->kind == FRAME_MARK || f->unknown;
	new->native = f->kind == FRAME_NATIVE;
	return 0;
}

int look_thread_add_mark(struct look_thread *t, const char *name)
{
	struct look_frame *f = look_thread_add(t, name, "", -1);

	if (f)
		f->mark = true;
	return f ? 0 : -ENOMEM;
}

/* The index of the next Python frame, from i on; frame_cnt: there is none. */
static __u32 next_python(const struct look_thread *t, __u32 i)
{
	while (i < t->frame_cnt && (t->frames[i].native || t->frames[i].mark))
		i++;
	return i;
}

static bool is_same_place(const struct look_frame *a, const struct look_frame *b)
{
	return a->line == b->line && !strcmp(a->name, b->name) && !strcmp(a->file, b->file);
}

/* Compares Python frames by name and line; with change, gives each frame the other's variables. */
static bool same_python(struct look_thread *from, struct look_thread *to, bool change)
{
	__u32 i = next_python(from, 0), k = next_python(to, 0);

	for (; i < from->frame_cnt && k < to->frame_cnt;
	     i = next_python(from, i + 1), k = next_python(to, k + 1)) {
		struct look_frame *a = &from->frames[i], *b = &to->frames[k];

		if (!is_same_place(a, b))
			return false;
		if (!change)
			continue;
		b->locals = a->locals;
		b->local_cnt = a->local_cnt;
		a->locals = NULL;
		a->local_cnt = 0;
	}
	return i >= from->frame_cnt && k >= to->frame_cnt;
}

/* The last Python frame before i, or frame_cnt. */
static __u32 last_python(const struct look_thread *t, __u32 i)
{
	while (i-- > 0)
		if (!t->frames[i].native && !t->frames[i].mark)
			return i;
	return t->frame_cnt;
}

void look_thread_move_locals(struct look_thread *from, struct look_thread *to)
{
	__u32 i = last_python(from, from->frame_cnt), k = last_python(to, to->frame_cnt);

	while (i < from->frame_cnt && k < to->frame_cnt) {
		struct look_frame *a = &from->frames[i], *b = &to->frames[k];

		if (strcmp(a->name, b->name) || strcmp(a->file, b->file))
			return;
		free_locals(b);
		b->locals = a->locals;
		b->local_cnt = a->local_cnt;
		a->locals = NULL;
		a->local_cnt = 0;
		if (a->line != b->line)
			return;
		i = last_python(from, i);
		k = last_python(to, k);
	}
}

void look_thread_join(struct look_thread *t, struct look_thread *from, bool at_rest)
{
	const struct look_thread old = *t;

	if (t->how == LOOK_AT_REST && same_python(t, from, false))
		same_python(t, from, true);
	else if (t->how != LOOK_NATIVE && t->how != LOOK_ENDED)
		t->how = at_rest ? LOOK_AT_REST : LOOK_INTERRUPTED;
	look_thread_clear(t);
	t->frames = from->frames;
	t->frame_cnt = from->frame_cnt;
	t->frame_cap = from->frame_cap;
	t->joined = true;
	from->frames = old.frames;
	from->frame_cap = old.frame_cap;
	from->frame_cnt = 0;
}

bool look_thread_equal(const struct look_thread *a, const struct look_thread *b)
{
	if (a->how != b->how || a->frame_cnt != b->frame_cnt || a->os.state != b->os.state ||
	    a->os.syscall != b->os.syscall)
		return false;
	for (__u32 i = 0; i < a->frame_cnt; i++)
		if (!is_same_place(&a->frames[i], &b->frames[i]))
			return false;
	return true;
}
