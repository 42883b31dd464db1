/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * trail.h - the path of an earlier walk, reused by the next walks on this CPU: most of them come
 * from the same thread, whose outer frames have not changed.
 *
 * A step depends only on its state (address, stack pointer, frame pointer, where the base register
 * is, flags), on the tables, and on the words that it reads: the return address and mostly the
 * frame pointer. So if a walk reaches a state that an earlier one had, with the same tables and the
 * same words in the same places, it must reach the same next state. It reads and compares these
 * words, and skips everything else. Steps that read anything else (registers of the leaf, a CFA in
 * memory) cannot be skipped in this way.
 *
 * Must hold: a trail is made from the tables of one epoch and one space, and only walks in the same
 * epoch and space use it; a walk that sees another epoch at its end leaves none. At the first
 * difference the walk leaves the trail, in the last state that has been proved.
 */
#ifndef KRAIT_BPF_NATIVE_TRAIL_H
#define KRAIT_BPF_NATIVE_TRAIL_H

#include "bpf/abi.h"
#include "bpf/bounds.h"
#include "bpf/native/walk_state.h"

/* If a walk had to make more steps than this by itself, the next walk leaves a new trail. */
#define TRAIL_APART 8

#define UNWIND_TRAIL_STEP(w, at) (&(w)->trail.steps[masked(at, KRAIT_MAX_NATIVE - 1)])
/* Flags of a state, without those of the whole walk. */
#define UNWIND_STATE_FLAGS(flags) ((flags) & ~(__u32)UNWIND_UNMAPPED)

/* After unwind_enter(). */
static __always_inline void unwind_find_trail(struct native_walk *w)
{
	struct trail *t = &w->trail;

	w->follows = 0;
	w->trail_at = 0;
	w->apart = 0;
	w->leaves = !t->cnt || t->stale || t->tag != unwind_tag(w) || t->epoch != w->epoch;
	if (w->leaves)
		t->cnt = 0;
}

/* The walk is over. valid: no table has changed meanwhile. */
static __always_inline void unwind_leave_trail(struct native_walk *w, bool valid)
{
	struct trail *t = &w->trail;

	t->stale = !w->leaves && w->apart > TRAIL_APART;
	if (!w->leaves || !valid)
		return;
	t->tag = unwind_tag(w);
	t->epoch = w->epoch;
	t->cnt = at_most(w->cnt, KRAIT_MAX_NATIVE);
}

/* Before a step: its state. */
static __always_inline void unwind_note_state(struct native_walk *w)
{
	struct trail_step *s = UNWIND_TRAIL_STEP(w, w->cnt);

	s->ip = w->ip;
	s->sp = w->sp;
	s->fp = w->fp;
	s->base_addr = w->base_addr;
	s->flags = UNWIND_STATE_FLAGS(w->flags);
}

/* Notes the step that has just been made. */
static __always_inline void unwind_note_step(struct native_walk *w)
{
	struct trail_step *s = UNWIND_TRAIL_STEP(w, w->cnt - 1);

	s->fp_addr = w->fp_addr;
	s->again = w->again;
}

/* Has the walk come to a state of the trail? */
static __always_inline void unwind_meet_trail(struct native_walk *w)
{
	const struct trail_step *s;

	for (int i = 0; i < TRAIL_APART; i++) {
		s = UNWIND_TRAIL_STEP(w, w->trail_at);
		if (w->trail_at >= w->trail.cnt || s->sp >= w->sp)
			break;
		w->trail_at++;
	}
	s = UNWIND_TRAIL_STEP(w, w->trail_at);
	w->follows = w->trail_at < w->trail.cnt && s->sp == w->sp && s->ip == w->ip &&
		     s->fp == w->fp && s->base_addr == w->base_addr &&
		     s->flags == UNWIND_STATE_FLAGS(w->flags);
}

/* After a step that was made without the trail. */
static __always_inline int unwind_settle_step(struct native_walk *w)
{
	if (w->leaves)
		unwind_note_step(w);
	else
		unwind_meet_trail(w);
	return 0;
}

/* In the kernel it is a global function (loops.h), as many paths lead here. */
#ifdef __bpf__
int unwind_settle_apart(__u32 memory);
#define UNWIND_SETTLE_STEP(w) unwind_settle_apart((w)->context)
#else
#define UNWIND_SETTLE_STEP(w) unwind_settle_step(w)
#endif

static __always_inline bool unwind_is_word(struct native_walk *w, __u64 addr, __u64 want)
{
	__u64 word;

	return !unwind_read_fast(w, &word, addr) && word == want;
}

/* As unwind_step(), if the trail has the result. -1: it does not, and nothing was changed. */
static __always_inline int unwind_follow(struct native_walk *w, struct native_frame *out)
{
	const struct trail_step *s = UNWIND_TRAIL_STEP(w, w->trail_at), *next;
	/* Where each call puts it on the stack, that is known. */
	const __u32 below = UNWIND_RA_IN_REGISTER ? s->again : 8;
	__u32 at = w->trail_at + 1;
	__u64 ra;

	if (!w->follows)
		return -1;
	next = UNWIND_TRAIL_STEP(w, at);
	if (!s->again || at >= w->trail.cnt || unwind_read_fast(w, &ra, next->sp - below) ||
	    UNWIND_CODE_ADDR(ra) != next->ip ||
	    (s->fp_addr && !unwind_is_word(w, s->fp_addr, next->fp))) {
		w->follows = 0;
		return -1;
	}
	out->ip = s->ip;
	out->frame_addr = next->sp;
	w->ip = next->ip;
	w->sp = next->sp;
	w->fp = next->fp;
	w->base_addr = next->base_addr;
	w->flags = (w->flags & UNWIND_UNMAPPED) | next->flags;
	w->trail_at = at;
	w->cnt++;
	return w->cnt >= KRAIT_MAX_NATIVE;
}

#endif /* KRAIT_BPF_NATIVE_TRAIL_H */
