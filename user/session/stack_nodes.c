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

/* Names the frames that are new since the thread's last stack; the node of the leaf, 0 without room. */
static __u32 stack_node(struct stack_nodes *n, struct process *p, __u32 root,
			const struct record_sample *record, struct stack *stack)
{
	__u64 tag = dict__tag(n->naming.profile->dict, root);
	__u32 kept = stack->root_tag == tag ? stack->kept : 0;
	__u32 node = kept ? stack->tags[kept - 1] : root;

	for (__u32 i = kept; i < stack->cnt && node; i++) {
		if (stack->frames[i].code_addr)
			node = naming_node(&n->naming, p, node, record, &stack->frames[i]);
		stack->tags[i] = node;
	}
	stack->root_tag = node ? tag : 0;
	return node;
}

/* ---- native frames between ------------------------------------------------------------------- */

/*
 * How many items of the joined stack, on the root side, are the same as in the thread's last one: all
 * Python frames among them are kept, and what is between them is as it was. Renews the trail.
 */
static __u32 follow_trail(struct stack_nodes *n, const struct process *p, const struct join *j,
			  struct stack *stack, __u32 kept)
{
	struct stack_trail *trail = &stack->trail;
	__u64 digest = p->space ? space__digest(p->space) : 0;
	__u32 same = 0, step = 0, before = 0;
	bool differs = trail->digest != digest;

	if (trail->cap < j->cnt) {
		struct trail_step *grown = reallocarray(trail->steps, j->cnt, sizeof(*grown));

		if (!grown)
			return 0;
		trail->steps = grown;
		trail->cap = j->cnt;
	}
	for (__u32 i = 0; i < j->cnt; i++) {
		const struct join_item *item = &j->items[i];
		struct trail_step now = { .kind = item->kind, .before = before };

		if (item->kind == JOIN_PYTHON) {
			before = item->index + 1;
			differs = differs || item->index >= kept;
		} else {
			now.address = native_part__address(n->natives, item);
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

/* As stack_node(), with what is native between the Python frames. */
static __u32 joined_node(struct stack_nodes *n, struct process *p, __u32 root,
			 const struct record_sample *record, struct stack *stack)
{
	__u64 tag = dict__tag(n->naming.profile->dict, root);
	__u32 kept = stack->root_tag == tag ? stack->kept : 0, node = root, i;
	const struct join *j;

	if (!has_python(stack)) {
		stack->root_tag = 0;
		return stack_nodes_native(n, p, no_python(n, root), record);
	}
	stack->own_tags = true;
	stack->root_tag = 0;
	if (native_part__join(n->natives, p, record, stack->frames, stack->cnt, &j))
		return 0;
	i = follow_trail(n, p, j, stack, kept);
	if (i)
		node = stack->tags[j->items[i - 1].index];
	for (; i < j->cnt && node; i++) {
		const struct join_item *item = &j->items[i];

		if (item->kind == JOIN_PYTHON) {
			if (stack->frames[item->index].code_addr)
				node = naming_node(&n->naming, p, node, record,
						   &stack->frames[item->index]);
			stack->tags[item->index] = node;
		} else {
			node = dict__child(n->naming.profile->dict, node,
					   native_part__frame(n->natives, item));
		}
	}
	if (node)
		stack->root_tag = tag;
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
