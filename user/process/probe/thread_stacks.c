/* SPDX-License-Identifier: BSD-2-Clause */
#include "process/probe/thread_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/read.h"
#include "bpf/python/gil.h"
#include "python/values/frame_locals.h"
#include "python/values/thread_names.h"
#include "process/memory/page_cache.h"
#include "base/data/vec.h"

/* How often to read the list of thread states until it is found at rest. */
#define TRIES 3

struct thread_stacks *thread_stacks__new(const struct probe_threads_ask *ask,
					 const struct memory *memory)
{
	struct thread_stacks *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->ask = ask;
	s->memory = *memory;
	s->walk = (struct stack_walk){
		.memory = &s->memory,
		.offsets = &ask->offsets,
		.runtime_addr = ask->runtime_addr,
		.fingerprints = true,
	};
	object_layout_of(&s->layout, &ask->offsets);
	s->first = page_cache__new(&s->memory);
	s->again = page_cache__new(&s->memory);
	if (s->first && s->again)
		return s;
	thread_stacks__free(s);
	return NULL;
}

void thread_stacks__free(struct thread_stacks *s)
{
	if (!s)
		return;
	page_cache__free(s->first);
	page_cache__free(s->again);
	bytes_free(&s->stacks);
	free(s->named);
	free(s);
}

/* ---- names -------------------------------------------------------------------------------------- */

static __u32 add_text(struct thread_stacks *s, const char *text)
{
	size_t len = strlen(text) + 1;
	__u32 at = s->head.text_len;

	memcpy(s->texts + at, text, len);
	s->head.text_len += (__u32)len;
	return at;
}

static void add_name(void *ctx, __u64 ident, const char *name, bool changed)
{
	struct thread_stacks *s = ctx;

	if (strlen(name) + 2 > PROBE_THREADS_NAMES_MAX - s->head.text_len ||
	    vec_reserve(s->named, s->named_cap, s->named_cnt + 1))
		return;
	if (!s->head.text_len)
		add_text(s, "");
	s->named[s->named_cnt++] = (struct named){ .thread_ptr = ident,
						   .name = add_text(s, name),
						   .changed = changed };
}

/* Threads whose name is not found have none. */
static void read_names(struct thread_stacks *s)
{
	struct thread_names_ask ask = { .layout = &s->layout,
					.memory = page_cache__memory(s->first),
					.again = page_cache__memory(s->again) };

	for (__u32 i = 0; i < s->head.interp_cnt; i++)
		if (!thread_names_find(ask.layout, ask.memory, s->ask->runtime_addr,
				       s->interps[i].interp_addr, &ask.active_addr))
			(void)!thread_names_read(&ask, add_name, s);
}

static void take_name(const struct thread_stacks *s, struct probe_thread *t, __u64 thread_ptr)
{
	for (__u32 i = 0; i < s->named_cnt; i++) {
		if (s->named[i].thread_ptr != thread_ptr)
			continue;
		t->name = s->named[i].name;
		if (s->named[i].changed)
			t->flags |= PROBE_THREAD_NAME_CHANGED;
		return;
	}
}

static void read_states(struct thread_stacks *s)
{
	s->head.list_reason = REASON_NO_RUNTIME;
	for (int i = 0; s->walk.runtime_addr && i < TRIES; i++) {
		s->head.list_reason =
			thread_list_read(&s->walk, s->states, KRAIT_MAX_THREADS, &s->state_cnt);
		if (s->head.list_reason == REASON_PYTHON)
			break;
	}
}

/* Finds the holder of an interpreter's GIL. */
static void look_at_interp_gil(const struct stack_walk *walk,
			       const struct thread_list_entry *states, __u32 state_cnt,
			       struct probe_interp *i)
{
	struct gil gil = { .memory = walk->memory };

	if (find_gil(walk->offsets, walk->runtime_addr, i->interp_addr, &gil)) {
		i->gil = walk->offsets->flags & PYOFF_FREE_THREADED ? PROBE_GIL_NONE :
								      PROBE_GIL_UNKNOWN;
		return;
	}
	i->gil_addr = gil.addr;
	i->gil = gil.locked ? PROBE_GIL_HELD : PROBE_GIL_FREE;
	for (__u32 k = 0; gil.locked && k < state_cnt; k++)
		if (states[k].tstate_addr == gil.holder_addr)
			i->holder = states[k].native_id;
}

/* The interpreters of those thread states; at most PROBE_THREADS_INTERPS_MAX. Returns their number. */
static __u32 probe_interps_list(const struct stack_walk *walk,
				const struct thread_list_entry *states, __u32 state_cnt,
				struct probe_interp *ret)
{
	__u32 cnt = 0;

	for (__u32 k = 0; k < state_cnt && cnt < PROBE_THREADS_INTERPS_MAX; k++) {
		/* States of one interpreter are adjacent. */
		if (cnt && ret[cnt - 1].interp_addr == states[k].interp_addr)
			continue;
		ret[cnt] = (struct probe_interp){ .id = states[k].interp_id,
						  .interp_addr = states[k].interp_addr };
		look_at_interp_gil(walk, states, state_cnt, &ret[cnt++]);
	}
	return cnt;
}

void thread_stacks__begin(struct thread_stacks *s)
{
	read_states(s);
	s->head.interp_cnt = probe_interps_list(&s->walk, s->states, s->state_cnt, s->interps);
	read_names(s);
}

bool thread_stacks__is_full(const struct thread_stacks *s)
{
	return s->head.thread_cnt == PROBE_THREADS_MAX ||
	       PROBE_THREADS_FRAMES_MAX - s->head.frame_cnt < KRAIT_MAX_FRAMES;
}

/* ---- one thread --------------------------------------------------------------------------------- */

/* Newest states first; a thread may have several, in different interpreters. */
const struct thread_list_entry *thread_stacks__state_of(const struct thread_stacks *s,
							struct probe_thread *t)
{
	for (__u32 i = 0; i < s->state_cnt; i++) {
		if (s->states[i].native_id != (__u64)t->ns_tid)
			continue;
		t->flags |= PROBE_THREAD_PYTHON;
		take_name(s, t, s->states[i].thread_ptr);
		return &s->states[i];
	}
	return NULL;
}

/* Walks the stack of a thread that may be running, into s->walked. */
static void walk_one(struct thread_stacks *s, struct probe_thread *t,
		     const struct thread_list_entry *state)
{
	struct thread_slot slot = { .tstate_addr = state->tstate_addr,
				    .interp_addr = state->interp_addr };

	stack_walk_thread(&s->walk, state->thread_ptr, &slot, &s->walked);
	t->reason = (__u8)s->walked.reason;
	t->tstate_addr = s->walked.tstate_addr;
	t->interp_addr = s->walked.interp_addr;
	t->thread_ptr = state->thread_ptr;
	t->interp_id = state->interp_id;
	for (__u32 i = 0; i < s->state_cnt; i++)
		if (s->states[i].tstate_addr == t->tstate_addr)
			t->interp_id = s->states[i].interp_id;
}

static bool add_local(void *ctx, const char *name, const char *value, bool changed)
{
	struct thread_stacks *s = ctx;
	struct probe_local *new = &s->locals[s->head.local_cnt];

	if (s->head.local_cnt == PROBE_THREADS_LOCALS_MAX ||
	    strlen(name) + strlen(value) + 2 > PROBE_THREADS_TEXT_MAX - s->head.text_len) {
		s->head.locals_cut = 1;
		return false;
	}
	new->frame = s->frame;
	new->name = add_text(s, name);
	new->value = add_text(s, value);
	new->changed = changed;
	s->head.local_cnt++;
	return true;
}

/* Takes the variables of the frames in s->walked, which will be appended to s->frames. */
static void take_locals(struct thread_stacks *s)
{
	page_cache__clear(s->first);
	page_cache__clear(s->again);
	for (__u32 i = 0; i < s->walked.frame_cnt && !s->head.locals_cut; i++) {
		s->frame = s->head.frame_cnt + i;
		if (frame_locals(&s->layout, page_cache__memory(s->first),
				 page_cache__memory(s->again), &s->walked.frames[i], add_local,
				 s) &&
		    s->head.locals_cut)
			return;
	}
}

/* How it stands to the GIL of its interpreter; valid only if it stands still. */
static void look_at_gil(const struct thread_stacks *s, struct probe_thread *t)
{
	struct gil gil = { .memory = s->walk.memory };

	t->flags &= (__u16) ~(PROBE_THREAD_HAS_GIL | PROBE_THREAD_WAITS_GIL);
	if (find_gil(s->walk.offsets, s->walk.runtime_addr, t->interp_addr, &gil))
		return;
	if (gil_is_held_by(&gil, t->tstate_addr))
		t->flags |= PROBE_THREAD_HAS_GIL;
	if (t->flags & PROBE_THREAD_SYSCALL && t->syscall >= 0 && t->args[0] - gil.addr < gil.size)
		t->flags |= PROBE_THREAD_WAITS_GIL;
}

void thread_stacks__walk(struct thread_stacks *s, struct probe_thread *t,
			 const struct thread_list_entry *state)
{
	walk_one(s, t, state);
	look_at_gil(s, t);
	if (s->ask->locals && reason_outcome(t->reason) != OUTCOME_LOST)
		take_locals(s);
}

/* Counts frames at the leaf of s->walked that the thread did not have before, or no longer has. */
static __u32 count_left(const struct thread_stacks *s)
{
	const struct stack_walk_result *a = &s->walked, *b = &s->walked_again;
	__u32 same = 0;

	while (same < a->frame_cnt && same < b->frame_cnt &&
	       a->frames[a->frame_cnt - 1 - same].frame_addr ==
		       b->frames[b->frame_cnt - 1 - same].frame_addr &&
	       a->frames[a->frame_cnt - 1 - same].code_addr ==
		       b->frames[b->frame_cnt - 1 - same].code_addr)
		same++;
	return a->frame_cnt - same;
}

/* Drops the variables of that many frames at the leaf. */
static void drop_locals(struct thread_stacks *s, __u32 from, __u32 left)
{
	__u32 kept = from;

	for (__u32 i = from; i < s->head.local_cnt; i++)
		if (s->locals[i].frame >= s->head.frame_cnt + left)
			s->locals[kept++] = s->locals[i];
	s->head.local_cnt = kept;
}

bool thread_stacks__walk_moving(struct thread_stacks *s, struct probe_thread *t,
				const struct thread_list_entry *state)
{
	struct thread_slot slot = { .tstate_addr = state->tstate_addr,
				    .interp_addr = state->interp_addr };
	const __u32 from = s->head.local_cnt;

	walk_one(s, t, state);
	if (reason_outcome(t->reason) == OUTCOME_LOST)
		return false;
	take_locals(s);
	stack_walk_thread(&s->walk, state->thread_ptr, &slot, &s->walked_again);
	if (reason_outcome(s->walked_again.reason) == OUTCOME_LOST)
		s->walked_again.frame_cnt = 0;
	drop_locals(s, from, count_left(s));
	return s->head.local_cnt > from;
}

struct thread_stacks_mark thread_stacks__mark(const struct thread_stacks *s)
{
	return (struct thread_stacks_mark){ s->head.local_cnt, s->head.text_len };
}

void thread_stacks__back(struct thread_stacks *s, struct thread_stacks_mark mark)
{
	s->head.local_cnt = mark.local_cnt;
	s->head.text_len = mark.text_len;
}

void thread_stacks__keep(struct thread_stacks *s, struct probe_thread *t)
{
	if (reason_outcome(t->reason) == OUTCOME_LOST)
		return;
	t->first_frame = s->head.frame_cnt;
	t->frame_cnt = s->walked.frame_cnt;
	memcpy(s->frames + s->head.frame_cnt, s->walked.frames,
	       t->frame_cnt * sizeof(struct frame));
	s->head.frame_cnt += t->frame_cnt;
}

int thread_stacks__write(const struct thread_stacks *s,
			 int (*write)(void *ctx, const void *data, size_t len), void *ctx)
{
	int err = write(ctx, &s->head, sizeof(s->head));

	if (!err)
		err = write(ctx, s->threads, s->head.thread_cnt * sizeof(s->threads[0]));
	if (!err)
		err = write(ctx, s->frames, s->head.frame_cnt * sizeof(s->frames[0]));
	if (!err)
		err = write(ctx, s->interps, s->head.interp_cnt * sizeof(s->interps[0]));
	if (!err)
		err = write(ctx, s->locals, s->head.local_cnt * sizeof(s->locals[0]));
	if (!err)
		err = write(ctx, s->texts, s->head.text_len);
	return err ? err : write(ctx, s->stacks.data, s->head.stacks_len);
}
