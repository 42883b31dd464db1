/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/stack_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "follow/processes.h"
#include "proc/space.h"
#include "profile/frames.h"
#include "profile/marks.h"
#include "profile/profile.h"
#include "session/native_part.h"
#include "stack/stacks.h"
#include "util/cleanup.h"

/*
 * Plans what to do with the sample's tasks. Returns how many frames on the root side can keep their
 * tags, because naming them again would give the same ones.
 */
static __u32 plan_tasks(struct stack_nodes *n, struct process *p,
			const struct record_sample *record, struct stack *stack, __u32 kept,
			struct task_plan *ret)
{
	__u32 at = stack->chain_at;

	task_plan_make(ret, &n->naming, p, record, stack, n->async);
	n->task_chains_late += ret->late;
	if (ret->late)
		stack->own_tags = true;
	if (ret->cnt) {
		stack->own_tags = true;
		n->task_chains++;
		n->task_chains_cut += task_plan_is_cut(ret);
	}
	if (!ret->digest != !stack->chain || ret->late != (stack->chain == TASK_PLAN_LATE))
		kept = 0;
	else if (ret->digest != stack->chain || ret->at != at)
		kept = kept < at ? kept : at;
	if (ret->digest && kept > ret->at && (ret->digest != stack->chain || ret->at != at))
		kept = ret->at;
	stack->chain = ret->digest;
	stack->chain_at = ret->at;
	return kept;
}

/* A stack under construction, root first. */
struct build {
	struct stack_nodes *n;
	struct process *p;
	const struct record_sample *record;
	struct stack *stack;
	struct task_plan plan;
	__u32 node; /* of the last frame; 0: no room */
	__u32 seen; /* frames of the stack already done */
	bool chained; /* the chain of tasks is done, or there is none */
	bool folding; /* the last Python frame was left out, and so is what it calls in C */
};

/* The first `kept` frames have their tags. */
static void build_begin(struct build *b, __u32 kept, __u32 root)
{
	b->seen = kept;
	b->node = kept ? b->stack->tags[kept - 1] : root;
	b->chained = !b->plan.digest || kept > b->plan.at;
	b->folding = kept &&
		     task_plan_folds(&b->plan, &b->n->naming, b->p, b->record, b->stack, kept - 1);
}

static void build_chain(struct build *b)
{
	if (b->node && !b->chained)
		b->node = task_plan_node(&b->plan, &b->n->naming, b->p, b->record, b->node);
	b->chained = true;
	b->folding = false;
}

static void build_python(struct build *b, __u32 index)
{
	const struct frame *f = &b->stack->frames[index];

	if (index >= b->plan.at)
		build_chain(b);
	if (f->code_addr) {
		b->folding =
			task_plan_folds(&b->plan, &b->n->naming, b->p, b->record, b->stack, index);
		if (b->node && b->plan.outermost)
			b->node = task_plan_created(&b->plan, &b->n->naming, f, b->node);
		if (b->node && !b->folding)
			b->node = naming_node(&b->n->naming, b->p, b->node, b->record, f);
	}
	b->stack->tags[index] = b->node;
	b->seen = index + 1;
}

/*
 * What the loop calls in C is left out, up to a coroutine. If no coroutine is on the stack, it
 * belongs to the task.
 */
static void build_native(struct build *b, const struct join_item *item)
{
	if (!b->plan.skip && b->seen >= b->plan.at)
		build_chain(b);
	if (b->node && !b->folding)
		b->node = dict__child(b->n->naming.profile->dict, b->node,
				      native_part__frame(b->n->natives, item));
}

/*
 * The tag for the root of this stack, under which the thread's next stack can keep tags. None if a
 * function is unknown: its snapshot may still come, if the sample interrupted another one that was
 * about to send it (bpf/describe.h).
 */
static __u64 kept_root(const struct build *b, __u64 tag)
{
	return b->node && !dict__node_at(b->n->naming.profile->dict, b->node)->unknown ? tag : 0;
}

/* Names the frames that are new since the thread's last stack. Returns the leaf's node; 0: no room. */
static __u32 stack_node(struct stack_nodes *n, struct process *p, __u32 root,
			const struct record_sample *record, struct stack *stack)
{
	struct build b = { .n = n, .p = p, .record = record, .stack = stack };
	__u64 tag = dict__tag(n->naming.profile->dict, root);
	__u32 kept = stack->root_tag == tag ? stack->kept : 0;

	build_begin(&b, plan_tasks(n, p, record, stack, kept, &b.plan), root);
	while (b.seen < stack->cnt && b.node)
		build_python(&b, b.seen);
	build_chain(&b);
	stack->root_tag = kept_root(&b, tag);
	return b.node;
}

/* ---- native frames between ------------------------------------------------------------------- */

/*
 * How many items of the joined stack, on the root side, equal those of the thread's last one: all
 * their Python frames are kept, and the items between are unchanged. Updates the trail.
 */
static __u32 follow_trail(const struct process *p, const struct join *j, struct stack *stack,
			  __u32 kept)
{
	struct stack_trail *trail = &stack->trail;
	__u64 digest = p->space ? space__digest(p->space) : 0;
	__u32 same = 0, step = 0, before = 0;
	bool differs = trail->digest != digest;

	if (trail->cap < j->cnt) {
		struct join_item *grown = reallocarray(trail->steps, j->cnt, sizeof(*grown));

		if (!grown)
			return 0;
		trail->steps = grown;
		trail->cap = j->cnt;
	}
	for (__u32 i = 0; i < j->cnt; i++) {
		const struct join_item *item = &j->items[i];
		struct join_item now = { item->address, item->kind, before };

		if (item->kind == JOIN_PYTHON) {
			before = item->index + 1;
			differs = differs || item->index >= kept ||
				  (step < trail->cnt && trail->steps[step].index <= item->index);
		} else {
			differs = differs || step >= trail->cnt ||
				  memcmp(&trail->steps[step], &now, sizeof(now));
			trail->steps[step++] = now;
		}
		if (!differs && item->kind == JOIN_PYTHON)
			same = i + 1;
	}
	trail->cnt = step;
	trail->digest = digest;
	return same;
}

__u32 stack_nodes_native(struct stack_nodes *n, struct process *p, __u32 node,
			 const struct record_sample *record)
{
	const struct join *j;

	if (!n->natives || !node || native_part__join(n->natives, p, record, NULL, 0, &j))
		return node;
	for (__u32 i = 0; i < j->cnt && node; i++)
		node = dict__child(n->naming.profile->dict, node,
				   native_part__frame(n->natives, &j->items[i]));
	return node;
}

static __u32 no_python(struct stack_nodes *n, __u32 root)
{
	return dict__named_child(n->naming.profile->dict, root, FRAME_MARK, MARK_NO_PYTHON, 0, 0);
}

static bool has_python(const struct stack *stack)
{
	for (__u32 i = stack->cnt; i-- > 0;) {
		if (stack->frames[i].code_addr)
			return true;
	}
	return false;
}

/* Like stack_node(), with native frames between the Python frames. */
static __u32 joined_node(struct stack_nodes *n, struct process *p, __u32 root,
			 const struct record_sample *record, struct stack *stack)
{
	struct build b = { .n = n, .p = p, .record = record, .stack = stack };
	__u64 tag = dict__tag(n->naming.profile->dict, root);
	__u32 kept = stack->root_tag == tag ? stack->kept : 0, i;
	const struct join *j;
	__u64 put_off;

	if (!has_python(stack)) {
		stack->root_tag = 0;
		return stack_nodes_native(n, p, no_python(n, root), record);
	}
	stack->own_tags = true;
	stack->root_tag = 0;
	put_off = native_part__stats(n->natives)->names_put_off;
	if (native_part__join(n->natives, p, record, stack->frames + stack->before,
			      stack->cnt - stack->before, &j))
		return 0;
	i = follow_trail(p, j, stack, plan_tasks(n, p, record, stack, kept, &b.plan));
	build_begin(&b, i ? j->items[i - 1].index + 1 : 0, root);
	while (b.seen < stack->before && b.node)
		build_python(&b, b.seen);
	for (; i < j->cnt && b.node; i++) {
		if (j->items[i].kind == JOIN_PYTHON)
			build_python(&b, stack->before + j->items[i].index);
		else
			build_native(&b, &j->items[i]);
	}
	build_chain(&b);
	/* Names that were put off are asked for again with the next stack. */
	if (native_part__stats(n->natives)->names_put_off == put_off)
		stack->root_tag = kept_root(&b, tag);
	return b.node;
}

/* The index of the frame that is collecting garbage; stack->cnt: none. */
static __u32 collecting_at(const struct stack *stack, __u64 frame_addr)
{
	for (__u32 i = stack->cnt; i-- > 0;) {
		if (frame_addr ? stack->frames[i].frame_addr == frame_addr :
				 stack->frames[i].code_addr)
			return i;
	}
	return stack->cnt;
}

static bool is_below(const struct dict *dict, __u32 node, __u32 ancestor)
{
	while (node && node != ancestor)
		node = dict__node_at(dict, node)->parent;
	return node != 0;
}

__u32 stack_nodes_collecting(struct stack_nodes *n, const struct stack *stack, __u32 node,
			     __u64 frame_addr, bool *ret_found)
{
	struct dict *dict = n->naming.profile->dict;
	__u32 at = collecting_at(stack, frame_addr), below, cnt = 0;
	cleanup_free __u32 *frames = NULL;

	*ret_found = at < stack->cnt;
	if (!*ret_found)
		return node;
	below = stack->tags[at];
	if (!is_below(dict, node, below))
		/* the frame is shown elsewhere, as one of a task: put the mark on top */
		below = node;
	for (__u32 i = node; i != below; i = dict__node_at(dict, i)->parent)
		cnt++;
	frames = calloc((size_t)cnt + 1, sizeof(*frames));
	if (!frames)
		return 0;
	for (__u32 i = node, k = cnt; k > 0; i = dict__node_at(dict, i)->parent)
		frames[--k] = dict__node_at(dict, i)->frame;
	node = dict__named_child(dict, below, FRAME_MARK, MARK_GC, 0, 0);
	for (__u32 k = 0; k < cnt && node; k++)
		node = dict__child(dict, node, frames[k]);
	return node;
}

__u32 stack_nodes_of(struct stack_nodes *n, struct process *p, __u32 root,
		     const struct record_sample *record, struct stack *stack)
{
	__u32 node;

	if (!root) {
		stack->root_tag = 0;
		return 0;
	}
	node = n->natives ? joined_node(n, p, root, record, stack) :
			    stack_node(n, p, root, record, stack);
	return node == root ? no_python(n, root) : node;
}
