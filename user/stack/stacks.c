/* SPDX-License-Identifier: BSD-2-Clause */
#include "stack/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "stack/frames.h"

/* See ANCHOR_CHECK in bpf/anchor.h: the model test shows that each of these is needed. */
#ifndef STACKS_CHECK
#define STACKS_CHECK(name, condition) (condition)
#endif

/* What lay below an anchor, and the anchor itself, when a full walk confirmed it. */
struct base {
	__u64 epoch; /* 0 none */
	struct frames frames; /* the last one is the anchor */
	__u32 root_tag; /* that the tags were made under */
	bool tags_pending; /* the consumer has not had the chance to set them yet */
};

struct thread {
	pid_t tid;
	pid_t pid;
	__u64 start_ns;
	__u64 code_generation;
	__u64 interp_addr;
	__u64 last_use; /* stacks.clock when sampled last */
	struct frames frames; /* the whole stack */
	struct base base;
	__u32 shared; /* frames on the root side that frames and base have in common */
	struct stack stack; /* what the consumer sees */
	UT_hash_handle hh;
};

struct stacks {
	struct thread *by_tid;
	struct stacks_stats stats;
	__u64 clock;
	__u64 frame_cnt; /* Σ cap */
};

struct stacks *stacks__new(void)
{
	return calloc(1, sizeof(struct stacks));
}

static void thread_free(struct stacks *stacks, struct thread *t)
{
	stacks->frame_cnt -= t->frames.cap + t->base.frames.cap;
	HASH_DEL(stacks->by_tid, t);
	frames_free(&t->frames);
	frames_free(&t->base.frames);
	free(t->stack.trail.steps);
	free(t);
}

void stacks__free(struct stacks *stacks)
{
	struct thread *t, *next;

	if (!stacks)
		return;
	HASH_ITER(hh, stacks->by_tid, t, next)
		thread_free(stacks, t);
	free(stacks);
}

/* Forgets the thread sampled longest ago, other than keep. */
static void evict_one(struct stacks *stacks, const struct thread *keep)
{
	struct thread *t, *next, *oldest = NULL;

	HASH_ITER(hh, stacks->by_tid, t, next) {
		if (t != keep && (!oldest || t->last_use < oldest->last_use))
			oldest = t;
	}
	if (!oldest)
		return;
	thread_free(stacks, oldest);
	stacks->stats.evicted++;
}

static int reserve(struct stacks *stacks, struct thread *t, struct frames *f, __u32 cnt)
{
	__u32 before = f->cap;

	if (frames_reserve(f, cnt))
		return -ENOMEM;
	stacks->frame_cnt += f->cap - before;
	while (stacks->frame_cnt > STACKS_MAX_FRAMES && HASH_COUNT(stacks->by_tid) > 1)
		evict_one(stacks, t);
	return 0;
}

static struct thread *find_thread(struct stacks *stacks, const struct record_sample *record)
{
	pid_t tid = record->tid;
	struct thread *t;

	HASH_FIND_INT(stacks->by_tid, &tid, t);
	if (t && t->start_ns != record->thread_start_ns) {
		thread_free(stacks, t);
		t = NULL;
	}
	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->tid = tid;
	t->pid = record->pid;
	t->start_ns = record->thread_start_ns;
	HASH_ADD_INT(stacks->by_tid, tid, t);
	return t;
}

static bool same_activation(const struct frame *a, const struct frame *b)
{
	return a->frame_addr == b->frame_addr && a->code_addr == b->code_addr &&
	       a->fingerprint == b->fingerprint;
}

/*
 * Puts the record's frames (leaf first) on top of the first `from` frames, which stay. What was
 * there before tells how many are the same: exactly, and but for the position.
 */
static void replace_top(struct thread *t, __u32 from, const struct frame *frames, __u32 cnt,
			__u32 *ret_same, __u32 *ret_survived)
{
	__u32 total = from + cnt, old_cnt = t->frames.cnt, i = from;
	struct frame *list = t->frames.list;

	while (i < total && i < old_cnt && !memcmp(&list[i], &frames[total - 1 - i], sizeof(*list)))
		i++;
	*ret_same = i;
	while (i < total && i < old_cnt && same_activation(&list[i], &frames[total - 1 - i])) {
		list[i] = frames[total - 1 - i];
		i++;
	}
	*ret_survived = i;
	for (; i < total; i++)
		list[i] = frames[total - 1 - i];
	t->frames.cnt = total;
}

/* The consumer has set the tags of the confirming stack by now: take them over. */
static void settle_base_tags(struct thread *t)
{
	struct base *b = &t->base;

	if (!b->tags_pending)
		return;
	memcpy(b->frames.tags, t->frames.tags, b->frames.cnt * sizeof(*b->frames.tags));
	b->root_tag = t->stack.root_tag;
	b->tags_pending = false;
}

/* An audit carries it all: is what the base would have given the truth? */
static bool audit_agrees(const struct thread *t, const struct record_sample *record,
			 const struct frame *frames)
{
	const struct base *b = &t->base;
	__u32 root_cnt = record->frame_cnt - 1 - record->anchor_index;

	if (b->epoch != record->anchor_epoch || record->anchor_steps >= b->frames.cnt)
		return true; /* forgotten here: nothing to compare with */
	if (root_cnt != b->frames.cnt - 1 - record->anchor_steps)
		return false;
	for (__u32 i = 0; i < root_cnt; i++) {
		if (memcmp(&b->frames.list[i], &frames[record->frame_cnt - 1 - i], sizeof(*frames)))
			return false;
	}
	return true;
}

/* The frames up to the anchor are the base from now on. */
static int take_base(struct stacks *stacks, struct thread *t, const struct record_sample *record)
{
	struct base *b = &t->base;
	__u32 cnt = t->frames.cnt - record->anchor_index;

	b->epoch = 0;
	if (reserve(stacks, t, &b->frames, cnt))
		return -ENOMEM;
	memcpy(b->frames.list, t->frames.list, cnt * sizeof(*b->frames.list));
	b->frames.cnt = cnt;
	b->epoch = record->anchor_epoch;
	b->tags_pending = true;
	t->shared = cnt;
	stacks->stats.confirmed++;
	return 0;
}

static int merge_full(struct stacks *stacks, struct thread *t, const struct record_sample *record,
		      const struct frame *frames)
{
	struct stack *s = &t->stack;
	__u32 same;

	if (reserve(stacks, t, &t->frames, record->frame_cnt))
		return -ENOMEM;
	if (record->anchor == ANCHOR_NOTE_AUDIT) {
		stacks->stats.audited++;
		s->mismatch = !audit_agrees(t, record, frames);
		stacks->stats.mismatched += s->mismatch;
	}
	replace_top(t, 0, frames, record->frame_cnt, &same, &s->survived);
	s->kept = same;
	if (t->code_generation != record->code_generation || t->interp_addr != record->interp_addr)
		s->kept = 0;
	if (t->shared > same)
		t->shared = same;
	stacks->stats.full++;
	if (record->anchor == ANCHOR_NOTE_CONFIRM)
		return take_base(stacks, t, record);
	if (record->anchor == ANCHOR_NOTE_SLID || record->anchor == ANCHOR_NOTE_FOREIGN ||
	    s->mismatch)
		t->base.epoch = 0;
	return 0;
}

/* Makes the first cnt frames those of the base; true if their tags are right, too. */
static bool restore_base(struct thread *t, __u32 cnt)
{
	const struct base *b = &t->base;
	bool tags = b->root_tag == t->stack.root_tag && !t->stack.own_tags;

	if (t->shared >= cnt)
		return true;
	memcpy(t->frames.list + t->shared, b->frames.list + t->shared,
	       (cnt - t->shared) * sizeof(*b->frames.list));
	if (tags)
		memcpy(t->frames.tags + t->shared, b->frames.tags + t->shared,
		       (cnt - t->shared) * sizeof(*b->frames.tags));
	t->frames.cnt = cnt;
	return tags;
}

/* The anchor's own frame came with the record; it must be the one that the base has there. */
static bool base_fits(const struct thread *t, const struct record_sample *record,
		      const struct frame *frames)
{
	const struct base *b = &t->base;

	return STACKS_CHECK(BASE_EPOCH, b->epoch == record->anchor_epoch) && b->epoch &&
	       record->frame_cnt && record->anchor_steps < b->frames.cnt &&
	       same_activation(&b->frames.list[b->frames.cnt - 1 - record->anchor_steps],
			       &frames[record->frame_cnt - 1]);
}

static int merge_delta(struct stacks *stacks, struct thread *t, const struct record_sample *record,
		       const struct frame *frames)
{
	struct stack *s = &t->stack;
	__u32 reused, same;
	bool tags;

	if (!base_fits(t, record, frames)) {
		stacks->stats.no_base++;
		t->base.epoch = 0;
		return -ESTALE;
	}
	reused = t->base.frames.cnt - 1 - record->anchor_steps;
	if (reserve(stacks, t, &t->frames, reused + record->frame_cnt))
		return -ENOMEM;
	tags = restore_base(t, reused);
	replace_top(t, reused, frames, record->frame_cnt, &same, &s->survived);
	s->kept = tags ? same : t->shared;
	/* Frames above the anchor may be new ones of reused code. */
	if (t->code_generation != record->code_generation && s->kept > reused)
		s->kept = reused;
	s->reused = reused;
	t->shared = reused;
	stacks->stats.delta++;
	stacks->stats.frames_reused += reused;
	return 0;
}

int stacks__merge(struct stacks *stacks, const struct record_sample *record,
		  const struct frame *frames, struct stack **ret)
{
	struct thread *t = find_thread(stacks, record);
	int err;

	if (!t)
		return -ENOMEM;
	t->last_use = ++stacks->clock;
	settle_base_tags(t);
	t->stack.reused = 0;
	t->stack.mismatch = false;
	if (record->anchor == ANCHOR_NOTE_DELTA)
		err = merge_delta(stacks, t, record, frames);
	else
		err = merge_full(stacks, t, record, frames);
	if (err)
		return err;
	stacks->stats.frames_new += record->frame_cnt;
	t->code_generation = record->code_generation;
	t->interp_addr = record->interp_addr;
	t->stack.frames = t->frames.list;
	t->stack.tags = t->frames.tags;
	t->stack.cnt = t->frames.cnt;
	*ret = &t->stack;
	return 0;
}

void stacks__remove_thread(struct stacks *stacks, pid_t tid)
{
	struct thread *t;

	HASH_FIND_INT(stacks->by_tid, &tid, t);
	if (t)
		thread_free(stacks, t);
}

void stacks__remove_process(struct stacks *stacks, pid_t pid)
{
	struct thread *t, *next;

	HASH_ITER(hh, stacks->by_tid, t, next) {
		if (t->pid == pid)
			thread_free(stacks, t);
	}
}

const struct stacks_stats *stacks__stats(const struct stacks *stacks)
{
	return &stacks->stats;
}
