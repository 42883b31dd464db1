/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/stack/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

/* Like ANCHOR_CHECK in bpf/python/anchor.h: the model test shows that each check is needed. */
#ifndef STACKS_CHECK
#define STACKS_CHECK(name, condition) (condition)
#endif

struct frames {
	struct frame *list;
	__u32 cnt, cap;
};

/* What lay below an anchor, and the anchor itself, when a full walk confirmed it. */
struct base {
	__u64 epoch; /* 0: none */
	struct frames frames; /* the last one is the anchor */
};

struct last_stack {
	struct frames frames; /* the whole stack */
	struct base base;
	__u32 shared; /* root-side frames that frames and base have in common */
	struct stack stack; /* what the consumer sees */
	__u32 named_cap; /* of what it has named, as counted */
	bool listed; /* it holds frames, or may hold some */
	TAILQ_ENTRY(last_stack) by_use;
};

struct stacks {
	TAILQ_HEAD(, last_stack) by_use; /* least recently merged first */
	struct stacks_stats stats;
	__u64 frame_cnt; /* sum of cap */
};

/* Makes room for cnt frames; keeps the content. Returns 0 or -ENOMEM. */
static int frames_reserve(struct frames *f, __u32 cnt)
{
	__u32 cap = f->cap ? f->cap : 32;
	struct frame *list;

	if (cnt <= f->cap)
		return 0;
	while (cap < cnt)
		cap *= 2;
	list = realloc(f->list, cap * sizeof(*list));
	if (!list)
		return -ENOMEM;
	f->list = list;
	f->cap = cap;
	return 0;
}

static void frames_free(struct frames *f)
{
	free(f->list);
	*f = (struct frames){ 0 };
}

struct stacks *stacks__new(void)
{
	struct stacks *stacks = calloc(1, sizeof(*stacks));

	if (stacks)
		TAILQ_INIT(&stacks->by_use);
	return stacks;
}

void stacks__free(struct stacks *stacks)
{
	free(stacks);
}

/* Empties it, as if nothing had ever been merged; its owner keeps the object. */
static void clear(struct stacks *stacks, struct last_stack *l)
{
	if (l->listed)
		TAILQ_REMOVE(&stacks->by_use, l, by_use);
	stacks->frame_cnt -= l->frames.cap + l->base.frames.cap + l->named_cap;
	frames_free(&l->frames);
	frames_free(&l->base.frames);
	free(l->stack.named.list);
	*l = (struct last_stack){ .listed = false };
}

void stacks__forget(struct stacks *stacks, struct last_stack **of)
{
	if (*of)
		clear(stacks, *of);
	free(*of);
	*of = NULL;
}

/* Empties the least recently merged stacks other than keep, until there is room. */
static void evict(struct stacks *stacks, const struct last_stack *keep)
{
	struct last_stack *oldest;

	while (stacks->frame_cnt > STACKS_MAX_FRAMES) {
		oldest = TAILQ_FIRST(&stacks->by_use);
		if (oldest == keep)
			return;
		clear(stacks, oldest);
		stacks->stats.evicted++;
	}
}

static int reserve(struct stacks *stacks, struct last_stack *l, struct frames *f, __u32 cnt)
{
	__u32 before = f->cap;

	if (frames_reserve(f, cnt))
		return -ENOMEM;
	stacks->frame_cnt += f->cap - before;
	evict(stacks, l);
	return 0;
}

/* The thread's stack, now the most recently used. NULL: out of memory. */
static struct last_stack *find_or_add(struct stacks *stacks, struct last_stack **of)
{
	struct last_stack *l = *of;

	if (!l)
		l = *of = calloc(1, sizeof(*l));
	if (!l)
		return NULL;
	if (l->listed)
		TAILQ_REMOVE(&stacks->by_use, l, by_use);
	TAILQ_INSERT_TAIL(&stacks->by_use, l, by_use);
	l->listed = true;
	stacks->frame_cnt += l->stack.named.cap - l->named_cap;
	l->named_cap = l->stack.named.cap;
	return l;
}

static bool same_activation(const struct frame *a, const struct frame *b)
{
	return a->frame_addr == b->frame_addr && a->code_addr == b->code_addr &&
	       a->fingerprint == b->fingerprint;
}

/*
 * Puts the record's frames (leaf first) on top of the first `from` frames, which stay. Compares
 * with what was there before: how many frames are the same, exactly and except for the position.
 */
static void replace_top(struct last_stack *l, __u32 from, const struct frame *frames, __u32 cnt,
			__u32 *ret_same, __u32 *ret_survived)
{
	__u32 total = from + cnt, old_cnt = l->frames.cnt, i = from;
	struct frame *list = l->frames.list;

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
	l->frames.cnt = total;
}

/* An audit carries the whole stack: would the base have given the same? */
static bool audit_agrees(const struct last_stack *l, const struct record_sample *record,
			 const struct frame *frames)
{
	const struct base *b = &l->base;
	__u32 root_cnt = record->cnt[SECTION_FRAMES] - 1 - record->anchor_index;

	if (b->epoch != record->anchor_epoch || record->anchor_steps >= b->frames.cnt)
		return true; /* the base is gone: nothing to compare with */
	if (root_cnt != b->frames.cnt - 1 - record->anchor_steps)
		return false;
	for (__u32 i = 0; i < root_cnt; i++) {
		if (memcmp(&b->frames.list[i], &frames[record->cnt[SECTION_FRAMES] - 1 - i],
			   sizeof(*frames)))
			return false;
	}
	return true;
}

/* Makes the frames up to the anchor the new base. */
static int take_base(struct stacks *stacks, struct last_stack *l,
		     const struct record_sample *record)
{
	struct base *b = &l->base;
	__u32 cnt = l->frames.cnt - record->anchor_index;

	b->epoch = 0;
	if (reserve(stacks, l, &b->frames, cnt))
		return -ENOMEM;
	memcpy(b->frames.list, l->frames.list, cnt * sizeof(*b->frames.list));
	b->frames.cnt = cnt;
	b->epoch = record->anchor_epoch;
	l->shared = cnt;
	stacks->stats.confirmed++;
	return 0;
}

static int merge_full(struct stacks *stacks, struct last_stack *l,
		      const struct record_sample *record, const struct frame *frames)
{
	struct stack *s = &l->stack;
	__u32 same;

	if (reserve(stacks, l, &l->frames, record->cnt[SECTION_FRAMES]))
		return -ENOMEM;
	if (record->anchor == ANCHOR_NOTE_AUDIT) {
		stacks->stats.audited++;
		s->mismatch = !audit_agrees(l, record, frames);
		stacks->stats.mismatched += s->mismatch;
	}
	replace_top(l, 0, frames, record->cnt[SECTION_FRAMES], &same, &s->survived);
	if (s->kept > same)
		s->kept = same;
	if (l->shared > same)
		l->shared = same;
	stacks->stats.full++;
	if (record->anchor == ANCHOR_NOTE_CONFIRM)
		return take_base(stacks, l, record);
	if (record->anchor == ANCHOR_NOTE_SLID || record->anchor == ANCHOR_NOTE_FOREIGN ||
	    s->mismatch)
		l->base.epoch = 0;
	return 0;
}

/* Restores the first cnt frames from the base. Returns how many were there. */
static __u32 restore_base(struct last_stack *l, __u32 cnt)
{
	if (l->shared >= cnt)
		return cnt;
	memcpy(l->frames.list + l->shared, l->base.frames.list + l->shared,
	       (cnt - l->shared) * sizeof(*l->frames.list));
	l->frames.cnt = cnt;
	return l->shared;
}

/* The anchor's own frame came with the record; it must equal the base's. */
static bool base_fits(const struct last_stack *l, const struct record_sample *record,
		      const struct frame *frames)
{
	const struct base *b = &l->base;

	return STACKS_CHECK(BASE_EPOCH, b->epoch == record->anchor_epoch) && b->epoch &&
	       record->cnt[SECTION_FRAMES] && record->anchor_steps < b->frames.cnt &&
	       same_activation(&b->frames.list[b->frames.cnt - 1 - record->anchor_steps],
			       &frames[record->cnt[SECTION_FRAMES] - 1]);
}

static int merge_delta(struct stacks *stacks, struct last_stack *l,
		       const struct record_sample *record, const struct frame *frames)
{
	struct stack *s = &l->stack;
	__u32 reused, there, same;

	if (!base_fits(l, record, frames)) {
		stacks->stats.no_base++;
		l->base.epoch = 0;
		return -ESTALE;
	}
	reused = l->base.frames.cnt - 1 - record->anchor_steps;
	if (reserve(stacks, l, &l->frames, reused + record->cnt[SECTION_FRAMES]))
		return -ENOMEM;
	there = restore_base(l, reused);
	replace_top(l, reused, frames, record->cnt[SECTION_FRAMES], &same, &s->survived);
	if (there < reused)
		same = there;
	if (s->kept > same)
		s->kept = same;
	s->reused = reused;
	l->shared = reused;
	stacks->stats.delta++;
	stacks->stats.frames_reused += reused;
	return 0;
}

int stacks__merge(struct stacks *stacks, struct last_stack **of, const struct record_sample *record,
		  const struct frame *frames, struct stack **ret)
{
	struct last_stack *l = find_or_add(stacks, of);
	int err;

	if (!l)
		return -ENOMEM;
	l->stack.reused = 0;
	l->stack.mismatch = false;
	if (record->anchor == ANCHOR_NOTE_DELTA)
		err = merge_delta(stacks, l, record, frames);
	else
		err = merge_full(stacks, l, record, frames);
	if (err)
		return err;
	stacks->stats.frames_new += record->cnt[SECTION_FRAMES];
	l->stack.frames = l->frames.list;
	l->stack.cnt = l->frames.cnt;
	*ret = &l->stack;
	return 0;
}

const struct stacks_stats *stacks__stats(const struct stacks *stacks)
{
	return &stacks->stats;
}
