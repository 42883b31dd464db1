/* SPDX-License-Identifier: BSD-2-Clause */
#include "stack/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

/* Like ANCHOR_CHECK in bpf/anchor.h: the model test shows that each check is needed. */
#ifndef STACKS_CHECK
#define STACKS_CHECK(name, condition) (condition)
#endif

/* A growing array of frames with one tag each. */
struct frames {
	struct frame *list;
	__u32 *tags;
	__u32 cnt, cap;
};

/* What lay below an anchor, and the anchor itself, when a full walk confirmed it. */
struct base {
	__u64 epoch; /* 0: none */
	struct frames frames; /* the last one is the anchor */
	__u64 root_tag; /* under which the tags were made */
	bool tags_pending; /* the consumer has not set them yet */
};

struct last_stack {
	__u64 code_generation;
	__u64 interp_addr;
	struct frames frames; /* the whole stack */
	struct base base;
	__u32 shared; /* root-side frames that frames and base have in common */
	struct stack stack; /* what the consumer sees */
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
	__u32 *tags;

	if (cnt <= f->cap)
		return 0;
	while (cap < cnt)
		cap *= 2;
	list = realloc(f->list, cap * sizeof(*list));
	if (!list)
		return -ENOMEM;
	f->list = list;
	tags = realloc(f->tags, cap * sizeof(*tags));
	if (!tags)
		return -ENOMEM;
	f->tags = tags;
	f->cap = cap;
	return 0;
}

static void frames_free(struct frames *f)
{
	free(f->list);
	free(f->tags);
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
	stacks->frame_cnt -= l->frames.cap + l->base.frames.cap;
	frames_free(&l->frames);
	frames_free(&l->base.frames);
	free(l->stack.trail.steps);
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

/* By now the consumer has set the tags of the confirming stack: takes them over. */
static void settle_base_tags(struct last_stack *l)
{
	struct base *b = &l->base;

	if (!b->tags_pending)
		return;
	memcpy(b->frames.tags, l->frames.tags, b->frames.cnt * sizeof(*b->frames.tags));
	b->root_tag = l->stack.root_tag;
	b->tags_pending = false;
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
	b->tags_pending = true;
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
	s->kept = same;
	if (l->code_generation != record->code_generation || l->interp_addr != record->interp_addr)
		s->kept = 0;
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

/* Restores the first cnt frames from the base; true if their tags are valid, too. */
static bool restore_base(struct last_stack *l, __u32 cnt)
{
	const struct base *b = &l->base;
	bool tags = b->root_tag == l->stack.root_tag && !l->stack.own_tags;

	if (l->shared >= cnt)
		return true;
	memcpy(l->frames.list + l->shared, b->frames.list + l->shared,
	       (cnt - l->shared) * sizeof(*b->frames.list));
	if (tags)
		memcpy(l->frames.tags + l->shared, b->frames.tags + l->shared,
		       (cnt - l->shared) * sizeof(*b->frames.tags));
	l->frames.cnt = cnt;
	return tags;
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
	__u32 reused, same;
	bool tags;

	if (!base_fits(l, record, frames)) {
		stacks->stats.no_base++;
		l->base.epoch = 0;
		return -ESTALE;
	}
	reused = l->base.frames.cnt - 1 - record->anchor_steps;
	if (reserve(stacks, l, &l->frames, reused + record->cnt[SECTION_FRAMES]))
		return -ENOMEM;
	tags = restore_base(l, reused);
	replace_top(l, reused, frames, record->cnt[SECTION_FRAMES], &same, &s->survived);
	s->kept = tags ? same : l->shared;
	/* Frames above the anchor may run new code objects at reused addresses. */
	if (l->code_generation != record->code_generation && s->kept > reused)
		s->kept = reused;
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
	settle_base_tags(l);
	l->stack.reused = 0;
	l->stack.mismatch = false;
	if (record->anchor == ANCHOR_NOTE_DELTA)
		err = merge_delta(stacks, l, record, frames);
	else
		err = merge_full(stacks, l, record, frames);
	if (err)
		return err;
	stacks->stats.frames_new += record->cnt[SECTION_FRAMES];
	l->code_generation = record->code_generation;
	l->interp_addr = record->interp_addr;
	l->stack.frames = l->frames.list;
	l->stack.tags = l->frames.tags;
	l->stack.cnt = l->frames.cnt;
	*ret = &l->stack;
	return 0;
}

const struct stacks_stats *stacks__stats(const struct stacks *stacks)
{
	return &stacks->stats;
}
