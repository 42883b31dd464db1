/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/greenlet_chains.h"

#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "follow/greenlet_watch.h"
#include "follow/processes.h"
#include "profile/frames.h"
#include "profile/marks.h"
#include "profile/profile.h"
#include "sampler/record.h"
#include "session/naming.h"
#include "stack/stacks.h"
#include "util/vec.h"

struct greenlet_chains {
	struct stack stack; /* the longer stack; we own its lists */
	struct frame *frames;
	__u32 *tags;
	__u32 frame_cap, tag_cap;
	struct greenlet_chains_stats stats;
};

struct greenlet_chains *greenlet_chains__new(void)
{
	return calloc(1, sizeof(struct greenlet_chains));
}

void greenlet_chains__free(struct greenlet_chains *g)
{
	if (!g)
		return;
	free(g->frames);
	free(g->tags);
	free(g->stack.trail.steps);
	free(g);
}

static bool is_greenlet(const struct frame *part)
{
	return !part->code_addr;
}

struct stack *greenlet_chains__put(struct greenlet_chains *g, const struct record_sample *record,
				   struct stack *own)
{
	struct stack_trail trail = g->stack.trail;
	const struct frame *parts;
	__u32 part_cnt, cnt = 0;

	parts = record__section(record, SECTION_GREENLETS, &part_cnt);
	if (!part_cnt)
		return own;
	if (vec_reserve(g->frames, g->frame_cap, part_cnt + own->cnt) ||
	    vec_reserve(g->tags, g->tag_cap, part_cnt + own->cnt))
		return NULL;
	for (__u32 i = part_cnt; i-- > 0;)
		if (!is_greenlet(&parts[i]))
			g->frames[cnt++] = parts[i];
	if (own->cnt)
		memcpy(g->frames + cnt, own->frames, own->cnt * sizeof(*g->frames));
	trail.cnt = 0;
	g->stack = (struct stack){ .frames = g->frames,
				   .tags = g->tags,
				   .cnt = cnt + own->cnt,
				   .before = cnt,
				   .own_tags = true,
				   .trail = trail };
	/* This time the thread's own stack is not named. */
	own->root_tag = 0;
	own->own_tags = true;
	return &g->stack;
}

static __u32 mark(struct naming *n, __u32 node, const char *text)
{
	return node ? dict__named_child(n->profile->dict, node, FRAME_MARK, text, 0, 0) : 0;
}

/*
 * The mark for a stack without parents that may belong to a greenlet whose parents the kernel does
 * not know, yet or ever. NULL: nothing is missing.
 */
static const char *missing(struct naming *n, struct process *p, const struct record_sample *record,
			   const struct stack *stack)
{
	bool late = greenlet_watch_is_late(p, record->time_ns);
	const struct frame *root = NULL;

	if ((!late && !p->greenlets.refused) || reason_outcome(record->reason) != OUTCOME_COMPLETE)
		return NULL;
	for (__u32 i = 0; i < stack->cnt && !root; i++)
		if (stack->frames[i].code_addr)
			root = &stack->frames[i];
	if (!root || naming_is_thread_root(n, p, record, root))
		return NULL;
	if (!late)
		return MARK_GREENLETS_UNKNOWN;
	/* Samples from before they were known cannot be completed. */
	return p->greenlets.known || greenlet_watch_hurry(p, root->code_addr) ?
		       MARK_GREENLETS_LATE :
		       NULL;
}

__u32 greenlet_chains__marks(struct greenlet_chains *g, struct naming *n, struct process *p,
			     const struct record_sample *record, const struct stack *stack,
			     __u32 node)
{
	const struct frame *parts;
	__u32 cnt, notes = 0;
	const char *text;

	parts = record__section(record, SECTION_GREENLETS, &cnt);
	if (!cnt) {
		text = missing(n, p, record, stack);
		if (!text)
			return node;
		if (p->greenlets.refused)
			g->stats.unknown++;
		else
			g->stats.late++;
		return mark(n, node, text);
	}
	for (__u32 i = 0; i < cnt; i++)
		if (is_greenlet(&parts[i]))
			notes |= parts[i].fingerprint;
	g->stats.chains++;
	g->stats.cut += notes != 0;
	if (notes & TASK_TORN)
		node = mark(n, node, MARK_GREENLETS_TORN);
	if (notes & TASK_LIMIT)
		node = mark(n, node, MARK_GREENLETS_LIMIT);
	if (notes & TASK_FRAMES)
		node = mark(n, node, MARK_GREENLET_FRAMES);
	return node;
}

const struct greenlet_chains_stats *greenlet_chains__stats(const struct greenlet_chains *g)
{
	return &g->stats;
}
